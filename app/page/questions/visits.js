// Visits: going to another question, or to an item of its answer, by the address.

import { address, wanted } from "./address.js";
import { shown } from "../answers/shown.js";
import { collection } from "../service/api.js";
import { forgetHoldings } from "../service/holdings.js";

let answers = { route: async () => {}, ask: async () => {} };

/** Set what shows the answer to the address: `route` with the open item, `ask` the answer alone. */
export function answerVisits(functions) {
  answers = functions;
}

/** Show the answer to the address, if it is not the shown one, and the open item. */
export const route = (options) => answers.route(options);

/** Answer the question in the address again. */
export const askAgain = () => answers.ask(wanted());

/** Reload the collections. */
export function refresh() {
  forgetHoldings();
  return askAgain();
}

/** Go to another question of this collection; `state` says how the entry of the history came to be. */
export function visit(changes, state = null) {
  history.replaceState({ ...history.state, scroll: window.scrollY }, "");
  history.pushState(state, "", address({ collection: collection(), ...changes }));
  return route();
}

/** Open an item of the list, to which closing it goes back. */
export const openItem = (id) => visit({ ...wanted(), item: id }, { opened: true });

/** Go to the same question with changes. */
export const refine = (changes) => visit({
  ...wanted(), ...("text" in changes && { typed: false, undated: false }), from: null, newer: 0, shown: 0, item: null, ...changes,
});

/** Ask for a text or a photo, among what passes the chosen filters, but of all variants. */
export function searchFor(question) {
  const { [shown.context?.holdings.group]: _, ...filter } = wanted().filter;
  return visit({ filter, ...question });
}

/** Change the address without a new entry in the history. */
export const note = (changes) => history.replaceState(history.state, "", address({ ...wanted(), ...changes }));

/** Leave the open item: back to the list that it was opened from, with all that is shown by now. */
export async function leave() {
  if (!history.state?.opened) return note({ item: null });
  const { shown: count, newer } = wanted();
  const left = new Promise((resolve) => window.addEventListener("popstate", resolve, { once: true }));
  history.back();
  await left;
  return note({ shown: count, newer });
}
