// The viewer: one item with its metadata and actions.

import { make, pictureAddress, visible } from "./dom.js";
import { creditOf, itemPhoto, mark, photosOf, priceText, titleOf } from "./gallery.js";
import { label } from "./holdings.js";
import { likelihood } from "./likelihood.js";
import { partButton } from "./part.js";
import { largest, phraseRows, phrasesOf } from "./phrases.js";
import { whyRows } from "./why.js";

const dialog = document.getElementById("viewer");
let closed = () => {};

dialog.addEventListener("close", () => closed());
dialog.addEventListener("keydown", (event) => event.stopPropagation()); // Escape closes this alone
dialog.addEventListener("click", (event) => event.target === dialog && dialog.close()); // outside it

function plain(value) {
  if (Array.isArray(value)) return value.map(plain).join(", ");
  return value && typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** The metadata of an item, without its title, price and credit. */
function metadataRows({ id, metadata }, { title, price, hidden }) {
  const left = [title, price, "description", "credit", "license", "text_boxes", ...(hidden ?? [])];
  const rows = Object.entries(metadata).filter(([key, value]) => !left.includes(key) && value !== null);
  const pairs = [...rows.map(([key, value]) => [label(key), plain(value)]), ["Id", visible(id)]];
  return make("dl", {}, ...pairs.flatMap(([name, text]) => [make("dt", {}, name), make("dd", {}, text)]));
}

/** The photos of an item, one in full and the others as small ones to choose from. */
function gallery(item, phrases) {
  const photos = photosOf(item);
  const stage = mark(itemPhoto(photos[0] ?? item, 0, "whole"), phrases);
  if (photos.length < 2) return stage;
  const place = make("div", {}, stage);
  const small = photos.map((photo, position) => make("button", {
    type: "button", "aria-label": `Photo ${position + 1}`,
    onclick: () => place.replaceChildren(itemPhoto(photo, position, "whole")),
  }, make("img", { src: pictureAddress(photo.thumbnail ?? photo.image), alt: "" })));
  return make("div", {}, place, make("div", { className: "small-photos" }, ...small));
}

/** Explain a hit: the phrases of its photo, and the scores of its fields. */
function explanation(item, phrases) {
  if (phrases.length === 0 && !item.parts?.length) return null;
  const parts = item.parts?.length ? whyRows(item) : null;
  const rows = phrases.length > 0 ? phraseRows(phrases, largest([phrases])) : null;
  const seen = parts && rows ? make("h3", {}, "In the photo") : null;
  return make("section", { className: "explanation" }, make("h3", {}, "Why it was found"),
    parts ?? likelihood(item), seen, rows);
}

/** Make the button that deletes an item after a confirmation. */
function deletion(item, remove) {
  const place = make("span", { className: "deletion" });
  const ask = make("button", { type: "button", className: "quiet danger" }, "Delete");
  const refused = make("span", { role: "alert", className: "note" });
  const sure = make("button", { type: "button", className: "second danger" }, "Delete for good");
  const keep = make("button", { type: "button", className: "second" }, "Keep");
  ask.onclick = () => {
    place.replaceChildren(sure, keep, refused);
    keep.focus();
  };
  keep.onclick = () => {
    place.replaceChildren(ask);
    ask.focus();
  };
  sure.onclick = () => remove(item).catch((error) => (refused.textContent = error.message));
  place.append(ask);
  return place;
}

/**
 * Show an item. `explained` says whether it is a hit of a text; `actions` are [name, function] pairs,
 * `searchPart` takes a box of its photo, `remove` is null for those who may not.
 */
export function showViewer(item, { holdings, explained, actions, searchPart, remove, left }) {
  const phrases = explained ? phrasesOf(item, "query") : [];
  const shown = gallery(item, phrases);
  const stage = shown.matches(".stage") ? shown : shown.querySelector(".stage");
  const { price } = holdings;
  const description = item.metadata.description;
  const buttons = actions.map(([name, act]) =>
    make("button", { type: "button", className: "second", onclick: () => act(item) }, name));
  const part = item.image ? partButton(stage, (box) => searchPart(item, box)) : null;
  const close = make("button", {
    type: "button", className: "close", "aria-label": "Close", onclick: () => dialog.close(),
  }, "×");
  dialog.replaceChildren(make("article", { className: "hit viewing" },
    close,
    make("div", { className: "photos" }, shown),
    make("div", { className: "about" },
      make("h2", { id: "viewer-title" }, titleOf(item)),
      price && priceText(item, price) ? make("p", { className: "price" }, priceText(item, price)) : null,
      typeof description === "string" ? make("p", { className: "description" }, description) : null,
      ...item.sentences.filter((sentence) => sentence !== titleOf(item)).map((sentence) => make("q", {}, sentence)),
      make("p", { className: "actions" }, ...buttons, part),
      explained ? explanation(item, phrases) : null,
      metadataRows(item, holdings),
      creditOf(item),
      remove && deletion(item, remove))));
  closed = left;
  if (!dialog.open) dialog.showModal();
  close.focus({ preventScroll: true });
}

/** Close the viewer without a word to whoever opened it. */
export function closeViewer() {
  closed = () => {};
  dialog.close();
}
