// The address of the page: what is asked for, how far one has read, and which item is open.

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

/** What the address asks for. */
export function wanted() {
  const parameters = new URLSearchParams(location.search);
  return {
    collection: parameters.get("collection") || "default",
    text: parameters.get("q")?.trim() || null,
    like: parameters.get("like"), // the id of a stored photo
    photo: parameters.get("photo"), // the name of an upload that the browser remembers
    box: corners(parameters.get("box")), // the part of that photo to search with
    filter: parsed(parameters.get("filter")),
    sort: parameters.get("sort"), // a key; "-price" for the highest first
    shown: Number(parameters.get("shown")) || 0,
    item: parameters.get("item"), // the id of the item that is open
  };
}

/** The address that asks for something. */
export function address({ collection, text, like, photo, box, filter, sort, shown, item }) {
  const parameters = new URLSearchParams();
  const set = (name, value) => value && parameters.set(name, value);
  set("collection", collection === "default" ? null : collection);
  set("q", text);
  set("like", like);
  set("photo", photo);
  set("box", box?.map((side) => Number(side.toFixed(4))).join());
  set("filter", filter && Object.keys(filter).length > 0 ? JSON.stringify(filter) : null);
  set("sort", sort);
  set("shown", shown);
  set("item", item);
  return `?${parameters}`;
}

/** A name of a question, the same wherever one is in its answer. */
export function questionOf(asked) {
  return address({ ...asked, shown: 0, item: null });
}

/** Remember how far down one is, so that Back finds the place again. */
export function rememberScroll() {
  history.scrollRestoration = "manual";
  let timer;
  window.addEventListener("scroll", () => {
    clearTimeout(timer);
    timer = setTimeout(() => history.replaceState({ scroll: window.scrollY }, ""), 150);
  }, { passive: true });
}
