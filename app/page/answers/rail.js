// The date rail: a slider along the timeline, by months, with the years at its side.

import { periodName } from "../elements/dates.js";
import { make } from "../elements/dom.js";

const PATIENCE = 250; // milliseconds after the last step of the keys
const NARROW = 22; // pixels between years at least

let follow = () => {};
let pending = false;
window.addEventListener("scroll", () => {
  if (pending) return;
  pending = true;
  requestAnimationFrame(() => {
    pending = false;
    follow();
  });
}, { passive: true });

/** List years with the place of their first month, without those that are too near to the one before. */
function yearMarks(months, height) {
  const marks = [];
  for (const [position, { value }] of months.entries()) {
    const [year, share] = [value.slice(0, 4), position / Math.max(1, months.length - 1)];
    const last = marks.at(-1);
    if (last?.year !== year && (!last || (share - last.share) * height >= NARROW)) marks.push({ year, share });
  }
  return marks;
}

/** Fill `place` with the rail of `months`, as they are ordered; `shown` lists the cards with their months. */
export function makeRail(place, months, shown, go) {
  let timer = null;
  const slider = make("input", { type: "range", min: 0, max: months.length - 1, step: 1, value: 0, "aria-label": "Go to a month" });
  const name = make("span", { className: "month", "aria-hidden": "true", hidden: true });
  const show = (position) => {
    const text = periodName(months[position].value);
    slider.value = position;
    slider.ariaValueText = text;
    name.textContent = text;
    name.style.setProperty("--share", position / Math.max(1, months.length - 1));
  };
  slider.oninput = () => {
    name.hidden = false;
    show(Number(slider.value));
  };
  slider.onchange = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      name.hidden = true;
      go(months[Number(slider.value)].value);
    }, PATIENCE);
  };
  follow = () => {
    if (place.hidden || !name.hidden || !shown()[0]?.isConnected) return;
    const card = [...shown()].findLast((each) => each.getBoundingClientRect().top < 120) ?? shown()[0];
    const position = months.findIndex(({ value }) => value === card?.dataset.month);
    if (position >= 0) show(position);
  };
  const years = make("div", { className: "years", "aria-hidden": "true" });
  place.replaceChildren(years, slider, name);
  for (const { year, share } of yearMarks(months, place.clientHeight || window.innerHeight)) {
    const mark = make("span", {}, year);
    mark.style.setProperty("--share", share);
    years.append(mark);
  }
  show(0);
}
