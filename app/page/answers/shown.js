// What is shown: the question, its context, and the hits of its answer with their tiles.

import { rest } from "../elements/notices.js";
import * as api from "../service/api.js";

const results = document.getElementById("results");

/**
 * The shown answer: the `question` as an address, its `context` {asked, holdings, act}, which gets `more`
 * for the next page and `drop` for hits that are gone, the
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

/** Read an item; a Problem where it is gone. */
export async function readItem(id, signal) {
  try {
    return await api.item(id, signal);
  } catch (error) {
    if (error.status === 404) error.message = `This ${shown.context.holdings.shop ? "product" : "photo"} is no longer here.`;
    throw error;
  }
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

/** Take an item that is gone off the list, and out of its count. */
export function dropTile(id) {
  const tiles = tilesOf(id);
  const focused = tiles.some((tile) => tile.contains(document.activeElement));
  const next = nextTo(id);
  if (tiles.length > 0) shown.context.drop(id);
  for (const tile of tiles) tile.remove();
  if (focused) (openerOf(next ?? "") ?? results).focus();
}
