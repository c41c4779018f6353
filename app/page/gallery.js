// Items and hits: a photo with marked parts, its credit, and what was found in it.

import { make } from "./dom.js";
import { arrows } from "./light.js";
import { likelihood } from "./likelihood.js";
import { phraseRows } from "./phrases.js";

/** A picture (an img or a canvas) that parts can be marked on. */
export function photo(picture, width, height) {
  const label = picture.alt || "Your photo";
  const frame = make("div", { className: "photo", role: "group", "aria-label": label }, picture);
  frame.style.setProperty("--ratio", width / height);
  return make("div", { className: "stage" }, frame);
}

/**
 * Mark what answers each part {key, text, box, similarity, added}: one button for each different
 * box of a group, and one outline of the whole photo for the parts without a box. With `best`, the
 * box that added most is outlined before anybody points at anything.
 */
export function mark(stage, parts, { group = "links", best = true } = {}) {
  const frame = stage.firstChild;
  const boxed = parts.filter(({ box }) => box);
  const gain = ({ added, similarity }) => added ?? similarity ?? 0;
  const most = Math.max(...boxed.map(gain));
  for (const part of boxed) {
    const button = boxButton(frame, part, group);
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
function boxButton(frame, { key, text, box }, group) {
  const place = box.join();
  const there = frame.querySelector(`[data-group="${group}"][data-place="${place}"]`);
  const button = there ?? emptyBox(box);
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

function emptyBox([left, top, right, bottom]) {
  const button = make("button", { type: "button", className: "box", "aria-pressed": "false" });
  const percent = (fraction) => `${100 * fraction}%`;
  button.style.left = percent(left);
  button.style.top = percent(top);
  button.style.width = percent(right - left);
  button.style.height = percent(bottom - top);
  button.style.zIndex = Math.round(1000 * (1 - (right - left) * (bottom - top))); // small on top
  return button;
}

/** What people call an item: its title, or its id. */
export function titleOf({ id, metadata }) {
  return typeof metadata?.title === "string" ? metadata.title : id;
}

/** An item's photo as an img; what it shows is its first sentence or its title. */
function itemImage(item) {
  const alt = item.sentences[0] ?? item.metadata?.title ?? `Photo ${item.id}`;
  return make("img", { src: item.image, alt, loading: "lazy" });
}

/** An item's photo, ready to be marked. */
export function itemPhoto(item) {
  return photo(itemImage(item), item.width, item.height);
}

/** Who made a photo and under which licence it is used; null where the item does not say. */
export function creditOf({ metadata }) {
  const said = [metadata?.credit, metadata?.license].filter((text) => typeof text === "string");
  return said.length > 0 ? make("p", { className: "credit" }, `Photo: ${said.join(" · ")}`) : null;
}

/**
 * One photo of the answer. `found` are its marked parts, whose rows have bars of a scale; no rows where
 * it is null. `actions` are [name, function of the hit] pairs.
 */
export function photoHit(hit, { found, scale, weakBelow, actions }) {
  const buttons = actions.map(([name, act]) =>
    make("button", { type: "button", className: "quiet", onclick: () => act(hit) }, name),
  );
  return make(
    "li",
    { className: "hit" },
    mark(itemPhoto(hit), found),
    make("p", { className: "title", title: hit.id }, titleOf(hit)),
    likelihood(hit, weakBelow),
    scale === null ? null : phraseRows(found, scale),
    creditOf(hit),
    make("p", { className: "actions" }, ...buttons),
  );
}

/** An item of the collection that answers nothing yet. */
export function plainItem(item, act) {
  const named = item.metadata?.title ? make("p", { className: "title" }, titleOf(item)) : null;
  return make(
    "li",
    { className: "hit" },
    make(
      "button",
      { type: "button", className: "stage", title: item.id, onclick: () => act(item) },
      itemImage(item),
    ),
    named,
    creditOf(item),
  );
}

/** Empty cards of the right size, while the answer is on its way. */
export function placeholders(count) {
  const card = () => make("li", { className: "hit waiting", "aria-hidden": "true" },
    make("div", { className: "stage" }), make("p", {}), make("p", {}));
  return Array.from({ length: count }, card);
}
