// Facets: values and ranges to filter by, with counts over the hits.

import { periodName } from "../elements/dates.js";
import { make } from "../elements/dom.js";
import { label } from "../service/holdings.js";

const FEW = 8; // values that are shown at once
const FEW_NUMBERS = 8; // so few different numbers are chosen like texts

export const quantity = (number) => number.toLocaleString("en", { maximumFractionDigits: 2 });

/** A value as people read it. */
export function valueText(value) {
  if (value === true) return "Yes";
  if (value === false) return "No";
  return typeof value === "number" ? String(value) : value;
}

/** A range or a period as people read it. */
export function rangeText({ gte, lt, lte, prefix }) {
  if (prefix) return periodName(prefix.replace(/-$/, ""));
  const end = lt ?? lte;
  if (gte === undefined || gte === null) return `under ${quantity(end)}`;
  return end === undefined || end === null ? `${quantity(gte)} and more` : `${quantity(gte)} – ${quantity(end)}`;
}

const isRange = (chosen) => chosen && typeof chosen === "object" && !Array.isArray(chosen);

/** Change a key of the filter; an empty choice removes it. */
export function choosing(filter, key, chosen) {
  const { [key]: _, ...others } = filter;
  const empty = chosen === null || (Array.isArray(chosen) && chosen.length === 0);
  return empty ? others : { ...others, [key]: chosen };
}

/** The values that a filter chooses under a key. */
export function chosenValues(filter, key) {
  const chosen = filter[key];
  if (chosen === undefined || isRange(chosen)) return [];
  return Array.isArray(chosen) ? chosen : [chosen];
}

function option(name, text, count, checked, toggle) {
  const box = make("input", { type: "checkbox", checked, id: name, onchange: () => toggle(box.checked) });
  const number = make("span", { className: "count" }, count.toLocaleString("en"));
  return make("label", { className: "option" }, box, make("span", {}, text), number);
}

function valueOptions({ key, values }, filter, choose) {
  const chosen = chosenValues(filter, key);
  const absent = chosen.filter((value) => !values.some((one) => one.value === value));
  return [...absent.map((value) => ({ value, count: 0 })), ...values]
    .filter(({ value }) => value !== null)
    .map(({ value, count }) =>
      option(`facet-${key}-${value}`, valueText(value), count, chosen.includes(value), (on) =>
        choose(choosing(filter, key, on ? [...chosen, value] : chosen.filter((one) => one !== value)))));
}

function rangeOptions({ key, ranges }, filter, choose) {
  const chosen = isRange(filter[key]) ? filter[key] : null;
  return ranges.filter(({ count }) => count > 0).map(({ start, end, count }) => {
    const range = { ...(start !== null && { gte: start }), ...(end !== null && { lt: end }) };
    const on = chosen !== null && chosen.gte === range.gte && chosen.lt === range.lt;
    return option(`facet-${key}-${start}-${end}`, rangeText(range), count, on, (now) =>
      choose(choosing(filter, key, now ? range : null)));
  });
}

/** Years, the newest first; below the one that is chosen its months. */
function periodOptions({ key, dates }, filter, choose) {
  const chosen = filter[key]?.prefix ?? "";
  const years = new Map();
  for (const { value, count } of dates) years.set(value.slice(0, 4), (years.get(value.slice(0, 4)) ?? 0) + count);
  const period = (value, count, wider) =>
    option(`facet-${key}-${value}`, periodName(value), count, chosen.startsWith(`${value}-`), (on) =>
      choose(choosing(filter, key, on ? { prefix: `${value}-` } : wider)));
  return [...years].toReversed().flatMap(([year, count]) => {
    const months = chosen.startsWith(`${year}-`) ? dates.filter(({ value }) => value.startsWith(`${year}-`)) : [];
    const within = months.map(({ value, count: number }) => period(value, number, { prefix: `${year}-` }));
    for (const month of within) month.classList.add("within");
    return [period(year, count, null), ...within];
  });
}

/** Make two inputs for a range of numbers. */
function between({ key, least, most }, filter, choose) {
  const chosen = isRange(filter[key]) ? filter[key] : {};
  const input = (name, value, hint) => make("input", {
    type: "number", step: "any", id: `facet-${key}-${name}`, value: value ?? "",
    placeholder: quantity(hint).replaceAll(",", ""), "aria-label": `${label(key)}, ${name}`,
  });
  const from = input("from", chosen.gte, least);
  const to = input("to", chosen.lte ?? chosen.lt, most);
  const onsubmit = (event) => {
    event.preventDefault();
    const range = {
      ...(from.value !== "" && { gte: Number(from.value) }),
      ...(to.value !== "" && { lte: Number(to.value) }),
    };
    choose(choosing(filter, key, Object.keys(range).length > 0 ? range : null));
  };
  const go = make("button", { type: "submit", className: "second", "aria-label": `Apply ${label(key)}` }, "Go");
  return make("form", { className: "between", onsubmit }, from, make("span", { "aria-hidden": "true" }, "–"), to, go);
}

/** Make the part of a facet: ranges of many numbers or of prices, and values of others. */
function facet(counts, price, filter, choose) {
  const { key, values, least, most, distinct } = counts;
  const many = distinct > FEW_NUMBERS || (key === price && least < most);
  const numbers = least !== null && (many || isRange(filter[key]));
  const texts = { key, values: values.filter(({ value }) => typeof value !== "number") };
  const options = counts.by ? periodOptions(counts, filter, choose) : numbers ? [...rangeOptions(counts, filter, choose), ...valueOptions(texts, filter, choose)]
    : valueOptions(counts, filter, choose);
  const [first, rest] = [options.slice(0, FEW), options.slice(FEW)];
  const more = rest.length === 0 ? null : make("details", { id: `facet-${counts.key}-more` },
    make("summary", {}, `${rest.length} more`), ...rest);
  return make("fieldset", {}, make("legend", {}, label(counts.key)), ...first, more,
    numbers ? between(counts, filter, choose) : null);
}

/** Show facets in `panel`, of which one is the `price`; call `choose` with each new filter. */
export function showFacets(panel, facets, price, filter, choose) {
  const [focus, open] = [document.activeElement?.id, openParts(panel)];
  const used = facets.filter(({ key, distinct }) => distinct > 0 || key in filter);
  panel.replaceChildren(...used.map((counts) => facet(counts, price, filter, choose)));
  for (const id of open) panel.querySelector(`#${CSS.escape(id)}`)?.setAttribute("open", "");
  if (focus?.startsWith("facet-")) document.getElementById(focus)?.focus();
}

const openParts = (panel) => [...panel.querySelectorAll("details[open]")].map(({ id }) => id);
