// Captions of a photo and its regions; each word lights its region.

import { caption, model } from "../service/api.js";
import { make } from "./dom.js";
import { mark, unmark } from "./gallery.js";
import { arrows, darken } from "./light.js";
import { keyed, phraseChips } from "./phrases.js";

const REGIONS = 12;

const note = (text) => make("p", { className: "note" }, text);

/** Convert a word of a caption to a part: text, box and similarity. */
const partOf = (word) => keyed("caption", { ...word, similarity: word.contribution });

const isPart = ({ contribution, supported }) => contribution !== null && supported !== false;

/** Make a button that lights a word's region; unsupported words are marked. */
function wordElement(word) {
  if (word.supported === false) {
    return make("s", { className: "unsupported", title: "Not sure of this word" }, word.text);
  }
  if (!isPart(word)) return word.text;
  const { key, box } = partOf(word);
  const button = make("button", {
    type: "button", className: "said", "data-lights": key, "aria-pressed": "false",
  }, word.text);
  button.classList.toggle("boxed", box !== null);
  return button;
}

/** The sentence, its words with what lies between them. */
function sentence({ text, words }) {
  let end = 0;
  const parts = words.flatMap((word) => {
    const between = text.slice(end, word.span[0]);
    [, end] = word.span;
    return [between, wordElement(word)];
  });
  return arrows(make("span", { className: "sentence-of-words" }, ...parts, text.slice(end)));
}

/** Return the unsupported words of a caption; neighbours form one phrase. */
function doubtsOf({ text, words }) {
  const runs = [];
  for (const { span: [start, end], supported } of words) {
    if (supported !== false) continue;
    const last = runs.at(-1);
    if (last && start === last[1] + 1) last[1] = end;
    else runs.push([start, end]);
  }
  return runs.map(([start, end]) => text.slice(start, end));
}

/** Show a caption in large letters, or an improbable one as a guess in small letters. */
function described(found) {
  if (!found) return [make("p", { className: "caption" }, "Nothing to say about this photo.")];
  const doubted = doubtsOf(found);
  const words = doubted.join(", ");
  const doubts = doubted.length > 0 ? [note(`Not sure of ${words.includes(" ") ? "these words" : "this word"}: ${words}.`)] : [];
  if (!found.unsure) return [make("p", { className: "caption" }, sentence(found)), ...doubts];
  return [
    make("p", { className: "caption" }, "Not sure what this shows"),
    make("p", { className: "note guess" }, "best guess: ", sentence(found)),
    ...doubts,
  ];
}

/**
 * Put the caption of a photo into `place`, and the boxes of its words on the photo; into `regions` a
 * button for captions of its regions, where there are any.
 */
export async function describe(place, regions, asked, stage, signal) {
  try {
    const { region_captioner: loaded } = await model(signal);
    const wanted = loaded ? { ...asked, regions: REGIONS } : asked;
    const { captions, regions: found = [], notes = [] } = await caption(wanted, signal);
    const words = captions[0]?.words ?? [];
    mark(stage, words.filter(isPart).map(partOf), { group: "caption", best: false });
    place.replaceChildren(...described(captions[0]), ...notes.map(note));
    if (found.length > 0) offerRegions(regions, found, stage);
  } catch (error) {
    if (error.name === "AbortError") return;
    place.replaceChildren(note(`No caption. ${error.message}`));
  }
  place.removeAttribute("aria-busy");
}

/** Show a region's caption where it hides the region least. */
function snippet({ key, text, box }) {
  const strip = make("p", { className: "snippet", "data-group": "regions", "data-lights": key, "aria-hidden": "true" }, text);
  strip.classList.toggle("above", box[1] + box[3] > 1);
  return strip;
}

/** Offer to show the captions of a photo's regions. */
function offerRegions(place, regions, stage) {
  const found = make("div", { "aria-live": "polite" });
  const button = make("button", { type: "button", className: "second" }, "Describe regions");
  button.onclick = () => showRegions(found, regions, stage);
  place.replaceChildren(button, found);
}

function showRegions(place, regions, stage) {
  darken();
  unmark(stage, "regions");
  const parts = regions.map((region, position) => (
    { key: `regions-${position}`, box: region.box, text: region.caption, similarity: region.score }
  ));
  mark(stage, parts, { group: "regions", best: false });
  stage.querySelector(".photo").append(...parts.map(snippet));
  stage.classList.add("with-regions");
  place.replaceChildren(phraseChips(parts, "What is in the regions of the photo"));
}
