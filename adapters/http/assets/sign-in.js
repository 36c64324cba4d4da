// The control at the top of every page with which people sign in and out, or use a token that they have.
import { signIn } from "./oauth.js";
import { fetchAsCaller, isSignedIn, load, session, use } from "./session.js";

const root = document.body.dataset.root;
const control = document.getElementById("session");
const status = document.createElement("p");
status.setAttribute("role", "status");
const buttons = document.createElement("span");
buttons.className = "actions";
control.append(status, buttons);

let attempt = new AbortController();
let known = { issuers: [] };

function button(text, act) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  made.onclick = act;
  return made;
}

/** Takes a token, if the service accepts it, and shows the page as its owner sees it. */
async function take(token) {
  if (!/^[\w.~+/-]+=*$/.test(token)) throw new Error("Invalid token: it contains characters that are not allowed.");
  use(token);
  const response = await fetchAsCaller(`${root}/v1/access`, { headers: { Accept: "application/json" } });
  if (!response.ok) {
    const problem = await response.json().catch(() => ({}));
    use(null);
    throw new Error(problem.detail ?? "The token is not accepted.");
  }
  const { caller } = await response.json();
  status.textContent = `Signed in as ${caller?.name ?? caller?.id ?? "anonymous"}`;
  await load();
}

/** Shows an error of `work` in the status. */
async function attempted(work) {
  try {
    await work();
  } catch (error) {
    status.textContent = error instanceof TypeError ? "Connection to the issuer or the service failed. Try again." : error.message;
  }
}

function begin(issuer) {
  attempt.abort();
  attempt = new AbortController();
  const { signal } = attempt;
  status.textContent = "Signing in …";
  attempted(async () => take(await signIn(issuer, known, signal)));
}

function paste() {
  const dialog = document.createElement("dialog");
  const form = document.createElement("form");
  form.method = "dialog";
  const [label, input] = [document.createElement("label"), document.createElement("input")];
  const title = document.createElement("h2");
  title.id = "token-title";
  title.textContent = "Use a token";
  dialog.setAttribute("aria-labelledby", title.id);
  label.htmlFor = input.id = "token";
  label.textContent = "Access token or key of the service";
  // Browsers offer to store what is typed into a password field.
  Object.assign(input, { type: "text", autocomplete: "off", spellcheck: false, required: true });
  const cancel = button("Cancel", () => dialog.close());
  const confirm = Object.assign(document.createElement("button"), { textContent: "Use token", value: "use", className: "primary" });
  form.append(title, label, input, confirm, cancel);
  dialog.append(form);
  dialog.onclose = () => {
    const given = input.value.trim().replace(/^Bearer\s+/i, "");
    dialog.remove();
    if (dialog.returnValue === "use" && given) attempted(() => take(given));
  };
  document.body.append(dialog);
  dialog.showModal();
}

async function leave() {
  use(null);
  status.textContent = "Signed out";
  await load();
}

function show() {
  const several = known.issuers.length > 1;
  const named = (issuer) => several ? `Sign in at ${new URL(issuer.url).host}` : "Sign in";
  const signedOut = () => [...known.issuers.map((issuer) => button(named(issuer), () => begin(issuer))), button("Use a token", paste)];
  buttons.replaceChildren(...isSignedIn() ? [button("Sign out", leave)] : signedOut());
}

session.addEventListener("change", show);
session.addEventListener("failure", ({ detail }) => { status.textContent = detail ?? "The page could not be loaded. Try again."; });
session.addEventListener("end", () => { status.textContent = "Your session has expired. Sign in again."; });
try {
  known = await (await fetch(control.dataset.signIn)).json();
} finally {
  show();
}
