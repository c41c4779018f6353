// What the page says about a photo someone brings: a caption, and the sentences that match it.

import { caption, item, searchSentences } from "./api.js";
import { make, number } from "./dom.js";
import { itemPhoto, keysOf, largest, photo, putBoxes, words } from "./gallery.js";

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
  query.replaceChildren(stage, make("div", {}, ...[said, button].filter(Boolean)));
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
