/** Addresses and bodies of requests: JSON, or forms with photos. */
import { toBlob, type Image } from "./items.js";
import { checkText, convert, toJson } from "./json.js";
import type { Call } from "./transport.js";

type Body = Pick<Call, "body" | "headers">;

/** A body of JSON. */
export function jsonBody(value: object): Body {
  return { body: toJson(value), headers: { "Content-Type": "application/json" } };
}

/** A body of fields: a form if there are photos, else JSON. */
export function fieldsBody(fields: object, photos: readonly Image[]): Body {
  if (photos.length === 0) return jsonBody(fields);
  const form = new FormData();
  for (const [name, value] of Object.entries(convert(fields, "") as object)) {
    if (value === null) continue;
    if (name === "box" && Array.isArray(value)) form.append(name, value.join(","));
    else if (name === "sentences") for (const text of value) form.append(name, text);
    else form.append(name, toField(value));
  }
  for (const photo of photos) form.append("image", toBlob(photo), "image");
  return { body: form };
}

/** The path of a name, with encoded slashes; RangeError for what an address cannot carry. */
export function pathOf(kind: string, name: string): string {
  if (typeof name !== "string" || ["", ".", ".."].includes(name)) {
    const shown = typeof name === "string" ? `"${name}"` : String(name);
    throw new RangeError(`${shown} has no address of its own: only other names can be asked for`);
  }
  return `/${kind}/${encodeURIComponent(checkText(name, `a name of ${kind}`))}`;
}

function toField(value: unknown): string {
  return typeof value === "string" ? value : toJson(value);
}
