// Runs on every page: shows the controls that need a script, and updates live changes.
import "./download.js";
import { showSavedMessage } from "./request.js";

// It runs after the script of the page. Before, pressing Enter in a form would load the page again, without what was typed.
for (const element of document.querySelectorAll(".needs-script")) {
  element.hidden = false;
  element.removeAttribute("disabled");
}
for (const element of document.querySelectorAll(".without-script")) element.hidden = true;

showSavedMessage();
for (const button of document.querySelectorAll("[data-print]")) button.addEventListener("click", () => print());

/** Changes often come together. */
const PAUSE = 1_000;

const STATES = {
  open: "Live: new changes appear automatically.",
  lost: "Disconnected. Reconnecting…",
  closed: "Not live. Reload the page later.",
};

/** Loads the table of the latest changes again after a change. The server writes it in the reader's language. */
function follow(status) {
  let timer;
  status.hidden = false;
  status.textContent = "Connecting…";
  const refresh = async () => {
    timer = undefined;
    const response = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (!response.ok) return;
    const next = new DOMParser().parseFromString(await response.text(), "text/html").getElementById("changes");
    const known = new Set([...document.getElementById("changes").rows].map((row) => row.innerHTML));
    for (const row of next.rows) if (!known.has(row.innerHTML)) row.className = "new";
    document.getElementById("changes").replaceWith(next);
  };
  const stream = new EventSource(status.dataset.stream);
  const show = (state) => { status.textContent = STATES[state]; };
  stream.onopen = () => show("open");
  stream.onerror = () => show(stream.readyState === EventSource.CLOSED ? "closed" : "lost");
  // The first event has only an id. A refresh that fails is followed by the next one.
  stream.onmessage = ({ data }) => { if (data) timer ??= setTimeout(() => refresh().catch(() => {}), PAUSE); };
  return stream;
}

const status = document.querySelector("[data-stream]");
if (status) {
  // A browser keeps few connections to a host: a hidden page closes its connection, and is reloaded when it becomes visible.
  let stream = document.hidden ? null : follow(status);
  const close = () => { stream?.close(); stream = null; };
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) close(); else if (!stream) location.reload();
  });
  addEventListener("pagehide", close);
  addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
}
