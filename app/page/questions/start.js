// The start: an introduction, example queries, and the choice of a collection.

import * as api from "../service/api.js";
import { make } from "../elements/dom.js";

const at = (id) => document.getElementById(id);

/** Introduce the collection. */
export function introduce({ shop, total }) {
  const start = at("start");
  document.body.classList.toggle("shop", shop);
  at("words").placeholder = shop ? `Search ${total.toLocaleString("en")} products` : "a cup of coffee";
  at("words").ariaLabel = shop ? "What you are looking for" : "Describe the photo you are looking for";
  start.querySelector("h1").textContent = shop ? start.dataset.shopTitle : start.dataset.title;
  start.querySelector("p").textContent = shop ? start.dataset.shop : start.dataset.photos;
}

/** Offer example queries, one click each, where the collection holds a demonstration. */
export async function offerExamples(visit, signal) {
  const queries = await api.examples(signal).catch(() => []);
  const buttons = queries.map(({ text }) =>
    make("button", { type: "button", className: "second", onclick: () => visit({ text }) }, text));
  if (!signal.aborted) at("examples").replaceChildren(...buttons.map((each) => make("li", {}, each)));
}

/**
 * Offer the other collections. Where the address names none and its own has nothing, `note` one that has
 * something in it, or for which something is being indexed.
 */
export async function offerCollections(note) {
  const { collections } = await api.collections().catch(() => ({ collections: [] }));
  const filled = collections.filter(({ items, coming }) => items + coming > 0);
  const named = /[?&]collection=/.test(location.search);
  if (!named && filled.length > 0 && !filled.some(({ name }) => name === api.collection())) {
    note({ collection: filled[0].name });
  }
  const select = at("collections");
  select.replaceChildren(...collections.map(({ name }) => new Option(name, name)));
  select.value = api.collection();
  select.hidden = collections.length < 2;
}
