/** Client of Tessera for browsers and Node. */
export { Client } from "./client.js";
export type { Change, ClientOptions, Content, Listing, UploadOptions } from "./client.js";
export { TesseraError } from "./errors.js";
export type { Image, NewItem } from "./items.js";
export type { Query } from "./requests.js";
export type { Picture } from "./searches.js";
export type { CallOptions } from "./transport.js";
export type * from "./types.gen.js";
