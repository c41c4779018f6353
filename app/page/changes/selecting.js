// The choice of many photos: by click, by Shift for a range, or by keyboard.

import { make } from "../elements/dom.js";

const at = (id) => document.getElementById(id);
const [results, start, bar] = ["results", "choose", "selection"].map(at);
const boxOf = (card) => card.querySelector(":scope > .tick input");
const cards = () => [...results.querySelectorAll("[data-id]")];
const grown = new MutationObserver(() => addBoxes());

let chosen = new Set(); // ids
let last = null; // the card that was chosen or given up last
let acts = []; // [name, function of the ids, whether it is dangerous]

function addBoxes() {
  for (const card of cards().filter((each) => !boxOf(each))) {
    const name = card.querySelector("img")?.alt || card.querySelector(".title")?.textContent || card.dataset.id;
    const box = make("input", { type: "checkbox", checked: chosen.has(card.dataset.id), "aria-label": `Select ${name}` });
    for (const control of card.querySelectorAll("a, button, [tabindex]")) {
      control.dataset.tab = control.getAttribute("tabindex") ?? "";
      control.tabIndex = -1; // the box is the one stop of its card
    }
    card.prepend(make("label", { className: "tick" }, box));
  }
}

function removeBoxes() {
  for (const tick of results.querySelectorAll(".tick")) tick.remove();
  for (const control of results.querySelectorAll("[data-tab]")) {
    if (control.dataset.tab) control.tabIndex = control.dataset.tab;
    else control.removeAttribute("tabindex");
    delete control.dataset.tab;
  }
}

function show() {
  for (const card of cards()) boxOf(card).checked = chosen.has(card.dataset.id);
  const number = chosen.size.toLocaleString("en");
  bar.querySelector(".number-chosen").textContent = `${number} selected`;
  for (const button of bar.querySelectorAll("[data-needs]")) button.disabled = chosen.size === 0;
}

/** Choose or give up a card, and with `range` all between it and the last one. */
function toggle(card, range) {
  const all = cards();
  const on = !chosen.has(card.dataset.id);
  const ends = [all.indexOf(card), range ? all.indexOf(last) : -1].filter((position) => position >= 0);
  for (const each of all.slice(Math.min(...ends), Math.max(...ends) + 1)) {
    if (on) chosen.add(each.dataset.id);
    else chosen.delete(each.dataset.id);
  }
  last = card;
  show();
}

function onClick(event) {
  const card = event.target.closest?.("[data-id]");
  if (!card) return;
  event.stopPropagation(); // it opens nothing
  if (!event.target.closest(".tick")) event.preventDefault();
  else if (!event.target.matches("input")) return; // its label clicks it next
  toggle(card, event.shiftKey);
}

function onKey(event) {
  if (document.querySelector("dialog[open]")) return;
  if (event.key === "Escape") {
    event.stopPropagation();
    stopSelecting({ focus: true });
  } else if (event.key === "a" && (event.ctrlKey || event.metaKey) && !event.target.matches("input:not([type=checkbox])")) {
    event.preventDefault();
    chooseAll();
  }
}

/** Choose all photos of the list, but none for being in the row of this day. */
function chooseAll() {
  const listed = cards().filter((card) => !card.closest(".memories"));
  chosen = new Set([...chosen, ...listed.map(({ dataset }) => dataset.id)]);
  show();
}

function begin() {
  const button = (name, onclick, properties = {}) =>
    make("button", { type: "button", className: "second", onclick, ...properties }, name);
  bar.replaceChildren(
    make("span", { className: "number-chosen", role: "status" }),
    ...acts.map(([name, act, dangerous]) =>
      button(name, () => act([...chosen]), { "data-needs": "", className: dangerous ? "second danger" : "second" })),
    button("All shown", chooseAll), button("Done", () => stopSelecting({ focus: true })));
  addBoxes();
  show();
  bar.hidden = false;
  start.hidden = true;
  document.body.classList.add("selecting");
  results.addEventListener("click", onClick, true);
  document.addEventListener("keydown", onKey, true);
  grown.observe(results, { childList: true, subtree: true });
  const inSight = (box) => box.getBoundingClientRect().top >= 0;
  cards().map(boxOf).find(inSight)?.focus({ preventScroll: true });
}

/** End the choice; with `focus`, return to the button that begins it. */
export function stopSelecting({ focus = false } = {}) {
  if (bar.hidden) return;
  grown.disconnect();
  results.removeEventListener("click", onClick, true);
  document.removeEventListener("keydown", onKey, true);
  document.body.classList.remove("selecting");
  removeBoxes();
  [chosen, last, bar.hidden, start.hidden] = [new Set(), null, true, false];
  if (focus) start.focus();
}

/** Offer to choose photos for `offered` acts; to hide the offer where there are none. */
export function offerSelecting(offered) {
  stopSelecting();
  acts = offered;
  start.hidden = offered.length === 0;
  start.onclick = begin;
}
