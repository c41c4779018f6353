/** Requests: retries, time-outs, and answers that are checked. */
import { cutText, describe, foreignAnswer, isRefusedConnection } from "./errors.js";
import { noAnswer, readProblem } from "./errors.js";
import { checkText } from "./json.js";

const ATTEMPTS = 8;
const LONGEST_WAIT = 30_000; // milliseconds
const REFUSED = 60_000; // milliseconds, in which a refused connection is tried again
const LAST = 0.1; // of a shorter timeout, left for the answer to the last attempt
const LONGEST_TIMEOUT = 2 ** 31; // milliseconds; timers end longer ones at once
const SLOWEST = 50; // bytes a millisecond, in which a body must be sent

/** What one call may be given. */
export interface CallOptions {
  /** Ends the call; its reason is thrown. */
  signal?: AbortSignal;
}

/** A request; the client adds its collection. */
export interface Call {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  query?: Record<string, string | number | boolean | undefined>;
  body?: string | FormData;
  headers?: Record<string, string>;
  accept?: string;
}

/** Sends calls to a service, again while it is busy. */
export class Transport {
  readonly #url: string;
  readonly #timeout: number;
  readonly #key: string | undefined;

  constructor(url: string, timeout: number, key: string | undefined) {
    checkAddress(url);
    if (!(timeout > 0 && timeout < LONGEST_TIMEOUT)) {
      const range = `a number of milliseconds above 0 and below ${LONGEST_TIMEOUT}`;
      throw new RangeError(`timeout is ${range}, such as 120_000, got ${timeout}`);
    }
    this.#url = url.replace(/\/+$/, "");
    this.#timeout = timeout;
    this.#key = key;
  }

  /** Send a call and check its answer. */
  async send(call: Call, { signal }: CallOptions = {}): Promise<Answer> {
    const address = this.#url + call.path + writeQuery(call.query ?? {});
    const headers = new Headers(call.headers);
    headers.set("Accept", call.accept ?? "application/json");
    if (this.#key !== undefined) headers.set("Authorization", `Bearer ${this.#key}`);
    const { method, body, path } = call;
    const request: RequestInit = { method, body, headers, redirect: "manual" };
    const timeout = this.#timeout + measure(body) / SLOWEST;
    const start = performance.now();
    for (let attempt = 1; ; attempt++) {
      const patience = new Patience(Math.max(start + timeout - performance.now(), 1), signal);
      let wait = choosePause(attempt);
      try {
        const { signal } = patience;
        const response = await patience.during(fetch(address, { ...request, signal }));
        wait = choosePause(attempt, response);
        const late = performance.now() - start + wait >= timeout;
        if (late || attempt === ATTEMPTS || !isBusy(response)) {
          return await new Answer(call, response, patience).check();
        }
        await response.body?.cancel();
      } catch (failure) {
        const left = start + Math.min(REFUSED, timeout * (1 - LAST)) - performance.now();
        const last = left <= 0 || attempt === ATTEMPTS;
        if (last || !isRefusedConnection(failure)) throw patience.explain(path, failure);
        wait = Math.min(wait, left); // the last attempt comes at the limit
      }
      await pause(wait, signal);
    }
  }
}

/** An answer; its body is read once. */
export class Answer {
  readonly #call: Call;
  readonly #response: Response;
  readonly #patience: Patience;

  constructor(call: Call, response: Response, patience: Patience) {
    this.#call = call;
    this.#response = response;
    this.#patience = patience;
  }

  /** The state of an item, for `match`. */
  get tag(): string | null {
    return this.#response.headers.get("etag");
  }

  /** Read a file. */
  async blob(): Promise<Blob> {
    const parts: Uint8Array[] = [];
    for await (const chunk of this.#chunks()) parts.push(chunk);
    return new Blob(parts as BlobPart[], { type: this.#kind });
  }

  /** Read JSON, or nothing where the service has nothing to say. */
  async json<Value>(): Promise<Value> {
    const text = await this.#text();
    if (this.#response.status === 204) return undefined as Value;
    return this.#parse<Value>(text);
  }

  /** Read lines of JSON as they come. */
  async *lines<Value>(): AsyncGenerator<Value> {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const chunk of this.#chunks()) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line.trim()) yield this.#parse<Value>(line);
    }
    rest += decoder.decode();
    if (rest.trim()) yield this.#parse<Value>(rest);
  }

  /** Return the answer; TesseraError for a refusal, or a foreign one. */
  async check(): Promise<this> {
    const { status, type, headers } = this.#response;
    if (status === 204 || (this.#response.ok && this.#kind === this.#accept)) return this;
    const { path } = this.#call;
    if (type === "opaqueredirect" || (status >= 300 && status < 400)) {
      await this.#response.body?.cancel();
      const place = headers.get("location") ?? "another address";
      const advice = "give the client the final address";
      throw foreignAnswer(path, `${status || "a redirect"} leads to ${place}: ${advice}`);
    }
    const body = await this.#text();
    const problem = status < 400 ? undefined : readProblem(body);
    if (problem !== undefined) throw problem;
    const kind = this.#kind || "no media type";
    const shown = cutText(body) || "it is empty";
    const detail = `${status} with ${kind} instead of ${this.#accept}: ${shown}`;
    throw foreignAnswer(path, detail, status < 400 ? 502 : status);
  }

  get #accept(): string {
    return this.#call.accept ?? "application/json";
  }

  get #kind(): string {
    const [kind = ""] = (this.#response.headers.get("content-type") ?? "").split(";");
    return kind.trim().toLowerCase();
  }

  async #text(): Promise<string> {
    return await (await this.blob()).text();
  }

  #parse<Value>(text: string): Value {
    try {
      return JSON.parse(text) as Value;
    } catch (failure) {
      throw noAnswer(this.#call.path, "it is not whole, or no JSON", failure);
    }
  }

  async *#chunks(): AsyncGenerator<Uint8Array> {
    const reader = this.#response.body?.getReader();
    if (reader === undefined) return;
    try {
      for (;;) {
        const { done, value } = await this.#patience.during(reader.read());
        if (done) return;
        yield value;
      }
    } catch (failure) {
      throw this.#patience.explain(this.#call.path, failure);
    } finally {
      await reader.cancel().catch(() => undefined); // it may have failed already
    }
  }
}

/** Ends a request when nothing comes for some time, or its caller ends it. */
class Patience {
  readonly signal: AbortSignal;
  readonly #expired = new AbortController();
  readonly #timeout: number;
  readonly #caller: AbortSignal | undefined;

  constructor(timeout: number, caller: AbortSignal | undefined) {
    this.#timeout = timeout;
    this.#caller = caller;
    const signals = [this.#expired.signal, ...(caller === undefined ? [] : [caller])];
    this.signal = AbortSignal.any(signals);
  }

  /** Wait for a part of the answer. */
  async during<Part>(part: Promise<Part>): Promise<Part> {
    const timer = setTimeout(() => this.#expired.abort(), this.#timeout);
    try {
      return await part;
    } finally {
      clearTimeout(timer);
    }
  }

  /** The error to throw for a failure. */
  explain(path: string, failure: unknown): unknown {
    if (this.#caller?.aborted) return this.#caller.reason;
    if (this.#expired.signal.aborted) {
      return noAnswer(path, `nothing came for ${writeTime(this.#timeout)}`, failure);
    }
    return failure instanceof TypeError ? noAnswer(path, describe(failure), failure) : failure;
  }
}

/** Whether a busy service did nothing: such a request may be repeated. */
function isBusy(response: Response): boolean {
  return [429, 503].includes(response.status) && response.headers.has("retry-after");
}

/** The milliseconds to wait: Retry-After, or longer each time. */
function choosePause(attempt: number, response?: Response): number {
  const seconds = response?.headers.get("retry-after") ?? "";
  const wait = /^\d+$/.test(seconds) ? Number(seconds) * 1000 : 250 * 2 ** attempt;
  return Math.min(wait, LONGEST_WAIT);
}

/** TypeError for what is no address of a service; a page gives a path, or "". */
function checkAddress(url: string): void {
  if (url === "" || url.startsWith("/")) return;
  if (!/^https?:$/.test(new URL(url).protocol)) {
    throw new TypeError(`the address begins with http:// or https://, got ${url}`);
  }
}

function writeQuery(query: NonNullable<Call["query"]>): string {
  const parts = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parts.set(name, checkText(String(value), name));
  }
  return parts.size > 0 ? `?${parts}` : "";
}

/** Write milliseconds for people. */
function writeTime(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.ceil(milliseconds)} ms`;
  return `${Math.round(milliseconds / 100) / 10} s`;
}

/** The size of a body, about in bytes. */
function measure(body: Call["body"]): number {
  if (body === undefined) return 0;
  if (typeof body === "string") return body.length;
  const sizes = [...body.values()].map((part) => (part instanceof Blob ? part.size : part.length));
  return sizes.reduce((sum, size) => sum + size, 0);
}

async function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
