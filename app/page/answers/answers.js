// Answers: a growing list of hits, the query as understood, and the choices that it offers.

import { make, oneAtATime } from "../elements/dom.js";
import { isWeak } from "../elements/likelihood.js";
import { askedPhrases, phraseChips } from "../elements/phrases.js";
import { countFewer, isQuestion, otherwise, PAGE, search } from "../questions/search.js";
import { cardsFor } from "./cards.js";
import { lineAbove } from "./empty.js";
import { showFacets } from "./facets.js";
import { withSeries } from "./series.js";
import { newerButton, showRail } from "./timeline.js";
import { showUnderstood } from "./understood.js";

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
  const asked = askedPhrases({ query: answer, hits });
  if (asked.length === 0) return;
  query.className = "strip";
  query.replaceChildren(phraseChips(asked, "Phrases of your search"), hint(hits));
  query.hidden = false;
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
  let counts = found;
  context.newer = 0;
  const tell = (grown = false) => {
    act.grew(shown, context.newer, grown);
    showStatus(shown, { ...counts, cursor }, context);
  };
  context.drop = (id) => {
    const others = shown.some((hit) => hit.id === id && hit.variants > 1); // which stay
    if (!others) counts = countFewer(counts, 1);
    shown.splice(0, shown.length, ...shown.filter((hit) => hit.id !== id));
    tell();
  };
  const more = make("button", { type: "button", className: "second more" }, "Show more");
  more.hidden = !cursor;
  more.onclick = oneAtATime(() => act.attempt(async (later) => {
    const next = await search(asked, holdings, image, { cursor, signal: later });
    const added = cards(next.hits, shown);
    shown.push(...next.hits);
    list.append(...added);
    ({ cursor } = next);
    more.hidden = !cursor;
    tell(true);
    added.map((card) => card.querySelector("button")).find(Boolean)?.focus();
  }));
  tell();
  if (!asked.photo && !asked.like && !asked.parts) showPhrases(found);
  showUnderstood(at("understood"), found, asked.filter, act.refine);
  showKinds(context);
  await showChoices(context, found, image, signal);
  const newer = await newerButton(context, { list, cards, shown, tell }, signal);
  showRail(context, found, list);
  const element = make("div", {}, ...[lineAbove(context, found), newer, list, more].filter(Boolean));
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
