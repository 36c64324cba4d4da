// Removal and restoration: both ask first, and send If-Match with the version or the content that the page shows.
import { alone, newKey, say, saveMessage, send, sentences, visit } from "./request.js";

function isSure(question, action) {
  return new Promise((resolve) => {
    const dialog = document.createElement("dialog");
    const text = document.createElement("p");
    text.id = "question";
    text.textContent = question;
    dialog.setAttribute("aria-labelledby", text.id);
    const [yes, no] = [[action, "yes"], ["Cancel", "no"]].map(([label, value]) => {
      const button = document.createElement("button");
      button.textContent = label;
      button.onclick = () => dialog.close(value);
      return button;
    });
    dialog.append(text, yes, no);
    dialog.onclose = () => { dialog.remove(); resolve(dialog.returnValue === "yes"); };
    document.body.append(dialog);
    dialog.showModal();
    no.focus();
  });
}

/** Sends a request when its button is pressed and confirmed, then opens the next page. */
function onConfirmation(button, question, [action, done], refused, url, method, headers) {
  button.addEventListener("click", async () => {
    if (!await isSure(question, action)) return;
    const { tag, after } = button.dataset;
    const answer = await alone(() => send(url, method, { ...headers, ...(tag ? { "If-Match": tag } : {}) }));
    if (answer.ok) { saveMessage(done, "good"); visit(after); }
    else if (answer.status === 412) say("Someone else changed this in the meantime. Reload the page to see the current version.", "bad");
    else say(sentences(answer.problem, refused), "bad");
  });
}

for (const button of document.querySelectorAll("[data-delete]")) {
  const { delete: url, noun, children } = button.dataset;
  const title = document.querySelector("h1").textContent;
  const question = [`Delete the ${noun} “${title}”?`, children, "You can restore every deleted record."].filter(Boolean).join(" ");
  onConfirmation(button, question, ["Delete", "Deleted."], `delete this ${noun}, or all records that belong to it`, url, "DELETE", {});
}

for (const button of document.querySelectorAll("[data-restore]")) {
  const { restore: url, noun, version } = button.dataset;
  const question = `Restore version ${version} of this ${noun}?`;
  onConfirmation(button, question, ["Restore", "Restored."], `restore this ${noun}`, url, "POST", { "Idempotency-Key": newKey() });
}

for (const button of document.querySelectorAll("[data-detach]")) {
  const question = "Remove this file? Earlier versions keep it.";
  onConfirmation(button, question, ["Remove", "Removed."], "remove this file", button.dataset.detach, "DELETE", {});
}
