/** Values of items and filters: conversions, and refusals before anything is sent. */
import assert from "node:assert/strict";
import { test } from "node:test";

import type { Client, NewItem } from "tessera-search-client";

import { JSON_TYPE, against, says, works } from "./servers.js";

const LINES = { "Content-Type": "application/x-ndjson" };
const STORED = '{"line": 1, "id": "a", "status": "stored"}\n';

/** The parameters of a method as any program may give them. */
const any = (value: unknown): any => value;

async function refused(ask: (client: Client) => unknown, message: RegExp): Promise<void> {
  await against([works], async (client, requests) => {
    await assert.rejects(async () => ask(client), message);
    assert.equal(requests.length, 0);
  });
}

test("sets, maps, dates and typed arrays are sent as JSON has them", async () => {
  const metadata = any({
    colours: new Set(["red", "blue"]),
    sizes: new Map<unknown, unknown>([
      ["eu", 40],
      [7, new Map()],
    ]),
    day: new Date(0),
    place: new URL("https://test/a"),
    vector: new Float32Array([0.5, 2]),
    bytes: Buffer.from([1, 255]),
    count: 2n ** 53n - 1n,
    nothing: null,
    "a.b": [true, { c: "🙂" }],
  });
  const expected = {
    colours: ["red", "blue"],
    sizes: { "7": {}, eu: 40 },
    day: "1970-01-01T00:00:00.000Z",
    place: "https://test/a",
    vector: [0.5, 2],
    bytes: [1, 255],
    count: 2 ** 53 - 1,
    nothing: null,
    "a.b": [true, { c: "🙂" }],
  };
  await against([says(200, JSON_TYPE, "{}")], async (client, _, bodies) => {
    await client.putItem("a", { metadata });
    await client.patchItem("a", metadata);
    await client.deleteItems({ filter: metadata });
    for (const [at, name] of ["metadata", "metadata", "filter"].entries()) {
      assert.deepEqual(JSON.parse(bodies[at] ?? "")[name], expected);
    }
    await client.putItem("a", { metadata, image: new Blob(["photo"]) });
    assert(bodies[3]?.includes('"day":"1970-01-01T00:00:00.000Z"'));
    await client.searchProducts({ text: "red", limit: undefined, image: any(null) });
    assert.equal(bodies[4], '{"text":"red","collection":"default"}');
    await client.putItem("a", { metadata: undefined, image: any(null) });
    assert.equal(bodies[5], '{"collection":"default"}');
  });
});

test("a value that JSON lacks is refused with its place", async () => {
  const round: unknown[] = [];
  round.push(round);
  const values: [unknown, RegExp][] = [
    [Number.NaN, /is NaN, which JSON cannot express/],
    [-Infinity, /is -Infinity/],
    [new Date("never"), /is NaN/],
    [2n ** 53n, /is 9007199254740992, which numbers would round/],
    [undefined, /is of the type undefined/],
    [() => 1, /is of the type function/],
    [Symbol("a"), /is of the type symbol/],
    [Promise.resolve(1), /is of the type Promise/],
    [/a/, /is of the type RegExp/],
    [new Blob(["photo"]), /is of the type Blob/],
    ["\ud83d", /has half of a surrogate pair at position 0/],
    [new Map([[{}, 1]]), /has a key of the type object/],
    [new Map<unknown, number>(Object.entries({ 1: 1 })).set(1, 2), /has the key "1" twice/],
  ];
  for (const [value, message] of values) {
    const place = new RegExp(`metadata\\.of\\.a\\[1\\] ${message.source}`);
    const metadata = any({ of: { a: [0, value] } });
    await refused((client) => client.putItem("a", { metadata }), place);
    await refused((client) => client.patchItem("a", metadata), place);
    await against([says(200, LINES, STORED)], async (client, requests) => {
      for await (const { status, reason } of client.upload([{ id: "a", metadata }])) {
        assert.equal(status, "refused");
        assert.match(reason ?? "", place);
      }
      assert.equal(requests.length, 0);
    });
  }
  const metadata = any({ round });
  await refused((client) => client.putItem("a", { metadata }), /over 100 arrays and objects deep/);
});

test("undefined is refused where it would widen a filter, or lose a key", async () => {
  const [filter, metadata] = [any({ brand: undefined }), any({ title: undefined })];
  await refused((client) => client.deleteItems({ filter }), /filter\.brand is of the type undef/);
  await refused((client) => client.listItems({ filter }), /filter\.brand is of the type undefined/);
  await refused((client) => client.searchImages({ filter }), /filter\.brand is of the type undef/);
  await refused((client) => client.putItem("a", { metadata }), /metadata\.title is of the type un/);
});

test("one text is not taken for a list of its letters", async () => {
  const image = new Blob(["photo"]);
  const text = any("Hello");
  const advice = /sentences is a list: give \["Hello"\] instead of "Hello"/;
  await refused((client) => client.putItem("a", { sentences: text }), advice);
  await refused((client) => client.putItem("a", { sentences: text, image }), advice);
  const images = any("https://test/a.jpg");
  await refused((client) => client.putItem("a", { images }), /images is a list: give \["https:/);
});

test("a text that UTF-8 lacks, and a name that is none, are refused", async () => {
  const half = /half of a surrogate pair/;
  await refused((client) => client.putItem("a", { sentences: ["\udc00"] }), half);
  await refused((client) => client.getItem("\ud800"), half);
  await refused((client) => client.suggest("\ud800"), half);
  for (const name of [undefined, null, 5]) {
    await refused((client) => client.putItem(any(name), {}), /has no address of its own/);
  }
  await refused((client) => client.putItem("a", { image: any(["photo"]) }), /of the type Array$/);
});

test("an item of another type is refused alone", async () => {
  const items = any([null, "b", { id: "a" }, undefined, ["c"], { id: 5, sentences: "d" }]);
  await against([says(200, LINES, STORED)], async (client, requests, bodies) => {
    const statuses: unknown[] = [];
    for await (const { line, id, status, reason } of client.upload(items as NewItem[])) {
      statuses.push([line, id, status, / (\w+)$/.exec(reason ?? "")?.[1]]);
    }
    assert.deepEqual(statuses, [
      [1, null, "refused", "Null"],
      [2, null, "refused", "String"],
      [3, "a", "stored", undefined],
      [4, null, "refused", "Undefined"],
      [5, null, "refused", "Array"],
      [6, null, "refused", undefined],
    ]);
    assert.deepEqual([requests.length, bodies], [1, ['{"id":"a"}\n']]);
  });
});
