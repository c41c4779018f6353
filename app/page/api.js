// Calls of the HTTP API: one function a request, problems as errors.

import { askForKey } from "./key.js";

const PHOTOS_AT_ONCE = 24;
const ITEMS_AT_ONCE = 60;
const SENTENCES_AT_ONCE = 10;
const PATIENCE = 30; // tries while the model is being loaded, or too many ask at once

/** What a person may read of what went wrong. */
export class Problem extends Error {}

/** The collection that the address names, "default" if it names none. */
export function collection() {
  return new URLSearchParams(location.search).get("collection") || "default";
}

async function reach(path, options) {
  try {
    return await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem("Tessera did not answer. Check that it is running, then try again.");
  }
}

async function send(path, options = {}) {
  let answer = await reach(path, options);
  for (let tries = 0; tries < PATIENCE && answer.headers.has("Retry-After"); tries += 1) {
    const seconds = Number(answer.headers.get("Retry-After")) || 1;
    await new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
    answer = await reach(path, options);
  }
  if (answer.ok) return answer;
  if (answer.status === 401 && (await askForKey())) return send(path, options);
  const problem = await answer.json().catch(() => ({}));
  const detail = problem.detail || `Tessera answered ${answer.status} ${answer.statusText}`;
  throw new Problem(detail[0].toUpperCase() + detail.slice(1));
}

/** Ask with a text, {text}, with a stored photo, {id}, or with an upload, {file}. */
function ask(path, { file, ...asked }, { signal, accept = "application/json" } = {}) {
  const fields = { ...asked, collection: collection() };
  const options = { method: "POST", signal, headers: { Accept: accept } };
  if (file) {
    options.body = new FormData();
    options.body.append("image", file, file.name || "photo");
    for (const [name, value] of Object.entries(fields)) {
      options.body.append(name, Array.isArray(value) ? JSON.stringify(value) : value);
    }
  } else {
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(fields);
  }
  return send(path, options);
}

/** Photos for a text or like a photo, best first; `cursor` is the last answer's, or null. */
export async function searchPhotos(asked, cursor, signal) {
  const page = { limit: PHOTOS_AT_ONCE, ...(cursor && { cursor }) };
  return (await ask("search/image", { ...asked, ...page }, { signal })).json();
}

/** Sentences for a photo, best first. */
export async function searchSentences(asked, signal) {
  return (await ask("search/text", { ...asked, limit: SENTENCES_AT_ONCE }, { signal })).json();
}

/** What a photo shows, in a sentence. */
export async function caption(asked, signal) {
  return (await ask("caption", asked, { signal })).json();
}

/** Where a photo shows what each phrase means. */
export async function ground(asked, phrases, signal) {
  return (await ask("ground", { ...asked, text: phrases.join(", "), phrases }, { signal })).json();
}

/** The picture of how a stored photo answers a sentence, as a PNG. */
export async function alignmentPicture(id, text) {
  return (await ask("align", { id, text }, { accept: "image/png" })).blob();
}

/** Some of what is in the collection. */
export async function items(signal) {
  const query = new URLSearchParams({ collection: collection(), limit: ITEMS_AT_ONCE });
  return (await send(`items?${query}`, { signal })).json();
}

/** One item. */
export async function item(id, signal) {
  const query = new URLSearchParams({ collection: collection() });
  return (await send(`items/${encodeURIComponent(id)}?${query}`, { signal })).json();
}

/** Example queries of the default collection; none of another. */
export async function examples(signal) {
  if (collection() !== "default") return [];
  return (await (await send("examples", { signal })).json()).queries;
}

/** What the key that was given allows, and whether one is needed. */
export async function session() {
  return (await send("session")).json();
}

/** The collections there are. */
export async function collections() {
  return (await send("collections")).json();
}
