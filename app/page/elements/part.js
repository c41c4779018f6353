// A part of a photo to search with: a rectangle, drawn with the pointer or moved with the arrow keys.

import { make } from "./dom.js";

const LEAST = 0.04; // of the photo's width and height
const STEP = 0.04;
const START = [0.25, 0.25, 0.75, 0.75];

const within = (fraction) => Math.min(1, Math.max(0, fraction));
const percent = (fraction) => `${100 * fraction}%`;

function place(rectangle, [left, top, right, bottom]) {
  Object.assign(rectangle.style, {
    left: percent(left), top: percent(top), width: percent(right - left), height: percent(bottom - top),
  });
}

function moved([left, top, right, bottom], key, resize) {
  const [x, y] = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, -STEP], ArrowDown: [0, STEP] }[key];
  if (resize) return [left, top, within(Math.max(left + LEAST, right + x)), within(Math.max(top + LEAST, bottom + y))];
  const dx = Math.max(-left, Math.min(1 - right, x));
  const dy = Math.max(-top, Math.min(1 - bottom, y));
  return [left + dx, top + dy, right + dx, bottom + dy];
}

/** Outline the searched part of the photo. */
export function outlinePart(stage, box) {
  const rectangle = make("div", { className: "part", "aria-hidden": "true" });
  place(rectangle, box);
  stage.querySelector(".photo").append(rectangle);
}

/**
 * Let someone choose a part of the photo in a stage, then call `use` with its box. Gives back the
 * button that begins it.
 */
export function partButton(stage, use) {
  const frame = stage.querySelector(".photo");
  let end = null;
  const button = make("button", { type: "button", className: "second part-button", "aria-pressed": "false" }, "Search in a part");
  button.onclick = () => {
    if (end) return end();
    button.setAttribute("aria-pressed", "true");
    button.textContent = "Cancel";
    const stop = choosePart(frame, use);
    end = () => {
      stop();
      end = null;
      button.setAttribute("aria-pressed", "false");
      button.textContent = "Search in a part";
    };
    return end;
  };
  return button;
}

function choosePart(frame, use) {
  let box = START;
  const rectangle = make("div", {
    className: "part choosing", tabIndex: 0, role: "group",
    "aria-label": "The part to search with. Arrow keys move it, with Shift they resize it, Enter searches.",
  });
  const search = make("button", { type: "button", className: "go part-go", onclick: () => use(box) }, "Search in this part");
  const hint = make("p", { className: "part-hint" }, "Drag over what you are looking for");
  const show = (changed) => {
    box = changed;
    place(rectangle, box);
  };
  rectangle.onkeydown = (event) => {
    if (event.key === "Enter") use(box);
    else if (event.key.startsWith("Arrow")) show(moved(box, event.key, event.shiftKey));
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const stop = drawing(frame, show, hint);
  frame.classList.add("choosing-part");
  frame.append(rectangle, hint);
  frame.parentElement.after(search);
  show(box);
  rectangle.focus({ preventScroll: true });
  return () => {
    stop();
    frame.classList.remove("choosing-part");
    for (const element of [rectangle, search, hint]) element.remove();
  };
}

/** Call `show` with the box that the pointer draws; return a function that stops it. */
function drawing(frame, show, hint) {
  let from = null;
  const at = (event) => {
    const { left, top, width, height } = frame.getBoundingClientRect();
    return [within((event.clientX - left) / width), within((event.clientY - top) / height)];
  };
  const down = (event) => {
    from = at(event);
    frame.setPointerCapture(event.pointerId);
    event.preventDefault();
  };
  const move = (event) => {
    if (!from) return;
    const to = at(event);
    const [left, right] = [from[0], to[0]].sort((a, b) => a - b);
    const [top, bottom] = [from[1], to[1]].sort((a, b) => a - b);
    if (right - left < LEAST || bottom - top < LEAST) return;
    hint.hidden = true;
    show([left, top, right, bottom]);
  };
  const up = () => (from = null);
  const listeners = { pointerdown: down, pointermove: move, pointerup: up, pointercancel: up };
  for (const [name, listen] of Object.entries(listeners)) frame.addEventListener(name, listen);
  return () => {
    for (const [name, listen] of Object.entries(listeners)) frame.removeEventListener(name, listen);
  };
}
