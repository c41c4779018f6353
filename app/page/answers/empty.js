// Answers with nothing in them, or with nothing that was asked for: what can be done then.

import { make } from "../elements/dom.js";
import { nothingLikeThat } from "../elements/likelihood.js";
import { byPhotoAlone } from "../elements/why.js";
import { isQuestion, search } from "../questions/search.js";
import * as api from "../service/api.js";
import { shown } from "./shown.js";

const isFiltered = ({ filter }) => Object.keys(filter).length > 0;

const goButton = (name, onclick) => make("button", { type: "button", className: "go", onclick }, name);

/** Make the button that asks the same without filters; null where there are none. */
function clearing({ asked, act }) {
  return isFiltered(asked) ? goButton("Clear the filters", () => act.refine({ filter: {} })) : null;
}

const KNOWN_WORDS = /^".*" is (not a word that the model knows|left out: the model reads only Latin letters)/;

const NO_WORD = /^No word of the query is known/;

/** Advise to write English, where words of a search were respelled or are unknown: the model has a list of words. */
function adviseEnglish({ words, notes }) {
  const foreign = words.some(({ spelling }) => spelling !== null) || notes.some((note) => KNOWN_WORDS.test(note));
  return foreign ? make("p", {}, "This model reads English: try English words.") : "";
}

/** Make the line above hits of which none is what was asked for; null for another list. */
export function lineAbove(context, found) {
  const { asked, holdings } = context;
  const line = holdings.shop ? noSuchWords(found) : asked.text ? nothingLikeThat(found.hits, found.weakBelow) : null;
  if (line && !holdings.shop) line.append(adviseEnglish(found));
  if (!line || !isFiltered(asked)) return line;
  line.querySelector("h2").textContent = holdings.shop ? "No product that passes your filters has these words"
    : "Nothing that passes your filters looks like that";
  line.append(make("p", {}, "Without the filters there may be better ones."), clearing(context));
  return line;
}

/** Write the line above products that match by their photo alone. */
function noSuchWords({ loose, hits, words, refused }) {
  const asked = words.length > 0 || refused.length === 0; // not for what is only left out
  if (!loose || !asked || hits.length === 0 || hits.some((hit) => !byPhotoAlone(hit))) return null;
  return make("div", { className: "nothing" }, make("h2", {}, "No product has these words"),
    make("p", {}, "These come nearest by their photos."));
}

const message = (title, ...content) =>
  make("div", { className: "message" }, make("h2", {}, title), ...content);

function without({ total }, holdings) {
  const count = total === 1 ? "is 1" : `are ${total?.toLocaleString("en")}`;
  return `Without the filters there ${holdings.shop ? count : "are some"}.`; // of photos, all have a likelihood
}

/** The notes on a query of which nothing is left: that no word is known says less than which ones. */
function notesOf({ notes }) {
  const words = notes.filter((note) => !NO_WORD.test(note));
  return (words.length > 0 ? words : notes).map((note) => make("p", {}, note));
}

/** Say that nothing was found, and by what one finds more: without filters, or by other words. */
async function noneFound(context, answer, image, signal) {
  const { asked, holdings, act } = context;
  const wider = { ...asked, filter: {}, from: null };
  const found = isFiltered(asked) ? await search(wider, holdings, image, { limit: 1, signal }) : { hits: [] };
  if (found.hits.length > 0) {
    const thing = holdings.shop ? "product" : "photo";
    const why = isQuestion(asked) ? `No ${thing} matches both your search and your filters. ${without(found, holdings)}`
      : `No ${thing} passes your filters.`;
    return message("Nothing found", ...notesOf(answer), make("p", {}, why), clearing(context));
  }
  const everything = { text: null, like: null, photo: null, box: null, filter: {} };
  const english = holdings.shop ? "" : adviseEnglish(answer);
  const advice = asked.like ? "Nothing else is in here." : "Try other words, or fewer of them.";
  return message("Nothing found", ...notesOf(answer), english || make("p", {}, advice),
    goButton("Show everything", () => act.refine(everything)));
}

/** Write an empty answer: how to fill a collection, or another search; `image` is an upload. */
export async function nothing(context, answer, image, signal) {
  const { items, coming, importing } = await api.index(signal);
  if (items > 0) return noneFound(context, answer, image, signal);
  if (coming > 0 || importing) {
    return message("Being indexed", make("p", {}, "The first photos are on their way; this page shows them by itself."));
  }
  const { asked, act } = context;
  return message("Nothing here yet",
    make("p", {}, "Add a folder of photos or a catalogue with this command; this page shows them by itself."),
    make("code", {}, `tessera index PATH --collection ${asked.collection}`),
    shown.mayWrite ? make("p", { className: "or" }, goButton("Add one here", act.add)) : null);
}
