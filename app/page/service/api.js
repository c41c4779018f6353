// Calls of the HTTP API: one function a request, problems as errors.

import { pictureAddress } from "../elements/dom.js";
import { askForKey } from "./key.js";

const ITEMS_AT_ONCE = 60;
const SENTENCES_AT_ONCE = 10;
const PATIENCE = 30; // tries while the model is being loaded, or too many ask at once

/** A problem as a person reads it; `passing` if another try can help. */
export class Problem extends Error {
  constructor(message, passing, status = null) {
    super(message);
    this.passing = passing;
    this.status = status;
  }
}

/** Return the collection in the address, else "default". */
export function collection() {
  return new URLSearchParams(location.search).get("collection") || "default";
}

/** Send a body as `fetch` does, and tell its `progress`, from 0 to 1. */
function sendWatched(path, { method, headers, body, progress }) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(method, path);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded, total }) => progress(loaded / total);
    request.onerror = () => reject(new TypeError("the connection broke"));
    request.onload = () => {
      const { status, statusText, response } = request;
      const pause = request.getResponseHeader("Retry-After");
      resolve(new Response(response, { status, statusText, headers: pause ? { "Retry-After": pause } : {} }));
    };
    request.send(body);
  });
}

async function reach(path, options) {
  try {
    return await (options.progress ? sendWatched : fetch)(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem("Tessera did not answer. Check that it is running, then try again.", true);
  }
}

/** Send a request; with `mayAsk`, ask for a key if one is needed. */
async function send(path, { mayAsk = true, ...options } = {}) {
  let answer = await reach(path, options);
  for (let tries = 0; tries < PATIENCE && answer.headers.has("Retry-After"); tries += 1) {
    const seconds = Number(answer.headers.get("Retry-After")) || 1;
    await new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
    answer = await reach(path, options);
  }
  if (answer.ok) return answer;
  if (answer.status === 401 && mayAsk) {
    if (await askForKey()) return send(path, options);
    throw new Problem("This Tessera needs a key. Whoever runs it can make you one.", true, 401);
  }
  const problem = await answer.json().catch(() => ({}));
  const detail = problem.detail || `Tessera answered ${answer.status} ${answer.statusText}`;
  const passing = answer.status >= 500 || [401, 408, 429].includes(answer.status);
  throw new Problem(detail[0].toUpperCase() + detail.slice(1), passing, answer.status);
}

/** Add fields to a form: sentences one by one, a box as its sides, other values as JSON. */
function appendFields(form, { sentences = [], box, ...fields }) {
  for (const sentence of sentences) form.append("sentences", sentence);
  if (box) form.append("box", box.join());
  for (const [name, value] of Object.entries(fields)) {
    form.append(name, typeof value === "object" ? JSON.stringify(value) : value);
  }
}

/** Ask with a text, {text}, with a stored photo, {id}, or with an upload, {file}. */
function ask(path, { file, ...asked }, { signal, accept = "application/json" } = {}) {
  const fields = { ...asked, collection: collection() };
  const options = { method: "POST", signal, headers: { Accept: accept } };
  if (file) {
    options.body = new FormData();
    options.body.append("image", file, file.name || "photo");
    appendFields(options.body, fields);
  } else {
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(fields);
  }
  return send(path, options);
}

/** Photos for a text or like a photo, best first. */
export async function searchPhotos(asked, signal) {
  return (await ask("search/image", asked, { signal })).json();
}

/** Products for a text or like a photo, best first, or all of them, with counts by facets. */
export async function searchProducts(asked, signal) {
  return (await ask("search/products", asked, { signal })).json();
}

/** Complete a text; each completion has its number of items. */
export async function suggestions(text, signal) {
  const query = new URLSearchParams({ collection: collection(), text, limit: 8 });
  return (await (await send(`suggest?${query}`, { signal })).json()).suggestions;
}

/** Parts of photos for a question, best first; one of each photo. */
export async function searchParts(asked, signal) {
  return (await ask("search/regions", asked, { signal })).json();
}

/** Sentences for a photo, best first. */
export async function searchSentences(asked, signal) {
  return (await ask("search/text", { ...asked, limit: SENTENCES_AT_ONCE }, { signal })).json();
}

/** Get the loaded models. */
export async function model(signal) {
  return (await send("model", { signal })).json();
}

/** Describe a photo, and `regions` of its regions. */
export async function caption(asked, signal) {
  return (await ask("caption", asked, { signal })).json();
}

/** Find the boxes of phrases in a photo. */
export async function ground(asked, phrases, signal) {
  return (await ask("ground", { ...asked, text: phrases.join(", "), phrases }, { signal })).json();
}

/** Get the alignment of a stored photo and a sentence as a PNG. */
export async function alignmentPicture(id, text, photo) {
  return (await ask("align", { id, text, photo }, { accept: "image/png" })).blob();
}

/** Get a page of the collection, of items that pass a filter; `cursor` is of the last page, or null. */
export async function items(cursor, signal, filter = {}) {
  const query = new URLSearchParams({ collection: collection(), limit: ITEMS_AT_ONCE });
  if (Object.keys(filter).length > 0) query.set("filter", JSON.stringify(filter));
  if (cursor) query.set("cursor", cursor);
  return (await send(`items?${query}`, { signal })).json();
}

function addressOf(id) {
  return `items/${encodeURIComponent(id)}?${new URLSearchParams({ collection: collection() })}`;
}

/** One item. */
export async function item(id, signal) {
  return (await send(addressOf(id), { signal })).json();
}

/** One item, with the tag of its state. */
export async function taggedItem(id) {
  const answer = await send(addressOf(id));
  return { item: await answer.json(), tag: answer.headers.get("ETag") };
}

/** Merge a patch into an item's metadata, in the state that a tag names. */
export function patch(id, metadata, tag) {
  const headers = { "Content-Type": "application/merge-patch+json", "If-Match": tag };
  return send(addressOf(id), { method: "PATCH", headers, body: JSON.stringify({ metadata }) });
}

/** The photo of an item, as a file. */
export async function photoOf({ image }, signal) {
  return (await send(pictureAddress(image), { signal })).blob();
}

/** Add an item with its photos, and tell the progress; a Problem where there is one with its id. */
export async function add({ id, files, ...item }, progress = null) {
  const fields = { collection: collection(), ...item };
  const headers = { "If-None-Match": "*" };
  let body = JSON.stringify(fields);
  if (files.length > 0) {
    body = new FormData();
    for (const [position, file] of files.entries()) body.append(position === 0 ? "image" : "images", file, file.name);
    appendFields(body, fields);
  } else headers["Content-Type"] = "application/json";
  const path = `items/${encodeURIComponent(id)}`;
  return (await send(path, { method: "PUT", body, headers, ...(progress && { progress }) })).json();
}

/** Delete an item. */
export function remove(id) {
  return send(addressOf(id), { method: "DELETE" });
}

/** Let imports store deleted photos of folders again; return the ids of those, and of unknown ones. */
export async function restore(ids) {
  return (await ask("items/restore", { ids })).json();
}

/** Delete items; return their number. */
export async function removeAll(ids) {
  return (await ask("items/delete", { ids })).json();
}

/** Get the number of stored items, and of searchable ones. */
export async function index(signal, mayAsk = true) {
  const query = new URLSearchParams({ collection: collection() });
  return (await send(`index?${query}`, { signal, mayAsk })).json();
}

/** The last imports into the collection, with what they did not read. */
export async function imports(signal) {
  return (await (await send(`collections/${encodeURIComponent(collection())}/imports`, { signal })).json()).imports;
}

/** A page of near-duplicates; `cursor` is of the last page, or null. */
export async function duplicates(cursor, signal) {
  const query = new URLSearchParams({ collection: collection(), limit: 10, ...(cursor && { cursor }) });
  return (await send(`duplicates?${query}`, { signal })).json();
}

/** The address of an item's original file. */
export const originalOf = (id) => addressOf(id).replace("?", "/original?");

/** Example queries of the collection, where it holds a demonstration. */
export async function examples(signal) {
  const query = new URLSearchParams({ collection: collection() });
  return (await (await send(`examples?${query}`, { signal })).json()).queries;
}

/** Get the rights of the caller, and whether a key is needed. */
export async function session() {
  return (await send("session")).json();
}

/** The collections there are. */
export async function collections() {
  return (await send("collections")).json();
}
