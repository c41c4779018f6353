// Answers: a growing list of hits, the query as understood, facets, and empty answers.

import * as api from "../service/api.js";
import { make, oneAtATime } from "../elements/dom.js";
import { showFacets } from "./facets.js";
import { partHit, photoHit, plainItem, productHit } from "../elements/gallery.js";
import { label } from "../service/holdings.js";
import { isWeak, likelihood, nothingLikeThat, withWeakLine } from "../elements/likelihood.js";
import { askedPhrases, largest, phraseChips, phrasesOf } from "../elements/phrases.js";
import { isQuestion, otherwise, PAGE, search } from "../questions/search.js";
import { withSeries } from "./series.js";
import { headings, newerButton, showRail } from "./timeline.js";
import { showUnderstood } from "./understood.js";
import { byPhotoAlone, whyLine } from "../elements/why.js";

const at = (id) => document.getElementById(id);
const byTouch = window.matchMedia("(hover: none)").matches;

export function gallery(...cards) {
  return make("ol", { className: "gallery" }, ...cards);
}

function count(number, thing) {
  return `${number.toLocaleString("en")} ${thing}${number === 1 ? "" : "s"}`;
}

/** Describe the number of parts shown, of which a photo has one at most. */
function countedParts(hits, { cursor }) {
  return cursor ? `First ${count(hits.length, "part")}` : count(hits.length, "part");
}

/** Describe the number of hits, and of weak hits among those shown. */
function counted(hits, { cursor, total, weakBelow }, partly) {
  const weak = hits.filter((hit) => isWeak(hit, weakBelow)).length;
  const some = total === null ? `First ${count(hits.length, "photo")}` : `${hits.length.toLocaleString("en")} of ${count(total, "photo")}`;
  const shown = cursor || partly ? some : count(hits.length, "photo");
  if (weak === 0) return shown;
  const weakOnes = weak === 1 ? "1 weak match" : `${weak} weak matches`;
  if (cursor) return `${shown}, ${weakOnes}`;
  return weak === hits.length ? weakOnes : `${count(hits.length - weak, "photo")}, ${weakOnes}`;
}

function countedProducts(hits, { total, counted: items, cursor }) {
  const all = count(total, "product");
  const variants = items > total ? `, ${count(items, "variant")} in all` : "";
  return cursor ? `${hits.length.toLocaleString("en")} of ${all}${variants}` : `${all}${variants}`;
}

/** Explain the bars below the phrases; the tones only if links are split. */
function hint(hits) {
  const split = hits.some(({ phrases }) => phrases?.some(({ whole }) => typeof whole === "number"));
  const tone = (name) => make("span", { className: `key ${name}` });
  return make(
    "p",
    { className: "hint" },
    `${byTouch ? "Tap" : "Point at"} a phrase to see what it found.`,
    ...(split ? [" Bars: ", tone("by-whole"), " what the whole photo gave, "] : []),
    ...(split ? [tone("by-part"), " what the marked part added."] : []),
  );
}

/** Show the phrases of the question, which light their regions; none for products. */
function showPhrases({ text, hits, ...answer }) {
  const query = at("query");
  if (!text || hits.length === 0 || hits[0].parts) return;
  query.className = "strip";
  const asked = askedPhrases({ query: answer, hits });
  query.replaceChildren(phraseChips(asked, "Phrases of your search"), hint(hits));
  query.hidden = false;
}

/** Make cards of products, with a line before products that match by photo alone. */
function productCards(hits, before, card) {
  const cards = hits.map(card);
  const first = hits.findIndex(byPhotoAlone);
  const any = (list) => list.some((hit) => !byPhotoAlone(hit));
  if (first < 0 || before.some(byPhotoAlone) || !any([...before, ...hits])) return cards;
  cards.splice(first, 0, make("li", { className: "weak-line" }, "Found by their photos alone"));
  return cards;
}

/** Add a line to a photo's card: the words of the search in its name, place or description. */
function withWords(card, { words = [] }) {
  const fields = new Map(words.map(({ word }) => [word, new Set()]));
  for (const { word, field } of words) fields.get(word).add(label(field).toLowerCase());
  const listed = new Intl.ListFormat("en", { type: "conjunction" });
  const named = [...fields].map(([word, keys]) => `“${word}” in ${listed.format(keys)}`);
  const line = make("p", { className: "note" }, `Has ${named.join("; ")}`);
  if (named.length > 0) card.insertBefore(line, card.querySelector(".actions"));
  return card;
}

/** Return functions that make a card of a hit, and a list of a page of hits. */
function cardsFor({ asked, holdings, act }, first) {
  const { weakBelow } = first;
  const similar = ["More like this", act.similar];
  if (!isQuestion(asked) && !holdings.shop) {
    const plain = (hits) => hits.map((hit) => plainItem(hit, act.open));
    const headed = headings(first);
    return holdings.dated ? (hits, before) => headed(plain(hits), hits, before) : plain;
  }
  if (holdings.shop) {
    const best = first.hits[0]?.score;
    const why = (hit) => (asked.text ? whyLine(hit, best) : isQuestion(asked) ? likelihood(hit, weakBelow) : null);
    const shown = { holdings, open: act.open, variants: act.variants };
    const card = (hit) => productHit(hit, { ...shown, why: why(hit), actions: hit.image ? [similar] : [] });
    return (hits, before) => (asked.text && !asked.sort ? productCards(hits, before, card)
      : isQuestion(asked) && !asked.sort ? withWeakLine(hits, weakBelow, card, before)
        : hits.map(card));
  }
  const scale = asked.text ? largest(first.hits.map((hit) => phrasesOf(hit, "query"))) : null;
  if (asked.parts) {
    const like = ["More like this", act.similarPart];
    const card = (hit) => partHit(hit, { found: phrasesOf(hit, "query"), scale, actions: [like], open: act.open });
    return (hits) => hits.map(card);
  }
  const save = (hit) => act.save(hit, first.corrected ?? asked.text);
  const actions = asked.text ? [similar, ["Save picture", save]] : [similar];
  const card = (hit) => withWords(photoHit(hit, {
    found: phrasesOf(hit, "query"), scale, weakBelow, actions, open: act.open,
  }), hit);
  const headed = headings(first);
  return (hits, before) => (asked.sort ? headed(hits.map(card), hits, before) : withWeakLine(hits, weakBelow, card, before));
}

/** Write the line above the hits: their number, indexing in progress, and notes. */
function showStatus(hits, answer, { asked, holdings }) {
  const chips = [...answer.words.filter(({ spelling }) => spelling !== null), ...answer.refused];
  const said = answer.notes.filter((note) => !chips.some(({ text }) => note.includes(`"${text}"`)));
  const notes = answer.behind
    ? [...said, `Still indexing: ${answer.behind.toLocaleString("en")} changes are not searched yet.`] : said;
  const parts = asked.parts && isQuestion(asked);
  const text = holdings.shop ? countedProducts(hits, answer)
    : parts ? countedParts(hits, answer) : counted(hits, answer, asked.from);
  at("status").replaceChildren(text, ...notes.map((note) => make("p", { className: "remark" }, note)));
}

/** Write the line above products that match by their photo alone. */
function noSuchWords({ loose, hits, words, refused }) {
  const asked = words.length > 0 || refused.length === 0; // not for what is only left out
  if (!loose || !asked || hits.length === 0 || hits.some((hit) => !byPhotoAlone(hit))) return null;
  return make("div", { className: "nothing" }, make("h2", {}, "No product has these words"),
    make("p", {}, "These come nearest by their photos."));
}

/** Fetch the pages up to the last one seen before. */
async function upTo(context, image, signal) {
  const { asked, holdings } = context;
  const first = await search(asked, holdings, image, { limit: Math.max(PAGE, asked.shown), signal });
  const hits = [...first.hits];
  let { cursor } = first;
  while (cursor && hits.length < asked.shown) {
    const next = await search(asked, holdings, image, { cursor, signal });
    hits.push(...next.hits);
    ({ cursor } = next);
  }
  return { ...first, hits, cursor };
}

/**
 * Answer a question in `results`; returns the answer with the element that holds its list. `context`
 * is {asked, holdings, act}; `act` has what can be done with a hit, and `grew`, which remembers how
 * many are shown.
 */
export async function answer(context, image, signal) {
  const { asked, holdings, act } = context;
  const found = await upTo(context, image, signal);
  const cards = withSeries(cardsFor(context, found), act.open);
  context.corrected = found.corrected ?? null;
  const shown = [...found.hits];
  const list = gallery(...cards(found.hits, []));
  list.classList.toggle("wall", !holdings.shop && !isQuestion(asked));
  list.classList.toggle("shelf", holdings.shop);
  let { cursor } = found;
  const more = make("button", { type: "button", className: "second more" }, "Show more");
  more.hidden = !cursor;
  more.onclick = oneAtATime(() => act.attempt(async (later) => {
    const next = await search(asked, holdings, image, { cursor, signal: later });
    const added = cards(next.hits, shown);
    shown.push(...next.hits);
    list.append(...added);
    ({ cursor } = next);
    more.hidden = !cursor;
    act.grew(shown, true);
    added.map((card) => card.querySelector("button")).find(Boolean)?.focus();
    showStatus(shown, { ...found, cursor }, context);
  }));
  act.grew(shown);
  if (!asked.photo && !asked.like && !asked.parts) showPhrases(found);
  showUnderstood(at("understood"), found, asked.filter, act.refine);
  showStatus(shown, found, context);
  showKinds(context);
  await showChoices(context, found, image, signal);
  const newer = newerButton(context, list, cards, shown, () => showStatus(shown, { ...found, cursor }, context));
  showRail(context, found, list);
  const above = asked.text && !holdings.shop ? nothingLikeThat(found.hits, found.weakBelow) : noSuchWords(found);
  const element = make("div", {}, ...[above, newer, list, more].filter(Boolean));
  return { ...found, element, more };
}

/** Offer to show photos, or parts of them. */
function showKinds({ asked, holdings, act }) {
  const kinds = at("kinds");
  kinds.hidden = holdings.shop || !isQuestion(asked);
  for (const button of kinds.children) {
    const parts = button.value === "parts";
    button.ariaPressed = String(parts === Boolean(asked.parts));
    button.onclick = () => act.refine({ parts });
  }
}

/** Offer the orders of hits. */
function showOrders({ asked, holdings }) {
  const sorts = at("sort");
  const first = isQuestion(asked) ? ["", "Best match"] : holdings.dated ? null : ["", "Any order"];
  const options = [...(first ? [first] : []), ...holdings.sorts];
  sorts.replaceChildren(...options.map(([value, text]) => new Option(text, value)));
  sorts.value = asked.sort ?? (first ? "" : holdings.sorts[0][0]);
}

/** Whether all hits can be counted and ordered: those of a date or a name, or by probabilities. */
function isCountable({ asked, holdings }, { hits, weakBelow, listed }) {
  if (holdings.shop || listed) return true;
  if (!holdings.dated || !isQuestion(asked)) return holdings.dated;
  return !asked.parts && (weakBelow !== null || hits.some(({ probability }) => typeof probability === "number"));
}

/** Show the order of the hits, and the facets: of photos where someone has opened them. */
async function showChoices(context, found, image, signal) {
  const { asked, holdings, act } = context;
  const chosen = Object.keys(asked.filter).length;
  at("choices").hidden = !isCountable(context, found) || (found.hits.length === 0 && chosen === 0);
  at("order").hidden = at("choices").hidden;
  context.showFacets = null;
  if (at("choices").hidden) return;
  showOrders(context);
  at("fold").textContent = chosen > 0 ? `Filters (${chosen})` : "Filters";
  const show = async () => {
    const options = { least: found.least, signal };
    const { facets: all } = holdings.shop ? found
      : await search(asked, holdings, image, { ...options, limit: 1, facets: holdings.facets });
    const own = await otherwise(asked, holdings, image, options);
    const facets = all.map((facet) => own.find(({ key }) => key === facet.key) ?? facet);
    showFacets(at("facets"), facets, holdings.price, asked.filter, (filter) => act.refine({ filter }));
  };
  if (holdings.shop || at("choices").classList.contains("open")) return show();
  context.showFacets = show;
}

/** Write an empty answer: how to fill a collection, or another search. */
export async function nothing({ asked, mayWrite, act }, signal) {
  const { items, coming, importing } = await api.index(signal);
  const message = (title, ...content) =>
    make("div", { className: "message" }, make("h2", {}, title), ...content);
  if (items > 0) {
    const filtered = Object.keys(asked.filter).length > 0;
    const clear = make("button", {
      type: "button", className: "go",
      onclick: () => act.refine(filtered ? { filter: {} } : { text: null, like: null, photo: null, box: null }),
    }, filtered ? "Clear the filters" : "Show everything");
    return message("Nothing found", make("p", {}, filtered ? "Nothing passes all of the filters."
      : "Try other words, or fewer of them."), clear);
  }
  if (coming > 0 || importing) {
    return message("Being indexed", make("p", {}, "The first photos are on their way; this page shows them by itself."));
  }
  const add = make("button", { type: "button", className: "go", onclick: act.add }, "Add one here");
  return message("Nothing here yet",
    make("p", {}, "Add a folder of photos or a catalogue with this command; this page shows them by itself."),
    make("code", {}, `tessera index PATH --collection ${asked.collection}`),
    mayWrite ? make("p", { className: "or" }, add) : null);
}
