// Notices: what was done and what failed, where one looks.

import { Problem } from "../service/api.js";
import { make } from "./dom.js";

const at = (id) => document.getElementById(id);
const [status, results] = ["status", "results"].map(at);

/** Move the focus to the choice of many photos, or to the results. */
export const rest = () => (at("choose").hidden ? results : at("choose")).focus({ preventScroll: true });

/** Show a line, a text or an element, at the lower edge of the window, instead of an earlier one. */
export function showLine(message, { role = null, actions = [] } = {}) {
  const earlier = status.querySelector(".done");
  const focused = earlier?.contains(document.activeElement);
  earlier?.remove();
  const button = (name, onclick) => make("button", { type: "button", className: "quiet", onclick }, name);
  const close = () => {
    line.remove();
    rest();
  };
  const line = make("p", { className: "remark done", ...(role && { role }) }, message,
    ...actions.map(([name, act]) => button(name, act)), button("Close", close));
  status.append(line);
  if (focused) line.lastChild.focus();
  return line;
}

/** Report a fault of this page to whoever develops it. */
export function report(error) {
  if (!(error instanceof Problem)) console.error(error);
}

/** Say what failed where one looks: in the open viewer, or else at the edge of the window. */
export function say(error) {
  report(error);
  const viewing = at("viewer").open ? at("viewer").querySelector(".viewing") : null;
  if (!viewing) return showLine(error.message, { role: "alert" });
  viewing.querySelector(":scope > [role=alert]")?.remove();
  viewing.prepend(make("p", { className: "remark", role: "alert" }, error.message));
  return viewing.firstChild.scrollIntoView({ block: "nearest" });
}
