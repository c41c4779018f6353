// Highlights of words and boxes that belong together, by pointer, keyboard and touch.
//
// An element with data-lights="a b" belongs to the links a and b. A word lights its boxes in every
// photo; a box lights the words that chose it, in its own hit and in the query. A click keeps the light
// of what has aria-pressed; boxes of cards have not, as a click there opens the photo.

let pinned = null;

function partners(target) {
  const hit = target.matches(".box") && target.closest(".hit");
  const places = hit ? [hit, document.querySelector("#query")] : [document];
  const keys = target.dataset.lights.split(" ").map((key) => `[data-lights~="${key}"]`);
  return places.flatMap((place) => [...place.querySelectorAll(keys.join())]);
}

function show(target) {
  for (const element of document.querySelectorAll(".lit")) element.classList.remove("lit");
  document.body.classList.toggle("lighting", target !== null);
  for (const element of target ? partners(target) : []) element.classList.add("lit");
}

function pin(target) {
  pinned?.setAttribute("aria-pressed", "false");
  pinned = target === pinned ? null : target;
  pinned?.setAttribute("aria-pressed", "true");
  show(pinned);
}

const lightOf = (event) => event.target.closest?.("[data-lights]") ?? null;

/** Clear all highlights; return whether there was one. */
export function darken() {
  const wasLit = document.body.classList.contains("lighting");
  pin(pinned);
  return wasLit;
}

function step(event) {
  const group = event.target.closest?.("[data-arrows]");
  const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (!group || !by) return;
  const stops = [...group.querySelectorAll("button")];
  const next = stops[(stops.indexOf(event.target) + by + stops.length) % stops.length];
  event.preventDefault();
  for (const stop of stops) stop.tabIndex = stop === next ? 0 : -1;
  next.focus();
}

/** Make a group of buttons one tab stop; the arrow keys move inside it. */
export function arrows(group) {
  group.setAttribute("data-arrows", "");
  for (const [position, stop] of group.querySelectorAll("button").entries()) {
    stop.tabIndex = position === 0 ? 0 : -1;
  }
  return group;
}

/** Listen to the whole page, so that what is added later lights up too. */
export function listen() {
  document.addEventListener("pointerover", (event) => show(lightOf(event) ?? pinned));
  document.addEventListener("pointerleave", () => show(pinned));
  document.addEventListener("focusin", (event) => show(lightOf(event) ?? pinned));
  document.addEventListener("focusout", () => show(pinned));
  document.addEventListener("click", (event) => {
    const target = lightOf(event);
    if (target?.hasAttribute("aria-pressed")) pin(target);
  });
  document.addEventListener("keydown", step);
}
