// Runs on every page: shows the controls that need a script, and updates live changes.
import { showSavedMessage } from "./request.js";
import { fetchAsCaller, leaving, visit } from "./session.js";
import { listen } from "./stream.js";

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
  busy: "Not live: too many connections. Reload the page later.",
  refused: "Not live: sign in to see live changes.",
};

/** Loads the table of the latest changes again after a change. The server writes it in the reader's language. */
function follow(status) {
  const stream = new AbortController();
  let timer;
  status.hidden = false;
  status.textContent = "Connecting…";
  const refresh = async () => {
    timer = undefined;
    const response = await fetchAsCaller(location.href, { headers: { Accept: "text/html" }, signal: stream.signal });
    if (!response.ok) return;
    const next = new DOMParser().parseFromString(await response.text(), "text/html").getElementById("changes");
    const known = new Set([...document.getElementById("changes").rows].map((row) => row.innerHTML));
    for (const row of next.rows) if (!known.has(row.innerHTML)) row.className = "new";
    document.getElementById("changes").replaceWith(next);
  };
  listen(status.dataset.stream, stream.signal, {
    onState: (state) => { status.textContent = STATES[state]; },
    // A refresh that fails is followed by the next one.
    onEvent: () => { timer ??= setTimeout(() => refresh().catch(() => {}), PAUSE); },
  });
  return stream;
}

const status = document.querySelector("[data-stream]");
if (status) {
  // A browser keeps few connections to a host: a hidden page closes its connection, and is reloaded when it becomes visible.
  let stream = document.hidden ? null : follow(status);
  const signal = leaving();
  const close = () => { stream?.abort(); stream = null; };
  signal.addEventListener("abort", close);
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) close(); else if (!stream) visit(location.href);
  }, { signal });
  addEventListener("pagehide", close, { signal });
  addEventListener("pageshow", (event) => { if (event.persisted) visit(location.href); }, { signal });
}
