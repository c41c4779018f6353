/** Errors: refusals of the service, and missing answers. */
import type { Problem } from "./types.gen.js";

/**
 * The service refused a request, or did not answer.
 *
 * Of the kind "unreachable" is a request that did not reach the service, and of the kind
 * "no-answer" one that it may have carried out; "foreign-answer" came from something else, such as
 * a proxy. Else `kind` is the end of the problem's URN, such as "not-found".
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
export function foreignAnswer(path: string, detail: string): TesseraError {
  return new TesseraError({
    type: "urn:tessera:problem:foreign-answer",
    title: "The answer is not one of Tessera",
    status: 502,
    detail,
    instance: path,
  });
}

/** Read the problem document of a refusal; a proxy's answer becomes one. */
export function readProblem(response: Response, path: string, body: string): TesseraError {
  const problem = parse(body);
  if (isProblem(problem)) return new TesseraError(problem);
  return new TesseraError({
    type: "about:blank",
    title: response.statusText || `Status ${response.status}`,
    status: response.status,
    detail: body.slice(0, 500),
    instance: path,
  });
}

/** Whether a failure is one of connecting: Node says so, browsers do not. */
export function isConnecting(failure: unknown): boolean {
  const cause: unknown = (failure as { cause?: unknown } | null)?.cause;
  return isTimeoutOfConnecting(cause) || isRefusedConnection(failure);
}

/** Whether no connection was made, so that nothing was sent. */
export function isRefusedConnection(failure: unknown): boolean {
  const cause = (failure as { cause?: Partial<Connecting> } | null)?.cause;
  const causes = cause?.errors ?? [cause]; // one for each address of a host
  return causes.some((each) => each?.syscall === "connect" || each?.syscall === "getaddrinfo");
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

function isTimeoutOfConnecting(cause: unknown): boolean {
  return (cause as Partial<Connecting> | undefined)?.code === "UND_ERR_CONNECT_TIMEOUT";
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
