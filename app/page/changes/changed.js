// Changes of items, and the answer as it is after them.

import { shown, focusItem, nextTo } from "../answers/shown.js";
import { openDeletion, openTagging } from "./bulk.js";
import { countPhotos, listNames, make, visible } from "../elements/dom.js";
import { openAdding } from "./editing.js";
import { isOfFolder, undoing, wayBack } from "./restoring.js";
import { listed } from "../elements/facts.js";
import { titleOf } from "../elements/gallery.js";
import { say, showLine } from "../elements/notices.js";
import { leave, openItem, refresh } from "../questions/visits.js";
import * as api from "../service/api.js";

const at = (id) => document.getElementById(id);

const wordsOf = (ids) => [...new Set(ids.flatMap((id) => listed(shown.hits.get(id)?.metadata.keywords)))];

// Photos of this day in earlier years are not among the hits: they may be of a folder.
const undoOf = (ids, items = ids.map((id) => shown.hits.get(id))) =>
  (items.every((item) => item && !isOfFolder(item)) ? null : undoing(ids, showChange));

/** What can be done with selected photos. */
export const SELECTED = [
  ["Add tag", (ids) => openTagging("add", ids, wordsOf([...shown.hits.keys()]), showChange)],
  ["Remove tag", (ids) => openTagging("remove", ids, wordsOf(ids), showChange)],
  ["Delete", (ids) => openDeletion(ids, showChange, undoOf(ids)), true],
];

/** Open the form that adds items, with `files` if there are some already. */
export const add = (files) => openAdding(shown.context.holdings, showAdded, files);

/** Delete an item that is open; `close` closes it. */
export async function remove(item, close) {
  await api.remove(item.id);
  const next = nextTo(item.id);
  await leave();
  close();
  const back = shown.context.holdings.shop ? "" : wayBack(item);
  await showChange(make("span", {}, `Deleted: ${titleOf(item)}. `, back), { next, undo: undoOf([item.id], [item]) });
}

/** Show the changed answer where it was, and what was done, a text or an element; `undo` takes it back. */
export async function showChange(what, { undo = null, next = null } = {}) {
  const scroll = window.scrollY;
  await refresh();
  window.scrollTo(0, scroll);
  const line = showLine(what, { actions: undo ? [["Undo", () => undo().catch(say)]] : [] });
  const focus = () => (undo && !next ? line.querySelector("button").focus() : focusItem(next));
  const dialog = document.querySelector("dialog[open]"); // gives the focus back when it closes
  if (dialog) dialog.addEventListener("close", focus, { once: true });
  else focus();
}

/** Say which items are `left` out, and why: "1 photo was not sent: a.jpg." */
function leftText(left, why) {
  if (left.length === 0) return null;
  const counted = shown.context.holdings.shop ? "1 product" : countPhotos(left.length); // products are added one by one
  const names = left.map(({ id, files: [file] }) => visible(file?.name ?? id));
  return `${counted} ${left.length === 1 ? "was" : "were"} ${why}: ${listNames(names)}.`;
}

async function showAdded({ stored, refused, unsent }) {
  if (stored.length > 0) await refresh();
  const list = (some) => (some.length === 1 ? titleOf(some[0]) : `${some.length} photos`);
  const [known, fresh] = [true, false].map((there) => stored.filter((item) => Boolean(item.known) === there));
  const said = [
    fresh.length > 0 && `Added: ${list(fresh)}.`, known.length > 0 && `Here already: ${list(known)}.`,
    leftText(refused, "refused"), leftText(unsent, "not sent"),
  ];
  at("status").append(make("p", { className: "remark" }, said.filter(Boolean).join(" ")));
  if (stored.length !== 1 || refused.length + unsent.length > 0 || at("add").open) return;
  await openItem(stored[0].id);
}
