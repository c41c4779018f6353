/** Searches and explanations, as methods. */
import { Requests, follow, type Query } from "./requests.js";
import type { CallOptions } from "./transport.js";
import type * as api from "./types.gen.js";

const PICTURES = { png: "image/png", svg: "image/svg+xml" };

/** The form of a drawn explanation. */
export type Picture = keyof typeof PICTURES;

/** The calls that change nothing and take a text or a photo. */
export abstract class Searches extends Requests {
  /** Search photos by text, phrases, or a photo. */
  searchImages(query: Query<api.ImageSearch>, options?: CallOptions): Promise<api.ImageHits> {
    return this.ask("/search/image", query, options);
  }

  /** Search parts of photos by text, phrases, or a photo. */
  searchRegions(query: Query<api.RegionSearch>, options?: CallOptions): Promise<api.RegionHits> {
    return this.ask("/search/regions", query, options);
  }

  /** Search sentences by text, phrases, or a photo. */
  searchSentences(query: Query<api.TextSearch>, options?: CallOptions): Promise<api.SentenceHits> {
    return this.ask("/search/text", query, options);
  }

  /** Search items by text or photo; without both, all items. */
  searchProducts(query: Query<api.ProductSearch>, options?: CallOptions): Promise<api.Products> {
    return this.ask("/search/products", query, options);
  }

  /** Iterate over the hits of searchImages; the service gives 10,000 at most. */
  imageHits(query: Query<api.ImageSearch>, options?: CallOptions): AsyncGenerator<api.ImageHit> {
    const ask = (cursor?: string) => this.searchImages({ ...query, cursor }, options);
    return follow(query.cursor, ask, (page) => page.hits);
  }

  /** Iterate over the hits of searchRegions; the service gives 10,000 at most. */
  regionHits(query: Query<api.RegionSearch>, options?: CallOptions): AsyncGenerator<api.RegionHit> {
    const ask = (cursor?: string) => this.searchRegions({ ...query, cursor }, options);
    return follow(query.cursor, ask, (page) => page.hits);
  }

  /** Iterate over the hits of searchSentences; the service gives 10,000 at most. */
  sentenceHits(
    query: Query<api.TextSearch>,
    options?: CallOptions,
  ): AsyncGenerator<api.SentenceHit> {
    const ask = (cursor?: string) => this.searchSentences({ ...query, cursor }, options);
    return follow(query.cursor, ask, (page) => page.hits);
  }

  /** Iterate over the hits of searchProducts; the service gives 10,000 at most. */
  productHits(
    query: Query<api.ProductSearch>,
    options?: CallOptions,
  ): AsyncGenerator<api.ProductHit> {
    const ask = (cursor?: string) => this.searchProducts({ ...query, cursor }, options);
    return follow(query.cursor, ask, (page) => page.hits);
  }

  /** Complete a text's last word, ordered by number of items. */
  suggest(text: string, limit = 10, options?: CallOptions): Promise<api.Suggestions> {
    return this.get("/suggest", { text, limit }, options);
  }

  /** Report a click on an item for a text, or a cart or purchase. */
  reportClick(click: Omit<api.ClickIn, "collection">, options?: CallOptions): Promise<void> {
    return this.ask("/events/clicks", click, options);
  }

  /** Align the regions of a photo with a text's words. */
  align(query: Query<api.AlignRequest>, options?: CallOptions): Promise<api.Alignment> {
    return this.ask("/align", query, options);
  }

  /** The same as a picture: a PNG or SVG file. */
  alignPicture(
    query: Query<api.AlignRequest>,
    kind: Picture = "png",
    options?: CallOptions,
  ): Promise<Blob> {
    return this.draw("/align", query, PICTURES[kind], options);
  }

  /** Find the boxes of a text's phrases in a photo. */
  ground(query: Query<api.GroundRequest>, options?: CallOptions): Promise<api.Grounding> {
    return this.ask("/ground", query, options);
  }

  /** Describe a photo, the best sentence first. */
  caption(query: Query<api.CaptionRequest>, options?: CallOptions): Promise<api.Captions> {
    return this.ask("/caption", query, options);
  }

  /** Draw the best caption and its boxes, as PNG or SVG. */
  captionPicture(
    query: Query<api.CaptionRequest>,
    kind: Picture = "png",
    options?: CallOptions,
  ): Promise<Blob> {
    return this.draw("/caption", query, PICTURES[kind], options);
  }
}
