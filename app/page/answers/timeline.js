// The timeline: headings of months, photos newer than a month, and the rail.

import { periodName } from "../elements/dates.js";
import { make, oneAtATime } from "../elements/dom.js";
import { makeRail } from "./rail.js";
import { isQuestion, PAGE, search } from "../questions/search.js";

const FEW = 4; // photos a month, below which years are enough
const FEW_MONTHS = 3; // below which no one needs a rail
const FEW_PHOTOS = 48;

const at = (id) => document.getElementById(id);

/** The month of a photo, or the first letters of it that name its year. */
const periodOf = (hit, letters) => String(hit?.metadata.taken ?? "").slice(0, letters);

/** Return a function that puts headings before cards: of months, or of years where months have few. */
export function headings(first) {
  const months = new Set(first.hits.map((hit) => periodOf(hit, 7)));
  const letters = first.hits.length < FEW * months.size ? 4 : 7;
  return (cards, hits, before) => cards.flatMap((card, position) => {
    card.dataset.month = periodOf(hits[position], 7);
    const period = periodOf(hits[position], letters);
    const former = position > 0 ? hits[position - 1] : before.at(-1);
    if (former && periodOf(former, letters) === period) return [card];
    return [make("li", { className: "period" }, make("h2", {}, periodName(period) || "No date")), card];
  });
}

const isTimeline = ({ asked, holdings }) => holdings.dated && !isQuestion(asked);

/** Put cards before those of a list, which stay where they are on the screen. */
function prepend(list, cards) {
  const [heading, first] = list.children;
  const before = first.getBoundingClientRect().top;
  list.prepend(...cards);
  const headings = cards.filter((card) => card.matches(".period"));
  if (headings.at(-1)?.textContent === heading.textContent) heading.remove();
  window.scrollBy(0, first.getBoundingClientRect().top - before);
}

/**
 * Make the button that shows photos before the month that the timeline begins with. Those that the
 * address counts are shown at once. `context.newer` counts the shown ones; `tell` is told of them.
 */
export async function newerButton(context, { list, cards, shown, tell }, signal) {
  const { asked, holdings } = context;
  if (!isTimeline(context) || !asked.from || shown.length === 0) return null;
  const name = asked.sort === "taken" ? "Show older" : "Show newer";
  const button = make("button", { type: "button", className: "second more" }, name);
  let cursor = null;
  const load = async (limit, stop) => {
    const page = await search(asked, holdings, null, { cursor, limit, signal: stop, backwards: true });
    const hits = page.hits.toReversed();
    ({ cursor } = page);
    button.hidden = !cursor;
    if (hits.length === 0) return;
    prepend(list, cards(hits, []));
    shown.unshift(...hits);
    context.newer += hits.length;
  };
  while (context.newer < asked.newer && !button.hidden) await load(asked.newer - context.newer, signal);
  if (context.newer > 0) tell();
  button.onclick = oneAtATime(() => context.act.attempt(async (stop) => {
    await load(PAGE, stop);
    tell(true);
  }));
  return button;
}

/** Show the rail of the timeline, which jumps to a month. */
export function showRail(context, { facets, total }, list) {
  const { asked, act } = context;
  const dates = facets.find(({ key }) => key === "taken")?.dates ?? [];
  const place = at("rail");
  place.hidden = !isTimeline(context) || dates.length < FEW_MONTHS || total < FEW_PHOTOS;
  place.replaceChildren();
  if (place.hidden) return;
  const months = asked.sort === "taken" ? dates : dates.toReversed();
  const shown = () => list.querySelectorAll("[data-month]");
  const go = (month) => {
    const card = [...shown()].find(({ dataset }) => dataset.month === month);
    if (!card) return act.jump(month);
    const heading = card.previousElementSibling?.matches(".period") ? card.previousElementSibling : card;
    heading.scrollIntoView({ block: "start" });
  };
  makeRail(place, months, shown, go);
}
