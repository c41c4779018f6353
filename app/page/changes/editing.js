// Adding items: photos, a title and the fields that the others of the collection have.

import * as api from "../service/api.js";
import { listNames, make, visible } from "../elements/dom.js";
import { isPhoto } from "../questions/upload.js";
import { label } from "../service/holdings.js";
import { sendAll } from "./sending.js";

const KINDS = "image/*,.heic,.heif,.avif,.dng"; // named, so that phones send their photos as they are
const dialog = document.getElementById("add");
dialog.addEventListener("keydown", (event) => event.stopPropagation()); // Escape closes this alone

function field(name, text, properties = {}) {
  const input = make("input", { type: "text", id: `add-input-${name}`, name, autocomplete: "off", ...properties });
  return [make("label", { htmlFor: input.id }, text), input];
}

/** Make an id of letters and numbers from an item's title. */
function idFrom(text) {
  return text.normalize("NFKD").toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 100);
}

const nameOf = (file) => file.name.replace(/\.\w+$/, "");

function itemOf(form, { title, fields = [], numeric = [] }) {
  const entered = (name) => form.elements[name]?.value.trim() ?? "";
  const files = [...form.elements.photo.files];
  const metadata = {};
  if (entered("title")) metadata[title ?? "title"] = entered("title");
  for (const key of fields) {
    const value = entered(`field-${key}`);
    if (value) metadata[key] = numeric.includes(key) ? Number(value) : value;
  }
  if (entered("description")) metadata.description = entered("description");
  const id = entered("id") || idFrom(entered("title") || (files[0] ? nameOf(files[0]) : ""));
  return { id, metadata, sentences: entered("sentence") ? [entered("sentence")] : [], files };
}

/** Name an item after its photo if it has no id, and remember the name of the file. */
function photoItem({ id, metadata, files: [file], ...item }) {
  return { ...item, id: id || idFrom(nameOf(file)) || "photo", metadata: { file: file.name, ...metadata }, files: [file] };
}

/** List the items of a form: a product with its photos, or an item for each photo. */
function itemsOf(form, holdings) {
  const item = itemOf(form, holdings);
  if (holdings.shop || item.files.length === 0) return item.id ? [item] : [];
  if (item.files.length === 1) return [photoItem(item)];
  return item.files.map((file) => photoItem({ id: "", metadata: {}, sentences: [], files: [file] }));
}

/** Choose the photos among files in an input. */
function choosePhotos(input, files) {
  const chosen = new DataTransfer();
  for (const file of files.filter(isPhoto)) chosen.items.add(file);
  input.files = chosen.files;
}

function inputs({ shop, fields = [], numeric = [] }) {
  const photo = field("photo", "Photos", { type: "file", accept: KINDS, multiple: true });
  const title = field("title", "Title", { required: shop });
  const id = field("id", "Id (made up if empty)", { maxLength: 200 });
  const known = fields.slice(0, 8).flatMap((key) =>
    field(`field-${key}`, label(key), numeric.includes(key) ? { type: "number", step: "any" } : {}));
  const text = shop ? field("description", "Description") : field("sentence", "Sentence about the photo");
  const about = make("fieldset", {}, ...title, ...known, ...text, ...id);
  const each = make("p", { hidden: true }, "Each is added as an item of its own, named after its file.");
  const others = make("p", { role: "alert", className: "note" });
  photo[1].onchange = (event, files = [...photo[1].files]) => {
    const left = files.filter((file) => !isPhoto(file)).map(({ name }) => visible(name));
    others.textContent = left.length > 0 ? `Left out, as ${left.length === 1 ? "it is no photo" : "they are no photos"}: ${listNames(left)}.` : "";
    choosePhotos(photo[1], files);
    const several = !shop && photo[1].files.length > 1;
    about.hidden = about.disabled = several;
    each.hidden = !several;
  };
  return [...photo, others, each, about];
}

/** Store items one by one while the form is open; return stored items and refusals. */
async function addAll(items) {
  const [stored, failed] = [[], []];
  for (const item of items) {
    try {
      stored.push(await api.add(item));
    } catch (error) {
      failed.push({ item, error });
    }
  }
  return { stored, failed, unsent: [] };
}

/** Whether items are photos that get their names from their files. */
const areNamed = (items, form, { shop }) =>
  !shop && items.length > 0 && items.every(({ files }) => files.length === 1) && (items.length > 1 || !form.elements.id.value.trim());

/**
 * Ask for items and store them; call `added` with the `stored` ones, and with the `refused` and `unsent`
 * ones where someone closed the form meanwhile. `files` are chosen already.
 */
export function openAdding(holdings, added, files = []) {
  const refusals = make("p", { role: "alert", className: "refused" });
  const list = make("ul", { className: "sending", "aria-label": "Files" });
  const submit = make("button", { type: "submit", className: "go" }, "Add");
  const cancel = make("button", { type: "button", className: "second", onclick: () => dialog.close() }, "Cancel");
  const choice = make("section", {}, ...inputs(holdings));
  const form = make("form", { method: "dialog" },
    make("h2", { id: "add-title" }, holdings.shop ? "Add a product" : "Add photos"),
    choice, list, refusals, make("div", {}, cancel, submit));
  const { photo } = form.elements;
  let again = []; // items of the last try that may be stored by another one
  const chooseOthers = () => {
    choice.hidden = false;
    choosePhotos(photo, []);
    photo.onchange();
    photo.focus();
  };
  form.onsubmit = async (event) => {
    event.preventDefault();
    const items = again.length > 0 ? again : itemsOf(form, holdings);
    const named = again.length > 0 || areNamed(items, form, holdings);
    refusals.textContent = items.length === 0 ? "Give a photo, a title or an id." : named ? "" : "Adding…";
    if (items.length === 0) return;
    const alive = () => dialog.open && form.isConnected;
    submit.disabled = true;
    choice.hidden = named;
    const { stored, failed, unsent } = named ? await sendAll(items, list, alive) : await addAll(items);
    submit.disabled = false;
    again = named ? failed.filter(({ error }) => error.passing).map(({ item }) => item) : [];
    submit.textContent = again.length > 0 ? "Try again" : "Add";
    refusals.textContent = named && failed.length > 0
      ? `Not added: ${failed.length} of ${items.length}.` : failed.map(({ error }) => error.message).join(" ");
    const refused = alive() ? [] : failed.map(({ item }) => item);
    if (failed.length === 0 && alive()) dialog.close();
    else if (named && again.length === 0) chooseOthers();
    else submit.focus();
    if (stored.length + refused.length + unsent.length > 0) added({ stored, refused, unsent });
  };
  dialog.replaceChildren(form);
  if (files.length > 0) photo.onchange(null, files);
  dialog.showModal();
  if (files.length > 0) submit.focus();
}
