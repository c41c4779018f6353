// What is shown: the question, its context, and the hits of its answer with their tiles.

import { rest } from "../elements/notices.js";

const results = document.getElementById("results");

/**
 * The shown answer: the `question` as an address, its `context` {asked, holdings, act}, the
 * `hits` by id, the `order` of their ids, and what stops it when another one begins.
 */
export const shown = {
  question: null, context: null, hits: new Map(), order: [], stopping: new AbortController(),
  mayWrite: false, // whether the key allows changes of items
};

/** Take over the hits that are shown by now. */
export function showHits(hits) {
  shown.hits = new Map(hits.toReversed().map((hit) => [hit.id, hit])); // of an item the best one
  shown.order = [...new Set(hits.map(({ id }) => id))];
}

/** The tiles of an item. */
export const tilesOf = (id) => [...results.querySelectorAll(`[data-id="${CSS.escape(id)}"]`)];

/** The button that opens an item of the list. */
const openerOf = (id) => tilesOf(id).map((tile) => tile.querySelector("button[title]")).find(Boolean);

/** Return the id before (-1) or behind (1) an item in the list as it is now. */
export function idBy(id, by) {
  const { order } = shown;
  return order.includes(id) ? order[order.indexOf(id) + by] : undefined;
}

/** Return the id behind an item, or else before it. */
export const nextTo = (id) => idBy(id, 1) ?? idBy(id, -1);

/** Move the focus to the button of an item, or else to the results. */
export function focusItem(id) {
  const opener = id ? openerOf(id) : null;
  if (opener) opener.focus();
  else rest();
}

/** Take an item that is gone off the list. */
export function dropTile(id) {
  const tiles = tilesOf(id);
  const focused = tiles.some((tile) => tile.contains(document.activeElement));
  const next = nextTo(id);
  shown.order = shown.order.filter((other) => other !== id);
  shown.hits.delete(id);
  for (const tile of tiles) tile.remove();
  if (focused) (openerOf(next ?? "") ?? results).focus();
}
