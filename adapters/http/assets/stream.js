// A stream of server-sent events, read by fetch: an EventSource sends no Authorization header.
import { fetchAsCaller } from "./session.js";

const PAUSE = 2_000;

/** The event of a block of lines: its id and its data. */
function event(block) {
  const found = { data: [] };
  for (const line of block.split("\n")) {
    const [, name, value] = /^([^:]*):? ?(.*)$/.exec(line);
    if (name === "data") found.data.push(value); else found[name] = value;
  }
  return { id: found.id, data: found.data.join("\n") };
}

/** Reads a response to its end, an event at a time. */
async function* events(response) {
  let text = "";
  for (const reader = response.body.pipeThrough(new TextDecoderStream()).getReader(); ;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (text + value).split("\n\n");
    text = blocks.pop();
    yield* blocks.map(event);
  }
}

/** Listens until `signal` ends it, and connects again after the event that came last. */
export async function listen(url, signal, { onState, onEvent }) {
  let last;
  while (!signal.aborted) {
    try {
      const headers = { Accept: "text/event-stream", ...(last ? { "Last-Event-ID": last } : {}) };
      const response = await fetchAsCaller(url, { headers, signal, cache: "no-store" });
      if (!response.ok) { onState([401, 403].includes(response.status) ? "refused" : "busy"); return; }
      onState("open");
      for await (const { id, data } of events(response)) {
        if (id) last = id;
        if (data) onEvent(data);
      }
    } catch {
      // A lost connection is found again below.
    }
    if (signal.aborted) return;
    onState("lost");
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
}
