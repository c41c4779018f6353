/** Refusals, retries, and missing answers, from a server of these tests. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";

import { Client } from "tessera-search-client";

import { EMPTY, JSON_TYPE, against, fails, says, works, type Answer } from "./servers.js";

/** Let all pauses of retries pass at once, and list them; other timers stay. */
function skipPauses(context: { mock: typeof test.mock }): number[] {
  const pauses: number[] = [];
  const later = setTimeout;
  const clock = performance.now.bind(performance);
  const skipped = (): number => pauses.reduce((sum, wait) => sum + wait, 0);
  context.mock.method(performance, "now", () => clock() + skipped());
  context.mock.method(globalThis, "setTimeout", (...timer: Parameters<typeof later>) => {
    const [run, wait = 0] = timer;
    if (!/ pause .*\/dist\/transport\.js/.test(new Error().stack ?? "")) return later(...timer);
    pauses.push(wait);
    return later(run, 0);
  });
  return pauses;
}

test("a key is sent, and a busy service is asked again when it says", async (context) => {
  const pauses = skipPauses(context);
  const busy = says(503, { "Retry-After": "2" });
  const key = "secret";
  await against(
    [busy, busy, works],
    async (client, requests) => {
      assert.deepEqual((await client.collections()).collections, []);
      assert.equal(requests.length, 3);
      assert(requests.every((request) => request.headers.authorization === "Bearer secret"));
    },
    { key },
  );
  assert.deepEqual(pauses, [2000, 2000]);
});

test("pauses grow to thirty seconds at most where no seconds are given", async (context) => {
  const pauses = skipPauses(context);
  const busy = says(429, { "Retry-After": "soon" }, "slow down");
  await against([busy], async (client, requests) => {
    await assert.rejects(client.collections(), fails("foreign-answer", 429, /slow down/));
    assert.equal(requests.length, 8);
  });
  assert.deepEqual(pauses, [500, 1000, 2000, 4000, 8000, 16_000, 30_000]);
});

test("a body is sent again as it was", async (context) => {
  skipPauses(context);
  const bodies: string[] = [];
  const record =
    (status: number): Answer =>
    async (request, response) => {
      response.writeHead(status, { ...JSON_TYPE, "Retry-After": "1" }).end(EMPTY);
      bodies.push(request.headers["content-length"] ?? "");
    };
  const image = new Blob(["photo"]);
  await against([record(503), record(200)], async (client) => {
    await client.searchImages({ text: "red", image });
  });
  assert.equal(bodies.length, 2);
  assert.equal(bodies[0], bodies[1]);
});

test("a failure is not repeated", async () => {
  await against([says(500, {}, "broken"), works], async (client, requests) => {
    await assert.rejects(client.collections(), fails("foreign-answer", 500, /broken/));
    assert.equal(requests.length, 1);
  });
});

/** An address without a listener. */
async function unused(): Promise<string> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return `http://127.0.0.1:${port}`;
}

/** Check pauses; attempts took some of the last one. */
function checkPauses(pauses: number[], expected: number[]): void {
  assert.deepEqual(pauses.slice(0, -1), expected.slice(0, -1));
  const [last = 0, most = 0] = [pauses.at(-1), expected.at(-1)];
  assert(last > most - 500 && last <= most, `${last} is not about ${most}`);
}

test("a service that is not there is told within a minute", async (context) => {
  const pauses = skipPauses(context);
  const asked = new Client(await unused()).collections();
  await assert.rejects(asked, fails("unreachable", 503, /ECONNREFUSED/));
  checkPauses(pauses, [500, 1000, 2000, 4000, 8000, 16_000, 28_500]);
});

test("a timeout bounds a call with its retries", async (context) => {
  const pauses = skipPauses(context);
  const asked = new Client(await unused(), { timeout: 5000 }).collections();
  await assert.rejects(asked, fails("unreachable", 503, /ECONNREFUSED/));
  checkPauses(pauses.splice(0), [500, 1000, 2000, 1000]);
  const busy = says(503, { "Retry-After": "2" }, "later");
  await against(
    [busy],
    async (client, requests) => {
      await assert.rejects(client.collections(), fails("foreign-answer", 503, /later/));
      assert.deepEqual([pauses, requests.length], [[2000, 2000], 3]);
    },
    { timeout: 5000 },
  );
});

test("a timeout counts what retries took", async (context) => {
  skipPauses(context);
  const busy = says(503, { "Retry-After": "30" });
  const silent: Answer = () => undefined;
  const short = /nothing came for (\d+ ms|[12](\.\d)? s)$/;
  await against(
    [busy, busy, silent],
    async (client, requests) => {
      await assert.rejects(client.collections(), fails("no-answer", 504, short));
      assert.equal(requests.length, 3);
    },
    { timeout: 62_000 },
  );
});

test("a timeout that is no time is refused", () => {
  for (const timeout of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31]) {
    assert.throws(() => new Client("http://test", { timeout }), /timeout is a number of millisec/);
  }
});

test("an answer that breaks off, or does not come, is no answer", async () => {
  const cut: Answer = (_, response) => {
    response.writeHead(200, { ...JSON_TYPE, "Content-Length": "100" }).write('{"id": ');
    setTimeout(() => response.destroy(), 20);
  };
  await against([cut], async (client) => {
    await assert.rejects(client.getItem("a"), fails("no-answer", 504, /terminated/));
  });
  await against([says(200, JSON_TYPE, '{"id": "a", "meta')], async (client) => {
    await assert.rejects(client.getItem("a"), fails("no-answer", 504, /not whole/));
  });
  const silent: Answer = () => undefined;
  await against(
    [silent],
    async (client, requests) => {
      await assert.rejects(client.getItem("a"), fails("no-answer", 504, /nothing came for 50 ms$/));
      assert.equal(requests.length, 1);
    },
    { timeout: 50 },
  );
});

test("a redirect, or a page of a proxy, is a foreign answer", async () => {
  const place = "https://test/items/a";
  await against([says(302, { Location: place })], async (client) => {
    const asked = [client.getItem("a"), client.deleteItem("a"), client.itemImage("a")];
    for (const each of asked) {
      await assert.rejects(
        each,
        fails("foreign-answer", 502, /302 leads to https:\/\/test\/items\/a/),
      );
    }
  });
  await against(
    [says(200, { "Content-Type": "text/html" }, "<h1>Sign in</h1>")],
    async (client) => {
      await assert.rejects(
        client.getItem("a"),
        fails("foreign-answer", 502, /text\/html .*: Sign in$/),
      );
    },
  );
  await against([says(200, {})], async (client) => {
    await assert.rejects(client.deleteItem("a"), fails("foreign-answer", 502, /it is empty/));
  });
});

test("an error page of a proxy is a foreign answer, shown without tags", async () => {
  const page = `<style>p {}</style><h1>No</h1>${"<p>why</p>".repeat(999)}`;
  for (const status of [404, 413, 502]) {
    await against([says(status, { "Content-Type": "text/html" }, page)], async (client) => {
      const shown = new RegExp(`^${status} with text/html instead of [^<]*: No why[^<]{0,200}$`);
      await assert.rejects(client.getItem("a"), fails("foreign-answer", status, shown));
    });
  }
});

test("an unknown host and a failure of TLS are told at once", async (context) => {
  const pauses = skipPauses(context);
  const nowhere = new Client("http://nowhere.invalid").collections();
  await assert.rejects(nowhere, fails("unreachable", 503, /getaddrinfo/));
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const secure = new Client(`https://127.0.0.1:${port}`).collections();
  await assert.rejects(secure, fails("unreachable", 503, /SSL/));
  server.closeAllConnections();
  server.close();
  assert.deepEqual(pauses, []);
});

test("an item that cannot be sent is refused alone", async () => {
  const status = (line: number, id: string) => JSON.stringify({ line, id, status: "stored" });
  const stored = `${status(1, "b")}\n${status(2, "d")}\n`;
  const answer = says(200, { "Content-Type": "application/x-ndjson" }, stored);
  const lost = { image: "lost.png" };
  const broken = { metadata: { n: Number.NaN } };
  const items = [{ id: "a", ...lost }, { id: "b" }, { id: "c", ...broken }, { id: "d" }];
  await against([answer], async (client, requests) => {
    const statuses: unknown[] = [];
    const told: number[] = [];
    const progress = (done: number): unknown => told.push(done);
    for await (const { line, id, status, reason } of client.upload(
      [...items, { id: "e", ...lost }],
      { progress },
    )) {
      statuses.push([line, id, status, /lost.png|NaN/.exec(reason ?? "")?.[0]]);
    }
    assert.deepEqual(statuses, [
      [1, "a", "refused", "lost.png"],
      [2, "b", "stored", undefined],
      [3, "c", "refused", "NaN"],
      [4, "d", "stored", undefined],
      [5, "e", "refused", "lost.png"],
    ]);
    assert.deepEqual([told, requests.length], [[5], 1]);
    for await (const { line } of client.upload([{ id: "a", ...lost }])) assert.equal(line, 1);
    assert.equal(requests.length, 1);
  });
});

test("an upload with fewer statuses than items is not done", async () => {
  const line = '{"line": 1, "id": "a", "status": "stored"}\n';
  const short = says(200, { "Content-Type": "application/x-ndjson" }, line);
  const items = ["a", "b", "c"].map((id) => ({ id, sentences: ["red"] }));
  await against([short], async (client) => {
    const ids: unknown[] = [];
    const upload = async (): Promise<void> => {
      for await (const status of client.upload(items)) ids.push(status.id);
    };
    await assert.rejects(upload, fails("no-answer", 504, /1 of 3 items have a status/));
    assert.deepEqual(ids, ["a"]);
  });
});

test("statuses come while later ones are awaited, split anywhere", async () => {
  let finish = (): void => undefined;
  const slow: Answer = (_, response) => {
    response.writeHead(200, { "Content-Type": "application/x-ndjson" });
    const text = Buffer.from('{"line":1,"id":"é","status":"stored"}\n{"line":2,"id":"b",');
    response.write(text.subarray(0, 17)); // within the letter
    setTimeout(() => response.write(text.subarray(17)), 10);
    finish = () => response.end('"status":"stored"}');
  };
  await against([slow], async (client) => {
    const ids: unknown[] = [];
    for await (const status of client.upload([{ id: "é" }, { id: "b" }])) {
      ids.push(status.id);
      finish(); // only now the second one comes
    }
    assert.deepEqual(ids, ["é", "b"]);
  });
});

test("whoever ends a call gets their own reason, also during a pause", async () => {
  await against([says(503, { "Retry-After": "30" })], async (client, requests) => {
    const ended = new AbortController();
    const asked = client.collections({ signal: ended.signal });
    while (requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    setTimeout(() => ended.abort(new Error("enough")), 30);
    await assert.rejects(asked, /^Error: enough$/);
  });
});

test("what cannot be sent as it is, is refused before it is sent", async () => {
  await against([works], async (client, requests) => {
    for (const address of ["localhost:8000", "http://[", "ftp://test"]) {
      assert.throws(() => new Client(address), TypeError);
    }
    await assert.rejects(async () => client.getItem(".."), RangeError);
    const metadata = { n: Number.NaN };
    await assert.rejects(client.putItem("a", { metadata }), /metadata\.n is NaN/);
    await assert.rejects(client.putItem("a", { image: "dog.jpg" }), /"dog.jpg" is not an address/);
    const mixed = { images: ["https://test/a.jpg", new Blob(["photo"])] };
    await assert.rejects(client.putItem("a", mixed), /give a file here/);
    assert.equal(requests.length, 0);
  });
});
