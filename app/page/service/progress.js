// Progress of indexing: the number of searchable items, updated until all are.

import * as api from "./api.js";
import { make } from "../elements/dom.js";

const SOON = 1500; // milliseconds, while something is on its way
const LATER = 5000; // while there is nothing
const SELDOM = 30_000;

let timer = null;

/** Get the number of searchable items, and the known total. */
async function state() {
  const { items, behind, coming, importing } = await api.index(undefined, false); // never asks for a key
  return { ready: Math.max(0, items - behind), all: items + coming, starting: importing && items + coming === 0 };
}

function show(place, { ready, all, starting }) {
  place.hidden = ready >= all && !starting;
  if (place.hidden) return place.replaceChildren();
  if (starting) {
    return place.replaceChildren(make("progress", { "aria-label": "Indexing" }), make("span", {}, "Reading the photos"));
  }
  const text = `Indexing: ${ready.toLocaleString("en")} of ${all.toLocaleString("en")} searchable`;
  const bar = make("progress", { max: all, value: ready, "aria-label": "Indexing" });
  return place.replaceChildren(bar, make("span", {}, text));
}

/** Show progress in `place`; call `grew` when more items are searchable. */
export async function watchProgress(place, grew) {
  clearTimeout(timer);
  let [before, starting] = [null, false];
  const look = async () => {
    const now = document.hidden ? null : await state().catch(() => null);
    if (now) {
      show(place, now);
      const changed = now.ready > before || now.starting !== starting;
      if (before !== null && changed) grew(now);
      ({ ready: before, starting } = now);
    }
    const pause = now === null || now.all === 0 && !now.starting ? LATER : now.ready < now.all || now.starting ? SOON : SELDOM;
    timer = setTimeout(look, pause);
  };
  const mine = look();
  await mine;
}
