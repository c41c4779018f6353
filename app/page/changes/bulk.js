// Changes of many photos at once: deletion, and words added or taken away.

import * as api from "../service/api.js";
import { countPhotos, make } from "../elements/dom.js";
import { wayBackOfAll } from "./restoring.js";

const AT_ONCE = 4; // requests
const TRIES = 3; // of a change that another one overtakes
const dialog = document.getElementById("bulk");
dialog.addEventListener("keydown", (event) => event.key === "Escape" && event.stopPropagation());

const sameWord = (one, other) => String(one).toLowerCase() === other.toLowerCase();
const same = (words, others) => JSON.stringify(words) === JSON.stringify(others);

/** Call `work` for each value, some at once; return the values done, and those that failed with their errors. */
async function each(values, work, progress) {
  const [done, failed, left] = [[], [], [...values]];
  const next = async () => {
    while (left.length > 0) {
      const value = left.shift();
      try {
        done.push([value, await work(value)]);
      } catch (error) {
        failed.push([value, error]);
      }
      progress(done.length + failed.length);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, next));
  return { done, failed };
}

/** Change the keywords of an item in the state that it has now; return them before and after, null if they stay. */
async function change(id, edit) {
  for (let tries = 1; ; tries += 1) {
    const { item, tag } = await api.taggedItem(id);
    const before = [item.metadata.keywords ?? []].flat(); // numbers, too
    const after = edit(before);
    if (same(after, before)) return null;
    try {
      await api.patch(id, { keywords: after.length > 0 ? after : null }, tag);
      return { before, after };
    } catch (error) {
      if (error.status !== 412 || tries === TRIES) throw error;
    }
  }
}

const EDITS = {
  add: (word) => (words) => (words.some((one) => sameWord(one, word)) ? words : [...words, word]),
  remove: (word) => (words) => words.filter((one) => !sameWord(one, word)),
};
const UNDO = { add: "remove", remove: "add" };
const DID = { add: "Added", remove: "Removed" };

/** Ask by a form; `submit` works while it is open, and what it throws is shown. */
function openForm({ title, text, content = [], go, dangerous = false }, submit) {
  const refused = make("p", { role: "alert", className: "refused" });
  const bar = make("progress", { hidden: true, "aria-label": "Changing" });
  const cancel = make("button", {
    type: "button", className: "second", onclick: () => dialog.close(), autofocus: dangerous,
  }, "Cancel");
  const button = make("button", { type: "submit", className: dangerous ? "second danger" : "go" }, go);
  const form = make("form", { method: "dialog" },
    make("h2", { id: "bulk-title" }, title), make("p", {}, text), ...content, bar, refused, make("div", {}, cancel, button));
  form.onsubmit = async (event) => {
    event.preventDefault();
    button.disabled = true;
    refused.textContent = "";
    const progress = (max) => {
      [bar.max, bar.hidden] = [max, max < 2];
      return (value) => (bar.value = value);
    };
    try {
      await submit(form, progress);
      dialog.close();
    } catch (error) {
      refused.textContent = error.message;
    }
    [button.disabled, bar.hidden] = [false, true];
    button.focus(); // which it lost as it was disabled
  };
  dialog.replaceChildren(form);
  dialog.showModal();
}

/** Ask whether photos are to be deleted, and delete them; `changed` is called with what was done, and what may `undo` it. */
export function openDeletion(ids, changed, undo) {
  openForm({
    title: `Delete ${countPhotos(ids.length)}?`,
    text: make("span", {}, "They leave this collection. The original files stay where they are, and later imports of their "
      + "folder leave them out. ", wayBackOfAll()),
    go: "Delete",
    dangerous: true,
  }, async () => {
    const { deleted } = await api.removeAll(ids);
    await changed(make("span", {}, `Deleted: ${countPhotos(deleted)}. `, wayBackOfAll()), { undo });
  });
}

async function edit(kind, word, ids, changed, progress, editOf = () => EDITS[kind](word)) {
  const { done, failed } = await each(ids, (id) => change(id, editOf(id)), progress);
  const states = new Map(done.filter(([, state]) => state));
  const touched = [...states.keys()];
  const restore = (id) => (words) => // what others changed meanwhile stays
    (same(words, states.get(id).after) ? states.get(id).before : EDITS[UNDO[kind]](word)(words));
  const undo = () => edit(UNDO[kind], word, touched, changed, () => {}, restore);
  const way = kind === "add" ? "to" : "from";
  await changed(`${DID[kind]} “${word}” ${way} ${countPhotos(touched.length)}.`, { undo: touched.length > 0 ? undo : null });
  if (failed.length > 0) {
    const [[first, error]] = failed;
    throw new Error(`Not changed: ${countPhotos(failed.length)}, such as ${first}: ${error.message}`);
  }
}

/** Ask for a tag, a word of the keywords, and add it to photos; or with "remove", take one of `words` away. */
export function openTagging(kind, ids, words, changed) {
  const known = make("datalist", { id: "bulk-known" }, ...words.map((word) => new Option(word)));
  const input = make("input", {
    type: "text", id: "bulk-word", name: "word", required: true, maxLength: 200, autocomplete: "off", autofocus: true,
  });
  input.setAttribute("list", known.id);
  const add = kind === "add";
  openForm({
    title: add ? `Add a tag to ${countPhotos(ids.length)}` : `Remove a tag from ${countPhotos(ids.length)}`,
    text: add ? "A tag is one of the keywords: words that searches find." : "Photos without it stay as they are.",
    content: [make("label", { htmlFor: input.id }, "Tag"), input, known],
    go: add ? "Add" : "Remove",
  }, (form, progress) => {
    const word = input.value.trim();
    if (!word) throw new Error("A tag has a letter or another sign.");
    return edit(kind, word, ids, changed, progress(ids.length));
  });
}
