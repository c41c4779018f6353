/** Items to upload, as lines of JSON, and batches of lines. */
import type { ImportLine } from "./types.gen.js";

/** An image file, or its address for the service to fetch. */
export type Image = Blob | ArrayBuffer | Uint8Array | string;

/** An item to store: photos, sentences, or both, and metadata. */
export type NewItem = Omit<ImportLine, "image" | "image_url" | "images"> & {
  image?: Image;
  /** Photos behind the first one. */
  images?: readonly Image[];
};

/** Some lines of a bulk import. */
export interface Batch {
  lines: string;
  count: number;
}

const BATCH_LINES = 256;
const BATCH_SIZE = 32 * 2 ** 20; // characters

/** Join items into batches of up to 256 lines and about 32 MiB. */
export async function* batches(
  items: Iterable<NewItem> | AsyncIterable<NewItem>,
): AsyncGenerator<Batch> {
  let batch: string[] = [];
  let size = 0;
  for await (const item of items) {
    const line = await toLine(item);
    if (batch.length === BATCH_LINES || (batch.length > 0 && size + line.length > BATCH_SIZE)) {
      yield { lines: batch.join(""), count: batch.length };
      [batch, size] = [[], 0];
    }
    batch.push(line);
    size += line.length;
  }
  if (batch.length > 0) yield { lines: batch.join(""), count: batch.length };
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

function quote(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}
