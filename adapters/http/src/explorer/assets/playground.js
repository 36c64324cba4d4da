// The playground of rules: sends what is typed to /rules/try, and shows what comes of it.

const form = document.getElementById("trial");
const outcome = document.getElementById("outcome");
const report = document.getElementById("report");

const VERDICTS = {
  pass: ["good", "The item passes."],
  fail: ["bad", "The item fails."],
  undecided: ["warn", "Undecided: on a write, the rule would have failed."],
};

function value(id) {
  return document.getElementById(id).value.trim();
}

/** The trial as JSON. What is JSON already goes as it is typed. */
function trial() {
  const kind = form.elements.kind.value;
  const members = [[kind, JSON.stringify(value("source"))], ["group", JSON.stringify(value("group"))]];
  for (const name of ["self", "old", "lookup"]) if (value(name)) members.push([name, value(name)]);
  if (value("today")) members.push(["today", JSON.stringify(value("today"))]);
  return `{${members.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(",")}}`;
}

function say(kind, text) {
  outcome.className = kind;
  outcome.textContent = text;
}

function show(result) {
  const [kind, text] = VERDICTS[result.verdict];
  say(kind, [text, result.skipped, result.message].filter(Boolean).join(" "));
  const errors = (result.errors ?? []).map((error) => {
    const item = document.createElement("li");
    const place = error.line ? ` (line ${error.line}, column ${error.column})` : error.pointer ? ` (${error.pointer})` : "";
    item.textContent = `${error.message ?? error.detail}${place}`;
    return item;
  });
  report.querySelector("ul").replaceChildren(...errors);
  const rows = report.querySelector("tbody");
  rows.replaceChildren();
  for (const part of result.trace) {
    const row = rows.insertRow();
    const [expression, found] = [document.createElement("th"), document.createElement("code")];
    expression.scope = "row";
    const code = document.createElement("code");
    code.textContent = part.expression;
    expression.append(code);
    row.append(expression);
    found.textContent = part.error ?? `${JSON.stringify(part.value)}${part.truncated ? " …" : ""}`;
    row.insertCell().append(found);
  }
  report.hidden = false;
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  report.hidden = true;
  say("", "");
  try {
    const response = await fetch(form.dataset.api, {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "application/json" },
      body: trial(),
    });
    const answer = await response.json();
    if (response.ok) show(answer);
    else say("bad", [answer.detail, ...(answer.errors ?? []).map((error) => `${error.pointer}: ${error.detail}`)].join(" "));
  } catch {
    say("bad", "The service could not be reached.");
  }
});
