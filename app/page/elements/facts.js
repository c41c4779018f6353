// Facts of a photo: when, where and with what it was taken, its words, and all else on demand.

import { takenText } from "./dates.js";
import { make, visible } from "./dom.js";
import { label } from "../service/holdings.js";

const SOURCES = { name: "by the name of the file", file: "the time of the file" }; // of dates that are not stated
const SHOWN = ["taken", "taken_from", "city", "region", "country", "camera", "lens", "folder", "file", "keywords", "people", "rating"];
const TECHNICAL = ["latitude", "longitude", "width", "height", "orientation", "duration", "seconds", "companions"];
const TITLES = ["title", "name", "description", "credit", "license", "text_boxes"];

export const listed = (value) => [value ?? []].flat().filter((one) => typeof one === "string" && one);

function plain(value) {
  if (Array.isArray(value)) return value.map(plain).join(", ");
  return value && typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Make a list of names and contents. */
export function factList(pairs) {
  return make("dl", {}, ...pairs.flatMap(([name, ...content]) => [make("dt", {}, name), make("dd", {}, ...content)]));
}

/** The metadata of an item and its id, without the keys that are shown elsewhere. */
export function metadataPairs({ id, metadata }, left) {
  const rows = Object.entries(metadata).filter(([key, value]) => !left.includes(key) && value !== null);
  return [...rows.map(([key, value]) => [label(key), plain(value)]), ["Id", visible(id)]];
}

/** Values that list the photos which have them, by a filter. */
function links(key, values, browse) {
  return values.flatMap((value, position) => {
    const button = make("button", {
      type: "button", className: "fact", title: "Show all photos with this", onclick: () => browse({ [key]: [value] }),
    }, visible(value));
    return position > 0 ? [", ", button] : [button];
  });
}

function dated({ taken, taken_from: from }) {
  if (typeof taken !== "string") return null;
  const source = SOURCES[from];
  return ["Taken", takenText(taken), ...(source ? [make("span", { className: "source" }, ` (${source})`)] : [])];
}

function placed({ city, region, country }, browse) {
  const values = Object.entries({ city, region, country }).filter(([, value]) => typeof value === "string" && value);
  const others = values.filter(([, value], position) => values.findIndex(([, one]) => one === value) === position);
  if (others.length === 0) return null;
  return ["Place", ...others.flatMap(([key, value], position) =>
    [...(position > 0 ? [", "] : []), ...links(key, [value], browse)])];
}

function withLens({ camera, lens }, browse) {
  if (listed(camera).length === 0) return null;
  const behind = listed(lens).filter((name) => name !== camera);
  return ["Camera", ...links("camera", listed(camera), browse), ...behind.map((name) => `, ${name}`)];
}

function sized({ width, height, duration }) {
  const size = width && height ? `${width} × ${height} pixels` : null;
  const length = typeof duration === "number" ? `${Math.round(duration)} s` : null;
  const text = [size, length].filter(Boolean).join(", ");
  return text ? ["Size", text] : null;
}

function rated({ rating }) {
  if (typeof rating !== "number" || rating <= 0) return null;
  const stars = "★".repeat(Math.min(5, Math.round(rating)));
  return ["Rating", make("span", { role: "img", "aria-label": `${rating} of 5 stars` }, stars)];
}

/** Show what a photo's file states; `browse` lists the photos that pass a filter. */
export function factsOf(item, browse) {
  const { metadata } = item;
  const many = (name, key) => (listed(metadata[key]).length > 0 ? [name, ...links(key, listed(metadata[key]), browse)] : null);
  const first = [
    dated(metadata), placed(metadata, browse), many("People", "people"), many("Keywords", "keywords"),
    withLens(metadata, browse), many("Folder", "folder"),
    metadata.file ? ["File", visible(plain(metadata.file).split("/").at(-1))] : null, rated(metadata), sized(metadata),
  ].filter(Boolean);
  const stated = { lens: listed(metadata.camera), keywords: listed(metadata.keywords), rating: [Number.isFinite(metadata.rating)].filter(Boolean) };
  const shown = SHOWN.filter((key) => stated[key]?.length !== 0); // a lens without a camera is among the rest
  const rest = metadataPairs(item, [...shown, ...TITLES, ...TECHNICAL]).slice(0, -1);
  const technical = metadataPairs(item, [...Object.keys(metadata).filter((key) => !TECHNICAL.includes(key))]);
  return make("div", { className: "facts" }, factList([...first, ...rest]),
    make("details", {}, make("summary", {}, "More"), factList(technical)));
}
