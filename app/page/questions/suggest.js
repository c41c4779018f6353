// Suggestions while someone types: a list below the search box, by pointer and keyboard.

import { suggestions } from "../service/api.js";
import { make } from "../elements/dom.js";

const PAUSE = 120; // milliseconds without a key before the service is asked

/** Complete the text of `input` in `list`; call `choose` with the chosen completion. */
export function listenForTyping(input, list, choose) {
  let timer;
  let asking = new AbortController();
  let active = -1;
  const options = () => [...list.children];
  const close = () => {
    clearTimeout(timer);
    asking.abort();
    list.hidden = true;
    active = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const light = (position) => {
    active = position;
    for (const [at, option] of options().entries()) option.setAttribute("aria-selected", String(at === active));
    if (active < 0) input.removeAttribute("aria-activedescendant");
    else input.setAttribute("aria-activedescendant", options()[active].id);
  };
  const take = (text) => {
    close();
    choose(text);
  };
  const show = (found) => {
    list.replaceChildren(...found.map(({ text, items }, position) => make(
      "li", { role: "option", id: `suggestion-${position}`, "aria-selected": "false", "data-text": text },
      make("span", {}, text), make("span", { className: "count", title: `${items} found` }, items.toLocaleString("en")))));
    list.hidden = found.length === 0 || document.activeElement !== input;
    input.setAttribute("aria-expanded", String(!list.hidden));
    light(-1);
  };
  const ask = async () => {
    asking = new AbortController();
    const found = await suggestions(input.value, asking.signal).catch(() => []);
    if (!asking.signal.aborted) show(found.filter(({ text }) => text !== input.value));
  };
  input.addEventListener("input", () => {
    clearTimeout(timer);
    asking.abort();
    if (input.value.trim() === "") close();
    else timer = setTimeout(ask, PAUSE);
  });
  input.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (list.hidden) return;
    if (by) {
      const count = options().length + 1; // with the box itself
      light(((active + 1 + by + count) % count) - 1);
    } else if (event.key === "Enter" && active >= 0) take(options()[active].dataset.text);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  input.addEventListener("blur", close);
  list.addEventListener("pointerdown", (event) => {
    event.preventDefault(); // the box keeps the focus
    const option = event.target.closest("[role=option]");
    if (option) take(option.dataset.text);
  });
  return close;
}
