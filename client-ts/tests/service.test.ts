/** What the client does with a real service, at TESSERA_URL, with the key in TESSERA_KEY. */
import assert from "node:assert/strict";
import { openAsBlob } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { Client, TesseraError, type NewItem } from "tessera-search-client";

const { TESSERA_URL: url = "", TESSERA_KEY: key, TESSERA_PHOTOS: photos = "" } = process.env;
const timeout = 600_000; // machines are shared
const skip = url === "" ? "no service at TESSERA_URL" : false;
const COLOURS = ["red", "lime", "blue", "white", "black"];

const photo = (name: string): Promise<Blob> => openAsBlob(join(photos, `${name}.png`));

async function* walls(): AsyncGenerator<NewItem> {
  for (const colour of COLOURS) {
    const sentences = [`a ${colour} wall`];
    yield { id: colour, image: await photo(colour), sentences, metadata: { colour } };
  }
}

async function collect<Part>(parts: AsyncIterable<Part>): Promise<Part[]> {
  const list: Part[] = [];
  for await (const part of parts) list.push(part);
  return list;
}

/** A collection with a wall of each colour. */
async function fill(collection: string): Promise<Client> {
  const client = new Client(url, { key, timeout, collection });
  const statuses = await collect(client.upload(walls()));
  assert.deepEqual(new Set(statuses.map((status) => status.status)), new Set(["stored"]));
  return client;
}

test("an upload answers each item in order, and tells its progress", { skip }, async () => {
  const client = new Client(url, { key, timeout, collection: "progress" });
  const sent: number[] = [];
  const broken: NewItem = { id: "broken", image: new TextEncoder().encode("no photo") };
  async function* items(): AsyncGenerator<NewItem> {
    yield* walls();
    yield broken;
  }
  const statuses = await collect(client.upload(items(), { progress: (count) => sent.push(count) }));
  assert.deepEqual(
    statuses.map(({ line, id, status }) => [line, id, status]),
    [...COLOURS.map((colour, at) => [at + 1, colour, "stored"]), [6, "broken", "refused"]],
  );
  assert.match(statuses[5]?.reason ?? "", /not/);
  assert.deepEqual(sent, [6]);
});

test("lines are counted from 1 through all batches", { skip }, async () => {
  const client = new Client(url, { key, timeout, collection: "batches" });
  const sent: number[] = [];
  const items = Array.from({ length: 600 }, (_, at) => ({
    id: `${at}`,
    sentences: ["a red wall"],
  }));
  const statuses = await collect(client.upload(items, { progress: (count) => sent.push(count) }));
  assert.deepEqual(sent, [256, 512, 600]);
  assert.deepEqual(
    statuses.map((status) => status.line),
    items.map((_, at) => at + 1),
  );
  assert.deepEqual(
    statuses.map((status) => status.id),
    items.map((item) => item.id),
  );
});

test("a search finds by text, photo, id, phrases, and part", { skip }, async () => {
  const client = await fill("search");
  const first = async (hits: Promise<{ hits: { id: string }[] }>) => (await hits).hits[0]?.id;
  assert.equal(await first(client.searchImages({ text: "red" })), "red");
  assert.equal(await first(client.searchImages({ image: await photo("blue") })), "blue");
  assert.equal(await first(client.searchImages({ id: "lime" })), "lime");
  const bytes = await readFile(join(photos, "red-lime.png"));
  assert.equal(await first(client.searchImages({ image: bytes, box: [0.5, 0, 1, 1] })), "lime");
  const filter = { colour: ["blue", "lime"] };
  const some = await client.searchImages({ phrases: [{ text: "red", weight: 2 }], filter });
  assert.deepEqual(some.hits.map((hit) => hit.id).sort(), ["blue", "lime"]);
  const sentences = await client.searchSentences({ image: await photo("red") });
  assert.equal(sentences.hits[0]?.sentence, "a red wall");
  const part = (await client.searchRegions({ text: "red" })).hits[0];
  assert.equal(part?.id, "red");
  assert.equal((await client.itemCrop("red", part.box)).type, "image/jpeg");
  const products = await client.searchProducts({ filter: { colour: "red" }, facets: ["colour"] });
  assert.equal(products.total, 1);
  assert.equal((await client.suggest("wh")).suggestions[0]?.text, "white");
});

test("the links of a hit add up to its score", { skip }, async () => {
  const client = await fill("links");
  const [hit] = (await client.searchImages({ text: "a red and a blue wall" })).hits;
  assert(hit);
  const sum = hit.links.reduce((total, link) => total + link.similarity, 0);
  assert(Math.abs(sum - hit.score) < 1e-4);
});

test("iterators go through all pages", { skip }, async () => {
  const client = await fill("pages");
  const ids = async (parts: AsyncIterable<{ id: string }>) =>
    (await collect(parts)).map((part) => part.id).sort();
  const sorted = [...COLOURS].sort();
  assert.deepEqual(await ids(client.items({ limit: 2 })), sorted);
  assert.deepEqual(await ids(client.imageHits({ text: "red", limit: 2 })), sorted);
  assert.deepEqual(await ids(client.regionHits({ text: "red", limit: 2 })), sorted);
  assert.deepEqual(await ids(client.productHits({ limit: 2 })), sorted);
  const image = await photo("red");
  assert.deepEqual(await ids(client.sentenceHits({ image, limit: 2 })), sorted);
});

test("items are put, read, changed, and deleted", { skip }, async () => {
  const shop = new Client(url, { key, timeout }).on("shop & co");
  const sentences = ["one", "two"];
  const content = { image: await photo("red"), sentences, metadata: { n: 1, of: { a: [true] } } };
  const stored = await shop.putItem("a/b", content);
  assert.deepEqual(
    [stored.id, stored.sentences, stored.metadata],
    ["a/b", sentences, content.metadata],
  );
  assert.equal((await shop.itemImage("a/b")).type, "image/jpeg");
  const [item, tag] = await shop.getTaggedItem("a/b");
  assert.equal(item.images.length, 1);
  const match = tag ?? "";
  const images = [await photo("blue"), 0];
  const changed = await shop.patchItem("a/b", { n: null, m: 2 }, { match, images });
  assert.deepEqual([changed.metadata, changed.images.length], [{ m: 2, of: { a: [true] } }, 2]);
  const refused = shop.patchItem("a/b", null, { match });
  await assert.rejects(refused, (error) => error instanceof TesseraError && error.status === 412);
  assert.equal((await shop.deleteItems({ filter: { m: 2 }, dry_run: true })).matched, 1);
  assert.equal(await shop.deleteItem("a/b"), undefined);
  const missing = (error: unknown) =>
    error instanceof TesseraError && error.status === 404 && error.kind === "not-found";
  await assert.rejects(shop.getItem("a/b"), missing);
});

test("collections and aliases move", { skip }, async () => {
  const client = await fill("load");
  await client.pointAlias("front", "load");
  await client.makeCollection("next");
  await client.pointAlias("front", "next");
  await client.dropCollection("load");
  assert.deepEqual(await collect(client.on("front").items()), []);
  const renaming = { name: "last", alias: true };
  assert.equal((await client.renameCollection("next", renaming)).name, "last");
  const { aliases } = await client.aliases();
  assert.deepEqual(aliases.find((alias) => alias.name === "front")?.collection, "last");
  await client.forgetAlias("front");
  await assert.rejects(client.on("front").listItems(), /no collection 'front'/);
  const { collections } = await client.collections();
  assert(collections.some((collection) => collection.name === "last"));
});

test("explanations come as values and as pictures", { skip }, async () => {
  const client = new Client(url, { key, timeout });
  const image = await photo("red-blue");
  const aligned = await client.align({ text: "red and blue", image });
  const sum = aligned.links.reduce((total, link) => total + link.similarity, 0);
  assert(Math.abs(sum - aligned.score) < 1e-4);
  assert.equal((await client.alignPicture({ text: "red", image })).type, "image/png");
  const drawn = await client.alignPicture({ text: "red", image }, "svg");
  assert.match(await drawn.text(), /<svg/);
  const grounded = await client.ground({ text: "left", image });
  assert.deepEqual(grounded.phrases[0]?.boxes[0]?.box, [0, 0, 0.5, 1]);
  const captions = await client.caption({ image, count: 2, temperature: 0.5, seed: 1 });
  assert.equal(captions.captions[0]?.words[0]?.text, "40");
  assert.equal((await client.captionPicture({ image })).type, "image/png");
});

test("the model, the index, and its audit are told", { skip }, async () => {
  const client = await fill("told");
  assert.equal((await client.models()).matcher.name, "colours");
  assert.equal((await client.index()).collection, "told");
  assert.equal((await client.audit({ queries: ["red"], limit: 2 })).recall, 1);
});

test("a call without the key, or with a wrong field, says what is wrong", { skip }, async () => {
  const refused = new Client(url).listItems();
  await assert.rejects(refused, (error) => error instanceof TesseraError && error.status === 401);
  const wrong = new Client(url, { key, timeout }).searchImages({ text: "red", limit: 0 });
  await assert.rejects(wrong, (error) => error instanceof TesseraError && error.status === 422);
});

test("webhooks are added, listed and removed", { skip }, async () => {
  const client = new Client(url, { key, timeout });
  await client.makeCollection("told");
  const { id, secret } = await client.addWebhook("told", { url: "https://erp.example/a" });
  assert.match(secret, /^whsec_/);
  const { webhooks } = await client.webhooks("told");
  assert.deepEqual(
    webhooks.map((hook) => [hook.id, hook.last]),
    [[id, null]],
  );
  await client.removeWebhook("told", id);
  assert.deepEqual((await client.webhooks("told")).webhooks, []);
});
