/** The client: searches, stored items, uploads, and collections. */
import { fieldsBody, jsonBody, pathOf } from "./bodies.js";
import { noAnswer } from "./errors.js";
import { batches, checkAddress, imageText, isAddress, listPhotos } from "./items.js";
import { placeStatuses } from "./items.js";
import type { Batch, Image, NewItem } from "./items.js";
import { checkList, toJson } from "./json.js";
import { follow } from "./requests.js";
import { Searches } from "./searches.js";
import { Transport, type Call, type CallOptions } from "./transport.js";
import type * as api from "./types.gen.js";

/** Settings of a client. */
export interface ClientOptions {
  /** The key, where the service asks for one. */
  key?: string;
  /** The set of items; "default" if it is left out. */
  collection?: string;
  /**
   * Milliseconds within which an answer begins, retries and pauses included, and each next part of
   * it comes; two minutes if left out.
   */
  timeout?: number;
}

/** The content of an item; its photos are all addresses, or all files. */
export type Content = Omit<NewItem, "id">;

/** Which of the stored items are listed, and how many at a time. */
export type Listing = Pick<api.ImageSearch, "filter" | "limit" | "cursor">;

/** A change of an item: `images` are numbers of photos that stay, and new ones. */
export interface Change extends CallOptions {
  images?: readonly (number | Image)[];
  stamp?: string;
  /** The ETag of the item; if it has another by now, the change is refused with status 412. */
  match?: string;
}

/** Options of an upload. */
export interface UploadOptions extends CallOptions {
  /** Is told how many items have a status. */
  progress?: (done: number) => void;
}

/**
 * Tessera at an address.
 *
 * Busy answers (429, 503 with Retry-After) are repeated after the time they ask for, and refused
 * connections for a minute; other failures throw TesseraError. A page that the service serves
 * gives the address "".
 */
export class Client extends Searches {
  constructor(address: string | Transport, options: ClientOptions = {}) {
    const { key, collection = "default", timeout = 120_000 } = options;
    const given = typeof address !== "string";
    super(given ? address : new Transport(address, timeout, key), collection);
  }

  /** The same client for another collection. */
  on(collection: string): Client {
    return new Client(this.transport, { collection });
  }

  /** Store an item and replace the former one; searches find it immediately. */
  async putItem(id: string, content: Content, options?: CallOptions): Promise<api.StoredItem> {
    const { image, images, ...fields } = content;
    checkList(fields.sentences, "sentences");
    const photos = listPhotos({ image, images });
    const addresses = photos.every(isAddress);
    const named = addresses && photos.length > 0 ? { images: photos.map(checkAddress) } : {};
    const sent = { ...fields, ...named, collection: this.collection };
    const body = fieldsBody(sent, addresses ? [] : photos);
    const call: Call = { method: "PUT", path: pathOf("items", id), ...body };
    return (await this.transport.send(call, options)).json();
  }

  /** Get a stored item. */
  getItem(id: string, options?: CallOptions): Promise<api.SingleItem> {
    return this.get(pathOf("items", id), {}, options);
  }

  /** Get a stored item and its ETag. */
  async getTaggedItem(id: string, options?: CallOptions): Promise<[api.SingleItem, string | null]> {
    const query = { collection: this.collection };
    const call: Call = { method: "GET", path: pathOf("items", id), query };
    const answer = await this.transport.send(call, options);
    return [await answer.json<api.SingleItem>(), answer.tag];
  }

  /** The longest vectors of an item's regions and words. */
  itemMagnitudes(id: string, options?: CallOptions): Promise<api.Magnitudes> {
    return this.get(`${pathOf("items", id)}/magnitudes`, {}, options);
  }

  /** The display copy of one of an item's photos, a JPEG. */
  async itemImage(id: string, photo = 0, options?: CallOptions): Promise<Blob> {
    const path = `${pathOf("items", id)}/image`;
    const query = { photo, collection: this.collection };
    const call: Call = { method: "GET", path, query, accept: "image/jpeg" };
    return (await this.transport.send(call, options)).blob();
  }

  /** A part of an item's photo, a JPEG; the box is left, top, right and bottom, 0 to 1. */
  async itemCrop(
    id: string,
    box: readonly number[],
    photo = 0,
    options?: CallOptions,
  ): Promise<Blob> {
    const path = `${pathOf("items", id)}/crop`;
    const query = { photo, box: box.join(","), collection: this.collection };
    const call: Call = { method: "GET", path, query, accept: "image/jpeg" };
    return (await this.transport.send(call, options)).blob();
  }

  /** The original file of an imported photo. */
  async itemOriginal(id: string, options?: CallOptions): Promise<Blob> {
    const path = `${pathOf("items", id)}/original`;
    const query = { collection: this.collection };
    const call: Call = { method: "GET", path, query, accept: "*/*" };
    return (await this.transport.send(call, options)).blob();
  }

  /** A page of series of near-duplicate photos. */
  duplicates(
    { limit = 20, cursor }: Pick<Listing, "limit" | "cursor"> = {},
    options?: CallOptions,
  ): Promise<api.Duplicates> {
    return this.get("/duplicates", { limit, cursor: cursor ?? undefined }, options);
  }

  /** Delete an item; no search finds it from now on. */
  async deleteItem(id: string, options?: CallOptions): Promise<void> {
    const query = { collection: this.collection };
    await this.#write({ method: "DELETE", path: pathOf("items", id), query }, options);
  }

  /** Merge a patch into an item's metadata: null deletes a key, or all keys. */
  async patchItem(
    id: string,
    metadata: Record<string, unknown> | null,
    { images, stamp, match, signal }: Change = {},
  ): Promise<api.Item> {
    const photos = images?.map((image) => (typeof image === "number" ? image : imageText(image)));
    const body = jsonBody({ metadata, stamp, images: photos && (await Promise.all(photos)) });
    if (match !== undefined) body.headers = { ...body.headers, "If-Match": match };
    const query = { collection: this.collection };
    return this.#write({ method: "PATCH", path: pathOf("items", id), query, ...body }, { signal });
  }

  /** Delete items by ids or by a filter; a dry run counts them. */
  deleteItems(
    chosen: Omit<api.Deletion, "collection">,
    options?: CallOptions,
  ): Promise<api.DeletionOut> {
    return this.ask("/items/delete", chosen, options);
  }

  /** Let imports store deleted photos of folders again; those of no folder are `unknown`. */
  restoreItems(ids: string[], options?: CallOptions): Promise<api.RestorationOut> {
    return this.ask("/items/restore", { ids }, options);
  }

  /** A page of items, in the order of their ids. */
  listItems(
    { filter, limit = 100, cursor }: Listing = {},
    options?: CallOptions,
  ): Promise<api.Items> {
    const query = {
      limit,
      cursor: cursor ?? undefined,
      filter: filter ? toJson(filter, "filter") : undefined,
    };
    return this.get("/items", query, options);
  }

  /** Iterate over all items by id. */
  items(listing: Listing = {}, options?: CallOptions): AsyncGenerator<api.Item> {
    const ask = (cursor?: string) => this.listItems({ ...listing, cursor }, options);
    return follow(listing.cursor, ask, (page) => page.items);
  }

  /**
   * Store many items in batches, and yield a status for each as it is on disk.
   *
   * `line` counts the items from 1. An item that cannot be sent, such as one with an unreadable
   * photo, is refused. A collection that is dropped meanwhile is not made again: TesseraError of
   * the kind "not-found". Whoever leaves the loop early ends the batch that is being sent.
   */
  async *upload(
    items: Iterable<NewItem> | AsyncIterable<NewItem>,
    { progress, signal }: UploadOptions = {},
  ): AsyncGenerator<api.ImportStatus, void, undefined> {
    let done = 0;
    for await (const batch of batches(items)) {
      const create = done === 0;
      yield* placeStatuses(batch, (lines) => this.#send(lines, create, { signal }));
      done += batch.places.length + batch.refused.length;
      progress?.(done);
    }
  }

  /** The collections there are. */
  collections(options?: CallOptions): Promise<api.Collections> {
    return this.#write({ method: "GET", path: "/collections" }, options);
  }

  /** Make an empty collection; an existing one stays as it is. */
  makeCollection(name: string, options?: CallOptions): Promise<api.Collection> {
    return this.#write({ method: "PUT", path: pathOf("collections", name) }, options);
  }

  /** Rename a collection; `alias` leaves the old name as an alias. */
  renameCollection(
    name: string,
    renaming: api.Renaming,
    options?: CallOptions,
  ): Promise<api.Collection> {
    const path = pathOf("collections", name);
    return this.#write({ method: "PATCH", path, ...jsonBody(renaming) }, options);
  }

  /** Drop a collection; refused while an alias stands for it. */
  dropCollection(name: string, options?: CallOptions): Promise<void> {
    return this.#write({ method: "DELETE", path: pathOf("collections", name) }, options);
  }

  /** The synonyms of a collection. */
  synonyms(name: string, options?: CallOptions): Promise<api.Synonyms> {
    const path = `${pathOf("collections", name)}/synonyms`;
    return this.#write({ method: "GET", path }, options);
  }

  /** Replace the synonyms of a collection, a list a meaning. */
  putSynonyms(
    name: string,
    synonyms: readonly (readonly string[])[],
    options?: CallOptions,
  ): Promise<api.Synonyms> {
    const path = `${pathOf("collections", name)}/synonyms`;
    return this.#write({ method: "PUT", path, ...jsonBody({ synonyms }) }, options);
  }

  /** The pinned items of a collection, by their texts. */
  pins(name: string, options?: CallOptions): Promise<api.Pins> {
    return this.#write({ method: "GET", path: `${pathOf("collections", name)}/pins` }, options);
  }

  /** Replace the pinned items of a collection: ordered ids by texts. */
  putPins(
    name: string,
    pins: Record<string, readonly string[]>,
    options?: CallOptions,
  ): Promise<api.Pins> {
    const path = `${pathOf("collections", name)}/pins`;
    const sent = Object.entries(pins).map(([text, ids]) => ({ text, ids }));
    return this.#write({ method: "PUT", path, ...jsonBody({ pins: sent }) }, options);
  }

  /** The language of a collection's words. */
  language(name: string, options?: CallOptions): Promise<api.Language> {
    const path = `${pathOf("collections", name)}/language`;
    return this.#write({ method: "GET", path }, options);
  }

  /** Choose the language of a collection's words, such as "de". */
  putLanguage(name: string, language: string, options?: CallOptions): Promise<api.Language> {
    const path = `${pathOf("collections", name)}/language`;
    return this.#write({ method: "PUT", path, ...jsonBody({ language }) }, options);
  }

  /** The webhooks of a collection with their last deliveries. */
  webhooks(name: string, options?: CallOptions): Promise<api.Webhooks> {
    const path = `${pathOf("collections", name)}/webhooks`;
    return this.#write({ method: "GET", path }, options);
  }

  /** Add an address for finished imports; the answer has its secret. */
  addWebhook(
    name: string,
    webhook: api.WebhookIn,
    options?: CallOptions,
  ): Promise<api.NewWebhook> {
    const path = `${pathOf("collections", name)}/webhooks`;
    return this.#write({ method: "POST", path, ...jsonBody(webhook) }, options);
  }

  /** Remove a webhook and its waiting deliveries. */
  removeWebhook(name: string, webhook: string, options?: CallOptions): Promise<void> {
    const path = `${pathOf("collections", name)}/webhooks/${encodeURIComponent(webhook)}`;
    return this.#write({ method: "DELETE", path }, options);
  }

  /** The aliases there are. */
  aliases(options?: CallOptions): Promise<api.Aliases> {
    return this.#write({ method: "GET", path: "/aliases" }, options);
  }

  /** Have an alias stand for a collection, at once for everyone. */
  pointAlias(name: string, collection: string, options?: CallOptions): Promise<api.Alias> {
    const path = pathOf("aliases", name);
    return this.#write({ method: "PUT", path, ...jsonBody({ collection }) }, options);
  }

  /** Delete an alias; its collection stays. */
  forgetAlias(name: string, options?: CallOptions): Promise<void> {
    return this.#write({ method: "DELETE", path: pathOf("aliases", name) }, options);
  }

  /** Get the loaded models and the limits of uploads. */
  models(options?: CallOptions): Promise<api.Models> {
    return this.#write({ method: "GET", path: "/model" }, options);
  }

  /** Get statistics of the collection's index. */
  index(options?: CallOptions): Promise<api.Index> {
    return this.get("/index", {}, options);
  }

  /** Measure the recall of the usual answers against exact ones. */
  audit(
    query: Omit<api.AuditRequest, "collection"> = {},
    options?: CallOptions,
  ): Promise<api.Audit> {
    return this.ask("/index/audit", query, options);
  }

  async #write<Value>(call: Call, options?: CallOptions): Promise<Value> {
    return (await this.transport.send(call, options)).json<Value>();
  }

  /** Send a batch; TesseraError in the end if there are fewer statuses than items. */
  async *#send(
    { lines, places }: Batch,
    create: boolean,
    options: CallOptions,
  ): AsyncGenerator<api.ImportStatus, void, undefined> {
    const query = { collection: this.collection, create: create ? undefined : false };
    const headers = { "Content-Type": LINES };
    const call: Call = {
      method: "POST",
      path: "/items",
      query,
      headers,
      body: lines,
      accept: LINES,
    };
    const count = places.length;
    let read = 0;
    for await (const status of (
      await this.transport.send(call, options)
    ).lines<api.ImportStatus>()) {
      read += 1;
      yield status;
    }
    if (read < count) {
      const advice = "as the answer breaks off: send the items again";
      throw noAnswer("/items", `${read} of ${count} items have a status, ${advice}`);
    }
  }
}

const LINES = "application/x-ndjson";
