// What the page says about a photo someone brings: a caption, the sentences that match it, and
// where it shows what they name.

import { caption, ground, item, searchSentences } from "./api.js";
import { make, number } from "./dom.js";
import {
  askedWords, itemPhoto, keysOf, largest, photo, putBoxes, takeBoxes, words,
} from "./gallery.js";
import { darken } from "./light.js";

// A canvas needs no blob: address, which the content security policy forbids.
async function upload(file) {
  const canvas = make("canvas", { role: "img", "aria-label": "Your photo", width: 4, height: 3 });
  const bitmap = await createImageBitmap(file).catch(() => null); // the server may know more formats
  if (bitmap) {
    const zoom = Math.min(1, 1280 / Math.max(bitmap.width, bitmap.height));
    canvas.width = Math.max(1, Math.round(bitmap.width * zoom));
    canvas.height = Math.max(1, Math.round(bitmap.height * zoom));
    canvas.getContext("2d").drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  }
  return photo(canvas, canvas.width, canvas.height);
}

async function describe(place, asked, signal) {
  try {
    const { captions, notes = [] } = await caption(asked, signal);
    place.replaceChildren(
      make("p", { className: "caption" }, captions[0]?.text ?? "Nothing to say about this photo."),
      ...notes.map((note) => make("p", { className: "note" }, note)),
    );
  } catch (error) {
    if (error.name === "AbortError") return;
    place.replaceChildren(make("p", { className: "note" }, `No caption. ${error.message}`));
  }
  place.removeAttribute("aria-busy");
}

/** Light on the photo what each phrase, between commas, means; the first at once. */
async function pointOut(place, said, asked, stage, signal) {
  const tell = (text) => place.replaceChildren(make("p", { className: "note" }, text));
  const phrases = said.split(",").map((phrase) => phrase.trim()).filter(Boolean);
  darken();
  takeBoxes(stage, "point");
  if (phrases.length === 0) return tell("Name what to look for, with commas between.");
  tell("Looking…");
  try {
    const { text, phrases: found } = await ground(asked, phrases, signal);
    const fragments = found.map(({ text: label, span, boxes }) => ({ label, span, ...boxes[0] }));
    putBoxes(stage, fragments, fragments.map((_, position) => `point-${position}`), "point");
    place.replaceChildren(askedWords(fragments, text, "point", "What the photo was asked to show"));
    place.querySelector("button").click();
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
  let asking = new AbortController(); // what a newer question overtakes is dropped
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

function sentenceHit(hit, position, scale) {
  return make(
    "li",
    { className: "sentence" },
    make(
      "p",
      { className: "line" },
      make("q", {}, hit.sentence),
      make("span", { className: "score" }, number(hit.score)),
    ),
    words(hit.links, keysOf(`sentence-${position}`, hit.links), hit.sentence, scale),
    make("p", { className: "note" }, `from ${hit.id}`),
  );
}

/** Show a photo, its caption and a button in `query`; gives back its stage for boxes. */
export async function showPhoto(query, asked, findSimilar, signal) {
  const stage = asked.file ? await upload(asked.file) : itemPhoto(await item(asked.id, signal));
  const said = make("div", { "aria-live": "polite", "aria-busy": "true" },
    make("p", { className: "caption waiting" }, "Looking…"));
  const button = findSimilar && make(
    "button", { type: "button", className: "go", onclick: findSimilar }, "Find similar photos",
  );
  query.className = "asked";
  query.replaceChildren(stage, make("div", {}, said, pointer(asked, stage, signal), button));
  query.hidden = false;
  describe(said, asked, signal);
  return stage;
}

/** The list of matching sentences; their boxes go on `stage`. Null if there are none. */
export async function matchingSentences(asked, stage, signal) {
  const { hits } = await searchSentences(asked, signal);
  if (hits.length === 0) return null;
  const scale = largest(hits);
  for (const [position, { links }] of hits.entries()) {
    putBoxes(stage, links, keysOf(`sentence-${position}`, links));
  }
  return make(
    "ol",
    { className: "sentences", "aria-label": "Sentences that match" },
    ...hits.map((hit, position) => sentenceHit(hit, position, scale)),
  );
}
