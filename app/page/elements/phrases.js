// The phrases of a text, with the region and the similarity of each.

import { make, number } from "./dom.js";
import { arrows } from "./light.js";

const ANSWERING = 3; // words of a sentence that are named for a phrase
const isFrame = (box) => box.join() === "0,0,1,1";

/** The links of each fragment as one phrase, which its strongest link places. */
function ungrouped(links) {
  const fragments = [...new Set(links.map(({ fragment }) => fragment))];
  return fragments.map((wanted) => {
    const own = links.filter(({ fragment }) => fragment === wanted);
    const strongest = own.reduce((best, link) => (link.similarity > best.similarity ? link : best));
    const add = (name) => own.reduce((sum, link) => sum + (link[name] ?? 0), 0);
    const split = own.every((link) => typeof link.whole === "number");
    return {
      ...strongest,
      text: strongest.label,
      similarity: add("similarity"),
      whole: split ? add("whole") : null,
      added: split ? add("added") : null,
    };
  });
}

/** A part of a question with a name for all that lights up with it, and no box around everything. */
export function keyed(name, part, fragment = part.fragment) {
  const key = `${name}-${part.span ? part.span.join("-") : fragment}`;
  return { ...part, key, box: part.box && !isFrame(part.box) ? part.box : null };
}

/** Return whether a phrase stands for the whole text; it comes after the phrases in it. */
function isWhole({ span }, position, phrases) {
  if (!span || position === 0 || position < phrases.length - 1) return false;
  return phrases.every((other) => span[0] <= other.span[0] && span[1] >= other.span[1]);
}

function named(phrase, position, phrases) {
  return isWhole(phrase, position, phrases) ? { ...phrase, text: "whole sentence" } : phrase;
}

/** The words of a text that stand in a hit's photo, each with its boxes. */
function visibleWords({ words = [], photo }, name) {
  return words.flatMap(({ word, gave, boxes = [] }) => {
    const [box, ...more] = boxes.filter((place) => place.photo === photo).map((place) => place.box);
    const part = { text: `“${word}”`, similarity: gave, whole: null, added: null, negated: false };
    return box ? [{ ...part, key: `${name}-visible-${encodeURIComponent(word)}`, box, more }] : [];
  });
}

/** A hit's phrases, or its links where it has none, each with its key; then words in its photo. */
export function phrasesOf(hit, name) {
  const { phrases = [], links } = hit;
  const parts = phrases.length > 0 ? phrases : ungrouped(links);
  return [...parts.map(named).map((phrase) => keyed(name, phrase)), ...visibleWords(hit, name)];
}

/** The phrases of the question that hits answer. */
export function askedPhrases({ query, hits }) {
  const { phrases = [] } = hits[0];
  const words = query.fragments.map((part) => ({ ...part, text: part.label }));
  return (phrases.length > 0 ? phrases : words).map(named).map((part) => keyed("query", part));
}

/** Return the largest similarity of a phrase, which fills its bar; of what is asked for, if anything. */
export function largest(lists) {
  const phrases = lists.flat();
  const asked = phrases.filter(({ negated }) => !negated);
  return Math.max(...(asked.length > 0 ? asked : phrases).map(({ similarity }) => Math.abs(similarity)), 0);
}

function nameOf({ text, negated }) {
  const name = make(negated ? "s" : "span", { className: "name" }, text);
  name.classList.toggle("all", text === "whole sentence");
  return name;
}

/** Return the whole photo's and the region's shares of a bar, 0 to 1 of `scale`. */
function shares({ similarity, whole }, scale) {
  const all = Math.min(Math.abs(similarity) / (scale || 1), 1);
  if (typeof whole !== "number" || similarity <= 0) return [0, all];
  const part = Math.min(Math.max(whole / similarity, 0), 1); // a negative term is in the number only
  return [all * part, all * (1 - part)];
}

function bar(phrase, scale) {
  const [whole, added] = shares(phrase, scale);
  const drawn = make("span", { className: "gave", "aria-hidden": "true" },
    make("span", { className: "by-whole" }), make("span", { className: "by-part" }));
  drawn.style.setProperty("--whole-share", whole);
  drawn.style.setProperty("--part-share", added);
  return drawn;
}

function explained({ similarity, whole, added, negated, words }) {
  const why = similarity > 0 ? "it is not there" : "it should not be there";
  const what = negated ? `${number(similarity)}, because ${why}` : number(similarity);
  if (words) return words.length > 0 ? `${what}: ${words.join(", ")}` : what;
  if (typeof whole !== "number" || typeof added !== "number") return what;
  return `${what}: the whole photo ${number(whole)}, this part ${number(added)}`;
}

/** Name what answers a phrase, unless a box shows it: words of a sentence, or the whole photo. */
function whereOf({ box, words }) {
  return words?.join(", ") ?? (box ? "" : "the whole photo");
}

function row(phrase, scale) {
  const button = make(
    "button",
    {
      type: "button", className: "phrase", "data-lights": phrase.key, "aria-pressed": "false",
      title: explained(phrase),
    },
    nameOf(phrase),
    make("span", { className: "measure" },
      bar(phrase, scale),
      make("span", { className: "where" }, whereOf(phrase))),
    make("span", { className: "number" }, number(phrase.similarity)),
  );
  button.classList.toggle("boxed", phrase.box !== null);
  button.classList.toggle("negative", phrase.similarity < 0);
  button.classList.toggle("negated", phrase.negated ?? false);
  return make("li", {}, button);
}

/** The phrases of a text that a sentence answers, each with the words that do, the clearest first. */
export function answeredPhrases(hit, fragments, name) {
  const within = ([start, end], span) => start <= span[0] && span[1] <= end;
  return phrasesOf(hit, name).map((phrase) => {
    const links = hit.links.filter(({ fragment, added }) => added > 0 && within(phrase.span, fragments[fragment].span));
    links.sort((one, other) => other.added - one.added);
    return { ...phrase, words: [...new Set(links.map(({ label }) => label))].slice(0, ANSWERING) };
  });
}

/** Show phrases with bars of their similarities, in reading order. */
export function phraseRows(phrases, scale, label = "What each phrase gave: the whole photo, and the part that is marked") {
  const rows = phrases.map((phrase) => row(phrase, scale));
  return arrows(make("ul", { className: "phrases", "aria-label": label }, ...rows));
}

function chip(phrase) {
  if (phrase.absent) {
    const reason = make("span", { className: "absent" }, "not found");
    return make("li", {}, make("span", { className: "word" }, nameOf(phrase), reason));
  }
  const properties = {
    type: "button", className: "word", "data-lights": phrase.key, "aria-pressed": "false",
  };
  const button = make("button", properties, nameOf(phrase));
  button.classList.toggle("negated", phrase.negated ?? false);
  return make("li", {}, button);
}

/** Show the phrases of a question, which light their regions; mark those that were not found. */
export function phraseChips(phrases, label) {
  const chips = phrases.map(chip);
  return arrows(make("ul", { className: "words", "aria-label": label }, ...chips));
}
