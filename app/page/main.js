// The page's states: the start, an answer to a text or to a photo, and an item that is open.

import { ask } from "./answers/asking.js";
import { attempt } from "./answers/actions.js";
import { shown } from "./answers/shown.js";
import { showItem } from "./answers/stepping.js";
import { add } from "./changes/changed.js";
import { isFocusLost } from "./elements/dom.js";
import { darken, listen } from "./elements/light.js";
import { say, showLine } from "./elements/notices.js";
import { questionOf, rememberScroll, wanted } from "./questions/address.js";
import { offerCollections } from "./questions/start.js";
import { listenForTyping } from "./questions/suggest.js";
import { isPhoto, listenForPhotos } from "./questions/upload.js";
import { answerVisits, note, refine, refresh, searchFor, visit } from "./questions/visits.js";
import * as api from "./service/api.js";
import { signOut } from "./service/key.js";
import { watchProgress } from "./service/progress.js";
import { remember } from "./service/remembered.js";

const at = (id) => document.getElementById(id);
const TOUCH = window.matchMedia("(pointer: coarse)");

/** Show the answer to the address. */
async function route({ restore = false } = {}) {
  const asked = wanted();
  const scroll = restore ? history.state?.scroll ?? 0 : 0; // before the page becomes short
  if (questionOf(asked) !== shown.question) {
    await ask(asked);
    window.scrollTo(0, scroll);
  }
  if (shown.context) await showItem(asked);
}

/** Offer what the key allows, and show what it is bound to where the address names no collection. */
function settle({ name, role, collections: bound }) {
  shown.mayWrite = role === "write" || role === "admin";
  at("leave").hidden = name === null;
  at("new").hidden = !shown.mayWrite;
  if (/[?&]collection=/.test(location.search) || !bound || bound.includes("default")) return;
  note({ collection: bound[0] });
}

/** Offer what a session allows, and another collection if it is bound to one or this one is empty. */
async function admit(session) {
  settle(session);
  await offerCollections(note);
}

/** Search for a text; on a touch screen without its keyboard, which would cover the answer. */
function searchWords(question) {
  if (TOUCH.matches) at("results").focus({ preventScroll: true });
  return searchFor(question);
}

const refuse = () => showLine("That is no photo. Try a JPEG, PNG or WebP file.", { role: "alert" });

/** Leave room at the top of the window for the strip that stays there, so that it hides no focus. */
function leaveRoom() {
  const height = at("query").matches(".strip") ? at("query").offsetHeight : 0;
  document.documentElement.style.setProperty("--strip", `${height}px`);
}

/** Show newly indexed items, unless someone is busy on the page. */
function grew() {
  const reading = window.scrollY > 200 || document.querySelector("dialog[open], .selecting");
  if (!reading && !wanted().text && !wanted().like && !wanted().photo) refresh();
  else if (at("results").querySelector(".message")) refresh();
}

answerVisits({ route, ask });
at("leave").addEventListener("click", signOut);
at("new").addEventListener("click", () => add());
at("sort").addEventListener("change", ({ target }) => refine({ sort: target.value || null }));
at("fold").addEventListener("click", ({ currentTarget }) => {
  const open = at("choices").classList.toggle("open");
  currentTarget.setAttribute("aria-expanded", String(open));
  if (open && shown.context?.showFacets) attempt(shown.context.showFacets);
});
at("collections").addEventListener("change", ({ target }) => {
  visit({ collection: target.value, text: wanted().text });
  watchProgress(at("progress"), grew);
});
document.addEventListener("signed-in", async ({ detail }) => {
  if (isFocusLost()) at("results").focus({ preventScroll: true });
  await admit(detail);
  route();
});
document.addEventListener("service-back", async ({ detail }) => {
  await admit(detail);
  await refresh();
  route();
});
const closeSuggestions = listenForTyping(at("words"), at("suggestions"), (text) => {
  at("words").value = text;
  searchWords({ text });
});
at("search").addEventListener("submit", (event) => {
  event.preventDefault();
  closeSuggestions();
  const text = at("words").value.trim();
  if (text) searchWords({ text, parts: wanted().parts });
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !darken() && event.target === at("words")) at("words").value = "";
});
window.addEventListener("popstate", () => {
  at("collections").value = api.collection();
  route({ restore: true });
});
if (!wanted().text && !wanted().item) at("words").focus({ preventScroll: true });
new ResizeObserver(leaveRoom).observe(at("query"));
rememberScroll();
listen();
listenForPhotos({
  button: at("pick"),
  input: at("file"),
  target: at("drop"),
  use: (file) => remember(file).then((photo) => searchFor({ photo })).catch(say),
  addMany: (files) => {
    if (!shown.mayWrite || !shown.context || shown.context.holdings.shop) return false; // the first is searched with
    if (files.some(isPhoto)) add(files);
    else refuse();
    return true;
  },
  refuse,
});
const session = await api.session().catch(() => ({ name: null, role: null, collections: null }));
settle(session);
if (session.role !== null) await offerCollections(note); // without a key, once there is one
await route({ restore: true });
watchProgress(at("progress"), grew);
