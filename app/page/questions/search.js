// Searches: one kind of question and answer for products and for photos.

import * as api from "../service/api.js";
import { collapsed } from "../answers/series.js";

const windows = (window.innerWidth * window.innerHeight) / (1920 * 1080); // of a usual size
export const PAGE = 24 * Math.max(1, Math.min(4, Math.round(windows))); // hits of a page
const MOST = 96; // hits of a request

/** Return whether there is a question; without one, all items are shown. */
export const isQuestion = ({ text, like, photo }) => Boolean(text || like || photo);

/**
 * Return a page of hits for a question. `image` is an uploaded photo to search with. The page is
 * {hits, cursor, total (null if unknown), counted, weakBelow, behind, notes, words, refused, facets,
 * fragments, `corrected` if words of the text were}, of photos `listed` if all were counted, of products also `least`, from which
 * probability on a photo alone is an answer, and `loose` if no product has the words or a likely
 * photo. `facets` are counted instead of the collection's; `backwards` lists what is before `asked.from`.
 */
export async function search(asked, holdings, image, { limit = PAGE, ...options }) {
  if (!asked.like) return pageOf(asked, holdings, image, { limit, ...options });
  const more = options.cursor ? 0 : 1; // instead of the photo that is searched with
  const page = await pageOf(asked, holdings, image, { limit: limit + more, ...options });
  return withoutAsked(page, asked);
}

/** Leave out the item that others are to be like, unless others of its series or group stand behind it. */
function withoutAsked(page, { like }) {
  const hits = page.hits.filter(({ id, variants }) => id !== like || variants > 1);
  return { ...countFewer(page, page.hits.length - hits.length), hits };
}

/** A page that counts fewer items. */
export function countFewer(page, by) {
  const less = (count) => (typeof count === "number" ? count - by : count);
  return { ...page, total: less(page.total), counted: less(page.counted) };
}

async function pageOf(asked, holdings, image, {
  limit, cursor = null, least = null, facets = null, backwards = false, signal,
}) {
  const page = { limit: Math.min(MOST, limit), ...(cursor && { cursor }) };
  const question = questionTo(asked, image);
  if (holdings.shop) {
    const sent = { ...question, ...choices(asked, holdings), ...(facets && { facets }), ...page };
    return products({ ...sent, ...(least !== null && { min_probability: least }) }, signal);
  }
  const spelled = asked.text && asked.typed ? { spelling: false } : {};
  const dated = asked.text && asked.undated && !asked.parts ? { dates: false } : {};
  if (isQuestion(asked)) {
    const listed = asked.parts ? {} : { ...sortOf(asked), ...(facets && { facets }) };
    return photos({ ...question, ...spelled, ...dated, ...filterOf(asked), ...listed, ...page }, asked.parts, signal);
  }
  if (!holdings.dated) return browsed(asked, cursor, signal);
  if (facets) return photos({ facets, ...filterOf(asked), ...page }, false, signal);
  return timeline(asked, page, backwards, signal);
}

function questionTo({ text, like, box }, image) {
  if (image) return { file: image, ...(box && { box }) };
  return like ? { id: like } : { ...(text && { text }) };
}

const filterOf = ({ filter }) => (Object.keys(filter).length > 0 ? { filter } : {});

const sortOf = ({ sort }) =>
  (sort ? { sort: { key: sort.replace(/^-/, ""), order: sort.startsWith("-") ? "desc" : "asc" } } : {});

/** Return the filter, order, groups, facets and ignored fields. */
function choices(asked, { facets, group, hidden }) {
  const { filter } = asked;
  const grouped = group && !(group in filter);
  return {
    ...filterOf(asked),
    ...sortOf(asked),
    ...(grouped && { collapse: group }),
    facets,
    fields: Object.fromEntries(hidden.map((key) => [key, 0])),
  };
}

async function products(sent, signal) {
  const { query, hits, min_probability: least, ...answer } = await api.searchProducts(sent, signal);
  return {
    ...answer,
    ...query,
    corrected: null,
    least,
    loose: Boolean(sent.text) && least <= answer.weak_below,
    hits: hits.map(withLooks),
    total: answer.groups,
    counted: answer.total,
    weakBelow: answer.weak_below,
    fragments: [],
  };
}

/** Add the phrases of its photo to a product's hit, as in a photo's hit. */
function withLooks(hit) {
  const looks = hit.parts.find(({ kind }) => kind === "looks");
  return { ...hit, phrases: looks?.phrases ?? [], links: looks?.links ?? [] };
}

/** List photos, or parts of them; their total is unknown with a filter, and of parts. */
async function photos(sent, parts, signal) {
  const [answer, { items: total }] = await Promise.all([
    parts ? api.searchParts(sent, signal) : api.searchPhotos(collapsed(sent), signal),
    sent.filter || parts ? { items: null } : api.index(signal),
  ]);
  const { query, searched, hits, cursor, weak_below: weakBelow } = answer;
  return {
    ...query, hits: hits.map((hit) => ({ ...hit, weakBelow })), cursor, weakBelow,
    behind: searched.behind, total: answer.groups ?? answer.total ?? (query.filters?.length > 0 ? null : total), refused: [],
    listed: answer.total !== null && answer.total !== undefined,
    facets: answer.facets ?? [],
  };
}

/** Return a filter for the photos from a month on, in the order of the list, or for those before it. */
function windowOf({ from, filter }, oldest, backwards) {
  if (!from) return filter;
  const behind = `${from}-99`; // sorts after each day of the month
  const newer = oldest ? { taken: { gte: from } } : { taken: { gte: behind } };
  const older = oldest ? { taken: { lt: from } } : { taken: { lt: behind } };
  const ahead = oldest === backwards ? older : newer;
  const end = { taken: { exists: false } }; // photos without a date come last
  return { $and: [filter, backwards ? ahead : { $or: [ahead, end] }].filter((part) => Object.keys(part).length > 0) };
}

/** List photos by their dates, the newest first if not asked otherwise, and count them by months. */
async function timeline(asked, page, backwards, signal) {
  const oldest = asked.sort === "taken";
  const sort = { key: "taken", order: oldest === backwards ? "desc" : "asc" };
  const filter = windowOf(asked, oldest, backwards);
  const months = { facets: [{ key: "taken", by: "month", limit: 1 }] };
  const first = !page.cursor && !backwards;
  const listed = photos({ sort, ...filterOf({ filter }), ...(first && !asked.from && months), ...page }, false, signal);
  if (!first || !asked.from) return listed;
  const all = photos({ ...months, ...filterOf(asked), limit: 1 }, false, signal);
  const [answer, { facets, total }] = await Promise.all([listed, all]);
  return { ...answer, facets, total };
}

async function browsed({ filter }, cursor, signal) {
  const [page, { items }] = await Promise.all([api.items(cursor, signal, filter), api.index(signal)]);
  const total = Object.keys(filter).length > 0 ? null : items;
  return {
    hits: page.items, cursor: page.cursor, total, weakBelow: null, behind: 0,
    notes: [], words: [], refused: [], facets: [], fragments: [],
  };
}

/** Count each filtered facet as if its own filter were not set. */
export async function otherwise(asked, holdings, image, { least, signal }) {
  const chosen = holdings.facets.filter((facet) => (facet.key ?? facet) in asked.filter);
  const answers = await Promise.all(chosen.map(async (facet) => {
    const { [facet.key ?? facet]: _, ...filter } = asked.filter;
    const without = { ...asked, filter };
    return (await search(without, holdings, image, { limit: 1, least, facets: [facet], signal })).facets;
  }));
  return answers.flat();
}
