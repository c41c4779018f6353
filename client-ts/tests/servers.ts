/** Servers of tests, with the answers that they are given. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { Client, TesseraError, type ClientOptions } from "tessera-search-client";

export type Answer = (request: IncomingMessage, response: ServerResponse) => void;
export const JSON_TYPE = { "Content-Type": "application/json" };
export const EMPTY = JSON.stringify({ collections: [] });

export const works: Answer = (_, response) => response.writeHead(200, JSON_TYPE).end(EMPTY);
export const says =
  (status: number, headers: Record<string, string>, body = ""): Answer =>
  (_, response) =>
    response.writeHead(status, headers).end(body);

/** Ask a server with these answers, the last one from then on; it lists requests and bodies. */
export async function against(
  answers: Answer[],
  ask: (client: Client, requests: IncomingMessage[], bodies: string[]) => Promise<void>,
  options: ClientOptions = {},
): Promise<void> {
  const requests: IncomingMessage[] = [];
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    const answer = answers[Math.min(requests.length, answers.length) - 1];
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      bodies.push(Buffer.concat(parts).toString());
      answer?.(request, response);
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  try {
    await ask(new Client(`http://127.0.0.1:${port}/`, options), requests, bodies);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

export const fails =
  (kind: string, status: number, detail: RegExp) =>
  (error: unknown): boolean => {
    assert(error instanceof TesseraError, String(error));
    assert.deepEqual([error.kind, error.status], [kind, status]);
    assert.match(error.detail, detail);
    return true;
  };
