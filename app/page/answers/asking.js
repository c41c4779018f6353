// Answers to the question in the address: to words, or to a photo.

import { questionOf } from "../questions/address.js";
import { offerExamples, introduce } from "../questions/start.js";
import { askAgain, searchFor, visit } from "../questions/visits.js";
import * as api from "../service/api.js";
import { holdings } from "../service/holdings.js";
import { waitForService } from "../service/recovery.js";
import { recall } from "../service/remembered.js";
import { SELECTED } from "../changes/changed.js";
import { offerSelecting, stopSelecting } from "../changes/selecting.js";
import { showUnread } from "../changes/unread.js";
import { periodName } from "../elements/dates.js";
import { make } from "../elements/dom.js";
import { mark, placeholders, titleOf } from "../elements/gallery.js";
import { darken } from "../elements/light.js";
import { report } from "../elements/notices.js";
import { keyed } from "../elements/phrases.js";
import { act, attempt } from "./actions.js";
import { answer, gallery } from "./answers.js";
import { matchingSentences, sentencesLike, showPhoto } from "./asked.js";
import { nothing } from "./empty.js";
import { memories } from "./memories.js";
import { showDuplicates } from "./series.js";
import { readItem, shown } from "./shown.js";

const at = (id) => document.getElementById(id);
const [query, status, results] = ["query", "status", "results"].map(at);
const NARROW = window.matchMedia("(max-width: 60rem)");

/** Return a title for a failure, and the name of what can be done with its function. */
function remedyOf({ status: code, passing }) {
  if (code === 401) return ["A key is needed", "Enter a key", askAgain];
  return ["That did not work", ...(passing ? ["Try again", askAgain] : ["Back to the start", () => visit({})])];
}

function fail(error) {
  report(error);
  const focused = results.contains(document.activeElement);
  const [title, name, onclick] = remedyOf(error);
  const button = make("button", { type: "button", className: "go", onclick }, name);
  results.replaceChildren(
    make("div", { className: "message", role: "alert" }, make("h2", {}, title), make("p", {}, error.message), button));
  if (focused) button.focus({ preventScroll: true });
  status.textContent = "";
  offerNothing();
  if (error.passing) recover(error, shown.stopping.signal);
}

/** Go on by itself once a service that was away is back. */
async function recover(error, signal) {
  const session = await waitForService(error, signal);
  if (session) document.dispatchEvent(new CustomEvent("service-back", { detail: session }));
}

/** Hide what can be done with the last answer. */
function offerNothing() {
  at("choices").hidden = at("order").hidden = at("kinds").hidden = at("rail").hidden = true;
  offerSelecting([]);
}

/** Begin a new question: clear the last answer; introduce the collection if it is `known`. */
function begin(title, known) {
  shown.stopping.abort();
  shown.stopping = new AbortController();
  darken();
  stopSelecting();
  document.title = title ? `${title} · Tessera` : "Tessera";
  at("asked").textContent = title ?? "";
  at("asked").hidden = title === null;
  at("start").hidden = title !== null || !known;
  query.hidden = true;
  query.replaceChildren();
  at("understood").hidden = at("unread").hidden = at("duplicates").hidden = true;
  if (title !== null) status.textContent = "Searching…";
}

const titleOfQuestion = ({ text, like, photo, filter, from }) => {
  if (like) return `Like ${shown.hits.has(like) ? titleOf(shown.hits.get(like)) : like}`;
  if (text || photo) return text ?? "Like your photo";
  if (Object.keys(filter).length > 0) return "All that passes";
  return from ? periodName(from) : null;
};

/** Whether something else is asked for than in the last answer, apart from its filters and order. */
const isAnother = (asked) => shown.context !== null
  && ["collection", "text", "like", "photo", "box"].some((key) => String(asked[key]) !== String(shown.context.asked[key]));

/** Close the filters on a narrow screen, where they would push the answer out of sight. */
function foldFilters() {
  if (!NARROW.matches) return;
  at("choices").classList.remove("open");
  at("fold").setAttribute("aria-expanded", "false");
}

/** Show placeholders, unless products stay until others come; what had the focus may be gone. */
function showPlaceholders(stay, focused) {
  if (!stay) results.replaceChildren(gallery(...placeholders(8)));
  if (focused !== document.body && !focused.checkVisibility()) results.focus({ preventScroll: true });
}

/** Answer a question. */
export async function ask(asked) {
  const other = questionOf(asked) !== shown.question; // else someone may be typing
  const another = isAnother(asked);
  if (another) foldFilters();
  if (other && (shown.question !== null || asked.text)) at("words").value = asked.text ?? "";
  shown.question = questionOf(asked);
  const [title, focused, first] = [titleOfQuestion(asked), document.activeElement, shown.context === null];
  const known = shown.context?.asked.collection === asked.collection;
  const same = known && results.querySelector(".shelf");
  begin(title, known);
  if (!first) showPlaceholders(same, focused); // else the page says that it starts
  if (!same && another) offerNothing();
  await attempt(async (signal) => {
    const held = await holdings(signal);
    const context = { asked, holdings: held, act };
    shown.context = context;
    if (first) showPlaceholders(false, focused);
    introduce(held);
    at("start").hidden = title !== null;
    if (asked.like || asked.photo) await answerPhoto(context, signal);
    else await answerWords(context, signal);
  }, fail);
}

async function answerWords(context, signal) {
  const { asked } = context;
  const [found] = await Promise.all([answer(context, null, signal), asked.text ? null : offerExamples(visit, signal)]);
  const row = await memoriesOf(context, found, signal);
  await place(context, found, null, signal);
  if (row) results.prepend(row);
  if (!asked.text && shown.mayWrite && !context.holdings.shop) {
    await Promise.all([showUnread(at("unread"), signal), showDuplicates(at("duplicates"), act, signal)]);
  }
  if (asked.text && !context.holdings.shop && found.hits.length > 0) {
    results.append(...await sentencesLike(asked, signal));
  }
}

/** Photos of this day in earlier years, for the start of the timeline. */
async function memoriesOf({ asked: { text, filter, from, sort }, holdings: held }, { facets }, signal) {
  const dates = facets.find(({ key }) => key === "taken")?.dates ?? [];
  const starts = !text && !from && !sort && !held.shop && Object.keys(filter).length === 0;
  return starts ? memories(dates, act.open, signal) : null;
}

/** Show what was found, or why nothing was; `image` is the upload that was searched with. */
async function place(context, found, image, signal) {
  context.more = found.more;
  const choosable = shown.mayWrite && !context.holdings.shop && !context.asked.parts && found.hits.length > 0;
  offerSelecting(choosable ? SELECTED : []);
  const content = found.hits.length > 0 ? found.element : await nothing(context, found, image, signal);
  if (found.hits.length === 0) status.textContent = "";
  results.replaceChildren(content);
}

async function answerPhoto(context, signal) {
  const { asked } = context;
  const stored = asked.like ? await readItem(asked.like, signal) : null;
  const upload = asked.photo ? await recall(asked.photo) : null;
  if (asked.photo && !upload) {
    throw new api.Problem("This browser does not remember the photo that was searched with. Choose it again.", false);
  }
  const image = upload ?? (asked.box ? await api.photoOf(stored, signal) : null);
  const sent = image ? { file: image } : { id: asked.like };
  const photo = { stored, upload, box: asked.box, search: (box) => searchFor({ like: asked.like, photo: asked.photo, box }) };
  const { stage, describe } = await showPhoto(query, photo, sent, !context.holdings.shop, signal);
  const found = await answer(context, image, signal);
  if (!asked.box) {
    mark(stage, found.fragments.map((part, position) => keyed("query", { ...part, text: part.label }, position)));
  }
  await place(context, found, image, signal);
  if (context.holdings.shop || asked.box) return;
  describe();
  if (found.hits.length > 0) results.prepend(make("h2", {}, asked.parts ? "Similar parts" : "Similar photos"));
  const sentences = await matchingSentences(sent, stage, signal);
  if (sentences.length > 0) {
    results.append(make("section", {}, make("h2", {}, "Sentences that match"), ...sentences));
  }
}
