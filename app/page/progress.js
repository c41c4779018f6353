// Progress of indexing: the number of searchable items, updated until all are.

import * as api from "./api.js";
import { make } from "./dom.js";

const SOON = 1500; // milliseconds, while something is on its way
const LATER = 5000; // while there is nothing
const SELDOM = 30_000;

let timer = null;

/** Get the number of searchable items, and the known total. */
async function state() {
  const { items, behind, coming } = await api.index(undefined, false); // never asks for a key
  return { ready: Math.max(0, items - behind), all: items + coming };
}

function show(place, { ready, all }) {
  place.hidden = ready >= all;
  if (place.hidden) return place.replaceChildren();
  const text = `Indexing: ${ready.toLocaleString("en")} of ${all.toLocaleString("en")} searchable`;
  const bar = make("progress", { max: all, value: ready, "aria-label": "Indexing" });
  return place.replaceChildren(bar, make("span", {}, text));
}

/** Show progress in `place`; call `grew` when more items are searchable. */
export async function watchProgress(place, grew) {
  clearTimeout(timer);
  let before = null;
  const look = async () => {
    const now = document.hidden ? null : await state().catch(() => null);
    if (now) {
      show(place, now);
      if (before !== null && now.ready > before) grew(now);
      before = now.ready;
    }
    const pause = now === null || now.all === 0 ? LATER : now.ready < now.all ? SOON : SELDOM;
    timer = setTimeout(look, pause);
  };
  const mine = look();
  await mine;
}
