// The way back of deleted photos: at once by Undo, later by a command for whoever runs Tessera.

import { countPhotos, listNames, make, visible } from "../elements/dom.js";
import { collection, restore } from "../service/api.js";
import { expectItems } from "../service/progress.js";

const quoted = (text) => (/^[\w./~-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

function command(photos) {
  const named = collection() === "default" ? [] : ["--collection", quoted(collection())];
  return make("code", {}, ["tessera index deleted", photos, ...named].join(" "));
}

export const isOfFolder = ({ metadata }) => typeof metadata.folder === "string";

/** Say by what a deleted photo comes back; one that is of no folder must be added. */
export function wayBack(item) {
  if (!isOfFolder(item)) return make("span", {}, "To bring it back, add it again.");
  return make("span", {}, "Later, whoever runs Tessera can let it come back: ", command(`--restore ${quoted(item.id)}`));
}

/** Say by what all deleted photos come back. */
export const wayBackOfAll = () => make("span", {}, "Later, whoever runs Tessera can let them come back: ", command("--restore-all"));

/** Make what takes back the deletion of photos; `changed` is called with what it did. */
export const undoing = (ids, changed) => async () => {
  const { restored, unknown } = await restore(ids);
  const back = restored.length > 0 && `Coming back with the next import of their folder: ${countPhotos(restored.length)}.`;
  const gone = unknown.length > 0 && `Of no folder, or back already: ${listNames(unknown.map(visible))}.`;
  await changed([back, gone].filter(Boolean).join(" "));
  if (restored.length > 0) expectItems();
};
