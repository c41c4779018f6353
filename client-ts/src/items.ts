/** Items to upload, as lines of JSON, and batches of lines. */
import { checkList, kindOf, quote, toJson } from "./json.js";
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

/** All photos, in order; TypeError if `images` is no list. */
export function listPhotos({ image, images }: Pick<NewItem, "image" | "images">): Image[] {
  const others = checkList(images, "images");
  return image === undefined || image === null ? others : [image, ...others];
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

/** The file of an image, for a form; TypeError for an address, or no file. */
export function toBlob(image: Image): Blob {
  if (image instanceof Blob) return image;
  if (isAddress(image)) throw new TypeError(`give a file here, not the address ${quote(image)}`);
  if (!ArrayBuffer.isView(image) && kindOf(image) !== "ArrayBuffer") {
    const kind = kindOf(image);
    throw new TypeError(`an image is a Blob, bytes, or an address, not of the type ${kind}`);
  }
  return new Blob([image as BlobPart]);
}

/** Return an address; TypeError for other texts, such as paths. */
export function checkAddress(image: string): string {
  if (/^https?:\/\//i.test(image)) return image;
  const advice = "in Node, open a file by openAsBlob of node:fs";
  throw new TypeError(`${quote(image)} is not an address that begins with http:// (${advice})`);
}

async function toLine(item: NewItem): Promise<string> {
  if (kindOf(item) !== "Object") {
    throw new TypeError(`an item is an object such as {id: "a"}, not of the type ${kindOf(item)}`);
  }
  const { image, images, ...row } = item;
  checkList(row.sentences, "sentences");
  const photos = await Promise.all(listPhotos({ image, images }).map(imageText));
  return `${toJson(photos.length > 0 ? { ...row, images: photos } : row)}\n`;
}

function refuse(place: number, item: NewItem | null | undefined, failure: unknown): ImportStatus {
  const reason = failure instanceof Error ? failure.message : String(failure);
  const id = typeof item?.id === "string" ? item.id : null;
  return { line: place, id, status: "refused", reason };
}
