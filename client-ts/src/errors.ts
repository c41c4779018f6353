/** Errors: refusals of the service, and missing answers. */
import type { Problem } from "./types.gen.js";

const SHOWN = 200; // characters of an answer that is not Tessera's
const LOOKED_AT = 20_000; // characters of its page, in which these are looked for
const TAGS = /<!--.*?(?:-->|$)|<(script|style)\b.*?(?:<\/\1\s*>|$)|<[a-z/!?][^>]*>?/gis;
// Codes of handshakes and certificates in Node: nothing was sent by then.
const OF_TLS = /^(ERR_SSL_|ERR_TLS_|EPROTO$|UNABLE_TO_(GET|VERIFY)_)|CERT/;

/**
 * The service refused a request, or did not answer.
 *
 * Of the kind "unreachable" is a request that did not reach the service, and of the kind
 * "no-answer" one that it may have carried out; "foreign-answer" came from something else, such as
 * a proxy, with its status where that is one of errors. Else `kind` is the end of the problem's
 * URN, such as "not-found".
 */
export class TesseraError extends Error {
  readonly problem: Problem;
  readonly status: number;
  readonly detail: string;
  readonly kind: string;

  constructor(problem: Problem, options?: ErrorOptions) {
    super(`${problem.title}: ${problem.detail}`, options);
    this.name = "TesseraError";
    this.problem = problem;
    this.status = problem.status;
    this.detail = problem.detail;
    this.kind = problem.type.slice(problem.type.lastIndexOf(":") + 1);
  }
}

/** The error of an answer that did not come, or not whole. */
export function noAnswer(path: string, detail: string, cause?: unknown): TesseraError {
  const reached = cause === undefined || !isConnecting(cause);
  const problem = {
    type: `urn:tessera:problem:${reached ? "no-answer" : "unreachable"}`,
    title: "No answer came from the service",
    status: reached ? 504 : 503,
    detail,
    instance: path,
  };
  return new TesseraError(problem, { cause });
}

/** The error of an answer from something else than Tessera. */
export function foreignAnswer(path: string, detail: string, status = 502): TesseraError {
  return new TesseraError({
    type: "urn:tessera:problem:foreign-answer",
    title: "The answer is not one of Tessera",
    status,
    detail,
    instance: path,
  });
}

/** Read the problem document of a refusal; undefined for a proxy's answer. */
export function readProblem(body: string): TesseraError | undefined {
  const problem = parse(body);
  return isProblem(problem) ? new TesseraError(problem) : undefined;
}

/** The first words of a page, without tags. */
export function cutText(page: string): string {
  const text = page.slice(0, LOOKED_AT).replace(TAGS, " ");
  return text.replace(/\s+/g, " ").trim().slice(0, SHOWN);
}

/** Whether a failure is one of connecting: Node says so, browsers do not. */
export function isConnecting(failure: unknown): boolean {
  return listCauses(failure).some(
    (cause) =>
      cause?.code === "UND_ERR_CONNECT_TIMEOUT" ||
      cause?.syscall === "connect" ||
      cause?.syscall === "getaddrinfo" ||
      OF_TLS.test(cause?.code ?? ""),
  );
}

/** Whether no connection was made, and one may be later: a known host refuses it. */
export function isRefusedConnection(failure: unknown): boolean {
  return listCauses(failure).some((cause) => cause?.syscall === "connect");
}

/** What is wrong, with the cause that `fetch` hides. */
export function describe(failure: unknown): string {
  if (!(failure instanceof Error)) return String(failure);
  const cause = failure.cause as (Error & Partial<Connecting>) | undefined;
  const reason = cause?.message || cause?.code;
  return reason ? `${failure.message}: ${reason}` : failure.message || failure.name;
}

interface Connecting {
  code: string;
  syscall: string;
  errors: Connecting[];
}

/** The causes of a failure, one for each address of a host. */
function listCauses(failure: unknown): (Partial<Connecting> | undefined)[] {
  const cause = (failure as { cause?: Partial<Connecting> } | null)?.cause;
  return cause?.errors ?? [cause];
}

function isProblem(value: unknown): value is Problem {
  const problem = value as Problem | null;
  const texts = [problem?.type, problem?.title, problem?.detail, problem?.instance];
  return texts.every((text) => typeof text === "string") && typeof problem?.status === "number";
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}
