// Uploads of a photo: chosen, dropped or pasted.

// A browser gives no type to formats that it does not know; the server may know them.
export const isPhoto = ({ type }) => !type || type.startsWith("image/");

const photoIn = (files) => [...(files ?? [])].find(isPhoto);

/** Call `use` with each photo, `addMany` with several that are dropped, and `refuse` for another file. */
export function listenForPhotos({ button, input, target, use, addMany, refuse }) {
  const take = (files) => (photoIn(files) ? use(photoIn(files)) : refuse());
  button.addEventListener("click", () => input.click());
  input.addEventListener("change", () => {
    if (input.files.length) take(input.files);
    input.value = ""; // so that the same file can be chosen again
  });
  document.addEventListener("paste", (event) => {
    const photo = photoIn(event.clipboardData?.files);
    if (!photo) return; // text goes where the cursor is
    event.preventDefault();
    use(photo);
  });
  listenForDrops(target, (files) => (files.length > 1 && addMany([...files])) || take(files));
}

const DROP = "Drop the photo to search with it";
const DROP_MANY = "Drop the photos";

function listenForDrops(target, take) {
  const carriesFiles = (event) => event.dataTransfer?.types.includes("Files");
  document.addEventListener("dragover", (event) => {
    if (!carriesFiles(event)) return;
    event.preventDefault();
    target.hidden = false;
    target.firstChild.textContent = event.dataTransfer.items.length > 1 ? DROP_MANY : DROP;
  });
  document.addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) target.hidden = true; // it left the window
  });
  document.addEventListener("drop", (event) => {
    if (!carriesFiles(event)) return;
    event.preventDefault();
    target.hidden = true;
    if (!document.querySelector("#add[open]")) take(event.dataTransfer.files); // it may be sending
  });
}
