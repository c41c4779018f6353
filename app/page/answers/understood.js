// Chips for the query as understood: corrected words, refused words and filters.

import { make } from "../elements/dom.js";
import { choosing, chosenValues, rangeText, valueText } from "./facets.js";
import { label } from "../service/holdings.js";

function chip(text, kind, undo, what) {
  if (!undo) return make("li", { className: `chip ${kind}` }, text);
  const cross = make("span", { "aria-hidden": "true" }, " ×");
  const properties = { type: "button", "aria-label": `Take off: ${what}`, onclick: undo };
  return make("li", { className: `chip ${kind}` }, make("button", properties, text, cross));
}

const OR = /^\s+n?or\b/i;
const REFUSES = /(?:-|\b(?:without|no|not|but not|except|n?or)\s+(?:a\s+|an\s+|any\s+)?)$/i;

/** Remove a refused word and its negation: "no oak or pine" becomes "no pine". */
function withoutWord(text, [start, end]) {
  const [before, after] = [text.slice(0, start), text.slice(end)];
  const rest = OR.test(after) ? `${before} ${after.replace(OR, "")}` : `${before.replace(REFUSES, "")} ${after}`;
  return rest.replace(/\s+/g, " ").trim();
}

/** Make the button that searches a text without corrections. */
function asTyped(text, ask) {
  const button = make("button", { type: "button", onclick: () => ask({ typed: true }) }, `Search for “${text}” as typed`);
  return make("li", { className: "chip typed" }, button);
}

function wordChips({ words, refused, text, corrected }, ask) {
  const respelled = [...words, ...refused].filter(({ spelling }) => spelling !== null);
  const once = respelled.filter(({ span }, at) => respelled.findIndex((one) => one.span[0] === span[0]) === at);
  return [
    ...once.map((word) => chip(`“${word.text}” read as “${word.spelling}”`, "corrected")),
    corrected && once.length > 0 ? asTyped(text, ask) : null,
    ...words.filter(({ synonyms }) => synonyms?.length > 0).map((word) =>
      chip(`${word.text}, also ${word.synonyms.join(", ")}`, "synonym")),
    ...refused.map((word) => chip(`without ${word.text}`, "refused",
      () => ask({ text: withoutWord(text, word.span) || null }), `without ${word.text}`)),
  ];
}

/** Chips of dates in the text; without them, these are words again. */
function dateChips({ filters = [] }, ask) {
  return filters.map(({ words }) => chip(`Taken: ${words}`, "filter", () => ask({ undated: true }), words));
}

function filterChips(filter, ask) {
  return Object.entries(filter).flatMap(([key, chosen]) => {
    const name = label(key);
    if (key.startsWith("$") || (chosen && typeof chosen === "object" && !Array.isArray(chosen))) {
      const text = key.startsWith("$") ? JSON.stringify({ [key]: chosen }) : `${name}: ${rangeOf(chosen)}`;
      return [chip(text, "filter", () => ask({ filter: choosing(filter, key, null) }), text)];
    }
    const values = chosenValues(filter, key);
    return values.map((value) => {
      const text = `${name}: ${valueText(value)}`;
      const others = values.filter((one) => one !== value);
      return chip(text, "filter", () => ask({ filter: choosing(filter, key, others) }), text);
    });
  });
}

function rangeOf(chosen) {
  const numbers = ["gte", "lt", "lte"].some((name) => typeof chosen[name] === "number");
  return numbers || chosen.prefix ? rangeText(chosen) : JSON.stringify(chosen);
}

/** Show the query as understood in `place`; call `ask` with changes. */
export function showUnderstood(place, answer, filter, ask) {
  const filters = filterChips(filter, ask);
  const clear = filters.length > 1 ? chip("Clear all filters", "clear", () => ask({ filter: {} }), "all filters") : null;
  const chips = [...wordChips(answer, ask), ...dateChips(answer, ask), ...filters, clear].filter(Boolean);
  place.replaceChildren(...chips);
  place.hidden = chips.length === 0;
}
