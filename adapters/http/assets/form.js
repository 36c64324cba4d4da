// The form of an item. It sends JSON under If-Match, so that nobody overwrites what somebody else wrote; an answer with errors is
// shown beside the fields that it is about. A field that nobody touched is sent as it is stored.
import { compact, members, shown } from "./json.js";
import { alone, newKey, parsed, say, send, sentences } from "./request.js";
import { visit } from "./session.js";

const form = document.getElementById("item");
const fields = document.getElementById("fields");
const whole = document.getElementById("whole");
const conflict = document.getElementById("conflict");

/** One key for the life of the form: what is sent twice is made once. */
const key = newKey();

/** Members that somebody else added while the form was open, as JSON by their names. */
let added = new Map();

/** The JSON with which the whole item began to be edited. */
let begun = "";

const isJson = () => form.elements.mode?.value === "json";
const controlOf = (field) => field.querySelector("textarea, input:not(.name)");
const nameOf = (field) => field.dataset.member ?? field.querySelector(".name").value.trim();
const allFields = () => [...fields.querySelectorAll(".field")];

/** The value of a field as JSON; nothing where the field is empty. */
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

/** Shows each error beside its field, and those of no field above all. */
function showErrors(problem) {
  clearErrors();
  const others = [];
  for (const error of problem.errors ?? []) {
    const [, member] = (error.pointer ?? "").split("/");
    const name = member?.replaceAll("~1", "/").replaceAll("~0", "~");
    const field = isJson() ? undefined : allFields().find((field) => nameOf(field) === name);
    if (field) showError(field, error.detail); else others.push(error);
  }
  say(sentences(problem, others), "bad");
  form.querySelector("[aria-invalid]")?.focus();
}

/** Tells of a member that was added without a name. */
function namesAreMissing() {
  clearErrors();
  const nameless = isJson() ? [] : allFields().filter((field) => field.dataset.member === undefined && !nameOf(field) && encoded(field));
  for (const field of nameless) showError(field, "The member has no name; give it one.");
  if (nameless.length > 0) say("A member has no name.", "bad");
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
  if (warnings) say(`It could be saved, with a warning: ${warnings}`, "warn");
  else say("It could be saved as it is. Nothing was saved yet.", "good");
}

// ---- conflicts -----------------------------------------------------------------------------------------------------------------

/** The members of an item without those that are the service's own. */
function own(json) {
  const found = members(json);
  for (const name of ["_links", "_embedded", "_meta"]) found.delete(name);
  if (form.dataset.method === "PUT") found.delete("id");
  return found;
}

/** Both versions side by side, and the ways out. Fields that nobody touched here follow what is stored now. */
async function showConflict() {
  const current = await send(form.dataset.api, "GET", {});
  if (!current.ok) { showErrors(current.problem); return; }
  clearErrors();
  const theirs = own(current.text);
  if (!isJson()) follow(theirs);
  const mine = isJson() ? own(written()) : typed();
  const rows = conflict.querySelector("tbody");
  rows.replaceChildren();
  for (const name of new Set([...theirs.keys(), ...mine.keys()])) {
    const values = [theirs.get(name), mine.get(name)];
    const [stored, typed] = values.map((value) => value === undefined ? undefined : compact(value));
    if (stored !== typed) rows.append(comparison(name, values));
  }
  conflict.hidden = false;
  say("Somebody else changed the item after this form was opened.", "bad");
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
    cell.textContent = value === undefined ? "absent" : shown(value);
  }
  return row;
}

// ---- open groups ---------------------------------------------------------------------------------------------------------------

const KINDS = [["line", "string"], ["number", "number"], ["list", "list of strings"], ["json", "JSON"]];

function addMember() {
  const number = allFields().length + 1;
  const field = document.createElement("div");
  field.className = "field";
  Object.assign(field.dataset, { stored: "", control: "line" });
  const name = labelled(field, `name-${number}`, "Name of the member", "input");
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

/** What was typed as members is there as JSON. The way back is closed where it would lose what was typed as JSON. */
function switchMode() {
  if (isJson()) {
    begun = object(typed());
    whole.value = begun;
  } else if (whole.value !== begun) {
    form.elements.mode.value = "json";
    say("The JSON was changed: save it, or undo the changes to edit members again.", "warn");
  }
  showMode();
}

function showMode() {
  document.getElementById("json").hidden = !isJson();
  fields.hidden = isJson();
}

/** What was typed before this script came is touched, too. A control may show a stored value otherwise, such as a date that is none. */
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
