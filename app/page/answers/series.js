// Near-duplicates: the others of a series behind one photo, and the list of all series.

import * as api from "../service/api.js";
import { undoing, wayBackOfAll } from "../changes/restoring.js";
import { countPhotos, listNames, make, oneAtATime, pictureAddress, visible } from "../elements/dom.js";

const KEY = "series";
const MOST = 96; // photos of a series that are shown
const UNITS = ["bytes", "KB", "MB", "GB", "TB"];

const number = (count) => count.toLocaleString("en");

/** A search that shows one photo of each series; those of one series are shown all. */
export const collapsed = (sent) =>
  (JSON.stringify(sent.filter ?? {}).includes(`"${KEY}"`) ? sent : { ...sent, collapse: KEY });

/** A size as people read it. */
export function sizeText(bytes) {
  const unit = bytes > 0 ? Math.min(UNITS.length - 1, Math.floor(Math.log10(bytes) / 3)) : 0;
  return `${(bytes / 1000 ** unit).toLocaleString("en", { maximumFractionDigits: unit > 0 ? 1 : 0 })} ${UNITS[unit]}`;
}

function small(item, open) {
  const picture = make("img", { src: pictureAddress(item.thumbnail ?? item.image), alt: "", loading: "lazy" });
  return make("button", { type: "button", title: item.id, "aria-label": `Show ${item.id}`, onclick: () => open(item) }, picture);
}

/** The button that shows the other photos of a hit's series below it. */
function others(hit, open) {
  const place = make("div", { className: "small-photos", hidden: true });
  const button = make("button", { type: "button", className: "variants", "aria-expanded": "false" }, `${number(hit.variants - 1)} more`);
  const load = async () => {
    const { hits } = await api.searchPhotos({
      filter: { [KEY]: [hit.metadata[KEY]] }, sort: { key: "taken", order: "asc" }, limit: MOST, fields: [],
    });
    place.replaceChildren(...hits.filter(({ id }) => id !== hit.id).map((item) => small(item, open)));
  };
  button.onclick = oneAtATime(async () => {
    if (place.childElementCount === 0) {
      await load().catch((error) => place.replaceChildren(make("p", { className: "note", role: "alert" }, error.message)));
    }
    place.hidden = !place.hidden;
    button.setAttribute("aria-expanded", String(!place.hidden));
  });
  return make("div", { className: "series" }, button, place);
}

/** Return a function like `cards`, which makes a list of hits, with buttons for the others of a series. */
export const withSeries = (cards, open) => (hits, before) => {
  const list = cards(hits, before);
  const places = list.filter((element) => element.classList.contains("hit"));
  hits.forEach((hit, at) => {
    if (hit.variants > 1 && !hit.parts && KEY in hit.metadata) places[at].append(others(hit, open));
  });
  return list;
};

/** A photo of a series with its file, folder and size. */
function copy(item, open) {
  const [, folder, file] = /^(?:(.*)\/)?([^/]*)$/s.exec(item.id);
  const size = `${sizeText(item.bytes)}${item.largest ? ", the one to keep" : ""}`;
  return make("li", {}, small(item, open), make("div", {},
    make("p", { className: "title" }, visible(file)),
    make("p", { className: "note" }, ...(folder ? [visible(folder), make("br")] : []), size)));
}

/** The button that takes all photos of a series but the largest out of the index. */
function deletion(items, changed) {
  const place = make("p", { className: "actions" });
  const button = (name, className, onclick) => make("button", { type: "button", className, onclick }, name);
  const spare = items.filter(({ largest }) => !largest);
  const refused = make("span", { role: "alert", className: "note" });
  const ids = spare.map(({ id }) => id);
  const work = () => api.removeAll(ids).then(() => changed(ids)); // passes over those that are gone
  const named = (some) => listNames(some.map(({ id }) => visible(id)));
  const sure = button(`Delete ${number(spare.length)} here`, "second danger", () =>
    work().catch((error) => (refused.textContent = error.message)));
  const kept = items.filter(({ largest }) => largest);
  const what = make("span", { className: "note" },
    `Deletes ${named(spare)}. Keeps ${named(kept)}. Files stay where they are, and later imports leave deleted ones out. `, wayBackOfAll());
  const ask = button("Keep the largest alone", "quiet danger", () => {
    place.replaceChildren(sure, keep, what, refused);
    keep.focus();
  });
  const keep = button("Keep all", "second", () => {
    place.replaceChildren(ask);
    ask.focus();
  });
  place.append(ask);
  return place;
}

function seriesRow({ photos, bytes, items }, act, changed) {
  const same = items.slice(1).every((item) => item.same_file) ? ", the same file" : "";
  const title = `${number(photos)} photos${same}: ${sizeText(bytes)} besides the largest`;
  const copies = make("ul", { className: "copies" }, ...items.map((item) => copy(item, act.open)));
  return make("section", {}, make("h3", {}, title), copies, deletion(items, changed));
}

/** Offer in `place` the list of all series of a collection; nothing where there are none. */
export async function showDuplicates(place, act, signal) {
  const first = await api.duplicates(null, signal).catch(() => ({ series: 0 }));
  if (signal.aborted) return;
  place.hidden = first.series === 0;
  if (place.hidden) return place.replaceChildren();
  const again = async (ids) => {
    const undo = undoing(ids, act.changed);
    await act.changed(make("span", {}, `Deleted: ${countPhotos(ids.length)}. `, wayBackOfAll()), { undo });
    place.querySelector("summary")?.focus();
  };
  const rows = make("div", {});
  const more = make("button", { type: "button", className: "second" }, "Show more");
  const add = ({ groups, cursor }) => {
    rows.append(...groups.map((series) => seriesRow(series, act, again)));
    more.hidden = !cursor;
    more.onclick = oneAtATime(() => act.attempt(async (later) => add(await api.duplicates(cursor, later))));
  };
  const title = `${number(first.photos)} photos are the same, or nearly: ${number(first.series)} series`;
  const saved = `Without all but the largest of each, their folder would be ${sizeText(first.bytes)} smaller. Deleting here takes photos out of the index and never touches a file.`;
  place.replaceChildren(make("summary", {}, title), make("p", {}, saved), rows, more);
  add(first);
}
