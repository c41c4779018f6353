// The kind of a collection: products with fields to filter by, or photos.

import { collection, items, searchProducts } from "./api.js";

const TITLES = ["title", "name"];
const PRICES = ["price", "sale_price", "unit_price"];
const GROUPS = ["group", "group_id", "item_group_id", "parent", "parent_id", "variant_of"];
const LONG = ["description", "details", "text"];
const CREDITS = ["credit", "license", "sample", "file", "series"]; // what says where a photo comes from, or groups it
const MOST_KEYS = 20; // that a search counts
const MOST_VALUES = 200; // of a key that one chooses by
const MOST_FACETS = 8;

const BY_DATE = { // what photos with dates are chosen and ordered by
  facets: [{ key: "taken", by: "month", limit: 1 }, "country", "city", "people", "keywords", "camera", "folder"],
  sorts: [["-taken", "Newest first"], ["taken", "Oldest first"]],
};

let known = new Map();

/** Forget the kinds of collections. */
export function forgetHoldings() {
  known = new Map();
}

const firstOf = (names, keys) => names.find((name) => keys.includes(name)) ?? null;

/** A key as people read it. */
export function label(key) {
  const words = key.replace(/([a-z])([A-Z])/g, "$1 $2").replaceAll("_", " ");
  return words[0].toUpperCase() + words.slice(1).toLowerCase();
}

/** Find the kind of the current collection: products have a title and another field, `dated` photos a date. */
export async function holdings(signal) {
  const name = collection();
  if (!known.has(name)) known.set(name, await sampled(signal));
  return known.get(name);
}

async function sampled(signal) {
  const { items: first } = await items(null, signal);
  const keys = [...new Set(first.flatMap(({ metadata }) => Object.keys(metadata)))];
  const title = firstOf(TITLES, keys);
  const fields = keys.filter((key) => ![...TITLES, ...CREDITS, ...LONG].includes(key));
  const most = (test) => 2 * first.filter(({ metadata }) => test(metadata)).length > first.length;
  const dated = most((metadata) => typeof metadata.taken === "string");
  const shop = title !== null && !dated && most((metadata) => typeof metadata[title] === "string") &&
    most((metadata) => fields.some((key) => key in metadata));
  if (!shop) return { shop, title, dated, hidden: CREDITS, ...(dated ? BY_DATE : { facets: [], sorts: [] }) };
  const price = firstOf(PRICES, keys);
  const group = firstOf(GROUPS, keys);
  const counted = fields.filter((key) => key !== group).slice(0, MOST_KEYS);
  const { facets, total } = await searchProducts({ facets: counted, limit: 1 }, signal);
  const facetKeys = facets.filter((facet) => choosable(facet, total)).map(({ key }) => key);
  return {
    shop, title, price, group, total,
    hidden: [...CREDITS, ...(group ? [group] : [])],
    fields: [price, ...counted].filter((key, position, all) => key && all.indexOf(key) === position),
    numeric: facets.filter(({ least }) => least !== null).map(({ key }) => key),
    facets: facetKeys.slice(0, MOST_FACETS),
    line: facets.filter((facet) => brief(facet)).map(({ key }) => key).filter((key) => key !== price),
    sorts: sortsOf(facets, title, price),
  };
}

/** Return whether a key suits a filter: few values, each in many items. */
function choosable({ distinct, missing, least }, total) {
  const having = total - missing;
  if (distinct < 2 || having < 2 || having * 20 < total) return false;
  return least !== null || (distinct <= MOST_VALUES && (distinct <= 12 || 1.2 * distinct <= having));
}

/** Return whether the values of a key are short. */
function brief({ values, distinct, least }) {
  if (distinct < 1 || least !== null) return false;
  return values.every(({ value }) => typeof value === "string" && value.length <= 24);
}

function sortsOf(facets, title, price) {
  const numeric = facets.filter(({ key, least, distinct }) => least !== null && distinct > 1 && key !== price);
  const isDate = ({ value }) => typeof value === "string" && /^\d{4}-\d\d/.test(value);
  const dated = facets.filter(({ values }) => values.length > 1 && values.every(isDate));
  return [
    ...(price ? [[price, "Price: low to high"], [`-${price}`, "Price: high to low"]] : []),
    ...numeric.slice(0, 3).flatMap(({ key }) =>
      [[`-${key}`, `${label(key)}: highest first`], [key, `${label(key)}: lowest first`]]),
    ...dated.slice(0, 1).map(({ key }) => [`-${key}`, `${label(key)}: newest first`]),
    [title, "A to Z"],
  ];
}
