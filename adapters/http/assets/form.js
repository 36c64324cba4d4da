// The form of an item. It sends JSON under If-Match, so that concurrent changes are not overwritten. Errors are
// shown at their fields. An untouched field is sent as it is stored.
import { compact, members, shown } from "./json.js";
import { alone, newKey, parsed, say, send, sentences } from "./request.js";
import { visit } from "./session.js";

const form = document.getElementById("item");
const fields = document.getElementById("fields");
const whole = document.getElementById("whole");
const conflict = document.getElementById("conflict");

/** One key for the life of the form: a repeated request creates one item. */
const key = newKey();

/** Members that someone else added while the form was open, as JSON by their names. */
let added = new Map();

/** The JSON with which the whole item began to be edited. */
let begun = "";

const isJson = () => form.elements.mode?.value === "json";
const controlOf = (field) => field.querySelector("textarea, input:not(.name)");
const nameOf = (field) => field.dataset.member ?? field.querySelector(".name").value.trim();
const allFields = () => [...fields.querySelectorAll(".field")];

/** The value of a field as JSON; an empty string if the field is empty. */
function encoded(field) {
  const text = controlOf(field).value;
  if (field.dataset.touched === undefined) return field.dataset.stored;
  if (text.trim() === "") return "";
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
    const value = encoded(field);
    if (value) found.set(nameOf(field), value);
  }
  return found;
}

function object(found) {
  return `{${[...found].map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(",")}}`;
}

const written = () => isJson() ? whole.value : object(typed());

function clearErrors() {
  for (const field of allFields()) {
    const [place, control] = [field.querySelector(".error"), controlOf(field)];
    place.hidden = true;
    place.textContent = "";
    control.removeAttribute("aria-invalid");
    control.removeAttribute("aria-errormessage");
  }
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

/** "Enter a title." for the field `project_title`. */
function request(field) {
  const label = labelOf(field).toLowerCase().replaceAll("_", " ").replace(/^project /, "");
  return `Enter ${/^[aeiou]/.test(label) ? "an" : "a"} ${label}.`;
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
  return [paragraph(`Please correct ${invalid.length} field${invalid.length === 1 ? "" : "s"}:`), list];
}

/** Shows each error at its field, with links to these fields above the form, after the errors that belong to no field. */
function showErrors(problem) {
  clearErrors();
  const others = [];
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

/** Requests the name of a field that was added without one. */
function namesAreMissing() {
  clearErrors();
  const nameless = isJson() ? [] : allFields().filter((field) => field.dataset.member === undefined && !nameOf(field) && encoded(field));
  for (const field of nameless) showError(field, "Enter a name for this field.");
  if (nameless.length > 0) say(linksToErrors(), "bad");
  return nameless.length > 0;
}

async function save() {
  if (namesAreMissing()) return;
  const { api, method, pages, tag } = form.dataset;
  const answer = await send(api, method, method === "PUT" ? { "If-Match": tag } : { "Idempotency-Key": key }, written());
  if (answer.ok) visit(`${pages}/${parsed(answer.text).id}`);
  else if (answer.status === 412) await showConflict();
  else showErrors(answer.problem);
}

async function check() {
  if (namesAreMissing()) return;
  const { api, method, tag } = form.dataset;
  const answer = await send(`${api}?dry_run=true`, method, method === "PUT" ? { "If-Match": tag } : {}, written());
  if (answer.status === 412) { await showConflict(); return; }
  if (!answer.ok) { showErrors(answer.problem); return; }
  const warnings = (parsed(answer.text)?._meta?.warnings ?? []).map((warning) => warning.message ?? warning.detail).join(" ");
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
    if (stored !== typed && stored !== old) rows.append(comparison(name, values));
  }
  conflict.querySelector(".table").hidden = rows.rows.length === 0;
  document.getElementById("conflict-fields").textContent = rows.rows.length > 0 ? "You both changed:" : "You changed different fields.";
  conflict.hidden = false;
  say("Your changes are not saved yet.", "bad");
  document.getElementById("take-theirs").onclick = () => { form.reset(); visit(location.href); };
  document.getElementById("keep-mine").onclick = () => {
    form.dataset.tag = current.tag;
    conflict.hidden = true;
    alone(save);
  };
  document.getElementById("conflict-title").focus();
}

function follow(theirs) {
  added = new Map(theirs);
  for (const field of allFields()) {
    const name = nameOf(field);
    added.delete(name);
    if (field.dataset.touched === undefined) field.dataset.stored = theirs.get(name) ?? "";
  }
}

function comparison(name, values) {
  const row = document.createElement("tr");
  const heading = document.createElement("th");
  heading.scope = "row";
  heading.textContent = name;
  row.append(heading);
  for (const [index, value] of values.entries()) {
    const cell = row.insertCell();
    cell.className = ["removed", "added"][index];
    cell.textContent = value === undefined ? "empty" : shown(value);
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

touchWhatWasTyped();
form.addEventListener("input", (event) => {
  const field = event.target.closest(".field");
  if (field && event.target === controlOf(field)) field.dataset.touched = "";
});
form.addEventListener("submit", (event) => { event.preventDefault(); alone(save); });
document.getElementById("check").addEventListener("click", () => alone(check));
document.getElementById("add-member")?.addEventListener("click", addMember);
for (const mode of form.querySelectorAll("[name=mode]")) mode.addEventListener("change", switchMode);
if (whole) {
  form.elements.mode.value = "members";
  showMode();
}
