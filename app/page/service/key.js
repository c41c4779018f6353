// The dialog for a key: entered once, then kept in a cookie hidden from scripts.

import { forget } from "./remembered.js";

const at = (id) => document.getElementById(id);
let asking = null; // one dialog for all requests that wait for it

/** Send a key; return its rights, or throw a problem. */
async function signIn(key) {
  const answer = await fetch("session", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ key }),
  });
  if (answer.ok) return answer.json();
  const { detail } = await answer.json();
  throw new Error(detail[0].toUpperCase() + detail.slice(1));
}

/** Forget the key and start again. */
export async function signOut() {
  await Promise.all([fetch("session", { method: "DELETE" }), forget()]);
  location.assign(location.pathname);
}

function open() {
  const [dialog, form, secret, refused] = ["key", "key-form", "secret", "refused"].map(at);
  return new Promise((resolve) => {
    const end = (session) => {
      secret.value = "";
      refused.textContent = "";
      form.onsubmit = null;
      dialog.onclose = null;
      dialog.close();
      // First of all, as those who wait may then be overtaken.
      if (session) document.dispatchEvent(new CustomEvent("signed-in", { detail: session }));
      resolve(session !== null);
    };
    form.onsubmit = async (event) => {
      event.preventDefault();
      refused.textContent = "";
      try {
        end(await signIn(secret.value));
      } catch (error) {
        refused.textContent =
          error instanceof TypeError ? "Tessera did not answer. Check that it is running." : error.message;
        secret.select();
      }
    };
    at("key-later").onclick = () => end(null);
    dialog.onclose = () => end(null);
    dialog.onkeydown = (event) => event.stopPropagation(); // Escape closes this, and only this
    dialog.showModal();
  });
}

/** Ask for a key, unless that is being done; false where the person has none. */
export async function askForKey() {
  asking ??= open();
  try {
    return await asking;
  } finally {
    asking = null;
  }
}
