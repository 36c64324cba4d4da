// Forms and buttons that write. They send JSON with `fetch`, always under If-Match, so that nobody overwrites what somebody else
// wrote; an answer with errors is shown beside the fields that it is about.

const outcome = document.getElementById("outcome");

function say(text, kind) {
  outcome.className = kind;
  outcome.textContent = text;
  if (text) outcome.scrollIntoView({ block: "nearest" });
}

/** Sends a request; a problem of the service is told in its own words. */
async function send(url, method, headers, body) {
  const sent = body === undefined ? headers : { "Content-Type": "application/json", ...headers };
  try {
    const response = await fetch(url, { method, headers: { Accept: "application/json", ...sent }, body });
    const text = await response.text();
    return { ok: response.ok, status: response.status, tag: response.headers.get("ETag"), text, problem: response.ok ? null : parsed(text) };
  } catch {
    return { ok: false, status: 0, problem: { detail: "The service could not be reached. Nothing is known of the write; look before you try again." } };
  }
}

function parsed(text) {
  try { return JSON.parse(text); } catch { return { detail: text }; }
}

// ---- the form of an item -------------------------------------------------------------------------------------------------------

const form = document.getElementById("item");
const fields = document.getElementById("fields");

/** The members of a JSON object with their values as they are written, so that no digit is lost. */
function entries(json) {
  const found = new Map();
  let at = json.indexOf("{") + 1;
  const skip = () => { while (/[\s,:]/.test(json[at] ?? "")) at += 1; };
  const take = () => {
    const start = at;
    let depth = 0;
    for (; at < json.length; at += 1) {
      const character = json[at];
      if (character === '"') {
        for (at += 1; json[at] !== '"'; at += 1) if (json[at] === "\\") at += 1;
      } else if ("{[".includes(character)) depth += 1;
      else if ("}]".includes(character) && depth > 0) depth -= 1;
      else if (depth === 0 && ",:}]".includes(character)) break;
    }
    return json.slice(start, at).trim();
  };
  for (skip(); at < json.length && json[at] !== "}"; skip()) {
    const name = JSON.parse(take());
    skip();
    found.set(name, take());
  }
  return found;
}

/** The value of a field as JSON; nothing where the field is empty. A field that nobody touched is as it is stored. */
function encoded(field) {
  const control = field.querySelector("textarea, input:not(.name)");
  const { stored, control: kind } = field.dataset;
  if (control.value === control.defaultValue) return stored;
  if (control.value.trim() === "") return "";
  switch (kind) {
    case "list": {
      const lines = control.value.split("\n").map((line) => line.trim()).filter(Boolean);
      return JSON.stringify(lines);
    }
    case "number":
      return /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(control.value.trim()) ? control.value.trim() : JSON.stringify(control.value);
    case "json":
      return control.value;
    default:
      // A number stays a number where it was one.
      return JSON.stringify(control.value);
  }
}

function nameOf(field) {
  return field.dataset.member ?? field.querySelector(".name").value.trim();
}

/** The item as JSON. */
function written() {
  if (form.elements.mode?.value === "json") return document.getElementById("whole").value;
  const members = [];
  for (const field of fields.querySelectorAll(".field")) {
    const [name, value] = [nameOf(field), encoded(field)];
    if (name && value) members.push(`${JSON.stringify(name)}:${value}`);
  }
  return `{${members.join(",")}}`;
}

function clearErrors() {
  for (const error of document.querySelectorAll(".field .error")) error.hidden = true;
  for (const control of document.querySelectorAll("[aria-invalid]")) control.removeAttribute("aria-invalid");
}

/** Shows each error beside its field, and those of no field above all. */
function showErrors(problem) {
  clearErrors();
  const others = [];
  let first;
  for (const error of problem.errors ?? []) {
    const member = (error.pointer ?? "").split("/")[1]?.replaceAll("~1", "/").replaceAll("~0", "~");
    const field = [...document.querySelectorAll(".field")].find((field) => nameOf(field) === member);
    if (!field) { others.push(error.detail); continue; }
    const place = field.querySelector(".error");
    const control = field.querySelector("textarea, input:not(.name)");
    place.textContent = place.hidden ? error.detail : `${place.textContent} ${error.detail}`;
    place.hidden = false;
    control.setAttribute("aria-invalid", "true");
    control.setAttribute("aria-errormessage", place.id);
    first ??= control;
  }
  say([problem.detail ?? problem.title, ...others].join(" "), "bad");
  first?.focus();
}

function warningsOf(text) {
  const warnings = parsed(text)?._meta?.warnings ?? [];
  return warnings.map((warning) => warning.detail).join(" ");
}

/** One key for the life of the form: what is sent twice is made once. */
const key = form?.dataset.method === "POST" ? crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}` : null;
let sentUnderKey;

function headers() {
  const { tag, method } = form.dataset;
  if (method === "PUT") return { "If-Match": tag };
  return { "Idempotency-Key": `"${key}-${sentUnderKey}"` };
}

async function save(event) {
  event?.preventDefault();
  const body = written();
  if (form.dataset.method === "POST") sentUnderKey = await digest(body);
  const answer = await send(form.dataset.api, form.dataset.method, headers(), body);
  if (answer.ok) {
    const id = parsed(answer.text).id;
    location.assign(`${form.dataset.pages}/${id}`);
  } else if (answer.status === 412) {
    await showConflict(body);
  } else {
    showErrors(answer.problem);
  }
}

async function digest(text) {
  if (!crypto.subtle) return text.length;
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  return [...bytes.slice(0, 8)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function check() {
  const precondition = form.dataset.method === "PUT" ? { "If-Match": form.dataset.tag } : {};
  const answer = await send(`${form.dataset.api}?dry_run=true`, form.dataset.method, precondition, written());
  if (answer.status === 412) { await showConflict(written()); return; }
  if (!answer.ok) { showErrors(answer.problem); return; }
  clearErrors();
  const warnings = warningsOf(answer.text);
  say(warnings ? `It could be saved, with a warning: ${warnings}` : "It could be saved as it is. Nothing was saved yet.", warnings ? "warn" : "good");
}

/** Both versions side by side, and the ways out. */
async function showConflict(mine) {
  const current = await send(form.dataset.api, "GET", {});
  if (!current.ok) { showErrors(current.problem); return; }
  const section = document.getElementById("conflict");
  const rows = section.querySelector("tbody");
  const [theirs, own] = [members(current.text), members(mine)];
  rows.replaceChildren();
  for (const name of new Set([...theirs.keys(), ...own.keys()])) {
    if (theirs.get(name) === own.get(name)) continue;
    const row = rows.insertRow();
    const heading = document.createElement("th");
    heading.scope = "row";
    heading.textContent = name;
    row.append(heading);
    for (const [value, mark] of [[theirs.get(name), "removed"], [own.get(name), "added"]]) {
      const cell = row.insertCell();
      cell.className = mark;
      cell.textContent = value === undefined ? "absent" : shown(value);
    }
  }
  section.hidden = false;
  say("Somebody else changed the item after this form was opened.", "bad");
  document.getElementById("take-theirs").onclick = () => location.reload();
  document.getElementById("keep-mine").onclick = () => {
    form.dataset.tag = current.tag;
    section.hidden = true;
    save();
  };
  section.scrollIntoView();
}

/** The members that a client may send, which are those that it does not get from the service. */
function members(json) {
  const found = entries(json);
  for (const own of ["id", "_links", "_embedded", "_meta", "created_at", "updated_at"]) found.delete(own);
  return found;
}

function shown(json) {
  const value = parsed(json);
  return typeof value === "string" ? value : json;
}

function addMember() {
  const number = document.querySelectorAll(".field").length + 1;
  const field = document.createElement("div");
  field.className = "field";
  field.dataset.stored = "";
  const name = labelled(field, `name-${number}`, "Name of the member", "input");
  name.className = "name";
  const kind = labelled(field, `kind-${number}`, "Kind of value", "select");
  for (const [value, text] of [["line", "string"], ["number", "number"], ["list", "list of strings"], ["json", "JSON"]]) kind.append(new Option(text, value));
  field.dataset.control = "line";
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

/** What was typed in one mode is there in the other. */
function switchMode(event) {
  const isJson = event.target.value === "json";
  const whole = document.getElementById("whole");
  if (isJson) {
    form.elements.mode.value = "members";
    whole.value = written();
    form.elements.mode.value = "json";
  }
  document.getElementById("json").hidden = !isJson;
  fields.hidden = isJson;
}

if (form) {
  form.addEventListener("submit", save);
  document.getElementById("check").addEventListener("click", check);
  document.getElementById("add-member")?.addEventListener("click", addMember);
  for (const mode of form.querySelectorAll("[name=mode]")) mode.addEventListener("change", switchMode);
}

// ---- removal and restoration ---------------------------------------------------------------------------------------------------

function isSure(question) {
  return new Promise((resolve) => {
    const dialog = document.createElement("dialog");
    const text = document.createElement("p");
    text.textContent = question;
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

for (const button of document.querySelectorAll("[data-delete]")) {
  button.addEventListener("click", async () => {
    if (!await isSure("Delete this item? It stays in the history, and can be restored from there.")) return;
    const answer = await send(button.dataset.delete, "DELETE", { "If-Match": button.dataset.tag });
    if (answer.ok) location.assign(button.dataset.after);
    else say(answer.problem.detail, "bad");
  });
}

for (const button of document.querySelectorAll("[data-restore]")) {
  button.addEventListener("click", async () => {
    const { restore, item, version, after } = button.dataset;
    if (!await isSure(`Make the item again what it was in version ${version}?`)) return;
    const current = await send(item, "GET", {});
    const condition = current.ok ? { "If-Match": current.tag } : {};
    const answer = await send(restore, "POST", condition);
    if (answer.ok) location.assign(after);
    else say([answer.problem.detail, ...(answer.problem.errors ?? []).map((error) => error.detail)].join(" "), "bad");
  });
}
