// The page's states: the start, an answer to a text or to a photo, and an item that is open.

import { address, questionOf, rememberScroll, wanted } from "./questions/address.js";
import { answer, gallery, nothing } from "./answers/answers.js";
import * as api from "./service/api.js";
import { matchingSentences, sentencesLike, showPhoto } from "./answers/asked.js";
import { openDeletion, openTagging } from "./changes/bulk.js";
import { periodName } from "./elements/dates.js";
import { download, make } from "./elements/dom.js";
import { openAdding } from "./changes/editing.js";
import { listed } from "./elements/facts.js";
import { mark, placeholders, titleOf } from "./elements/gallery.js";
import { forgetHoldings, holdings } from "./service/holdings.js";
import { signOut } from "./service/key.js";
import { darken, listen } from "./elements/light.js";
import { memories } from "./answers/memories.js";
import { report, rest, say, showLine } from "./elements/notices.js";
import { keyed } from "./elements/phrases.js";
import { watchProgress } from "./service/progress.js";
import { recall, remember } from "./service/remembered.js";
import { offerSelecting, stopSelecting } from "./changes/selecting.js";
import { offerOriginal, showDuplicates } from "./answers/series.js";
import { introduce, offerCollections, offerExamples } from "./questions/start.js";
import { listenForTyping } from "./questions/suggest.js";
import { showUnread } from "./changes/unread.js";
import { listenForPhotos } from "./questions/upload.js";
import { closeViewer, showViewer } from "./answers/viewer.js";

const at = (id) => document.getElementById(id);
const [start, query, status, results] = ["start", "query", "status", "results"].map(at);
const NARROW = window.matchMedia("(max-width: 60rem)");
let asking = new AbortController();
let question = null; // the address of the shown answer
let context = null; // the question, the kind of collection, and the actions of hits
let hits = new Map(); // that are shown, by id
let order = []; // their ids, as they are shown
let mayWrite = false;
let originals = false; // whether files of photos may be read
let viewed = null; // the id of the item that the viewer shows
let loading = null; // what marked the viewer as busy last

const tilesOf = (id) => [...results.querySelectorAll(`[data-id="${CSS.escape(id)}"]`)];
const opened = (id) => tilesOf(id).map((tile) => tile.querySelector("button[title]")).find(Boolean); // the button that opens it

function fail(error) {
  report(error);
  const [name, act] = error.passing ? ["Try again", () => ask(wanted())] : ["Back to the start", () => visit({})];
  results.replaceChildren(
    make("div", { className: "message", role: "alert" },
      make("h2", {}, "That did not work"), make("p", {}, error.message),
      make("button", { type: "button", className: "go", onclick: act }, name)),
  );
  status.textContent = "";
  at("choices").hidden = at("order").hidden = at("kinds").hidden = at("rail").hidden = true;
  offerSelecting([]);
}

/** Do a part of the current question; a newer question cancels it. */
async function attempt(work, failed = say) {
  const { signal } = asking;
  results.setAttribute("aria-busy", "true");
  try {
    await work(signal);
  } catch (error) {
    if (!signal.aborted) failed(error);
  }
  if (!signal.aborted) results.removeAttribute("aria-busy");
}

/** Go to another question of this collection; `state` says how the entry of the history came to be. */
function visit(changes, state = null) {
  history.replaceState({ ...history.state, scroll: window.scrollY }, "");
  history.pushState(state, "", address({ collection: api.collection(), ...changes }));
  return route();
}

/** Open an item of the list, to which closing it goes back. */
const openItem = (id) => visit({ ...wanted(), item: id }, { opened: true });

/** Go to the same question with changes. */
const refine = (changes) => visit({ ...wanted(), ...("text" in changes && { typed: false, undated: false }), from: null, shown: 0, item: null, ...changes });

/** Change the address without a new entry in the history. */
const note = (changes) => history.replaceState(history.state, "", address({ ...wanted(), ...changes }));

/** Leave the open item: back to the list that it was opened from, with all that is shown by now. */
async function leave() {
  if (!history.state?.opened) return note({ item: null });
  const { shown } = wanted();
  const left = new Promise((resolve) => window.addEventListener("popstate", resolve, { once: true }));
  history.back();
  await left;
  return note({ shown });
}

const save = ({ id, photo = 0 }, text) =>
  api.alignmentPicture(id, text, photo).then((picture) => download(picture, `${id}.png`)).catch(say);

const act = {
  attempt, refine, save,
  add: () => openAdding(context.holdings, added),
  open: ({ id }) => openItem(id),
  similar: ({ id }) => visit({ like: id }),
  similarPart: ({ id, box }) => visit({ like: id, box, parts: true }),
  variants: ({ metadata }) => {
    const { group } = context.holdings;
    return refine({ filter: { ...wanted().filter, [group]: [metadata[group]] } });
  },
  jump: async (from) => {
    const focused = at("rail").contains(document.activeElement);
    note({ from, shown: 0, item: null });
    await route();
    at("found").scrollIntoView();
    if (focused) at("rail").querySelector("input")?.focus({ preventScroll: true });
  },
  grew: (shown, more = false) => {
    hits = new Map(shown.toReversed().map((hit) => [hit.id, hit])); // of an item the best one
    order = [...new Set(shown.map(({ id }) => id))];
    if (more) note({ shown: shown.length });
  },
};

/** Begin a new question: clear the last answer and show placeholders. */
function begin(title) {
  asking.abort();
  asking = new AbortController();
  darken();
  stopSelecting();
  document.title = title ? `${title} · Tessera` : "Tessera";
  at("asked").textContent = title ?? "";
  at("asked").hidden = title === null;
  start.hidden = title !== null;
  query.hidden = true;
  query.replaceChildren();
  at("understood").hidden = at("unread").hidden = at("duplicates").hidden = true;
  if (title !== null) status.textContent = "Searching…";
}

const titleOfQuestion = ({ text, like, photo, filter, from }) => {
  if (like) return `Like ${hits.has(like) ? titleOf(hits.get(like)) : like}`;
  if (text || photo) return text ?? "Like your photo";
  if (Object.keys(filter).length > 0) return "All that passes";
  return from ? periodName(from) : null;
};

/** Whether something else is asked for than in the last answer, apart from its filters and order. */
const isAnother = (asked) => context !== null
  && ["collection", "text", "like", "photo", "box"].some((key) => String(asked[key]) !== String(context.asked[key]));

/** Close the filters on a narrow screen, where they would push the answer out of sight. */
function foldFilters() {
  if (!NARROW.matches) return;
  at("choices").classList.remove("open");
  at("fold").setAttribute("aria-expanded", "false");
}

/** Answer the question in the address. */
async function ask(asked) {
  const other = questionOf(asked) !== question; // else someone may be typing
  if (isAnother(asked)) foldFilters();
  if (other && (question !== null || asked.text)) at("words").value = asked.text ?? "";
  question = questionOf(asked);
  begin(titleOfQuestion(asked));
  const same = context?.asked.collection === asked.collection && results.querySelector(".shelf");
  if (!same) results.replaceChildren(gallery(...placeholders(8)));
  await attempt(async (signal) => {
    const held = await holdings(signal);
    context = { asked, holdings: held, act, mayWrite };
    introduce(held);
    if (asked.like || asked.photo) await answerPhoto(asked, signal);
    else await answerWords(asked, signal);
  }, fail);
}

async function answerWords(asked, signal) {
  const [found] = await Promise.all([answer(context, null, signal), asked.text ? null : offerExamples(visit, signal)]);
  const row = await memoriesOf(asked, found, signal);
  await place(found, signal);
  if (row) results.prepend(row);
  if (!asked.text && mayWrite && !context.holdings.shop) {
    await Promise.all([showUnread(at("unread"), signal), showDuplicates(at("duplicates"), act, signal)]);
  }
  if (asked.text && !context.holdings.shop && found.hits.length > 0) {
    results.append(...await sentencesLike(asked, signal));
  }
}

/** Photos of this day in earlier years, for the start of the timeline. */
async function memoriesOf({ text, filter, from, sort }, { facets }, signal) {
  const dates = facets.find(({ key }) => key === "taken")?.dates ?? [];
  const starts = !text && !from && !sort && !context.holdings.shop && Object.keys(filter).length === 0;
  return starts ? memories(dates, act.open, signal) : null;
}

async function place(found, signal) {
  context.more = found.more;
  const choosable = mayWrite && !context.holdings.shop && !context.asked.parts && found.hits.length > 0;
  offerSelecting(choosable ? SELECTED : []);
  const content = found.hits.length > 0 ? found.element : await nothing(context, signal);
  if (found.hits.length === 0 && found.notes.length === 0) status.textContent = "";
  results.replaceChildren(content);
}

async function answerPhoto(asked, signal) {
  const stored = asked.like ? await api.item(asked.like, signal) : null;
  const upload = asked.photo ? await recall(asked.photo) : null;
  if (asked.photo && !upload) {
    throw new api.Problem("This browser does not remember the photo that was searched with. Choose it again.", false);
  }
  const image = upload ?? (asked.box ? await api.photoOf(stored, signal) : null);
  const sent = image ? { file: image } : { id: asked.like };
  const photo = { stored, upload, box: asked.box, search: (box) => visit({ like: asked.like, photo: asked.photo, box }) };
  const { stage, describe } = await showPhoto(query, photo, sent, !context.holdings.shop, signal);
  const found = await answer(context, image, signal);
  if (!asked.box) {
    mark(stage, found.fragments.map((part, position) => keyed("query", { ...part, text: part.label }, position)));
  }
  await place(found, signal);
  if (context.holdings.shop || asked.box) return;
  describe();
  if (found.hits.length > 0) results.prepend(make("h2", {}, asked.parts ? "Similar parts" : "Similar photos"));
  const sentences = await matchingSentences(sent, stage, signal);
  if (sentences.length > 0) {
    results.append(make("section", {}, make("h2", {}, "Sentences that match"), ...sentences));
  }
}

const useFile = (file) => remember(file).then((photo) => visit({ photo })).catch(say);

/** Mark the open viewer, or else the card of an item, as busy while `work` lasts. */
async function busily(id, work) {
  const places = at("viewer").open ? [at("viewer")] : tilesOf(id);
  const turn = (loading = {});
  for (const place of places) place.setAttribute("aria-busy", "true");
  try {
    return await work();
  } finally {
    const over = loading === turn; // else the viewer waits for what came later
    for (const place of places) if (over || place !== at("viewer")) place.removeAttribute("aria-busy");
  }
}

/** Return the id before (-1) or behind (1) an item in the list as it is now. */
const idBy = (id, by) => (order.includes(id) ? order[order.indexOf(id) + by] : undefined);

/** Return a function that goes to the item before (-1) or behind (1) an item; null where there is none. */
function neighbour(id, by) {
  const more = by > 0 && order.includes(id) && context.more?.hidden === false;
  return idBy(id, by) || more ? () => step(by) : null;
}

/** Go to the item before or behind the one in the address, which may be on its way still. */
async function step(by) {
  if (!idBy(wanted().item, by) && by > 0 && context.more?.hidden === false) {
    await busily(wanted().item, () => context.more.onclick());
  }
  const { item: id } = wanted();
  const other = idBy(id, by);
  if (!other) return;
  note({ item: other });
  await showItem(wanted(), (error) => passOver(other, { id, by, error }));
}

/** Go on from `id` past an item that was deleted meanwhile, or stay where it cannot be read now. */
function passOver(gone, { id, by, error }) {
  note({ item: id });
  if (error.status === 404) {
    dropTile(gone);
    if (neighbour(id, by)) return step(by);
  }
  const stay = (failure) => {
    note({ item: viewed });
    say(failure);
  };
  return id === viewed ? stay(error) : showItem(wanted(), stay);
}

/** Take an item that is gone off the list. */
function dropTile(id) {
  const tiles = tilesOf(id);
  const focused = tiles.some((tile) => tile.contains(document.activeElement));
  const next = idBy(id, 1) ?? idBy(id, -1);
  order = order.filter((other) => other !== id);
  hits.delete(id);
  for (const tile of tiles) tile.remove();
  if (focused) (opened(next ?? "") ?? results).focus();
}

/** Open the item in the address, or close the open item; `failed` is told where there is none. */
async function showItem(asked, failed = null) {
  const { item: id } = asked;
  if (!id) return closeViewer();
  const item = await busily(id, () => openViewer(asked, failed));
  if (item && originals) await offerOriginal(at("viewer"), item, () => wanted().item === id);
}

/** Show the item in the address and return it; null where it cannot be shown. */
async function openViewer({ item: id, text }, failed) {
  try {
    const item = { ...(await api.item(id, asking.signal)), ...hits.get(id) };
    if (wanted().item !== id) return null; // someone went on meanwhile
    const pictured = text && !context.holdings.shop && item.image;
    showViewer(item, {
      holdings: context.holdings,
      explained: Boolean(text && item.links),
      actions: [
        ...(item.image ? [["More like this", act.similar]] : []),
        ...(pictured ? [["Save picture", (hit) => save(hit, context.corrected ?? text)]] : []),
      ],
      searchPart: ({ id: like }, box) => visit({ like, box }),
      browse: (filter) => visit({ filter }),
      remove: mayWrite ? remove : null,
      left: leaveItem,
      before: neighbour(id, -1),
      behind: neighbour(id, 1),
    });
    viewed = id;
    at("viewer").removeAttribute("aria-busy");
    return item;
  } catch (error) {
    if (wanted().item === id) await giveUp(id, error, failed);
    return null;
  }
}

/** Leave an item that cannot be shown, unless `failed` knows better, and say why. */
async function giveUp(id, error, failed) {
  if (error.name === "AbortError") return showItem(wanted(), failed); // the list was read again meanwhile
  if (failed) return failed(error);
  await leave();
  closeViewer();
  if (error.status === 404) dropTile(id);
  return say(error);
}

function leaveItem() {
  const { item } = wanted();
  if (!item) return;
  tilesOf(item)[0]?.scrollIntoView({ block: "nearest" });
  leave();
}

async function remove(item) {
  await api.remove(item.id);
  const next = idBy(item.id, 1) ?? idBy(item.id, -1);
  await leave();
  closeViewer();
  await changed(`Deleted: ${titleOf(item)}.`, { next });
}

/** Show the changed answer where it was, and what was done, which `undo` takes back. */
async function changed(what, { undo = null, next = null } = {}) {
  const scroll = window.scrollY;
  await refresh();
  window.scrollTo(0, scroll);
  const line = showLine(what, { actions: undo ? [["Undo", () => undo().catch(say)]] : [] });
  const focus = () => {
    if (undo) line.querySelector("button").focus();
    else if (next && opened(next)) opened(next).focus();
    else rest();
  };
  const dialog = document.querySelector("dialog[open]"); // gives the focus back when it closes
  if (dialog) dialog.addEventListener("close", focus, { once: true });
  else focus();
}

const wordsOf = (ids) => [...new Set(ids.flatMap((id) => listed(hits.get(id)?.metadata.keywords)))];

const SELECTED = [ // what can be done with selected photos
  ["Add tag", (ids) => openTagging("add", ids, wordsOf([...hits.keys()]), changed)],
  ["Remove tag", (ids) => openTagging("remove", ids, wordsOf(ids), changed)],
  ["Delete", (ids) => openDeletion(ids, changed), true],
];

async function added(items) {
  await refresh();
  const [first] = items;
  const list = (some) => (some.length === 1 ? titleOf(some[0]) : `${some.length} photos`);
  const [known, fresh] = [true, false].map((there) => items.filter((item) => Boolean(item.known) === there));
  const said = [fresh.length > 0 && `Added: ${list(fresh)}.`, known.length > 0 && `Here already: ${list(known)}.`];
  status.append(make("p", { className: "remark" }, said.filter(Boolean).join(" ")));
  if (items.length > 1 || at("add").open) return;
  await openItem(first.id);
}

/** Reload the collections. */
function refresh() {
  forgetHoldings();
  return ask(wanted());
}

/** Show the answer to the address. */
async function route({ restore = false } = {}) {
  const asked = wanted();
  const scroll = restore ? history.state?.scroll ?? 0 : 0; // before the page becomes short
  if (questionOf(asked) !== question) {
    await ask(asked);
    window.scrollTo(0, scroll);
  }
  if (context) await showItem(asked);
}

/** Offer what the key allows, and show what it is bound to where the address names no collection. */
function settle({ name, role, collections: bound, originals: readable }) {
  originals = readable;
  mayWrite = role === "write" || role === "admin";
  at("leave").hidden = name === null;
  at("new").hidden = !mayWrite;
  if (/[?&]collection=/.test(location.search) || !bound || bound.includes("default")) return;
  note({ collection: bound[0] });
}

/** Show newly indexed items, unless someone is busy on the page. */
function grew() {
  const reading = window.scrollY > 200 || document.querySelector("dialog[open], .selecting");
  if (!reading && !wanted().text && !wanted().like && !wanted().photo) refresh();
  else if (results.querySelector(".message")) refresh();
}

at("leave").addEventListener("click", signOut);
at("new").addEventListener("click", act.add);
at("sort").addEventListener("change", ({ target }) => refine({ sort: target.value || null }));
at("fold").addEventListener("click", ({ currentTarget }) => {
  const open = at("choices").classList.toggle("open");
  currentTarget.setAttribute("aria-expanded", String(open));
  if (open && context?.showFacets) attempt(context.showFacets);
});
at("collections").addEventListener("change", ({ target }) => {
  visit({ collection: target.value, text: wanted().text });
  watchProgress(at("progress"), grew);
});
document.addEventListener("signed-in", async ({ detail }) => {
  settle(detail);
  await offerCollections(note);
  route(); // to another collection, if the key is bound to one or this one is empty
});
const closeSuggestions = listenForTyping(at("words"), at("suggestions"), (text) => {
  at("words").value = text;
  visit({ text });
});
at("search").addEventListener("submit", (event) => {
  event.preventDefault();
  closeSuggestions();
  const text = at("words").value.trim();
  if (text) visit({ text, parts: wanted().parts });
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !darken() && event.target === at("words")) at("words").value = "";
});
window.addEventListener("popstate", () => {
  at("collections").value = api.collection();
  route({ restore: true });
});
if (!wanted().text && !wanted().item) at("words").focus({ preventScroll: true });
rememberScroll();
listen();
listenForPhotos({
  button: at("pick"),
  input: at("file"),
  target: at("drop"),
  use: useFile,
  addMany: (files) => {
    if (!mayWrite || !context || context.holdings.shop) return false; // the first is searched with
    openAdding(context.holdings, added, files);
    return true;
  },
  refuse: () => showLine("That is no photo. Try a JPEG, PNG or WebP file.", { role: "alert" }),
});
const session = await api.session().catch(() => ({ name: null, role: null, collections: null }));
settle(session);
if (session.role !== null) await offerCollections(note); // without a key, once there is one
await route({ restore: true });
watchProgress(at("progress"), grew);
