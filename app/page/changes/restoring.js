// The way back of deleted photos: a command for whoever runs Tessera.

import { make } from "../elements/dom.js";
import { collection } from "../service/api.js";

const quoted = (text) => (/^[\w./~-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

function command(photos) {
  const named = collection() === "default" ? [] : ["--collection", quoted(collection())];
  return make("code", {}, ["tessera index deleted", photos, ...named].join(" "));
}

/** Say by what the photo with an id comes back; one that is of no folder must be added. */
export function wayBack({ id, metadata }) {
  if (typeof metadata.folder !== "string") return make("span", {}, "To bring it back, add it again.");
  return make("span", {}, "Whoever runs Tessera can let it come back: ", command(`--restore ${quoted(id)}`));
}

/** Say by what all deleted photos come back. */
export const wayBackOfAll = () => make("span", {}, "Whoever runs Tessera can let them come back: ", command("--restore-all"));
