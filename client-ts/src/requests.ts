/** Requests of a client: its collection, its transport, and pages. */
import { fieldsBody } from "./bodies.js";
import { listPhotos, type Image } from "./items.js";
import type { Call, CallOptions, Transport } from "./transport.js";

/** The fields of a request, and the file of a photo. */
export type Query<Body> = Omit<Body, "collection"> & { image?: Image };

/** What requests to a collection of a service share. */
export abstract class Requests {
  constructor(
    protected readonly transport: Transport,
    readonly collection: string,
  ) {}

  /** Post fields, with a photo or without. */
  protected async ask<Value>(path: string, query: object, options?: CallOptions): Promise<Value> {
    return (await this.transport.send(this.#post(path, query), options)).json<Value>();
  }

  /** Post fields, and read a file. */
  protected async draw(
    path: string,
    query: object,
    accept: string,
    options?: CallOptions,
  ): Promise<Blob> {
    return (await this.transport.send({ ...this.#post(path, query), accept }, options)).blob();
  }

  /** Get an answer of the collection. */
  protected async get<Value>(
    path: string,
    query: Call["query"] = {},
    options?: CallOptions,
  ): Promise<Value> {
    const call: Call = { method: "GET", path, query: { ...query, collection: this.collection } };
    return (await this.transport.send(call, options)).json<Value>();
  }

  #post(path: string, query: { image?: Image }): Call {
    const { image, ...fields } = query;
    const body = fieldsBody({ ...fields, collection: this.collection }, listPhotos({ image }));
    return { method: "POST", path, ...body };
  }
}

/** The hits or items of all pages. */
export async function* follow<Page extends { cursor: string | null }, Part>(
  first: string | null | undefined,
  ask: (cursor: string | undefined) => Promise<Page>,
  parts: (page: Page) => Part[],
): AsyncGenerator<Part, void, undefined> {
  let cursor = first ?? undefined;
  do {
    const page = await ask(cursor);
    yield* parts(page);
    cursor = page.cursor ?? undefined;
  } while (cursor !== undefined);
}
