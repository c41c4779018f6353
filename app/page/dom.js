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

/** A number as people read it: two places, a true minus sign, no negative zero. */
export function number(value) {
  const text = value.toFixed(2);
  return Number(text) === 0 ? "0.00" : text.replace("-", "−");
}

/** Save a blob as a file. */
export function download(blob, name) {
  const address = URL.createObjectURL(blob);
  make("a", { download: name, href: address }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
