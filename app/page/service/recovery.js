// Recovery: waiting for a service that does not answer.

import { session } from "./api.js";

const PAUSE = 2000; // milliseconds between looks

const look = () => session().catch(() => null);

/** Wait until the service is back after a Problem; return its session, or null where it was not away. */
export async function waitForService({ status }, signal) {
  if (status !== null && status !== 503) return null;
  if (await look()) return null; // a fault of this request alone
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
    const found = signal.aborted ? null : await look();
    if (found || signal.aborted) return signal.aborted ? null : found;
  }
}
