// The form of an item. It sends JSON under If-Match, so that concurrent changes are not overwritten. Errors are
// shown at their fields. An untouched field is sent as it is stored.
import { compact, members, parts, shown } from "./json.js";
import { isPicked, pickedIn } from "./picker.js";
import { alone, newKey, parsed, say, saveMessage, send, sentences, visit } from "./request.js";

const form = document.getElementById("item");
const fields = document.getElementById("fields");
const whole = document.getElementById("whole");
const conflict = document.getElementById("conflict");

/** One key for the life of the form: a repeated request creates one item. */
const key = newKey();

/** The field for the item to which a new one belongs, if the address does not name it. */
const parentField = form.querySelector("[data-parent-path]");

/** Members that someone else added while the form was open, as JSON by their names. */
let added = new Map();

/** The JSON with which the whole item began to be edited. */
let begun = "";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const isJson = () => form.elements.mode?.value === "json";
const controlOf = (field) => field.querySelector("textarea, input:not(.name)");
const nameOf = (field) => field.dataset.member ?? field.querySelector(".name").value.trim();
const allFields = () => [...fields.querySelectorAll(".field")];

/** The value of a field as JSON; an empty string if the field is empty. */
function encoded(field) {
  const text = controlOf(field).value;
  if (field.dataset.touched === undefined) return field.dataset.stored;
  if (text.trim() === "") return "";
  if (field.querySelector(".picker")) return pickedIn(controlOf(field));
  switch (field.dataset.control) {
    case "list":
      return JSON.stringify(text.split("\n").map((line) => line.trim()).filter(Boolean));
    case "number":
      return /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text.trim()) ? text.trim() : JSON.stringify(text);
    case "json":
      return text;
    default:
      return JSON.stringify(text);
  }
}

/** The members of the fields as JSON by their names. */
function typed() {
  const found = new Map(added);
  for (const field of allFields()) {
    const value = field === parentField ? "" : encoded(field);
    if (value) found.set(nameOf(field), value);
  }
  return found;
}

function object(found) {
  return `{${[...found].map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(",")}}`;
}

/** The address of the request. An item is created under its chosen parent, or the one whose identifier is typed. */
function address() {
  const control = parentField && controlOf(parentField);
  const id = control?.value && JSON.parse(pickedIn(control));
  return id ? parentField.dataset.parentPath.replace(/:[a-z_]+/, id) : form.dataset.api;
}

const written = () => isJson() ? whole.value : object(typed());

function clearError(field) {
  const [place, control] = [field.querySelector(".error"), controlOf(field)];
  place.hidden = true;
  place.textContent = "";
  control.removeAttribute("aria-invalid");
  control.removeAttribute("aria-errormessage");
}

function clearErrors() {
  for (const field of allFields()) clearError(field);
}

function showError(field, text) {
  const [place, control] = [field.querySelector(".error"), controlOf(field)];
  place.textContent = `${place.textContent} ${text}`.trim();
  place.hidden = false;
  control.setAttribute("aria-invalid", "true");
  control.setAttribute("aria-errormessage", place.id);
  const described = new Set((control.getAttribute("aria-describedby") ?? "").split(" ").filter(Boolean));
  control.setAttribute("aria-describedby", [...described.add(place.id)].join(" "));
}

/** The label of a field without its mark for required ones. */
const labelOf = (field) => field.dataset.member === undefined ? nameOf(field) || "Unnamed field" : field.querySelector("label").firstChild.textContent.trim();

/** "Enter a project title." for the field with this label. */
function request(field) {
  const label = labelOf(field);
  const noun = /^.\p{Lu}/u.test(label) ? label : label[0].toLowerCase() + label.slice(1);
  return `Enter ${/^[aeiou]/i.test(noun) ? "an" : "a"} ${noun}.`;
}

const paragraph = (text) => Object.assign(document.createElement("p"), { textContent: text });

/** The number of fields with errors, and links to them, each described by its error. */
function linksToErrors() {
  const invalid = allFields().filter((field) => controlOf(field).hasAttribute("aria-invalid"));
  if (invalid.length === 0) return [];
  const list = document.createElement("ul");
  for (const field of invalid) {
    const link = Object.assign(document.createElement("a"), { href: `#${controlOf(field).id}`, textContent: labelOf(field) });
    link.setAttribute("aria-describedby", field.querySelector(".error").id);
    const entry = document.createElement("li");
    entry.append(link);
    list.append(entry);
  }
  const title = Object.assign(document.createElement("h2"), { textContent: `Correct ${invalid.length} field${invalid.length === 1 ? "" : "s"}` });
  return [title, list];
}

/** Shows each error at its field, with links to these fields above the form, after the errors that belong to no field. */
function showErrors(problem) {
  clearErrors();
  const others = [];
  for (const field of isJson() ? [] : allFields().filter(mistake)) showError(field, mistake(field));
  for (const error of problem.errors ?? []) {
    const [, member] = (error.pointer ?? "").split("/");
    const name = member?.replaceAll("~1", "/").replaceAll("~0", "~");
    const field = isJson() ? undefined : allFields().find((field) => nameOf(field) === name);
    if (field) showError(field, error.code === "required" ? request(field) : error.detail); else others.push(error);
  }
  const action = `${form.dataset.method === "PUT" ? "edit" : "create"} this ${form.dataset.noun}`;
  const links = linksToErrors();
  const text = links.length === 0 || others.length > 0 ? sentences(problem, action, others) : "";
  say(text ? [paragraph(text), ...links] : links, "bad");
  form.querySelector("[aria-invalid]")?.focus();
}

/** The error of a field that cannot be sent. */
function mistake(field) {
  const control = controlOf(field);
  if (field.dataset.touched === undefined || control.value.trim() === "") return "";
  if (field.dataset.member === undefined && !nameOf(field)) return "Enter a name for this field.";
  const picker = field.querySelector(".picker");
  if (picker && !isPicked(control) && !UUID.test(control.value)) return `Choose a ${picker.dataset.noun} from the list, or clear this field.`;
  if (field.dataset.control !== "json") return "";
  try { JSON.parse(control.value); return ""; } catch { return "This is not valid JSON. Check its brackets, quotation marks and commas."; }
}

/** Shows the fields that cannot be sent, together with the errors that the service finds in the others. */
async function hasMistakes() {
  clearErrors();
  const found = isJson() ? [] : allFields().filter(mistake);
  if (found.length === 0) return false;
  const answer = found.every((field) => field.querySelector(".picker")) ? await dryRun() : { ok: true };
  showErrors(answer.ok || answer.status === 412 ? {} : answer.problem);
  return true;
}

function dryRun() {
  const { method, tag } = form.dataset;
  return send(`${address()}?dry_run=true`, method, method === "PUT" ? { "If-Match": tag } : {}, written());
}

/** True if a field that both changed has no choice yet. */
function isUndecided() {
  const choices = [...conflict.querySelectorAll("tbody tr")].filter((row) => row.querySelector("input"));
  if (conflict.hidden || choices.every((row) => row.querySelector(":checked"))) return false;
  say("Choose a value for each field that you both changed, then save.", "bad");
  document.getElementById("conflict-title").focus();
  return true;
}

async function save() {
  if (isUndecided()) return;
  if (await hasMistakes()) return;
  const { after, method, pages, tag } = form.dataset;
  const answer = await send(address(), method, method === "PUT" ? { "If-Match": tag } : { "Idempotency-Key": key }, written());
  if (answer.ok) {
    isChanged = false;
    forget();
    const warnings = warningsOf(answer);
    saveMessage(warnings ? `Saved, with a warning: ${warnings}` : "Saved.", warnings ? "warn" : "good");
    visit(after || `${pages}/${parsed(answer.text).id}`);
  }
  else if (answer.status === 412) await showConflict();
  else showErrors(answer.problem);
}

/** The warnings of the service, and the notes at fields. */
function warningsOf(answer) {
  const noted = allFields().filter((field) => field.querySelector(".unusual:not([hidden])"));
  const notes = noted.map((field) => `${labelOf(field)}: ${field.querySelector(".unusual").textContent}`);
  return [...(parsed(answer.text)?._meta?.warnings ?? []).map((warning) => warning.message ?? warning.detail), ...notes].join(" ");
}

async function check() {
  if (await hasMistakes()) return;
  const answer = await dryRun();
  if (answer.status === 412) { await showConflict(); return; }
  if (!answer.ok) { showErrors(answer.problem); return; }
  const warnings = warningsOf(answer);
  if (warnings) say(`Valid, with a warning: ${warnings}`, "warn");
  else say("No errors found. Your changes are not saved yet.", "good");
}

// ---- conflicts -----------------------------------------------------------------------------------------------------------------

/** The members of an item without those that are the service's own. */
function own(json) {
  const found = members(json);
  for (const name of ["_links", "_embedded", "_meta"]) found.delete(name);
  if (form.dataset.method === "PUT") found.delete("id");
  return found;
}

/** Shows the fields that both changed, side by side. Untouched fields follow what is stored now. */
async function showConflict() {
  const current = await send(form.dataset.api, "GET", {});
  if (!current.ok) { showErrors(current.problem); return; }
  clearErrors();
  const theirs = own(current.text);
  const before = isJson() ? own(whole.defaultValue) : new Map(allFields().map((field) => [nameOf(field), field.dataset.stored]));
  if (!isJson()) follow(theirs);
  const mine = isJson() ? own(written()) : typed();
  const rows = conflict.querySelector("tbody");
  rows.replaceChildren();
  for (const name of new Set([...theirs.keys(), ...mine.keys()])) {
    const values = [theirs.get(name), mine.get(name)];
    const [stored, typed, old] = [...values, before.get(name)].map((value) => compact(value ?? ""));
    if (stored !== typed && stored !== old) rows.append(comparison(name, values, rows.rows.length));
  }
  conflict.querySelector(".table").hidden = rows.rows.length === 0;
  const advice = isJson() ? "You both changed these fields. Saving again replaces the saved version by your JSON." : "You both changed these fields. Choose a value for each, then save.";
  document.getElementById("conflict-fields").textContent = rows.rows.length > 0 ? advice : isJson() ? "Saving again replaces the saved version by your JSON." : "You changed different fields. Save again to keep both.";
  conflict.hidden = false;
  say("Your changes are not saved yet.", "bad");
  form.dataset.tag = current.tag;
  document.getElementById("conflict-title").focus();
}

/** JSON as the control of a field shows it. */
function inControl(field, json) {
  return field.dataset.control === "list" && json.startsWith("[") ? parts(json).map(shown).join("\n") : shown(json);
}

function follow(theirs) {
  added = new Map(theirs);
  for (const field of allFields()) {
    const name = nameOf(field);
    added.delete(name);
    const value = theirs.get(name) ?? "";
    if (field.dataset.touched !== undefined || compact(value) === compact(field.dataset.stored)) continue;
    field.dataset.stored = value;
    controlOf(field).value = inControl(field, value);
  }
}

/** A row with both values. Taking theirs makes the field untouched, with the stored value. */
function comparison(name, values, number) {
  const field = isJson() ? undefined : allFields().find((field) => nameOf(field) === name);
  const row = document.createElement("tr");
  const heading = document.createElement("th");
  heading.scope = "row";
  heading.textContent = field ? labelOf(field) : name;
  row.append(heading);
  const mine = field && { touched: "", text: controlOf(field).value };
  for (const [index, value] of values.entries()) {
    const cell = row.insertCell();
    cell.className = ["removed", "added"][index];
    cell.textContent = value === undefined ? "empty" : shown(value);
    if (!field) continue;
    const [label, radio] = [document.createElement("label"), document.createElement("input")];
    Object.assign(radio, { type: "radio", name: `conflict-${number}` });
    radio.onchange = () => {
      const control = controlOf(field);
      if (index === 1) Object.assign(field.dataset, { touched: mine.touched }); else delete field.dataset.touched;
      if (index === 0) field.dataset.stored = value ?? "";
      // A control may not give back their value: it is sent as it is stored.
      control.readOnly = index === 0;
      control.value = index === 1 ? mine.text : inControl(field, value ?? "");
    };
    label.append(radio, [" Take theirs", " Keep mine"][index]);
    cell.append(document.createElement("br"), label);
  }
  return row;
}

// ---- open groups ---------------------------------------------------------------------------------------------------------------

const KINDS = [["line", "text"], ["number", "number"], ["list", "list of texts"], ["json", "JSON"]];

function addMember() {
  const number = allFields().length + 1;
  const field = document.createElement("div");
  field.className = "field";
  Object.assign(field.dataset, { stored: "", control: "line" });
  const name = labelled(field, `name-${number}`, "Field name", "input");
  name.className = "name";
  const kind = labelled(field, `kind-${number}`, "Kind of value", "select");
  for (const [value, text] of KINDS) kind.append(new Option(text, value));
  kind.onchange = () => { field.dataset.control = kind.value; };
  labelled(field, `value-${number}`, "Value", "textarea");
  const error = document.createElement("p");
  error.className = "error";
  error.id = `error-${number}`;
  error.hidden = true;
  field.append(error);
  document.getElementById("more").append(field);
  name.focus();
}

function labelled(field, id, text, element) {
  const [label, control] = [document.createElement("label"), document.createElement(element)];
  label.htmlFor = id;
  label.textContent = text;
  control.id = id;
  field.append(label, control);
  return control;
}

/** Converts the fields to JSON. Returning to the fields is refused if it would lose changes of the JSON. */
function switchMode() {
  if (isJson()) {
    begun = object(typed());
    whole.value = begun;
  } else if (whole.value !== begun) {
    form.elements.mode.value = "json";
    say("You changed the JSON. Save it, or undo the changes to edit fields again.", "warn");
  }
  showMode();
}

function showMode() {
  document.getElementById("json").hidden = !isJson();
  fields.hidden = isJson();
}

/** Marks input from before the script was loaded as touched. A control may show a stored value differently, such as an invalid date. */
function touchWhatWasTyped() {
  const untouched = form.cloneNode(true);
  untouched.reset();
  const shownFirst = [...untouched.querySelectorAll("#fields .field")].map((field) => controlOf(field).value);
  for (const [index, field] of allFields().entries()) {
    if (controlOf(field).value !== shownFirst[index]) field.dataset.touched = "";
  }
}

// ---- drafts --------------------------------------------------------------------------------------------------------------------

const PAUSE_OF_DRAFTS = 500;
const draftKey = `draft ${form.dataset.caller} ${location.pathname}${location.search}`;
let isChanged = false;
let draftTimer = 0;

const forget = () => { clearTimeout(draftTimer); localStorage.removeItem(draftKey); };

/** Keeps typed input in the storage of the browser, with the version and the values to which it belongs. */
function keepDraft() {
  const typed = allFields().filter((field) => field.dataset.touched !== undefined && field.dataset.member !== undefined);
  const fields = typed.map((field) => [nameOf(field), controlOf(field).value, field.dataset.stored, controlOf(field).dataset.picked, controlOf(field).dataset.pickedTitle]);
  const json = isJson() ? { text: whole.value, stored: whole.defaultValue } : undefined;
  try {
    localStorage.setItem(draftKey, JSON.stringify({ fields, json, tag: form.dataset.tag, time: Date.now() }));
  } catch {
    // Without storage, the question before leaving remains.
  }
}

/** Continues with the version to which the input belongs, so that a later change by someone else is a conflict. */
function restore({ fields, json, tag }) {
  form.dataset.tag = tag;
  for (const [name, text, stored, picked, pickedTitle] of fields) {
    const field = allFields().find((field) => field.dataset.member === name);
    if (!field || controlOf(field).readOnly) continue;
    controlOf(field).value = text;
    if (picked !== undefined) Object.assign(controlOf(field).dataset, { picked, pickedTitle });
    Object.assign(field.dataset, { touched: "", stored });
  }
  if (json && whole) {
    form.elements.mode.value = "json";
    switchMode();
    whole.defaultValue = json.stored;
    whole.value = json.text;
  }
  isChanged = true;
}

/** Offers earlier input that was not saved. */
function offerDraft() {
  const found = parsed(localStorage.getItem(draftKey) ?? "{}");
  if (!found.fields) return;
  const place = document.getElementById("draft");
  const button = (text, act) => Object.assign(document.createElement("button"), { type: "button", textContent: text, onclick: () => { act(); place.hidden = true; } });
  const time = new Date(found.time).toLocaleString(document.body.dataset.locale, { timeZone: document.body.dataset.zone, dateStyle: "medium", timeStyle: "short" });
  place.replaceChildren(`You have input from ${time} that was not saved. `, button("Use it", () => restore(found)), " ", button("Discard it", forget));
  place.hidden = false;
}

function changed() {
  isChanged = true;
  clearTimeout(draftTimer);
  draftTimer = setTimeout(keepDraft, PAUSE_OF_DRAFTS);
}

const PAUSE_OF_NOTES = 300;

/** Takes the value of a typed label, and warns of a value that is not among the choices of its field, or not written like the example. */
function warnOfUnusual(field) {
  const [control, note] = [controlOf(field), field.querySelector(".unusual")];
  if (!note) return;
  const text = control.value.trim().toLowerCase();
  const choices = text ? [...control.list?.options ?? []] : [];
  const choice = choices.find(({ value }) => value === control.value) ?? choices.find(({ value, label }) => [value, label].some((known) => known.toLowerCase() === text));
  if (choice) control.value = choice.value;
  const isUsual = text === "" || (control.list ? choice !== undefined : !control.validity.patternMismatch);
  // A note that appears before the end of a click would move the button away from it.
  setTimeout(() => { note.hidden = isUsual; }, isUsual ? 0 : PAUSE_OF_NOTES);
}

touchWhatWasTyped();
offerDraft();
form.addEventListener("input", (event) => {
  const field = event.target.closest(".field");
  if (field && event.target === controlOf(field)) {
    field.dataset.touched = "";
    clearError(field);
    if (field.querySelector(".unusual:not([hidden])")) warnOfUnusual(field);
  }
  changed();
});
form.addEventListener("change", (event) => {
  const field = event.target.closest(".field");
  if (field) warnOfUnusual(field);
});
form.addEventListener("submit", (event) => { event.preventDefault(); alone(save); });
document.addEventListener("keydown", (event) => {
  if (event.key !== "s" || !(event.ctrlKey || event.metaKey) || event.altKey) return;
  event.preventDefault();
  form.requestSubmit();
});
addEventListener("beforeunload", (event) => { if (isChanged) event.preventDefault(); });
addEventListener("pagehide", () => { if (isChanged) keepDraft(); });
document.getElementById("cancel").addEventListener("click", (event) => {
  if (isChanged && !confirm("Discard your changes?")) event.preventDefault();
  else { isChanged = false; forget(); }
});
document.getElementById("take-theirs").addEventListener("click", () => {
  isChanged = false;
  forget();
  visit(location.href);
});
document.getElementById("check").addEventListener("click", () => alone(check));
document.getElementById("add-member")?.addEventListener("click", addMember);
for (const mode of form.querySelectorAll("[name=mode]")) mode.addEventListener("change", switchMode);
if (whole) {
  form.elements.mode.value = "members";
  showMode();
}
