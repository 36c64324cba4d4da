// Runs on every page: shows the controls that need a script, and updates live changes.
import { leaving, visit } from "./session.js";
import { listen } from "./stream.js";

// It runs after the script of the page. Before, pressing Enter in a form would load the page again, without what was typed.
for (const element of document.querySelectorAll(".needs-script")) {
  element.hidden = false;
  element.removeAttribute("disabled");
}
for (const element of document.querySelectorAll(".without-script")) element.hidden = true;

const MOST_ROWS = 100;

const STATES = {
  open: "Live: new changes appear automatically.",
  lost: "Disconnected. Reconnecting…",
  busy: "Not live: too many connections. Reload the page later.",
  refused: "Not live: sign in to see live changes.",
};

/** Adds the changes that are made from now on to the table of the latest ones. */
function follow(status) {
  const rows = document.getElementById("changes");
  status.hidden = false;
  status.textContent = "Connecting…";
  const stream = new AbortController();
  listen(status.dataset.stream, stream.signal, {
    onState: (state) => { status.textContent = STATES[state]; },
    onEvent: (event) => {
      // A change is the data of a CloudEvent. One of an item that is no longer visible has no details.
      const change = JSON.parse(event).data;
      if (change.kind === "withdrawn") return;
      rows.prepend(row(change));
      while (rows.rows.length > MOST_ROWS) rows.deleteRow(-1);
    },
  });
  return stream;
}

function row(change) {
  const root = `${document.body.dataset.root}/explore/${change.group}/${change.item_id}`;
  const link = document.createElement("a");
  link.href = change.kind === "deleted" ? `${root}/history` : root;
  link.textContent = change.item_id;
  const time = document.createElement("time");
  time.dateTime = change.time;
  time.textContent = `${change.time.slice(0, 19).replace("T", " ")} UTC`;
  const caller = change.caller ?? "unknown";
  const author = change.acting ? `${change.acting} for ${caller}` : caller;
  const cells = [time, change.group, change.kind, link, change.version, author];
  const made = document.createElement("tr");
  made.className = "new";
  for (const cell of cells) made.insertCell().append(cell);
  return made;
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
