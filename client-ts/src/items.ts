/** Items to upload, as lines of JSON, and batches of lines. */
import type { ImportLine, ImportStatus } from "./types.gen.js";

/** An image file, or its address for the service to fetch. */
export type Image = Blob | ArrayBuffer | Uint8Array | string;

/** An item to store: photos, sentences, or both, and metadata. */
export type NewItem = Omit<ImportLine, "image" | "image_url" | "images"> & {
  image?: Image;
  /** Photos behind the first one. */
  images?: readonly Image[];
};

/**
 * Items to send together.
 *
 * `places` count the items of its lines among all, from 1; `refused` are those between them that
 * cannot be sent, such as items with an unreadable photo.
 */
export interface Batch {
  lines: string;
  places: number[];
  refused: ImportStatus[];
}

const BATCH_LINES = 256;
const BATCH_SIZE = 32 * 2 ** 20; // characters

/** Join items into batches of up to 256 and about 32 MiB. */
export async function* batches(
  items: Iterable<NewItem> | AsyncIterable<NewItem>,
): AsyncGenerator<Batch> {
  let lines: string[] = [];
  let [places, refused]: [number[], ImportStatus[]] = [[], []];
  let [size, place] = [0, 0];
  for await (const item of items) {
    place += 1;
    const line = await toLine(item).catch((failure: unknown) => refuse(place, item, failure));
    if (typeof line !== "string") {
      refused.push(line);
      continue;
    }
    if (lines.length === BATCH_LINES || (lines.length > 0 && size + line.length > BATCH_SIZE)) {
      yield { lines: lines.join(""), places, refused };
      [lines, places, refused, size] = [[], [], [], 0];
    }
    lines.push(line);
    places.push(place);
    size += line.length;
  }
  if (lines.length + refused.length > 0) yield { lines: lines.join(""), places, refused };
}

/** Send a batch; count its statuses as all items, with the refused ones. */
export async function* placeStatuses(
  batch: Batch,
  send: (batch: Batch) => AsyncIterable<ImportStatus>,
): AsyncGenerator<ImportStatus, void, undefined> {
  const [places, refused] = [batch.places, [...batch.refused]];
  if (places.length > 0) {
    for await (const status of send(batch)) {
      const line = places[status.line - 1] ?? status.line;
      while (refused[0] !== undefined && refused[0].line < line) yield* refused.splice(0, 1);
      yield { ...status, line };
    }
  }
  yield* refused;
}

/** All photos, in order. */
export function listPhotos(item: Pick<NewItem, "image" | "images">): Image[] {
  return [...(item.image === undefined ? [] : [item.image]), ...(item.images ?? [])];
}

/** Whether an image is an address for the service to fetch. */
export function isAddress(image: Image): image is string {
  return typeof image === "string";
}

/** Return an image for JSON: its address, or base64. */
export async function imageText(image: Image): Promise<string> {
  if (isAddress(image)) return checkAddress(image);
  const bytes = new Uint8Array(await toBlob(image).arrayBuffer());
  let binary = "";
  for (let start = 0; start < bytes.length; start += 0x8000) {
    binary += String.fromCharCode(...bytes.subarray(start, start + 0x8000));
  }
  return btoa(binary);
}

/** The file of an image, for a form; TypeError for an address. */
export function toBlob(image: Image): Blob {
  if (image instanceof Blob) return image;
  if (isAddress(image)) throw new TypeError(`give a file here, not the address ${quote(image)}`);
  return new Blob([image as BlobPart]);
}

/** Return an address; TypeError for other texts, such as paths. */
export function checkAddress(image: string): string {
  if (/^https?:\/\//i.test(image)) return image;
  const advice = "in Node, open a file by openAsBlob of node:fs";
  throw new TypeError(`${quote(image)} is not an address that begins with http:// (${advice})`);
}

/** JSON of a value; RangeError for numbers that JSON lacks. */
export function toJson(value: unknown): string {
  return JSON.stringify(value, (key, part: unknown) => {
    if (typeof part === "number" && !Number.isFinite(part)) {
      throw new RangeError(`${quote(key)} is ${part}, which JSON cannot express`);
    }
    return part;
  });
}

async function toLine(item: NewItem): Promise<string> {
  const { image, images, ...row } = item;
  const photos = await Promise.all(listPhotos({ image, images }).map(imageText));
  return `${toJson(photos.length > 0 ? { ...row, images: photos } : row)}\n`;
}

function refuse(place: number, item: NewItem, failure: unknown): ImportStatus {
  const reason = failure instanceof Error ? failure.message : String(failure);
  return { line: place, id: item.id, status: "refused", reason };
}

function quote(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}
