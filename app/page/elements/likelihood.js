// Likelihoods of hits: in words, as a bar, in percent on demand, and where weak hits begin.

import { make } from "./dom.js";

const NAMES = [[0.9, "Very likely"], [0.6, "Likely"], [0, "Possible"]];

/** Return whether a hit is weak, by the line of its page; false without probabilities. */
export function isWeak({ probability, weakBelow: own }, weakBelow) {
  return typeof probability === "number" && probability < (own ?? weakBelow ?? 0);
}

function percent(probability) {
  if (probability < 0.01) return "under 1 %";
  return probability > 0.99 ? "over 99 %" : `${Math.round(100 * probability)} %`;
}

/** A hit's probability in words; nothing where there is none. */
export function likelihoodName(hit, weakBelow = 0) {
  const { probability } = hit;
  if (typeof probability !== "number") return "";
  return isWeak(hit, weakBelow) ? "Weak" : NAMES.find(([least]) => probability >= least)[1];
}

/** A hit's probability as words, a bar and percent; null where there is none. */
export function likelihood(hit, weakBelow) {
  const { probability } = hit;
  if (typeof probability !== "number") return null;
  const bar = make("span", { className: "meter", "aria-hidden": "true" }, make("span"));
  bar.style.setProperty("--share", probability);
  return make(
    "p",
    { className: "likelihood", title: `How likely it is that the two belong together: ${percent(probability)}` },
    make("span", {}, likelihoodName(hit, weakBelow)), bar, make("span", { className: "percent" }, percent(probability)),
  );
}

/**
 * Cards of hits, best first, with a line before the first weak one. `after` are the hits of the
 * pages before: the line is drawn once, and not at all where every hit is weak.
 */
export function withWeakLine(hits, weakBelow, card, after = []) {
  const weak = hits.map((hit) => isWeak(hit, weakBelow));
  const first = weak.indexOf(true);
  const cards = hits.map((hit, position) => {
    const made = card(hit);
    made.classList.toggle("weak", weak[position]);
    return made;
  });
  const strongBefore = first > 0 || (first === 0 && after.length > 0);
  if (strongBefore && !after.some((hit) => isWeak(hit, weakBelow))) {
    cards.splice(first, 0, make("li", { className: "weak-line" }, "Weak matches below"));
  }
  return cards;
}

/** Return the line above a list of weak hits only; null for another list. */
export function nothingLikeThat(hits, weakBelow) {
  if (hits.length === 0 || !hits.every((hit) => isWeak(hit, weakBelow))) return null;
  return make(
    "div",
    { className: "nothing" },
    make("h2", {}, "Nothing here looks like that"),
    make("p", {}, "These come nearest, but they are weak matches."),
  );
}
