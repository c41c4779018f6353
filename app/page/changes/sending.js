// Sending several photos: one after another, with progress and a reason for each that is refused.

import * as api from "../service/api.js";
import { make } from "../elements/dom.js";

const TRIES = 3; // where the service or the line fails
const PAUSE = 1000; // milliseconds before the second try
const MOST_NAMES = 99; // of photos that cameras called the same

/** What tells a file from another one of its name, for an item's stamp. */
const stampOf = ({ name, size, lastModified }) => `${name}/${size}/${lastModified}`.slice(-200);

async function withTries(work, alive) {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (!error.passing || tries === TRIES || !alive()) throw error;
      await new Promise((resolve) => setTimeout(resolve, PAUSE * tries));
    }
  }
}

/** Store a photo under its name, or that with a number where another photo has the name; return the item, `known` if it was there. */
async function store(item, progress, alive) {
  const stamp = stampOf(item.files[0]);
  for (let number = 1; ; number += 1) {
    const id = number === 1 ? item.id : `${item.id}-${number}`;
    try {
      return await withTries(() => api.add({ ...item, id, stamp, read_metadata: true }, progress), alive);
    } catch (error) {
      if (error.status !== 412 || number === MOST_NAMES) throw error;
      const stored = await api.item(id);
      if (stored.stamp === stamp) return { ...stored, known: true }; // it was sent before
    }
  }
}

function makeRow(file) {
  const bar = make("progress", { max: 1, value: 0, "aria-label": `Sending ${file.name}` });
  const state = make("span", { className: "state" }, "waiting");
  return { bar, state, element: make("li", {}, make("span", { className: "name" }, file.name), bar, state) };
}

/**
 * Store items of a photo each while `alive` says so, and show each in the list `place`. Returns the
 * stored ones, those that were refused as {item, error}, and the `unsent` ones.
 */
export async function sendAll(items, place, alive) {
  const rows = items.map(({ files: [file] }) => makeRow(file));
  place.replaceChildren(...rows.map(({ element }) => element));
  const [stored, failed] = [[], []];
  for (const [position, item] of items.entries()) {
    const { bar, state, element } = rows[position];
    if (!alive()) return { stored, failed, unsent: items.slice(position) };
    state.textContent = "sending";
    element.scrollIntoView({ block: "nearest" });
    try {
      const sent = await store(item, (share) => {
        bar.value = share;
        if (share === 1) state.textContent = "reading";
      }, alive);
      stored.push(sent);
      state.textContent = sent.known ? "here already" : "stored";
      element.classList.add("stored");
    } catch (error) {
      failed.push({ item, error });
      state.textContent = error.message;
      element.classList.add("failed");
    }
  }
  return { stored, failed, unsent: [] };
}
