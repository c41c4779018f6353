// Progress of indexing: the number of searchable items, updated until all are.

import * as api from "./api.js";
import { make } from "../elements/dom.js";

const SOON = 1500; // milliseconds, while something is on its way
const LATER = 5000; // while there is nothing
const SELDOM = 30_000;

const EXPECTED = 40; // looks in a row for what is said to come

let [timer, expected, lookNow] = [null, 0, async () => {}];

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

/** Look often for a while, as items are about to come. */
export function expectItems() {
  expected = EXPECTED;
  lookNow();
}

/** Show progress in `place`; call `grew` when more items are searchable. */
export async function watchProgress(place, grew) {
  let [before, starting, newest] = [null, false, 0];
  const look = async (mine) => {
    expected = Math.max(0, expected - 1);
    const now = document.hidden ? null : await state().catch(() => null);
    if (mine !== newest || lookNow !== begin) return; // another one goes on
    if (now) {
      show(place, now);
      const changed = now.ready > before || now.starting !== starting;
      if (before !== null && changed) {
        expected = 0;
        grew(now);
      }
      ({ ready: before, starting } = now);
    }
    const soon = expected > 0 || now !== null && (now.ready < now.all || now.starting);
    const pause = soon ? SOON : now === null || now.all === 0 ? LATER : SELDOM;
    timer = setTimeout(() => look(mine), pause);
  };
  const begin = () => {
    clearTimeout(timer);
    before = null;
    newest += 1;
    return look(newest);
  };
  lookNow = begin;
  await begin();
}
