// Requests of the pages to the API, and messages about their responses.

/** Shows text or elements in the place for messages; `kind` is good, warn or bad. */
export function say(message, kind) {
  const outcome = document.getElementById("outcome");
  outcome.className = kind;
  outcome.replaceChildren(...[message].flat());
  if (message) outcome.scrollIntoView({ block: "nearest" });
}

const MESSAGE = "message";

/** Keeps a message for the next page. */
export function saveMessage(text, kind) {
  sessionStorage.setItem(MESSAGE, JSON.stringify([text, kind]));
}

/** Shows the message of the page before. */
export function showSavedMessage() {
  const saved = sessionStorage.getItem(MESSAGE);
  if (saved === null || !document.getElementById("outcome")) return;
  sessionStorage.removeItem(MESSAGE);
  say(...JSON.parse(saved));
}

/** Goes to a page, or loads it again. */
export function visit(url) {
  if (url === location.href) location.reload(); else location.assign(url);
}

/** Sends a request; the result has the problem of an error response. `fetching` replaces `fetch`. */
export async function send(url, method, headers, body, fetching = fetch, isAgain = false) {
  const { pageToken: token } = document.body.dataset;
  const sent = new Headers({ Accept: "application/json", ...(body === undefined ? {} : { "Content-Type": "application/json" }), ...headers });
  if (token && method !== "GET") sent.set("Page-Token", token);
  try {
    const response = await fetching(url, { method, headers: sent, body });
    const text = await response.text();
    const problem = response.ok ? null : problemOf(response, text);
    if (token && !isAgain && (response.status === 401 || problem?.code === "cross-site")) {
      const { renewed } = await import("./sign-in.js");
      const detail = await renewed();
      return detail ? { ok: false, status: response.status, problem: { detail } } : send(url, method, headers, body, fetching, true);
    }
    return { ok: response.ok, status: response.status, tag: response.headers.get("ETag"), text, problem };
  } catch {
    return { ok: false, status: 0, problem: { detail: "Connection failed. The request may have been processed: check before you try again." } };
  }
}

/** A proxy may refuse a large body, and sends HTML. */
function problemOf({ status }, text) {
  return text.startsWith("{") ? parsed(text) : { detail: `A server in front of the service refused the request with status ${status}.` };
}

export function parsed(text) {
  try { return JSON.parse(text); } catch { return { detail: text }; }
}

/** A problem in sentences: its errors, or its detail. `action` is what the user tried, such as "edit this proposal". */
export function sentences(problem, action, errors = problem.errors ?? []) {
  if (problem.code === "not-permitted") return `You are not allowed to ${action}.`;
  return errors.map((error) => error.detail).join(" ") || (problem.detail ?? problem.title);
}

/** Does something once at a time: the buttons wait for its end. A button that loses the focus because it waits gets it back. */
export async function alone(work) {
  const focused = document.activeElement;
  const buttons = [...document.querySelectorAll("main button:not(:disabled)")];
  for (const button of buttons) button.disabled = true;
  try {
    return await work();
  } finally {
    for (const button of buttons) button.disabled = false;
    if (document.activeElement === document.body) focused.focus();
  }
}

/** An idempotency key: the service recognizes a repeated request by it. */
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `"${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}"`;
}
