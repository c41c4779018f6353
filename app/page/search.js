// Searches: one kind of question and answer for products and for photos.

import * as api from "./api.js";
import { collapsed } from "./series.js";

export const PAGE = 24; // hits of a page
const MOST = 96; // hits of a request

/** Return whether there is a question; without one, all items are shown. */
export const isQuestion = ({ text, like, photo }) => Boolean(text || like || photo);

/**
 * Return a page of hits for a question. `image` is an uploaded photo to search with. The page is
 * {hits, cursor, total (null if unknown), counted, weakBelow, behind, notes, words, refused, facets,
 * fragments, `corrected` if words of the text were}, of products also `least`, from which
 * probability on a photo alone is an answer, and `loose` if no product has the words or a likely
 * photo.
 */
export async function search(asked, holdings, image, { cursor = null, limit = PAGE, least = null, signal }) {
  const page = { limit: Math.min(MOST, limit), ...(cursor && { cursor }) };
  const question = questionTo(asked, image);
  if (holdings.shop) {
    const sent = { ...question, ...choices(asked, holdings), ...page };
    return products({ ...sent, ...(least !== null && { min_probability: least }) }, signal);
  }
  const spelled = asked.text && asked.typed ? { spelling: false } : {};
  const dated = asked.text && asked.undated && !asked.parts ? { dates: false } : {};
  if (isQuestion(asked)) {
    return photos({ ...question, ...spelled, ...dated, ...filterOf(asked), ...page }, asked.parts, signal);
  }
  return holdings.dated ? timeline(page, signal) : browsed(cursor, signal);
}

function questionTo({ text, like, box }, image) {
  if (image) return { file: image, ...(box && { box }) };
  return like ? { id: like } : { ...(text && { text }) };
}

const filterOf = ({ filter }) => (Object.keys(filter).length > 0 ? { filter } : {});

/** Return the filter, order, groups, facets and ignored fields. */
function choices(asked, { facets, group, hidden }) {
  const { sort, filter } = asked;
  const grouped = group && !(group in filter);
  return {
    ...filterOf(asked),
    ...(sort && { sort: { key: sort.replace(/^-/, ""), order: sort.startsWith("-") ? "desc" : "asc" } }),
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
    behind: searched.behind, total: answer.groups ?? answer.total ?? (query.filters?.length > 0 ? null : total), refused: [], facets: [],
  };
}

/** List photos by their dates, the newest first. */
async function timeline(page, signal) {
  return photos({ sort: { key: "taken", order: "desc" }, ...page }, false, signal);
}

async function browsed(cursor, signal) {
  const [page, { items: total }] = await Promise.all([api.items(cursor, signal), api.index(signal)]);
  return {
    hits: page.items, cursor: page.cursor, total, weakBelow: null, behind: 0,
    notes: [], words: [], refused: [], facets: [], fragments: [],
  };
}

/** Count each filtered facet as if its own filter were not set. */
export async function otherwise(asked, holdings, image, { least, signal }) {
  const chosen = holdings.facets.filter((key) => key in asked.filter);
  const answers = await Promise.all(chosen.map(async (key) => {
    const { [key]: _, ...filter } = asked.filter;
    const without = { ...asked, filter };
    const only = { ...holdings, facets: [key] };
    return (await search(without, only, image, { limit: 1, least, signal })).facets;
  }));
  return answers.flat();
}
