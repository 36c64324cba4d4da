// Signing in and out at the top of every page, and in a dialog if the session ends while somebody edits. The browser keeps the session in
// a cookie that no script reads; a token is in memory only until the session begins.
import { signIn } from "./oauth.js";

const control = document.getElementById("session");
const [status] = control.children;
const address = control.dataset.session;

function button(text, act) {
  const made = Object.assign(document.createElement("button"), { type: "button", textContent: text });
  made.onclick = act;
  return made;
}

/** Makes a dialog, and opens it. */
function show(name, title, parts, onclose) {
  const [dialog, heading] = [document.createElement("dialog"), document.createElement("h2")];
  Object.assign(heading, { id: `${name}-title`, textContent: title });
  dialog.setAttribute("aria-labelledby", heading.id);
  dialog.append(heading, ...parts);
  dialog.onclose = () => { dialog.remove(); onclose(dialog); };
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** Asks for a token; an empty one if the dialog is cancelled. */
function paste() {
  const [form, label, input] = ["form", "label", "input"].map((name) => document.createElement(name));
  form.method = "dialog";
  label.htmlFor = input.id = "token";
  label.textContent = "Access token or key of the service";
  // Browsers offer to store what is typed into a password field.
  Object.assign(input, { type: "text", autocomplete: "off", spellcheck: false, required: true });
  const confirm = Object.assign(document.createElement("button"), { textContent: "Use token", value: "use", className: "primary" });
  form.append(label, input, confirm, button("Cancel", () => form.closest("dialog").close()));
  return new Promise((resolve) => {
    show("token", "Use a token", [form], ({ returnValue }) => resolve(returnValue === "use" ? input.value.trim().replace(/^Bearer\s+/i, "") : ""));
  });
}

/** Begins a session by a token. */
async function begin(token) {
  if (!/^[\w.~+/-]+=*$/.test(token)) throw new Error("Invalid token: it contains characters that are not allowed.");
  const response = await fetch(address, { method: "POST", headers: { Accept: "application/json", Authorization: `Bearer ${token}` } });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(answer.detail ?? "The token is not accepted.");
  return answer;
}

/** Shows how to sign in, and calls `done` with the session that begins. */
async function offer(place, said, done) {
  let attempt = new AbortController();
  const attempted = async (get) => {
    attempt.abort();
    const { signal } = attempt = new AbortController();
    said.textContent = "Signing in …";
    let text = "";
    try {
      const token = await get(signal);
      if (token) done(await begin(token));
    } catch (error) {
      text = error instanceof TypeError ? "Connection to the issuer or the service failed. Try again." : error.message;
    }
    if (!signal.aborted) said.textContent = text;
  };
  const data = await fetch(control.dataset.signIn).then((answer) => answer.json()).catch(() => ({ issuers: [] }));
  const named = ({ url }) => data.issuers.length > 1 ? `Sign in at ${new URL(url).host}` : "Sign in";
  const issuers = data.issuers.map((issuer) => button(named(issuer), () => attempted((signal) => signIn(issuer, data, signal))));
  place.append(...issuers, button("Use a token", () => attempted(paste)));
}

function signedInAgain() {
  const [text, said, buttons] = ["p", "p", "p"].map((name) => document.createElement(name));
  text.textContent = "Sign in again to continue. What you typed is kept.";
  said.setAttribute("role", "status");
  buttons.className = "actions";
  return new Promise((resolve) => {
    let session;
    const dialog = show("ended", "Your session has ended", [text, said, buttons, button("Cancel", () => dialog.close())], () => resolve(session));
    offer(buttons, said, (begun) => { session = begun; dialog.close(); });
  });
}

/**
 * Continues after a request was refused because the session ended, or because another tab began a new one. Returns nothing if the request
 * can be sent again, otherwise the reason for the user.
 */
export async function renewed() {
  const response = await fetch(address, { headers: { Accept: "application/json" } });
  if (!response.ok && response.status !== 401) throw new Error("The session is unknown.");
  const current = response.ok ? await response.json() : {};
  const session = current.page_token ? current : await signedInAgain();
  if (!session) return "Your session has ended, and nothing was saved. Save again to sign in.";
  const { caller: { id, name }, page_token: token } = session;
  const isSame = id === control.dataset.caller;
  document.body.dataset.pageToken = token;
  control.dataset.caller = id;
  status.textContent = `Signed in as ${name ?? id}`;
  return isSame ? undefined : `You are signed in as ${name ?? id} now, and nothing was saved. Save again to save it as ${name ?? id}.`;
}

async function signOut({ dataset }) {
  const headers = { "Page-Token": document.body.dataset.pageToken };
  const response = await fetch(`${address}${dataset.signOut}`, { method: "DELETE", headers }).catch(() => ({ status: 0 }));
  // The session may have ended before, or be another one now, which the page then shows.
  if (response.ok || [401, 403].includes(response.status)) location.reload();
  else status.textContent = "You are still signed in, because the service is not available. Try again.";
}

const place = document.getElementById("sign-in");
if (place) offer(place, status, () => location.reload());
for (const button of control.querySelectorAll("[data-sign-out]")) button.onclick = () => signOut(button);
