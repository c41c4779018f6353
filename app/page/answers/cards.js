// Cards of hits: of photos, of parts of them, or of products.

import { make } from "../elements/dom.js";
import { partHit, photoHit, plainItem, productHit } from "../elements/gallery.js";
import { likelihood, withWeakLine } from "../elements/likelihood.js";
import { largest, phrasesOf } from "../elements/phrases.js";
import { byPhotoAlone, whyLine } from "../elements/why.js";
import { isQuestion } from "../questions/search.js";
import { label } from "../service/holdings.js";
import { headings } from "./timeline.js";

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
export function cardsFor({ asked, holdings, act }, first) {
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
