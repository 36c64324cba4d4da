// The sign-in of the pages: a token that is only in the memory of the document. Loading a page as usual would lose it, so with a token
// a script fetches the next page and puts it in the place of this one.

let token = null;
let page = new AbortController();
let address = location.href;
let loads = 0;
let pending = new AbortController();
const session = new EventTarget();

/** The largest file in bytes that is downloaded with a token: a script receives it in the memory of the browser. */
const MOST_IN_MEMORY = 1_000_000_000;

/** Events: `leave` before another page is loaded, if it is not cancelled; `change` after signing in or out; `end` when a token is no longer accepted; `failure` with the error when a page cannot be loaded. */
export { session };

export const isSignedIn = () => token !== null;

/** Ends when another page is in the place of this one. */
export const leaving = () => page.signal;

export function use(given) {
  token = given;
  session.dispatchEvent(new Event("change"));
}

const isOwn = (url) => new URL(url, location.href).origin === location.origin;

/** Fetches as the caller; the token is sent only to the service. */
export async function fetchAsCaller(url, options = {}, fetching = fetch) {
  const headers = new Headers(options.headers);
  const sent = token;
  if (sent !== null && isOwn(url)) headers.set("Authorization", `Bearer ${sent}`);
  const response = await fetching(url, { ...options, headers });
  const isRefused = response.status === 401 && response.headers.get("WWW-Authenticate")?.includes("invalid_token");
  if (isRefused && sent !== null && sent === token) {
    use(null);
    session.dispatchEvent(new Event("end"));
  }
  return response;
}

/** Goes to a page, or loads it again: as usual without a token, and with one by a script. */
export function visit(url) {
  if (isSignedIn()) return load(url, true);
  if (url === location.href) location.reload(); else location.assign(url);
}

/** Puts what the caller sees now at an address in the place of the page. */
export async function load(url = location.href, isNew = false) {
  if (isNew && !session.dispatchEvent(new Event("leave", { cancelable: true }))) return;
  pending.abort();
  pending = new AbortController();
  const options = { headers: { Accept: "text/html, */*;q=0.1" }, signal: pending.signal };
  try {
    let response = await fetchAsCaller(url, options);
    // The gate refuses an expired token before the page is made. The anonymous page says how to continue.
    if (response.status === 401 && !isPage(response)) response = await fetchAsCaller(url, options);
    if (!isPage(response)) {
      const problem = await save(response, url);
      if (problem) session.dispatchEvent(new CustomEvent("failure", { detail: problem }));
      return;
    }
    const next = new DOMParser().parseFromString(await response.text(), "text/html");
    // A page outside the explorer is loaded as usual; it does not use the token.
    if (!next.querySelector('script[src$="/explorer.js"]')) { location.assign(url); return; }
    const { hash } = new URL(url, location.href);
    replace(next, response.url + hash, isNew);
  } catch (error) {
    if (error.name !== "AbortError") session.dispatchEvent(new Event("failure"));
  }
}

/** A stored file may be HTML, too. Its script must not run here, so it is saved. */
const isPage = ({ headers }) => headers.get("Content-Type")?.startsWith("text/html") && !headers.has("Content-Disposition");

function replace(next, url, isNew) {
  page.abort();
  page = new AbortController();
  if (isNew && url !== location.href) history.pushState(null, "", url);
  else history.replaceState(null, "", url);
  address = location.href;
  document.title = next.title;
  for (const part of [".top nav", "main", "footer"]) document.querySelector(part).replaceWith(next.querySelector(part));
  runScripts(next);
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target) target.scrollIntoView(); else if (isNew) scrollTo(0, 0);
  document.getElementById("content").focus({ preventScroll: true });
}

/** Runs the scripts of a page that took the place of another, in their order: a fragment makes them other modules, of the same files. */
async function runScripts(next) {
  loads += 1;
  const [load, { signal }] = [loads, page];
  for (const { src } of next.querySelectorAll("script[src]")) {
    if (signal.aborted) return;
    if (!src.endsWith("/sign-in.js")) await import(`${src}#${load}`).catch(() => session.dispatchEvent(new Event("failure")));
  }
}

/** Downloads the file that a link names. An error is shown below the link. */
async function download(link) {
  const place = link.closest("p") ?? link;
  place.parentNode.querySelector(":scope > .download-failed")?.remove();
  const [{ href: url }, { signal }] = [link, page];
  let problem;
  link.setAttribute("aria-busy", "true");
  try {
    problem = await save(await fetchAsCaller(url, { headers: { Accept: "*/*" }, signal }), url);
  } catch (error) {
    if (error.name === "AbortError") return;
    problem = "The download was interrupted. Try again.";
  } finally {
    link.removeAttribute("aria-busy");
  }
  if (!problem) return;
  const said = Object.assign(document.createElement("p"), { className: "banner download-failed", textContent: problem });
  said.setAttribute("role", "alert");
  place.after(said);
}

/** Saves a download as a file, or shows the error of the server. */
async function save(response, url) {
  if (!response.ok) {
    const problem = await response.json().catch(() => ({}));
    return problem.detail ?? problem.title ?? `The download failed with status ${response.status}. Try again.`;
  }
  if (Number(response.headers.get("Content-Length")) > MOST_IN_MEMORY) {
    response.body.cancel();
    return `This file is too large to be downloaded here. Use another program, with the address ${url}`;
  }
  const disposition = response.headers.get("Content-Disposition") ?? "";
  const [encoded, named] = [/filename\*=UTF-8''([^;]+)/.exec(disposition), /filename="([^"]+)"/.exec(disposition)];
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = encoded ? decodeURIComponent(encoded[1]) : named?.[1] ?? new URL(url, location.href).pathname.split("/").pop();
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  return null;
}

function onClick(event) {
  const link = event.target.closest?.("a[href]");
  const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
  if (!link || !isPlain || event.defaultPrevented || link.target || !isOwn(link.href) || link.protocol === "blob:") return;
  // The browser would say nothing of why there is no file.
  if (link.hasAttribute("download") || (isSignedIn() && link.dataset.file !== undefined)) {
    event.preventDefault();
    download(link);
    return;
  }
  if (!isSignedIn()) return;
  const isHere = link.hash && link.href.split("#")[0] === location.href.split("#")[0];
  if (isHere) return;
  event.preventDefault();
  load(link.href, true);
}

function onSubmit(event) {
  const form = event.target;
  if (event.defaultPrevented || form.method !== "get" || !isSignedIn()) return;
  event.preventDefault();
  const url = new URL(form.action);
  url.search = new URLSearchParams(new FormData(form, event.submitter));
  load(url.href, true);
}

document.addEventListener("click", onClick);
document.addEventListener("submit", onSubmit);
addEventListener("popstate", () => {
  // A fragment alone is another place of the same page.
  const isSamePage = location.href.split("#")[0] === address.split("#")[0];
  address = location.href;
  if (!isSamePage) load();
});
