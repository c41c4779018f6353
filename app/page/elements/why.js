// Why a product was found: what its fields and its photo gave, as bars; the numbers on demand.

import { make, number } from "./dom.js";
import { label } from "../service/holdings.js";
import { likelihoodName } from "./likelihood.js";

const OF_PHOTO = ["looks", "likeness"]; // what a photo gives: it shows the text, or is like a photo

/** The parts of a score by where they come from: {name, words, gave}, the largest first. */
function reasons({ parts }) {
  const sums = new Map();
  for (const { kind, field, word, gave } of parts) {
    const name = OF_PHOTO.includes(kind) ? "Photo" : kind === "meaning" ? "Meaning" : kind === "boost" ? "Boost" : kind === "pinned" ? "Pinned" : label(field);
    const { words = [], gave: before = 0 } = sums.get(name) ?? {};
    sums.set(name, { name, kind, words: word && !words.includes(word) ? [...words, word] : words, gave: before + gave });
  }
  return [...sums.values()].filter(({ gave }) => Math.abs(gave) > 0.005).sort((a, b) => b.gave - a.gave);
}

function meter(share) {
  const bar = make("span", { className: "meter", "aria-hidden": "true" }, make("span"));
  bar.style.setProperty("--share", Math.max(0, Math.min(1, share)));
  return bar;
}

/** Whether no word of the question is in a product's fields: its photo alone was found. */
export function byPhotoAlone({ parts }) {
  return Boolean(parts) && parts.length > 0 && parts.every(({ kind }) => OF_PHOTO.includes(kind) || kind === "boost");
}

/** One line: the match of a product, relative to the best one, and its reasons. */
export function whyLine(hit, best) {
  const names = reasons(hit).filter(({ gave }) => gave > 0).map(({ name }) => name.toLowerCase());
  if (names.length === 0) return null;
  const why = byPhotoAlone(hit) ? `By its photo: ${likelihoodName(hit).toLowerCase()}`
    : `Matches in ${names.slice(0, 3).join(", ")}`;
  return make("p", { className: "why", title: `Score ${number(hit.score)}` },
    meter(hit.score / (best || 1)), make("span", {}, why));
}

/** The most that a field or the photo gave. */
export function largestReason(parts) {
  return Math.max(...reasons({ parts }).map(({ gave }) => gave), 0.01);
}

/** A row for each field and the photo: what matched, a bar of a scale, and the number when it is pointed at. */
export function whyRows(hit, scale = null) {
  const found = reasons(hit);
  const most = scale ?? largestReason(hit.parts);
  const rows = found.map(({ name, kind, words, gave }) => {
    const what = OF_PHOTO.includes(kind) ? likelihoodName(hit) : words.join(", ");
    return make("li", { tabIndex: 0, title: number(gave) },
      make("span", { className: "name" }, what ? `${name}: ${what}` : name),
      meter(gave / most), make("span", { className: "number" }, number(gave)));
  });
  return make("ul", { className: "reasons", "aria-label": "What each field gave" }, ...rows);
}
