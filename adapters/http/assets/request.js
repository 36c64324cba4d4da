// Requests of the pages to the interface for programs, and what is said of their answers.
import { fetchAsCaller } from "./session.js";

/** Says something in the place for it; `kind` is good, warn or bad. */
export function say(text, kind) {
  const outcome = document.getElementById("outcome");
  outcome.className = kind;
  outcome.textContent = text;
  if (text) outcome.scrollIntoView({ block: "nearest" });
}

/** Sends a request; its answer has the problem that the service tells, if any. */
export async function send(url, method, headers, body) {
  const sent = body === undefined ? headers : { "Content-Type": "application/json", ...headers };
  try {
    const response = await fetchAsCaller(url, { method, headers: { Accept: "application/json", ...sent }, body });
    const text = await response.text();
    return { ok: response.ok, status: response.status, tag: response.headers.get("ETag"), text, problem: response.ok ? null : parsed(text) };
  } catch {
    return { ok: false, status: 0, problem: { detail: "The service could not be reached. Nothing is known of the request; look before you try again." } };
  }
}

export function parsed(text) {
  try { return JSON.parse(text); } catch { return { detail: text }; }
}

/** A problem in sentences; of errors of fields only those that stand beside no field. */
export function sentences(problem, others = problem.errors ?? []) {
  const count = problem.errors?.length ?? 0;
  if (count === 0) return problem.detail ?? problem.title;
  const told = others.map((error) => error.detail).join(" ");
  if (told) return told;
  return count === 1 ? "One field needs a correction; it says which." : `${count} corrections are needed; the fields say which.`;
}

/** Does something once at a time: the buttons wait for its end. */
export async function alone(work) {
  const buttons = [...document.querySelectorAll("main button:not(:disabled)")];
  for (const button of buttons) button.disabled = true;
  try {
    return await work();
  } finally {
    for (const button of buttons) button.disabled = false;
  }
}

/** A key by which the service knows a request that is sent again. */
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `"${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}"`;
}
