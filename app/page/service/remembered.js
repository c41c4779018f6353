// Uploads that this browser remembers, so that a search with one survives a reload.

const NAME = "tessera-uploads";
const MOST = 8; // uploads; older ones are forgotten

function settled(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

async function store(mode) {
  const opening = indexedDB.open(NAME, 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore("photos");
  return (await settled(opening)).transaction("photos", mode).objectStore("photos");
}

/** Keep an upload; return its name. */
export async function remember(file) {
  const name = Date.now().toString(36);
  const photos = await store("readwrite");
  const names = await settled(photos.getAllKeys());
  for (const old of names.sort().slice(0, Math.max(0, names.length + 1 - MOST))) photos.delete(old);
  await settled(photos.put(file, name));
  return name;
}

/** The upload with a name; null where this browser has none. */
export async function recall(name) {
  return (await settled((await store("readonly")).get(name))) ?? null;
}

/** Forget all uploads. */
export function forget() {
  return settled(indexedDB.deleteDatabase(NAME)).catch(() => null);
}
