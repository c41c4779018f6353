// Photos taken on this day in earlier years.

import * as api from "../service/api.js";
import { make } from "../elements/dom.js";
import { plainItem } from "../elements/gallery.js";

const MOST = 24; // photos in the row
const MOST_YEARS = 60; // conditions of a filter

const twoDigits = (number) => String(number).padStart(2, "0");

/** List the beginnings of dates in earlier years that have photos in this month. */
function daysOf(months, now) {
  const [month, day] = [twoDigits(now.getMonth() + 1), twoDigits(now.getDate())];
  const years = months.filter(({ value }) => value.endsWith(`-${month}`) && Number(value.slice(0, 4)) < now.getFullYear());
  return years.slice(-MOST_YEARS).map(({ value }) => `${value}-${day}`);
}

function ago(taken, now) {
  const years = now.getFullYear() - Number(taken.slice(0, 4));
  return years === 1 ? "1 year ago" : `${years} years ago`;
}

/** Make a row of photos of this day in earlier years; null where there are none. `months` are counts by month. */
export async function memories(months, open, signal) {
  const now = new Date();
  const days = daysOf(months, now);
  if (days.length === 0) return null;
  const filter = { $or: days.map((prefix) => ({ taken: { prefix } })) };
  const { hits } = await api.searchPhotos({ sort: { key: "taken", order: "desc" }, filter, limit: MOST }, signal);
  if (hits.length === 0) return null;
  const cards = hits.map((hit) => {
    const { taken, file } = hit.metadata;
    const card = plainItem({ ...hit, metadata: { taken, file } }, open);
    card.append(make("p", { className: "ago" }, ago(taken, now)));
    return card;
  });
  return make("section", { className: "memories", "aria-labelledby": "on-this-day" },
    make("h2", { id: "on-this-day" }, "On this day"), make("ol", { tabIndex: 0, "aria-labelledby": "on-this-day" }, ...cards));
}
