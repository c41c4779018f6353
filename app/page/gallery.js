// What a hit looks like: its photo with boxes, and its words with what each gave to the score.

import { make, number } from "./dom.js";
import { arrows } from "./light.js";

/** The largest that one link gave, which fills its bar. */
export function largest(hits) {
  return Math.max(...hits.flatMap((hit) => hit.links.map((link) => Math.abs(link.similarity))), 0);
}

/** What lights up together: one name for each fragment on the side that is summed over. */
export function keysOf(name, links) {
  return links.map((link) => `${name}-${link.fragment}`);
}

/** Whether a fragment stands for all of a text, beside the words in it. */
function isWhole({ span, label }, text) {
  return span?.[0] === 0 && span[1] === text.length && label !== text;
}

/** A word that lights what it matched; `gave` are its bar and number. */
function chip(fragment, key, text, ...gave) {
  const whole = isWhole(fragment, text);
  const name = whole ? "whole sentence" : fragment.label;
  const button = make(
    "button",
    { type: "button", className: "word", "data-lights": key, "aria-pressed": "false" },
    make("span", { className: "name" }, name),
    ...gave,
  );
  button.classList.toggle("whole", whole);
  return button;
}

/** The words of a question, which light what `${name}-0` and so on stand for. */
export function askedWords(fragments, text, name, label) {
  const list = make("ul", { className: "words", "aria-label": label });
  for (const [position, fragment] of fragments.entries()) {
    list.append(make("li", {}, chip(fragment, `${name}-${position}`, text)));
  }
  return arrows(list);
}

/** Links as chips with bars, in reading order; `keys` are what each of them lights. */
export function words(links, keys, text, scale) {
  const list = make("ul", { className: "words", "aria-label": "What each word gave to the score" });
  for (const [position, link] of links.entries()) {
    const bar = make("span", { className: "bar" });
    bar.style.setProperty("--share", Math.min(Math.abs(link.similarity) / (scale || 1), 1));
    const gave = number(link.similarity);
    const button = chip(
      link, keys[position], text, make("span", { className: "number" }, gave), bar,
    );
    button.classList.toggle("negative", gave.startsWith("−"));
    list.append(make("li", {}, button));
  }
  return arrows(list);
}

/** A picture (an img or a canvas) that boxes can be put on. */
export function photo(picture, width, height) {
  const label = picture.alt || "Your photo";
  const frame = make("div", { className: "photo", role: "group", "aria-label": label }, picture);
  frame.style.setProperty("--ratio", width / height);
  return make("div", { className: "stage" }, frame);
}

/**
 * One button on a photo for each different box; links of a group that chose the same box share it.
 * The box of the link that gave most is outlined before anybody points at anything.
 */
export function putBoxes(stage, links, keys, group = "links") {
  const frame = stage.firstChild;
  const most = Math.max(...links.map((link) => link.similarity));
  for (const [position, { box, label }] of links.entries()) {
    const place = box.join();
    const there = frame.querySelector(`[data-group="${group}"][data-place="${place}"]`);
    const button = there ?? boxButton(box);
    Object.assign(button.dataset, { group, place });
    button.dataset.lights = `${button.dataset.lights ?? ""} ${keys[position]}`.trim();
    button.ariaLabel = there ? `${there.ariaLabel}, ${label}` : `Part of the photo for ${label}`;
    if (links[position].similarity === most) button.classList.add("best");
    if (!there) frame.append(button);
  }
  arrows(frame);
  return stage;
}

/** Take a group's boxes off a photo. */
export function takeBoxes(stage, group) {
  for (const box of stage.querySelectorAll(`[data-group="${group}"]`)) box.remove();
}

function boxButton([left, top, right, bottom]) {
  const button = make("button", { type: "button", className: "box", "aria-pressed": "false" });
  const percent = (fraction) => `${100 * fraction}%`;
  button.style.left = percent(left);
  button.style.top = percent(top);
  button.style.width = percent(right - left);
  button.style.height = percent(bottom - top);
  button.style.zIndex = Math.round(1000 * (1 - (right - left) * (bottom - top))); // small on top
  return button;
}

/** An item's photo as an img; what it shows is its first sentence, if it has one. */
function itemImage({ id, image, sentences }) {
  return make("img", { src: image, alt: sentences[0] ?? `Photo ${id}`, loading: "lazy" });
}

/** An item's photo, ready for boxes. */
export function itemPhoto(item) {
  return photo(itemImage(item), item.width, item.height);
}

/** One photo of the answer. `actions` are [name, function of the hit] pairs. */
export function photoHit(hit, text, scale, actions) {
  const keys = keysOf("query", hit.links);
  const buttons = actions.map(([name, act]) =>
    make("button", { type: "button", className: "quiet", onclick: () => act(hit) }, name),
  );
  return make(
    "li",
    { className: "hit" },
    putBoxes(itemPhoto(hit), hit.links, keys),
    make(
      "p",
      { className: "line" },
      make("span", { className: "id", title: hit.id }, hit.id),
      make("span", { className: "score", title: "The score: what the words gave, added up" },
        number(hit.score)),
    ),
    text === null ? null : words(hit.links, keys, text, scale),
    make("p", { className: "actions" }, ...buttons),
  );
}

/** An item of the collection that answers nothing yet. */
export function plainItem(item, act) {
  return make(
    "li",
    { className: "hit" },
    make(
      "button",
      { type: "button", className: "stage", title: item.id, onclick: () => act(item) },
      itemImage(item),
    ),
  );
}

/** Empty cards of the right size, while the answer is on its way. */
export function placeholders(count) {
  const card = () => make("li", { className: "hit waiting", "aria-hidden": "true" },
    make("div", { className: "stage" }), make("p", {}), make("p", {}));
  return Array.from({ length: count }, card);
}
