// The address of the page: the question, the scroll position, and the open item.

function parsed(text) {
  try {
    const value = JSON.parse(text ?? "{}");
    return value && typeof value === "object" && !Array.isArray(value) ? value : {};
  } catch {
    return {};
  }
}

function corners(text) {
  const box = (text ?? "").split(",").map(Number);
  return box.length === 4 && box.every((side) => side >= 0 && side <= 1) ? box : null;
}

/** Read a count of an address; 0 for anything else. */
const natural = (text) => (/^\d{1,5}$/.test(text ?? "") ? Number(text) : 0);

/** Read the question in the address. */
export function wanted() {
  const parameters = new URLSearchParams(location.search);
  return {
    collection: parameters.get("collection") || "default",
    text: parameters.get("q")?.trim() || null,
    typed: parameters.has("typed"), // whether its words are searched as they were typed
    undated: parameters.has("undated"), // whether dates in the text are words, and no filter
    like: parameters.get("like"), // the id of a stored photo
    photo: parameters.get("photo"), // the name of an upload that the browser remembers
    box: corners(parameters.get("box")), // the part of that photo to search with
    filter: parsed(parameters.get("filter")),
    parts: parameters.get("parts") === "1", // of photos, instead of whole ones
    sort: parameters.get("sort"), // a key; "-price" for the highest first
    from: /^\d{4}(-\d\d)?$/.exec(parameters.get("from"))?.[0] ?? null, // the month that a timeline begins with
    newer: natural(parameters.get("newer")), // photos that are shown before that month
    shown: natural(parameters.get("shown")),
    item: parameters.get("item"), // the id of the item that is open
  };
}

/** Make the address of a question. */
export function address({
  collection, text, typed, undated, like, photo, box, filter, parts, sort, from, newer, shown, item,
}) {
  const parameters = new URLSearchParams();
  const set = (name, value) => value && parameters.set(name, value);
  set("collection", collection === "default" ? null : collection);
  set("q", text);
  set("typed", typed ? "1" : null);
  set("undated", undated ? "1" : null);
  set("like", like);
  set("photo", photo);
  set("box", box?.map((side) => Number(side.toFixed(4))).join());
  set("filter", filter && Object.keys(filter).length > 0 ? JSON.stringify(filter) : null);
  set("parts", parts ? "1" : null);
  set("sort", sort);
  set("from", from);
  set("newer", from && newer);
  set("shown", shown);
  set("item", item);
  return `?${parameters}`;
}

/** Name a question, independent of the position in its answer. */
export function questionOf(asked) {
  return address({ ...asked, newer: 0, shown: 0, item: null });
}

/** Remember the scroll position, so that Back restores it. */
export function rememberScroll() {
  history.scrollRestoration = "manual";
  let timer;
  window.addEventListener("scroll", () => {
    clearTimeout(timer);
    timer = setTimeout(() => history.replaceState({ ...history.state, scroll: window.scrollY }, ""), 150);
  }, { passive: true });
}
