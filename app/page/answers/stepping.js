// The open item: opening it by the address, and stepping to its neighbours.

import { remove } from "../changes/changed.js";
import { isFocusLost } from "../elements/dom.js";
import { say } from "../elements/notices.js";
import { wanted } from "../questions/address.js";
import { leave, note, visit } from "../questions/visits.js";
import { act } from "./actions.js";
import { dropTile, focusItem, idBy, readItem, shown, tilesOf } from "./shown.js";
import { closeViewer, showViewer } from "./viewer.js";

const viewer = document.getElementById("viewer");
let viewed = null; // the id of the item that the viewer shows
let loading = null; // what marked the viewer as busy last

/** Mark the open viewer, or else the card of an item, as busy while `work` lasts. */
async function busily(id, work) {
  const places = viewer.open ? [viewer] : tilesOf(id);
  const turn = (loading = {});
  for (const place of places) place.setAttribute("aria-busy", "true");
  try {
    return await work();
  } finally {
    const over = loading === turn; // else the viewer waits for what came later
    for (const place of places) if (over || place !== viewer) place.removeAttribute("aria-busy");
  }
}

const hasMore = () => shown.context.more?.hidden === false;

/** Return a function that goes to the item before (-1) or behind (1) an item; null where there is none. */
function neighbour(id, by) {
  const more = by > 0 && shown.order.includes(id) && hasMore();
  return idBy(id, by) || more ? () => step(by) : null;
}

/** Go to the item before or behind the one in the address, which may be on its way still. */
async function step(by) {
  if (!idBy(wanted().item, by) && by > 0 && hasMore()) {
    await busily(wanted().item, () => shown.context.more.onclick());
  }
  const { item: id } = wanted();
  const other = idBy(id, by);
  if (!other) return;
  note({ item: other });
  await showItem(wanted(), (error) => passOver(other, { id, by, error }));
}

/** Go on from `id` past an item that was deleted meanwhile, or stay where it cannot be read now. */
function passOver(gone, { id, by, error }) {
  note({ item: id });
  if (error.status === 404) {
    dropTile(gone);
    if (neighbour(id, by)) return step(by);
    error.message = `What came ${by < 0 ? "before" : "after"} this is no longer here.`;
  }
  const stay = (failure) => {
    note({ item: viewed });
    say(failure);
  };
  return id === viewed ? stay(error) : showItem(wanted(), stay);
}

/** Open the item in the address, or close the open item; `failed` is told where there is none. */
export async function showItem(asked, failed = null) {
  const { item: id } = asked;
  if (!id) return closeOpen();
  return busily(id, () => openViewer(asked, failed));
}

/** Show the item in the address, unless it cannot be shown. */
async function openViewer({ item: id, text }, failed) {
  const { context, stopping, hits } = shown;
  try {
    const item = { ...(await readItem(id, stopping.signal)), ...hits.get(id) };
    if (wanted().item !== id) return; // someone went on meanwhile
    showViewer(item, {
      holdings: context.holdings,
      explained: Boolean(text && item.links),
      actions: actionsOf(item, text),
      searchPart: ({ id: like }, box) => visit({ like, box }),
      browse: (filter) => visit({ filter }),
      remove: shown.mayWrite ? (one) => remove(one, closeViewer) : null,
      left: leaveItem,
      before: neighbour(id, -1),
      behind: neighbour(id, 1),
    });
    viewed = id;
    viewer.removeAttribute("aria-busy");
  } catch (error) {
    if (wanted().item === id) await giveUp(id, error, failed);
  }
}

/** List the actions of an open item as [name, function] pairs. */
function actionsOf(item, text) {
  const { context } = shown;
  const pictured = text && !context.holdings.shop && item.image;
  return [
    ...(item.image ? [["More like this", act.similar]] : []),
    ...(pictured ? [["Save picture", (hit) => act.save(hit, context.corrected ?? text)]] : []),
  ];
}

/** Leave an item that cannot be shown, unless `failed` knows better, and say why. */
async function giveUp(id, error, failed) {
  if (error.name === "AbortError") return showItem(wanted(), failed); // the list was read again meanwhile
  if (failed) return failed(error);
  await leave();
  closeViewer();
  if (error.status === 404) dropTile(id);
  return say(error);
}

/** Move the focus from the viewer to the item that it showed last. */
function focusLeft() {
  if (tilesOf(viewed).length > 0 || isFocusLost()) focusItem(viewed);
}

/** Close the viewer where the address names no item. */
function closeOpen() {
  if (!viewer.open) return;
  closeViewer();
  focusLeft();
}

function leaveItem() {
  const { item } = wanted();
  if (!item) return;
  tilesOf(item)[0]?.scrollIntoView({ block: "nearest" });
  focusLeft();
  leave();
}
