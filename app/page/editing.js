// Adding an item: a photo, a title and the fields that the others of the collection have.

import * as api from "./api.js";
import { make } from "./dom.js";
import { label } from "./holdings.js";

const dialog = document.getElementById("add");
dialog.addEventListener("keydown", (event) => event.stopPropagation()); // Escape closes this alone

function field(name, text, properties = {}) {
  const input = make("input", { type: "text", id: `add-input-${name}`, name, autocomplete: "off", ...properties });
  return [make("label", { htmlFor: input.id }, text), input];
}

/** An id of letters and numbers from what an item is called. */
function idFrom(text) {
  return text.normalize("NFKD").toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 100);
}

function itemOf(form, { title, fields = [], numeric = [] }) {
  const said = (name) => form.elements[name]?.value.trim() ?? "";
  const file = form.elements.photo.files[0] ?? null;
  const metadata = {};
  if (said("title")) metadata[title ?? "title"] = said("title");
  for (const key of fields) {
    const value = said(`field-${key}`);
    if (value) metadata[key] = numeric.includes(key) ? Number(value) : value;
  }
  if (said("description")) metadata.description = said("description");
  const id = said("id") || idFrom(said("title") || file?.name.replace(/\.\w+$/, "") || "");
  return { id, metadata, sentences: said("sentence") ? [said("sentence")] : [], file };
}

function inputs({ shop, fields = [], numeric = [] }) {
  const photo = field("photo", "Photo", { type: "file", accept: "image/*" });
  const title = field("title", "Title", { required: shop });
  const id = field("id", "Id (made up if empty)", { maxLength: 200 });
  const known = fields.slice(0, 8).flatMap((key) =>
    field(`field-${key}`, label(key), numeric.includes(key) ? { type: "number", step: "any" } : {}));
  const said = shop ? field("description", "Description") : field("sentence", "Sentence about the photo");
  return [...photo, ...title, ...known, ...said, ...id];
}

/** Ask for an item and store it; `added` is called with it. */
export function openAdding(holdings, added) {
  const refused = make("p", { role: "alert", className: "refused" });
  const form = make("form", { method: "dialog" },
    make("h2", { id: "add-title" }, holdings.shop ? "Add a product" : "Add a photo"),
    ...inputs(holdings), refused,
    make("div", {},
      make("button", { type: "button", className: "second", onclick: () => dialog.close() }, "Cancel"),
      make("button", { type: "submit", className: "go" }, "Add")));
  form.onsubmit = async (event) => {
    event.preventDefault();
    const item = itemOf(form, holdings);
    refused.textContent = item.id ? "Adding…" : "Give a photo, a title or an id.";
    if (!item.id) return;
    try {
      const stored = await api.add(item);
      dialog.close();
      added(stored);
    } catch (error) {
      refused.textContent = error.message;
    }
  };
  dialog.replaceChildren(form);
  dialog.showModal();
}
