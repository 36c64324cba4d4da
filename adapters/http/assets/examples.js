// The button on the start page of an empty service that creates the examples of the documentation, with the rights of the caller.
import { alone, newKey, parsed, say, saveMessage, send, sentences, visit } from "./request.js";

const button = document.querySelector("[data-examples]");

/** Creates one after the other: a later example names an earlier one, by the id in the documentation. */
async function create() {
  const ids = new Map();
  const renamed = (text) => [...ids].reduce((renamed, [old, id]) => renamed.replaceAll(old, id), text);
  for (const { path, id, body } of JSON.parse(button.dataset.examples)) {
    const answer = await send(renamed(path), "POST", { "Idempotency-Key": newKey() }, renamed(body));
    if (!answer.ok) { say(sentences(answer.problem, "create all example records"), "bad"); return; }
    ids.set(id, parsed(answer.text).id);
  }
  saveMessage("Created an example of each kind of record.", "good");
  visit(location.href);
}

button.addEventListener("click", () => alone(create));
