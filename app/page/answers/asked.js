// Answers about an uploaded photo: a caption, the matching sentences, and the
// regions of their phrases.

import { ground, searchSentences } from "../service/api.js";
import { describe } from "../elements/caption.js";
import { make } from "../elements/dom.js";
import { creditOf, itemPhoto, mark, photo, titleOf, unmark } from "../elements/gallery.js";
import { darken } from "../elements/light.js";
import { isWeak, likelihood, nothingLikeThat, withWeakLine } from "../elements/likelihood.js";
import { outlinePart, partButton } from "../elements/part.js";
import { answeredPhrases, keyed, largest, phraseChips, phraseRows, phrasesOf } from "../elements/phrases.js";

/** A place for an upload in a format that the service may know and this browser does not. */
function unshown() {
  const stage = photo(make("p", {}, "This browser cannot show the file."), 4, 3);
  stage.classList.add("unshown");
  return stage;
}

// A canvas needs no blob: address, which the content security policy forbids.
async function upload(file) {
  const bitmap = await createImageBitmap(file).catch(() => null);
  if (!bitmap) return unshown();
  const zoom = Math.min(1, 1280 / Math.max(bitmap.width, bitmap.height));
  const canvas = make("canvas", {
    role: "img", "aria-label": "Your photo",
    width: Math.max(1, Math.round(bitmap.width * zoom)), height: Math.max(1, Math.round(bitmap.height * zoom)),
  });
  const context = canvas.getContext("2d");
  context.fillStyle = "white"; // the ground of stored copies
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  return photo(canvas, canvas.width, canvas.height);
}

/** A phrase with its likeliest box; absent where none was found. */
function grounded({ text, span, boxes, present = true }) {
  return keyed("point", { text, span, ...boxes[0], absent: !present || boxes.length === 0 });
}

/** Light the region of each phrase between commas; the first one immediately. */
async function pointOut(place, said, asked, stage, signal) {
  const tell = (text) => place.replaceChildren(make("p", { className: "note" }, text));
  const phrases = said.split(",").map((phrase) => phrase.trim()).filter(Boolean);
  darken();
  unmark(stage, "point");
  if (phrases.length === 0) return tell("Name what to look for, with commas between.");
  tell("Looking…");
  try {
    const { phrases: found } = await ground(asked, phrases, signal);
    const parts = found.map(grounded);
    mark(stage, parts.filter(({ absent }) => !absent), { group: "point" });
    place.replaceChildren(phraseChips(parts, "What the photo was asked to show"));
    place.querySelector("button")?.click();
  } catch (error) {
    if (error.name !== "AbortError") tell(error.message);
  }
}

function pointer(asked, stage, signal) {
  const place = make("div", { "aria-live": "polite" });
  const input = make("input", {
    type: "text", required: true, autocomplete: "off", enterKeyHint: "search", maxLength: 1000,
    placeholder: "the dog, a red ball", "aria-label": "What to point out in this photo",
  });
  let asking = new AbortController(); // a newer question cancels older ones
  signal.addEventListener("abort", () => asking.abort());
  const onsubmit = (event) => {
    event.preventDefault();
    asking.abort();
    asking = new AbortController();
    pointOut(place, input.value, asked, stage, asking.signal);
  };
  const button = make("button", { type: "submit", className: "second" }, "Point out");
  return make("form", { className: "point", onsubmit }, input, button, place);
}

function sentenceHit(hit, found, scale, weakBelow, label) {
  return make(
    "li",
    { className: "sentence" },
    make("q", {}, hit.sentence),
    likelihood(hit, weakBelow),
    phraseRows(found, scale, label),
    make("p", { className: "note" }, `from ${titleOf(hit)}`),
  );
}

/**
 * Show the photo that is searched with, {stored, upload, box, search}, in `query`: a button to search
 * with a part of it and, if `explained`, what it shows. Gives back its stage for boxes, and what
 * fetches the caption of what is `sent`.
 */
export async function showPhoto(query, { stored, upload: file, box, search }, sent, explained, signal) {
  const stage = stored ? itemPhoto(stored) : await upload(file);
  if (box) outlinePart(stage, box);
  const whole = box && make("button", { type: "button", className: "second", onclick: () => search(null) }, "Search with all of it");
  const title = make("p", { className: "title" }, stored ? titleOf(stored) : "Your photo");
  const part = stage.matches(".unshown") ? null : partButton(stage, search);
  const parts = make("p", { className: "actions" }, part, whole);
  const about = make("div", {}, title, stored && creditOf(stored), parts);
  query.className = "asked";
  query.replaceChildren(stage, about);
  query.hidden = false;
  return { stage, describe: () => explained && explainPhoto(about, sent, stage, signal) };
}

/** Show a caption below a photo, and a field to find things in it. */
function explainPhoto(about, sent, stage, signal) {
  const said = make("div", { "aria-live": "polite", "aria-busy": "true" },
    make("p", { className: "caption waiting" }, "Looking…"));
  const regions = make("div", { className: "regions" });
  about.append(said, regions, pointer(sent, stage, signal));
  describe(said, regions, sent, stage, signal);
}

/** A section of the sentences that are probably like a text, if there are any. */
export async function sentencesLike({ text, filter }, signal) {
  const filtered = Object.keys(filter).length > 0 ? { filter } : {};
  const { hits, query, weak_below: weakBelow } = await searchSentences({ text, ...filtered }, signal);
  const likely = hits.filter((hit) => !isWeak(hit, weakBelow));
  if (likely.length === 0) return [];
  const found = likely.map((hit, position) => answeredPhrases(hit, query.fragments, `said-${position}`));
  const label = "What each phrase gave, and the words that answer it";
  const cards = likely.map((hit, at) => sentenceHit(hit, found[at], largest(found), weakBelow, label));
  const list = make("ol", { className: "sentences", "aria-label": "Sentences like this" }, ...cards);
  return [make("section", {}, make("h2", {}, "Sentences like this"), list)];
}

/** The matching sentences as elements; their boxes go on `stage`. None if there are none. */
export async function matchingSentences(asked, stage, signal) {
  const { hits, weak_below: weakBelow } = await searchSentences(asked, signal);
  if (hits.length === 0) return [];
  const found = new Map(
    hits.map((hit, position) => [hit, phrasesOf(hit, `sentence-${position}`)]),
  );
  const scale = largest([...found.values()]);
  for (const [hit, phrases] of found) mark(stage, phrases, { best: hit === hits[0] });
  const card = (hit) => sentenceHit(hit, found.get(hit), scale, weakBelow);
  const list = make(
    "ol",
    { className: "sentences", "aria-label": "Sentences that match" },
    ...withWeakLine(hits, weakBelow, card),
  );
  return [nothingLikeThat(hits, weakBelow), list].filter(Boolean);
}
