/** Values of JSON: obvious conversions, and refusals with the value's place. */

const DEEPEST = 100; // objects and lists within each other; the service takes 50
const HALF_OF_PAIR = /\p{Surrogate}/u;
const CONTENT = /^(metadata|filter)[.[]/; // here a value that is left out changes the meaning

/** JSON of a value; errors as those of `convert`. */
export function toJson(value: unknown, place = ""): string {
  return JSON.stringify(convert(value, place));
}

/**
 * A value in JSON's own types.
 *
 * Sets and typed arrays become arrays, maps objects, dates ISO 8601, and bigints numbers. TypeError
 * or RangeError with the place, such as `metadata.sizes[2]`, for other types, numbers that JSON
 * lacks, undefined in arrays, metadata and filters, and texts with half of a surrogate pair.
 */
export function convert(value: unknown, place: string, depth = 0): unknown {
  if (depth > DEEPEST) {
    const start = place.slice(0, 80);
    throw new RangeError(`${start}… is over ${DEEPEST} arrays and objects deep, or holds itself`);
  }
  switch (typeof value) {
    case "boolean":
      return value;
    case "string":
      return checkText(value, place);
    case "number":
      return checkNumber(value, place);
    case "bigint":
      return toNumber(value, place);
    case "object":
      return value === null ? null : convertObject(value, place, depth);
    default:
      throw refuse(typeof value, place);
  }
}

/** Return a text; RangeError for half of a surrogate pair. */
export function checkText(text: string, place: string): string {
  const at = text.search(HALF_OF_PAIR);
  if (at < 0) return text;
  const what = `half of a surrogate pair at position ${at}`;
  throw new RangeError(`${place} has ${what}, which UTF-8 cannot express: leave it out`);
}

/** Return a list, or nothing; TypeError for one text, as its letters are no list. */
export function checkList<Part>(list: Iterable<Part> | undefined, name: string): Part[] {
  if (typeof list === "string") {
    const text = quote(list);
    throw new TypeError(`${name} is a list: give [${text}] instead of ${text}`);
  }
  return [...(list ?? [])];
}

/** A text in quotation marks, cut where it is long. */
export function quote(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}

/** The kind of an object, such as "Map", of any window or context. */
export function kindOf(value: object): string {
  return Object.prototype.toString.call(value).slice(8, -1);
}

function checkNumber(value: number, place: string): number {
  if (Number.isFinite(value)) return value;
  const advice = "give a finite number, or null";
  throw new RangeError(`${place} is ${value}, which JSON cannot express: ${advice}`);
}

function toNumber(value: bigint, place: string): number {
  if (Number.isSafeInteger(Number(value))) return Number(value);
  throw new RangeError(`${place} is ${value}, which numbers would round: give it as a text`);
}

function convertObject(value: object, place: string, depth: number): unknown {
  if (Array.isArray(value)) return convertParts(value, place, depth);
  const kind = kindOf(value);
  if (kind === "Date") checkNumber((value as Date).getTime(), place);
  const numbers = ArrayBuffer.isView(value) && kind !== "DataView"; // a Buffer has a toJSON, too
  if (numbers) return convertParts(value as unknown as Iterable<unknown>, place, depth);
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON === "function") return convert(toJSON.call(value, ""), place, depth + 1);
  if (kind === "Map") return convertEntries(value as Map<unknown, unknown>, place, depth);
  if (kind === "Object") return convertEntries(Object.entries(value), place, depth);
  if (kind === "Set") return convertParts(value as Set<unknown>, place, depth);
  throw refuse(kind, place);
}

function convertParts(parts: Iterable<unknown>, place: string, depth: number): unknown[] {
  return Array.from(parts, (part, at) => convert(part, `${place}[${at}]`, depth + 1));
}

function convertEntries(
  entries: Iterable<[unknown, unknown]>,
  place: string,
  depth: number,
): object {
  const converted = new Map<string, unknown>();
  const whole = place || "an object";
  for (const [key, value] of entries) {
    if (typeof key !== "string" && typeof key !== "number") {
      throw new TypeError(`${whole} has a key of the type ${typeof key}: keys are texts`);
    }
    const name = checkText(String(key), `a key of ${whole}`);
    if (converted.has(name)) throw new RangeError(`${whole} has the key ${quote(name)} twice`);
    const inside = place === "" ? name : `${place}.${name}`;
    if (value === undefined && !CONTENT.test(inside)) continue;
    converted.set(name, convert(value, inside, depth + 1));
  }
  return Object.fromEntries(converted);
}

function refuse(kind: string, place: string): TypeError {
  const advice = "give texts, numbers, dates, booleans, null, or arrays and objects of them";
  return new TypeError(`${place} is of the type ${kind}, which JSON cannot express: ${advice}`);
}
