// Removal and restoration: both ask first, and send If-Match with the version that the page shows.
import { alone, newKey, say, send, sentences } from "./request.js";
import { visit } from "./session.js";

function isSure(question) {
  return new Promise((resolve) => {
    const dialog = document.createElement("dialog");
    const text = document.createElement("p");
    text.id = "question";
    text.textContent = question;
    dialog.setAttribute("aria-labelledby", text.id);
    const [yes, no] = [["Yes", "yes"], ["No", "no"]].map(([label, value]) => {
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

/** Sends a request when its button is pressed and confirmed, and goes on to the page after it. */
function onConfirmation(button, question, url, method, headers) {
  button.addEventListener("click", async () => {
    if (!await isSure(question)) return;
    const { tag, after } = button.dataset;
    const answer = await alone(() => send(url, method, { ...headers, ...(tag ? { "If-Match": tag } : {}) }));
    if (answer.ok) visit(after);
    else if (answer.status === 412) say("Somebody else changed the item meanwhile. Load the page again to see what it is now.", "bad");
    else say(sentences(answer.problem), "bad");
  });
}

for (const button of document.querySelectorAll("[data-delete]")) {
  onConfirmation(button, "Delete this item? It stays in the history, and can be restored from there.", button.dataset.delete, "DELETE", {});
}

for (const button of document.querySelectorAll("[data-restore]")) {
  const question = `Make the item again what it was in version ${button.dataset.version}?`;
  onConfirmation(button, question, button.dataset.restore, "POST", { "Idempotency-Key": newKey() });
}
