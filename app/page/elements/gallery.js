// Items and hits: a photo with marked parts, its credit and its phrases.

import { takenText } from "./dates.js";
import { make, pictureAddress, visible } from "./dom.js";
import { arrows } from "./light.js";
import { likelihood } from "./likelihood.js";
import { phraseRows } from "./phrases.js";

/** A picture (an img or a canvas) that parts can be marked on. */
export function photo(picture, width, height) {
  const label = picture.alt || "Your photo";
  const frame = make("div", { className: "photo", role: "group", "aria-label": label }, picture);
  const stage = make("div", { className: "stage" }, frame);
  stage.style.setProperty("--ratio", width / height);
  return stage;
}

/**
 * Mark what answers each part {key, text, box, similarity, added}: one button for each different
 * box of a group, and one outline of the whole photo for the parts without a box. With `best`, the
 * box that added most is outlined before anyone points at anything. A part may have `more` boxes.
 * Without `keeps`, a click on a box does not keep its light and is the stage's.
 */
export function mark(stage, parts, { group = "links", best = true, keeps = true } = {}) {
  const frame = stage.firstChild;
  const boxed = parts.filter(({ box }) => box);
  const gain = ({ added, similarity }) => added ?? similarity ?? 0;
  const most = Math.max(...boxed.map(gain));
  const all = boxed.flatMap((part) => [part, ...(part.more ?? []).map((box) => ({ ...part, box }))]);
  for (const part of all) {
    const button = boxButton(frame, part, { group, keeps });
    if (best && most > 0 && gain(part) === most) button.classList.add("best");
  }
  const others = parts.filter(({ box }) => !box).map(({ key }) => key);
  if (others.length > 0) {
    const outline = { className: "everything", "data-group": group, "data-lights": others.join(" ") };
    const name = make("span", {}, "the whole photo");
    frame.append(make("div", { ...outline, "aria-hidden": "true" }, name));
  }
  arrows(frame);
  return stage;
}

/** The button of a part's box, which parts of a group with the same box share. */
function boxButton(frame, { key, text, box }, { group, keeps }) {
  const place = box.join();
  const there = frame.querySelector(`[data-group="${group}"][data-place="${place}"]`);
  const button = there ?? emptyBox(box, keeps);
  Object.assign(button.dataset, { group, place });
  button.dataset.lights = `${button.dataset.lights ?? ""} ${key}`.trim();
  button.ariaLabel = there ? `${there.ariaLabel}, ${text}` : `Part of the photo for ${text}`;
  if (!there) frame.append(button);
  return button;
}

/** Take a group's marks off a photo. */
export function unmark(stage, group) {
  for (const element of stage.querySelectorAll(`[data-group="${group}"]`)) element.remove();
}

function emptyBox([left, top, right, bottom], keeps) {
  const click = keeps ? { "aria-pressed": "false" } : { onmousedown: (event) => event.preventDefault() }; // no focus, which lights
  const button = make("button", { type: "button", className: "box", ...click });
  const percent = (fraction) => `${100 * fraction}%`;
  button.style.left = percent(left);
  button.style.top = percent(top);
  button.style.width = percent(right - left);
  button.style.height = percent(bottom - top);
  button.style.zIndex = Math.round(1000 * (1 - (right - left) * (bottom - top))); // small on top
  return button;
}

const HASH = /^(?=.*\d)(?=.*[a-f])([\da-f]{16,}|[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12})(\.\w+)?$/i;

const isText = (value) => typeof value === "string" && value !== "";
const lastPart = (path) => visible(path.split("/").at(-1));

/** Return an item's title, its name, the last part of its id or its file; its date where these are hashes. */
export function titleOf({ id, metadata }) {
  const { title, name, file, taken } = metadata ?? {};
  const places = [id, file].filter(isText).map(lastPart);
  return [title, name].find(isText) ?? places.find((place) => !HASH.test(place)) ?? (isText(taken) ? takenText(taken) : "Photo");
}

/** Describe an item's photo: its first sentence, its title or its file's name, and when it was taken. */
function altOf(item) {
  const { title, name, file, taken } = item.metadata ?? {};
  const said = [item.sentences[0], title, name].find(isText);
  const named = said ?? (isText(file) && !HASH.test(lastPart(file)) ? lastPart(file) : titleOf(item));
  return isText(taken) && named !== takenText(taken) ? `${named}, ${takenText(taken)}` : named;
}

const SIDES = { small: 320, medium: 640 }; // of thumbnails, in pixels

/** The address of a photo's thumbnail of 320 pixels, which is given, or of 640. */
const thumbnailOf = ({ thumbnail }, size) =>
  pictureAddress(thumbnail).replace("size=small", `size=${size}`);

/** Say which thumbnail suits which width; the browser chooses by the room there is. */
function thumbnails(item) {
  const width = (side) =>
    Math.max(1, Math.round(item.width * Math.min(1, side / Math.max(item.width, item.height))));
  const sources = Object.entries(SIDES).map(([size, side]) => `${thumbnailOf(item, size)} ${width(side)}w`);
  return { srcset: sources.join(", "), sizes: "auto, (max-width: 40rem) 90vw, 18rem" };
}

/** An item's picture: the thumbnail that suits, the "small" one, or the "whole" stored one. */
function itemImage(item, size = null) {
  const shown = (size === "small" && item.thumbnail) || item.image;
  const scaled = item.thumbnail && !size ? thumbnails(item) : {};
  const described = { loading: "lazy", alt: altOf(item) };
  return make("img", { ...described, ...scaled, src: pictureAddress(shown) });
}

/** An item's photo, ready to be marked; a place for one where it has none. */
export function itemPhoto(item, size = null) {
  if (item.image) return photo(itemImage(item, size), item.width, item.height);
  return make("div", { className: "stage none" }, make("p", {}, "No photo"));
}

/** The photos of an item, the one that was found first. */
export function photosOf(item) {
  const others = (item.images ?? []).filter(({ image }) => image !== item.image);
  return item.image ? [item, ...others.map((photo) => ({ ...item, ...photo }))] : [];
}

/** Return a photo's author and licence; null if the item has none. */
export function creditOf({ metadata }) {
  const said = [metadata?.credit, metadata?.license].filter((text) => typeof text === "string");
  return said.length > 0 ? make("p", { className: "credit" }, `Photo: ${said.join(" · ")}`) : null;
}

const GAVE = "What each phrase gave: the whole photo, and this part";
const quiet = (name, act) => make("button", { type: "button", className: "quiet", onclick: act }, name);

/** A title that opens an item. */
function opener(hit, open) {
  const button = { type: "button", title: hit.id, onclick: () => open(hit) };
  return make("p", { className: "title" }, make("button", button, titleOf(hit)));
}

/**
 * One photo of the answer. `found` are its marked parts, whose rows have bars of a scale; no rows where
 * it is null. `actions` are [name, function of the hit] pairs; `open` shows the hit alone.
 */
export function photoHit(hit, { found, scale, weakBelow, actions, open }) {
  const stage = mark(itemPhoto(hit), found, { keeps: false });
  stage.querySelector(".photo")?.addEventListener("click", () => open(hit));
  return make(
    "li",
    { className: "hit", "data-id": hit.id },
    stage,
    opener(hit, open),
    likelihood(hit, weakBelow),
    scale === null ? null : phraseRows(found, scale),
    creditOf(hit),
    make("p", { className: "actions" }, ...actions.map(([name, act]) => quiet(name, () => act(hit)))),
  );
}

/** One part of a photo, which opens the whole; options are those of `photoHit`. */
export function partHit(hit, { found, scale, actions, open }) {
  const [left, top, right, bottom] = hit.box;
  const picture = make("img", {
    src: pictureAddress(hit.crop), alt: `Part of ${altOf(hit)}`, loading: "lazy", title: "Show the whole photo",
    onclick: () => open(hit),
  });
  const stage = photo(picture, (right - left) * hit.width, (bottom - top) * hit.height);
  stage.classList.add("crop");
  return make(
    "li",
    { className: "hit", "data-id": hit.id },
    stage,
    opener(hit, open),
    scale === null ? null : phraseRows(found.map((phrase) => ({ ...phrase, box: hit.box })), scale, GAVE),
    creditOf(hit),
    make("p", { className: "actions" }, ...actions.map(([name, act]) => quiet(name, () => act(hit)))),
  );
}

/** A photo that opens an item. */
function photoButton(item, open) {
  if (!item.image) return itemPhoto(item);
  const button = { type: "button", className: "stage", title: item.id, onclick: () => open(item) };
  return make("button", button, itemImage(item, "small"));
}

/** An item of a photo collection that answers nothing yet. */
export function plainItem(item, open) {
  const named = item.metadata?.title ? make("p", { className: "title" }, titleOf(item)) : null;
  return make("li", { className: "hit", "data-id": item.id }, photoButton(item, open), named, creditOf(item));
}

/**
 * A product: its photo, title, price, a line of its fields, what else there is of its group, and
 * `why` it was found.
 */
export function productHit(hit, { holdings, why, open, variants, actions }) {
  const { price, line } = holdings;
  const fields = line.map((key) => hit.metadata[key]).filter((value) => typeof value === "string");
  const more = hit.variants > 1
    ? make("button", { type: "button", className: "variants", onclick: () => variants(hit) },
      `${hit.variants} variants`) : null;
  return make(
    "li",
    { className: "hit product", "data-id": hit.id },
    photoButton(hit, open),
    opener(hit, open),
    price && priceText(hit, price) ? make("p", { className: "price" }, priceText(hit, price)) : null,
    fields.length > 0 ? make("p", { className: "fields" }, fields.slice(0, 3).join(" · ")) : null,
    more,
    why,
    make("p", { className: "actions" }, ...actions.map(([name, act]) => quiet(name, () => act(hit)))),
  );
}

/** A price as people read it, in the item's currency where it names one; nothing without a price. */
export function priceText({ metadata }, key) {
  const price = metadata[key];
  if (typeof price !== "number") return typeof price === "string" ? price : "";
  const digits = Number.isInteger(price) ? 0 : 2;
  const text = price.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: 2 });
  return typeof metadata.currency === "string" ? `${text} ${metadata.currency}` : text;
}

/** Empty cards of the right size, while the answer is on its way. */
export function placeholders(count) {
  const card = () => make("li", { className: "hit waiting", "aria-hidden": "true" },
    make("div", { className: "stage" }), make("p", {}), make("p", {}));
  return Array.from({ length: count }, card);
}
