// Actions of hits, and of the answer that they are in.

import * as api from "../service/api.js";
import { add, showChange } from "../changes/changed.js";
import { download } from "../elements/dom.js";
import { say } from "../elements/notices.js";
import { wanted } from "../questions/address.js";
import { note, openItem, refine, route, visit } from "../questions/visits.js";
import { shown, showHits } from "./shown.js";

const at = (id) => document.getElementById(id);

/** Do a part of the current question; a newer question cancels it. */
export async function attempt(work, failed = say) {
  const { signal } = shown.stopping;
  at("results").setAttribute("aria-busy", "true");
  try {
    await work(signal);
  } catch (error) {
    if (!signal.aborted) failed(error);
  }
  if (!signal.aborted) at("results").removeAttribute("aria-busy");
}

const save = ({ id, photo = 0 }, text) =>
  api.alignmentPicture(id, text, photo).then((picture) => download(picture, `${id}.png`)).catch(say);

async function jump(from) {
  const focused = at("rail").contains(document.activeElement);
  note({ from, newer: 0, shown: 0, item: null });
  await route();
  at("found").scrollIntoView();
  if (focused) at("rail").querySelector("input")?.focus({ preventScroll: true });
}

function showVariants({ metadata }) {
  const { group } = shown.context.holdings;
  return refine({ filter: { ...wanted().filter, [group]: [metadata[group]] } });
}

/** Take over the hits that are shown by now, `newer` of them before the month that was asked for. */
function grew(hits, newer, more = false) {
  showHits(hits);
  if (more) note({ shown: hits.length - newer, newer });
}

/** What can be done with a hit, and with the answer. */
export const act = {
  attempt, refine, save, jump, grew,
  add: () => add(),
  changed: showChange,
  open: ({ id }) => openItem(id),
  similar: ({ id }) => visit({ like: id }),
  similarPart: ({ id, box }) => visit({ like: id, box, parts: true }),
  variants: showVariants,
};
