// The import of a file: a dry run checks it first, and the user confirms its result.
import { alone, newKey, parsed, say, send, sentences } from "./request.js";

const MOST_LISTED = 200;

const form = document.getElementById("import");
const store = document.getElementById("store");
const report = document.getElementById("report");
const changes = document.getElementById("preview");

/** Media types by the ends of names: browsers name them differently, or not at all. */
const TYPES = JSON.parse(form.dataset.types);

/** One key for each choice of a file and of options: what is sent twice is stored once. */
let key = newKey();

function file() {
  const chosen = form.elements.file.files[0];
  const type = TYPES[chosen?.name.split(".").pop().toLowerCase()];
  if (!chosen) say("Choose a file.", "warn");
  else if (!type) say(`Choose a file that ends in .${Object.keys(TYPES).join(", .")}.`, "warn");
  return chosen && type ? { chosen, type } : null;
}

function target(isDryRun) {
  const mode = form.elements.mode.value;
  const upsert = form.elements.upsert.checked;
  return `${form.dataset.api}?mode=${mode}&upsert=${upsert}&dry_run=${isDryRun}`;
}

function counts(result, tense) {
  const names = { created: "created", replaced: "changed", unchanged: "unchanged", refused: "refused" };
  const counted = Object.entries(names).filter(([count]) => result[count] > 0).map(([count, name]) => `${result[count]} ${tense}${name}`);
  return counted.length > 0 ? `${counted.join(", ")}.` : "The file has no rows.";
}

/** The row of an error, as a spreadsheet program numbers it, or the number of an element of an array. */
const rowOf = (error) => error.line ?? error.row ?? "";
const columnOf = (error) => [error.column ?? error.field ?? "", error.cell ? `(${error.cell})` : ""].join(" ").trim();

/** The errors of all rows. */
function errors(result) {
  if (result.errors) return result.errors;
  return (result.rows ?? []).flatMap((row) => [
    ...(row.errors ?? []).map((error) => ({ row: row.row, ...error })),
    ...(row.warnings ?? []).map((error) => ({ row: row.row, ...error, detail: `Warning: ${error.detail}` })),
  ]);
}

function list(found) {
  const rows = found.slice(0, MOST_LISTED).map((error) => {
    const made = document.createElement("tr");
    for (const cell of [rowOf(error), columnOf(error), error.detail]) made.insertCell().append(cell);
    return made;
  });
  report.querySelector("tbody").replaceChildren(...rows);
  report.querySelector(".more").textContent = found.length > MOST_LISTED ? `${found.length - MOST_LISTED} more errors.` : "";
  report.hidden = found.length === 0;
}

const MOST_CHANGES = 200;

/** The row of an item, with a link to its page. */
const linkTo = (row) => Object.assign(document.createElement("a"), { href: location.pathname.replace("import", row.id), textContent: rowOf(row) });

/** Names new columns, and the old and the new value of each cell that would change. */
function preview(result) {
  const names = (result.new_members ?? []).map(({ name, did_you_mean: near }) => near ? `${name} (did you mean ${near}?)` : name);
  changes.querySelector(".new-columns").textContent = names.length > 0 ? `New columns: ${names.join(", ")}.` : "";
  const cells = (result.rows ?? []).flatMap((row) => (row.changes ?? []).map((change) => [linkTo(row), change.member, change.before ?? "", change.after ?? ""]));
  const rows = cells.map((texts) => {
    const made = document.createElement("tr");
    for (const [index, text] of texts.entries()) {
      const cell = made.insertCell();
      cell.className = ["", "", "removed", "added"][index];
      cell.append(text);
    }
    return made;
  });
  changes.querySelector("tbody").replaceChildren(...rows);
  changes.querySelector(".table").hidden = rows.length === 0;
  changes.querySelector(".more").textContent = cells.length === MOST_CHANGES ? `These are the first ${MOST_CHANGES} changes.` : "";
  changes.hidden = rows.length === 0 && names.length === 0;
}

async function run(isDryRun) {
  const sent = file();
  if (!sent) return;
  say(isDryRun ? "Checking …" : "Importing …", "");
  const headers = { "Content-Type": sent.type, ...(isDryRun ? {} : { "Idempotency-Key": key }) };
  const answer = await send(target(isDryRun), "POST", headers, sent.chosen);
  const result = answer.ok ? parsed(answer.text) : answer.problem;
  list(errors(result));
  preview(answer.ok && isDryRun ? result : {});
  if (!answer.ok) {
    // What is not known to be done can be sent again, under the same key.
    store.hidden = isDryRun || ![0, 503].includes(answer.status);
    return say(sentences(result, `import these ${form.dataset.nouns}`, []), "bad");
  }
  const isAnything = result.created + result.replaced > 0;
  store.hidden = !isDryRun || !isAnything;
  if (!isDryRun) form.elements.file.focus();
  const message = isDryRun ? `Not imported yet. ${counts(result, "would be ")}` : `Imported: ${counts(result, "")}`;
  say(message, result.refused > 0 ? "warn" : "good");
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  alone(() => run(true));
});
store.addEventListener("click", () => alone(() => run(false)));
form.addEventListener("change", () => {
  key = newKey();
  store.hidden = true;
  report.hidden = true;
  changes.hidden = true;
  say("", "");
});
