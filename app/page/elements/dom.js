// Elements of the page: text only ever as text, never as markup.

/** Make an element; properties that start with "data-" or "aria-" and "role" become attributes. */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (/^(data-|aria-|role$)/.test(name)) element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** Return a function that works once at a time: calls meanwhile wait for the same work. */
export function oneAtATime(work) {
  let running = null;
  return () => (running ??= work().finally(() => (running = null)));
}

/** A number of photos: "1 photo", "1,200 photos". */
export const countPhotos = (number) => (number === 1 ? "1 photo" : `${number.toLocaleString("en")} photos`);

/** List names, or some of many: "a, b, and 40 more". */
export function listNames(names, most = 5) {
  const more = names.length - most;
  const listed = more > 0 ? [...names.slice(0, most), `${more.toLocaleString("en")} more`] : names;
  return new Intl.ListFormat("en", { type: "conjunction" }).format(listed);
}

/** A text with symbols for control characters, which names of files may have. */
export function visible(text) {
  return text.replace(/[\x00-\x1f\x7f]/g, (sign) =>
    String.fromCodePoint(sign === "\x7f" ? 0x2421 : 0x2400 + sign.codePointAt(0)));
}

/** The address of a picture from this page, also behind a proxy that cuts off a path. */
export function pictureAddress(path) {
  const start = new URL(".", document.baseURI).pathname;
  return path.startsWith(start) ? path : start + path.slice(1);
}

/** A number as people read it: two places, a true minus sign, no negative zero. */
export function number(value) {
  const text = value.toFixed(2);
  return Number(text) === 0 ? "0.00" : text.replace("-", "−");
}

/** Return whether nothing has the focus, or what is no longer shown. */
export function isFocusLost() {
  const { activeElement: focused, body } = document;
  return focused === body || !focused.checkVisibility();
}

/** Save a blob as a file. */
export function download(blob, name) {
  const address = URL.createObjectURL(blob);
  make("a", { download: name, href: address }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
