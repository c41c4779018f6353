// Files and folders that the last imports did not read, by kind.

import * as api from "../service/api.js";
import { make } from "../elements/dom.js";

const number = (count) => count.toLocaleString("en");

/** Name some places of a kind, and how many more there are. */
function kindOf({ kind, count, examples }) {
  const places = examples.map((place) => make("li", {}, place));
  const more = count > examples.length ? [make("li", {}, `and ${number(count - examples.length)} more`)] : [];
  return make("section", {}, make("h3", {}, `${number(count)} ${kind}`), make("ul", {}, ...places, ...more));
}

function refusedOf({ refused, counts }) {
  if (refused.length === 0) return [];
  const places = refused.map(({ place, reason }) => make("li", {}, `${place}: ${reason}`));
  return [make("section", {}, make("h3", {}, `${number(counts.refused ?? refused.length)} refused`), make("ul", {}, ...places))];
}

/** Show in `place` what was not read; nothing where all was. */
export async function showUnread(place, signal) {
  const imports = await api.imports(signal).catch(() => []);
  const count = imports.reduce((sum, { counts }) => sum + (counts.unread ?? 0) + (counts.refused ?? 0), 0);
  const kept = imports.flatMap((each) => each.kept);
  if (signal.aborted) return;
  place.hidden = count === 0 && kept.length === 0;
  if (place.hidden) return place.replaceChildren();
  const title = count > 0 ? `Not read: ${number(count)} ${count === 1 ? "file or folder" : "files or folders"}` : "Missing files are still in here";
  place.replaceChildren(
    make("summary", {}, title),
    ...kept.map((reason) => make("p", {}, reason)),
    ...imports.flatMap((each) => [...refusedOf(each), ...each.unread.map(kindOf)]),
  );
}
