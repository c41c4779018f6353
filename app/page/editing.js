// Adding items: photos, a title and the fields that the others of the collection have.

import * as api from "./api.js";
import { make } from "./dom.js";
import { label } from "./holdings.js";

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

/** List the items of a form: a product with its photos, or an item for each photo. */
function itemsOf(form, holdings) {
  const item = itemOf(form, holdings);
  if (holdings.shop || item.files.length < 2) return item.id ? [item] : [];
  return item.files.map((file) => ({ id: idFrom(nameOf(file)), metadata: {}, sentences: [], files: [file] }));
}

function inputs({ shop, fields = [], numeric = [] }) {
  const photo = field("photo", "Photos", { type: "file", accept: "image/*", multiple: true });
  const title = field("title", "Title", { required: shop });
  const id = field("id", "Id (made up if empty)", { maxLength: 200 });
  const known = fields.slice(0, 8).flatMap((key) =>
    field(`field-${key}`, label(key), numeric.includes(key) ? { type: "number", step: "any" } : {}));
  const text = shop ? field("description", "Description") : field("sentence", "Sentence about the photo");
  const about = make("fieldset", {}, ...title, ...known, ...text, ...id);
  const each = make("p", { hidden: true }, "Each is added as an item of its own, named after its file.");
  photo[1].onchange = () => {
    const several = !shop && photo[1].files.length > 1;
    about.hidden = about.disabled = several;
    each.hidden = !several;
  };
  return [...photo, each, about];
}

/** Store items in turn while the form is open; return stored items and refusals. */
async function addAll(items, bar) {
  const [stored, refused] = [[], []];
  bar.max = items.length;
  bar.hidden = items.length < 2;
  for (const item of items) {
    if (!dialog.open || !bar.isConnected) break;
    try {
      stored.push(await api.add(item));
    } catch (error) {
      refused.push(items.length > 1 ? `${item.files[0].name}: ${error.message}` : error.message);
    }
    bar.value = stored.length + refused.length;
  }
  bar.hidden = true;
  return { stored, refused };
}

/** Ask for items and store them; call `added` with the stored ones. */
export function openAdding(holdings, added) {
  const refusals = make("p", { role: "alert", className: "refused" });
  const bar = make("progress", { hidden: true, "aria-label": "Adding" });
  const submit = make("button", { type: "submit", className: "go" }, "Add");
  const cancel = make("button", { type: "button", className: "second", onclick: () => dialog.close() }, "Cancel");
  const form = make("form", { method: "dialog" },
    make("h2", { id: "add-title" }, holdings.shop ? "Add a product" : "Add photos"),
    ...inputs(holdings), bar, refusals, make("div", {}, cancel, submit));
  form.onsubmit = async (event) => {
    event.preventDefault();
    const items = itemsOf(form, holdings);
    refusals.textContent = items.length > 0 ? "Adding…" : "Give a photo, a title or an id.";
    if (items.length === 0) return;
    submit.disabled = true;
    const { stored, refused } = await addAll(items, bar);
    submit.disabled = false;
    refusals.textContent = refused.join(" ");
    if (refused.length === 0 && form.isConnected) dialog.close();
    else if (items.length > 1) {
      form.elements.photo.value = ""; // stored photos are not sent again
      form.elements.photo.onchange();
    }
    if (stored.length > 0) added(stored);
  };
  dialog.replaceChildren(form);
  dialog.showModal();
}
