// The page's states: the start, an answer to a sentence, or an answer to a photo.

import * as api from "./api.js";
import { matchingSentences, showPhoto } from "./asked.js";
import { make } from "./dom.js";
import { mark, photoHit, placeholders, plainItem } from "./gallery.js";
import { signOut } from "./key.js";
import { darken, listen } from "./light.js";
import { isWeak, nothingLikeThat, withWeakLine } from "./likelihood.js";
import { askedPhrases, keyed, largest, phraseChips, phrasesOf } from "./phrases.js";
import { listenForPhotos } from "./upload.js";

const at = (id) => document.getElementById(id);
const [start, query, status, results, more] =
  ["start", "query", "status", "results", "more"].map(at);
let asking = new AbortController();
let retry = () => {};

function block(title, ...content) {
  return make("section", {}, make("h2", {}, title), ...content);
}

function gallery(...cards) {
  return make("ol", { className: "gallery" }, ...cards);
}

function say(error) {
  if (!(error instanceof api.Problem)) console.error(error); // a fault of this page
  status.textContent = error.message;
}

function fail(error) {
  say(error);
  const again = make("button", { type: "button", className: "go", onclick: () => retry() }, "Try again");
  results.replaceChildren(
    make("div", { className: "message", role: "alert" },
      make("h2", {}, "That did not work"), make("p", {}, error.message), again),
  );
  status.textContent = "";
  more.hidden = true;
}

/** Do a piece of the current question; what a newer question overtakes is dropped in silence. */
async function attempt(work, failed = fail) {
  const { signal } = asking;
  results.setAttribute("aria-busy", "true");
  try {
    await work(signal);
  } catch (error) {
    if (!signal.aborted) failed(error);
  }
  if (!signal.aborted) results.removeAttribute("aria-busy");
}

/** Begin a new question: forget the one before, show that something is on its way. */
function begin(title, work) {
  asking.abort();
  retry = () => begin(title, work);
  asking = new AbortController();
  darken();
  document.title = title ? `${title} · Tessera` : "Tessera";
  start.hidden = title !== null;
  at("asked").textContent = title ?? "";
  at("asked").hidden = title === null;
  query.hidden = true;
  query.replaceChildren();
  more.hidden = true;
  status.textContent = title ? "Searching…" : "";
  results.replaceChildren(gallery(...placeholders(8)));
  return attempt(work);
}

/** An address of this page that keeps the collection. */
function address(changes) {
  const parameters = new URLSearchParams({ collection: api.collection(), ...changes });
  if (parameters.get("collection") === "default") parameters.delete("collection");
  return `?${parameters}`;
}

function visit(changes) {
  history.pushState(null, "", address(changes));
  return route();
}

function count(number, thing) {
  return `${number} ${thing}${number === 1 ? "" : "s"}`;
}

const actions = (text) => {
  const similar = ["More like this", (hit) => visit({ like: hit.id })];
  return text === null ? [similar] : [similar, ["Save picture", (hit) => save(hit, text)]];
};

async function save(hit, text) {
  try {
    const picture = URL.createObjectURL(await api.alignmentPicture(hit.id, text));
    make("a", { download: `${hit.id}.png`, href: picture }).click();
    setTimeout(() => URL.revokeObjectURL(picture), 60_000);
  } catch (error) {
    say(error);
  }
}

/**
 * The hits of an answer, as elements: a gallery that grows by `next(cursor, signal)`, under a
 * heading where every hit is weak. `text` is null when a photo was asked with.
 */
function ranked(answer, text, next) {
  const { weak_below: weakBelow } = answer;
  const found = (hit) => phrasesOf(hit, "query");
  const scale = text === null ? null : largest(answer.hits.map(found));
  const card = (hit) => photoHit(hit, { found: found(hit), scale, weakBelow, actions: actions(text) });
  const list = gallery(...withWeakLine(answer.hits, weakBelow, card));
  const shown = [...answer.hits];
  let { cursor } = answer;
  more.hidden = !cursor;
  more.onclick = () =>
    attempt(async (signal) => {
      const page = await next(cursor, signal);
      const added = withWeakLine(page.hits, weakBelow, card, shown);
      shown.push(...page.hits);
      list.append(...added);
      ({ cursor } = page);
      more.hidden = !cursor;
      added.at(-page.hits.length)?.querySelector("button").focus();
      status.textContent = counted(shown, weakBelow);
    }, say);
  return [nothingLikeThat(answer.hits, weakBelow), list].filter(Boolean);
}

/** What the strip says below the phrases; the tones of bars only where links are split. */
function hint({ hits }) {
  const split = hits.some(({ phrases }) => phrases?.some(({ whole }) => typeof whole === "number"));
  const tone = (name) => make("span", { className: `key ${name}` });
  return make(
    "p",
    { className: "hint" },
    "Point at a phrase to see what it found.",
    ...(split ? [" Bars: ", tone("by-whole"), " what the whole photo gave, "] : []),
    ...(split ? [tone("by-part"), " what the marked part added."] : []),
  );
}

/** What is said while not everything that is stored can be found yet. */
function stillIndexing(behind) {
  return `Still indexing: ${behind.toLocaleString("en")} changes are not searched yet.`;
}

/** How many hits there are, and how many of them are weak. */
function counted(hits, weakBelow) {
  const weak = hits.filter((hit) => isWeak(hit, weakBelow)).length;
  if (weak === 0) return count(hits.length, "photo");
  const weakOnes = weak === 1 ? "1 weak match" : `${weak} weak matches`;
  return weak === hits.length ? weakOnes : `${count(hits.length - weak, "photo")}, ${weakOnes}`;
}

async function answerWords(text, signal) {
  const next = (cursor, later) => api.searchPhotos({ text }, cursor, later);
  const answer = await next(null, signal);
  if (answer.hits.length === 0) return nothing();
  query.className = "strip";
  const asked = phraseChips(askedPhrases(answer), "Phrases of your search");
  query.replaceChildren(asked, hint(answer));
  query.hidden = false;
  results.replaceChildren(...ranked(answer, text, next));
  const { behind } = answer.searched;
  const told = behind ? [...answer.query.notes, stillIndexing(behind)] : answer.query.notes;
  const notes = told.map((note) => make("p", { className: "remark" }, note));
  status.replaceChildren(counted(answer.hits, answer.weak_below), ...notes);
}

async function answerSimilar(asked, stage, signal) {
  const next = (cursor, later) => api.searchPhotos(asked, cursor, later);
  const answer = await next(null, signal);
  const parts = answer.query.fragments.map((part, position) =>
    keyed("query", { ...part, text: part.label }, position));
  mark(stage, parts);
  results.prepend(block("Similar photos", ...ranked(answer, null, next)));
  status.textContent = count(answer.hits.length, "similar photo");
}

async function answerPhoto(asked, signal) {
  const findSimilar = ({ target }) => {
    target.hidden = true;
    attempt((later) => answerSimilar(asked, stage, later), (error) => {
      target.hidden = false;
      say(error);
    });
  };
  const stage = await showPhoto(query, asked, asked.file ? findSimilar : null, signal);
  const sentences = await matchingSentences(asked, stage, signal);
  results.replaceChildren(
    sentences.length > 0
      ? block("Sentences that match", ...sentences)
      : block("Sentences that match", make("p", {}, "This collection has no sentences.")),
  );
  const matches = results.querySelectorAll(".sentence").length;
  status.textContent = matches > 0 ? count(matches, "matching sentence") : "";
  if (!asked.file) await answerSimilar(asked, stage, signal);
}

function nothing() {
  status.textContent = "";
  results.replaceChildren(
    make("div", { className: "message" },
      make("h2", {}, "No photos here yet"),
      make("p", {}, "Add a folder of photos with this command, then search again:"),
      make("code", {}, `tessera index PATH --collection ${api.collection()}`)),
  );
}

async function showItems(signal) {
  const { items } = await api.items(signal);
  const photos = items.filter((item) => item.image);
  if (photos.length === 0) return nothing();
  const cards = photos.map((item) => plainItem(item, ({ id }) => visit({ like: id })));
  const wall = gallery(...cards);
  wall.classList.add("wall");
  results.replaceChildren(block("Or start from one of these photos", wall));
}

/** Offer example queries, one click each, where the collection holds the sample. */
async function offerExamples(signal) {
  const queries = await api.examples(signal).catch(() => []);
  const buttons = queries.map(({ text }) =>
    make("button", { type: "button", className: "second", onclick: () => visit({ q: text }) }, text));
  if (!signal.aborted) at("examples").replaceChildren(...buttons.map((each) => make("li", {}, each)));
}

async function showStart(signal) {
  await Promise.all([offerExamples(signal), showItems(signal)]);
}

function useFile(file) {
  history.pushState(null, "", address({}));
  at("words").value = "";
  begin(file.name || "Your photo", (signal) => answerPhoto({ file }, signal));
}

/** Show what the address asks for. */
function route() {
  const parameters = new URLSearchParams(location.search);
  const [text, id] = [parameters.get("q")?.trim(), parameters.get("like")];
  at("words").value = text ?? "";
  if (text) return begin(text, (signal) => answerWords(text, signal));
  if (id) return begin(`Like ${id}`, (signal) => answerPhoto({ id }, signal));
  at("words").focus();
  return begin(null, showStart);
}

/** Offer the other collections, where there are any. */
async function offerCollections() {
  const { collections } = await api.collections().catch(() => ({ collections: [] }));
  const names = collections.map(({ name }) => name);
  const select = at("collections");
  select.replaceChildren(...names.map((name) => new Option(name, name)));
  select.value = api.collection();
  select.hidden = names.length < 2;
  select.addEventListener("change", () => {
    const text = new URLSearchParams(location.search).get("q");
    visit({ collection: select.value, ...(text && { q: text }) });
  });
}

/** Offer to sign out, and show what a key is bound to where the address names no collection. */
function settle({ name, collections: bound }) {
  at("leave").hidden = name === null;
  if (/[?&]collection=/.test(location.search) || !bound || bound.includes("default")) return false;
  history.replaceState(null, "", address({ collection: bound[0] }));
  return true;
}

at("leave").addEventListener("click", signOut);
document.addEventListener("signed-in", ({ detail }) => settle(detail) && route());
at("search").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = at("words").value.trim();
  if (text) visit({ q: text });
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || darken()) return;
  at("words").value = "";
  at("words").focus();
});
window.addEventListener("popstate", () => {
  at("collections").value = api.collection();
  route();
});
listen();
listenForPhotos({
  button: at("pick"),
  input: at("file"),
  target: at("drop"),
  use: useFile,
  refuse: () => (status.textContent = "That is no photo. Try a JPEG, PNG or WebP file."),
});
settle(await api.session().catch(() => ({ name: null, collections: null })));
offerCollections();
route();
