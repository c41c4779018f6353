// The viewer: one item with its metadata and actions.

import { make, pictureAddress } from "../elements/dom.js";
import { factList, factsOf, metadataPairs } from "../elements/facts.js";
import { creditOf, itemPhoto, mark, photosOf, priceText, titleOf } from "../elements/gallery.js";
import { likelihood } from "../elements/likelihood.js";
import { partButton } from "../elements/part.js";
import { largest, phraseRows, phrasesOf } from "../elements/phrases.js";
import { largestReason, whyRows } from "../elements/why.js";
import { originalOf } from "../service/api.js";
import { wayBack } from "../changes/restoring.js";

const dialog = document.getElementById("viewer");
const SWIPE = 50; // pixels that a finger moves at least to another photo
let closed = () => {};
let neighbours = {}; // functions that show the item before, {before}, and the one behind, {behind}

dialog.addEventListener("close", () => closed());
dialog.addEventListener("click", (event) => event.target === dialog && dialog.close()); // outside it
dialog.addEventListener("keydown", (event) => {
  if (event.key === "Escape") event.stopPropagation(); // it closes this alone
  const busy = event.defaultPrevented || event.target.closest("input, [data-arrows], .part");
  const step = { ArrowLeft: neighbours.before, ArrowRight: neighbours.behind }[event.key];
  if (!busy && step) step();
});

/** Let a finger that moves sideways over `place` show another item. */
function listenForSwipes(place) {
  let from = null;
  const still = () => place.querySelector(".choosing-part") || window.visualViewport?.scale > 1.01;
  place.addEventListener("pointerdown", (event) => {
    from = event.pointerType === "touch" && event.isPrimary && !still() ? event : null;
  });
  place.addEventListener("pointerup", (event) => {
    if (!from || still()) return;
    const [x, y] = [event.clientX - from.clientX, event.clientY - from.clientY];
    from = null;
    if (Math.abs(x) < SWIPE || Math.abs(x) < 2 * Math.abs(y)) return;
    (x > 0 ? neighbours.before : neighbours.behind)?.();
  });
}

function stepButton(name, sign, step) {
  if (!step) return null;
  const className = `step ${name.toLowerCase()}`;
  return make("button", { type: "button", className, "aria-label": `${name} photo`, onclick: step }, sign);
}

/** The photos of an item, one in full, with `steps` to other items, and the others as small ones to choose from. */
function gallery(item, phrases, steps) {
  const photos = photosOf(item);
  const place = make("div", { className: "place" }, mark(itemPhoto(photos[0] ?? item, "whole"), phrases), ...steps);
  const small = photos.map((photo, position) => make("button", {
    type: "button", "aria-label": `Photo ${position + 1}`,
    onclick: () => place.firstChild.replaceWith(itemPhoto(photo, "whole")),
  }, make("img", { src: pictureAddress(photo.thumbnail ?? photo.image), alt: "" })));
  const others = photos.length < 2 ? null : make("div", { className: "small-photos" }, ...small);
  return make("div", { className: "photos" }, place, others);
}

/** Explain a hit: the phrases of its photo, and the scores of its fields. */
function explanation(item, phrases) {
  const gave = item.parts ?? item.words ?? [];
  if (phrases.length === 0 && gave.length === 0) return null;
  const scale = Math.max(largest([phrases]), item.parts ? 0 : largestReason(gave));
  const parts = gave.length > 0 ? whyRows({ ...item, parts: gave }, item.parts ? null : scale) : null;
  const rows = phrases.length > 0 ? phraseRows(phrases, scale) : null;
  const seen = parts && rows ? make("h3", {}, "In the photo") : null;
  return make("section", { className: "explanation" }, make("h3", {}, "Why it was found"),
    item.parts ? null : likelihood(item), parts, seen, rows);
}

/** Make the link to the original file of an item. */
const originalLink = ({ id }) =>
  make("a", { className: "second", href: originalOf(id), target: "_blank", rel: "noopener" }, "Original");

/** Make the button that deletes an item after a confirmation. */
function deletion(item, remove, { shop }) {
  const place = make("span", { className: "deletion" });
  const ask = make("button", { type: "button", className: "quiet danger" }, "Delete");
  const refused = make("span", { role: "alert", className: "note" });
  const sure = make("button", { type: "button", className: "second danger" }, shop ? "Delete for good" : "Delete it");
  const stays = shop ? "" : make("span", { className: "note" }, "The original file stays where it is. ", wayBack(item));
  const keep = make("button", { type: "button", className: "second" }, "Keep");
  ask.onclick = () => {
    place.replaceChildren(sure, keep, stays, refused);
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

/** Title, price, texts and actions of an item, and what is known of it. */
function about(item, phrases, buttons, { holdings, explained, browse, remove }) {
  const { title, price, hidden } = holdings;
  const { description } = item.metadata;
  const left = [title, price, "description", "credit", "license", ...(hidden ?? [])];
  const facts = holdings.shop ? factList(metadataPairs(item, left)) : factsOf(item, browse);
  const explaining = explained ? explanation(item, phrases) : null;
  return make("div", { className: "about" },
    make("h2", { id: "viewer-title" }, titleOf(item)),
    price && priceText(item, price) ? make("p", { className: "price" }, priceText(item, price)) : null,
    typeof description === "string" ? make("p", { className: "description" }, description) : null,
    ...item.sentences.filter((sentence) => sentence !== titleOf(item)).map((sentence) => make("q", {}, sentence)),
    ...(holdings.shop ? [buttons, explaining, facts] : [facts, explaining, buttons]),
    creditOf(item),
    remove && deletion(item, remove, holdings));
}

/**
 * Show an item. `explained` says whether it is a hit of a text; `actions` are [name, function] pairs,
 * `searchPart` takes a box of its photo, `browse` a filter, `remove` is null for those who may not, and
 * `before` and `behind` show its neighbours, if it has such.
 */
export function showViewer(item, { holdings, explained, actions, searchPart, browse, remove, left, before, behind }) {
  const phrases = explained ? phrasesOf(item, "query") : [];
  const photos = gallery(item, phrases, [stepButton("Previous", "‹", before), stepButton("Next", "›", behind)]);
  const stage = photos.querySelector(".stage");
  const buttons = actions.map(([name, act]) =>
    make("button", { type: "button", className: "second", onclick: () => act(item) }, name));
  const original = item.original ? originalLink(item) : null;
  const part = item.image ? partButton(stage, (box) => searchPart(item, box)) : null;
  const close = make("button", {
    type: "button", className: "close", "aria-label": "Close", onclick: () => dialog.close(),
  }, "×");
  const focused = ["previous", "next"].find((name) => document.activeElement?.matches(`.step.${name}`));
  neighbours = { before, behind };
  listenForSwipes(photos);
  dialog.replaceChildren(make("article", { className: "hit viewing" }, close, photos,
    about(item, phrases, make("p", { className: "actions" }, ...buttons, part, original), { holdings, explained, browse, remove })));
  dialog.classList.toggle("of-photo", !holdings.shop);
  dialog.scrollTop = 0;
  closed = left;
  if (!dialog.open) dialog.showModal();
  (dialog.querySelector(`.step.${focused}`) ?? close).focus({ preventScroll: true });
}

/** Close the viewer without a word to whoever opened it. */
export function closeViewer() {
  closed = () => {};
  dialog.close();
}
