// The playground of rules: sends the input to /rules/try, and shows the result.
import { members, parts, shown } from "./json.js";
import { alone, say, send, sentences } from "./request.js";

const form = document.getElementById("trial");
const [report, made] = ["report", "made"].map((id) => document.getElementById(id));

function value(id) {
  return document.getElementById(id).value.trim();
}

/** The trial as JSON. JSON is sent as typed. */
function trial(makesCase) {
  const found = [[form.elements.kind.value, JSON.stringify(value("source"))], ["group", JSON.stringify(value("group"))]];
  for (const name of ["self", "old", "lookup"]) if (value(name)) found.push([name, value(name)]);
  if (document.getElementById("stored").checked) found.push(["lookup_stored", "true"]);
  if (makesCase) found.push(["make_case", "true"]);
  if (value("today")) found.push(["today", JSON.stringify(value("today"))]);
  return `{${found.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(",")}}`;
}

function verdict(result, errors) {
  if (result.get("verdict") === '"pass"') return ["good", "The record passes."];
  if (result.get("verdict") === '"fail"') return ["bad", "The record fails."];
  if (errors.length > 0) return ["warn", "Undecided: the evaluation failed. A rule with such errors rejects changes."];
  return ["warn", `The value is ${shown(result.get("value"))}. A rule needs true or false.`];
}

function error(json) {
  const parts = members(json);
  const part = (name) => parts.has(name) && parts.get(name) !== "null" ? shown(parts.get(name)) : "";
  const place = part("line") ? ` (line ${part("line")}, column ${part("column")})` : part("pointer") ? ` (${part("pointer")})` : "";
  const item = document.createElement("li");
  item.textContent = `${part("message") || part("detail")}${place}`;
  return item;
}

function row(json) {
  const part = members(json);
  const [made, heading] = [document.createElement("tr"), document.createElement("th")];
  const [expression, found] = [document.createElement("code"), document.createElement("code")];
  heading.scope = "row";
  expression.textContent = shown(part.get("expression"));
  heading.append(expression);
  const failed = part.get("error") !== "null";
  found.textContent = failed ? shown(part.get("error")) : `${part.get("value")}${part.get("truncated") === "true" ? " …" : ""}`;
  made.append(heading);
  made.insertCell().append(found);
  return made;
}

function show(result, makesCase) {
  const [errors, trace] = [parts(result.get("errors")), parts(result.get("trace"))];
  const [kind, sentence] = verdict(result, errors);
  const remarks = ["skipped", "message"].map((name) => result.get(name)).filter((json) => json && json !== "null").map(shown);
  const cut = result.get("trace_truncated") === "true" ? ["Only the first parts are shown."] : [];
  const json = result.get("case");
  const none = makesCase && json === "null" ? ["No case was made: this needs a rule, the results of all lookups, and at most 256 KiB."] : [];
  say([sentence, ...remarks, ...cut, ...none].join(" "), kind);
  report.querySelector("ul").replaceChildren(...errors.map(error));
  report.querySelector("tbody").replaceChildren(...trace.map(row));
  report.hidden = false;
  made.hidden = json === "null";
  const text = made.querySelector("textarea");
  text.value = shown(json);
  if (!made.hidden) text.select();
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const makesCase = event.submitter?.id === "make";
  alone(async () => {
    report.hidden = made.hidden = true;
    const answer = await send(form.dataset.api, "POST", {}, trial(makesCase));
    if (answer.ok) show(members(answer.text), makesCase);
    else say(sentences(answer.problem, "try rules"), "bad");
  });
});
