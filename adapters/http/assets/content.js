// The upload of a file. A condition on the file that the page shows prevents that the file of somebody else is overwritten.
import { alone, saveMessage, say, send, sentences, visit } from "./request.js";

const form = document.getElementById("upload");
const place = document.getElementById("progress");
const [bar, text, cancel] = place.children;
const chosen = document.getElementById("chosen");

/** `fetch` with progress, which only XMLHttpRequest reports. */
function fetchWithProgress(url, { method, headers, body, signal }, onProgress) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(method, url);
    for (const [name, value] of headers) request.setRequestHeader(name, value);
    request.upload.onprogress = onProgress;
    request.onload = () => resolve(new Response(request.response || null, { status: request.status }));
    request.onerror = request.onabort = reject;
    signal.addEventListener("abort", () => request.abort());
    request.send(body);
  });
}

/** In decimal units, as the page shows the size of a stored file. */
function readable(bytes) {
  const [unit, name] = [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"]].find(([unit]) => bytes >= unit) ?? [1, "bytes"];
  return `${(bytes / unit).toFixed(unit > 1 ? 1 : 0)} ${name}`;
}

/** An `ext-value` of RFC 8187. */
const encoded = (name) => encodeURIComponent(name).replace(/['()*]/g, (character) => `%${character.charCodeAt(0).toString(16)}`);

function show({ loaded, total }) {
  const isSent = loaded === total;
  bar.value = total > 0 ? loaded / total : 1;
  // What is sent completely may be stored, even if the answer is not awaited.
  cancel.disabled = isSent;
  text.textContent = isSent ? "Storing …" : `${Math.floor(100 * loaded / total)} %, ${readable(loaded)} of ${readable(total)}`;
}

async function upload(file, stop) {
  const { content, tag } = form.dataset;
  // The service takes `multipart/related`, the type of a web archive, for a form.
  const isTyped = file.type && !file.type.startsWith("multipart/");
  const headers = {
    "Content-Type": isTyped ? file.type : "application/octet-stream",
    "Content-Disposition": `attachment; filename*=UTF-8''${encoded(file.name)}`,
    ...(tag ? { "If-Match": tag } : { "If-None-Match": "*" }),
  };
  const fetching = (url, options) => fetchWithProgress(url, { ...options, signal: stop.signal }, show);
  const warn = (event) => event.preventDefault();
  addEventListener("beforeunload", warn);
  cancel.onclick = () => stop.abort();
  show({ loaded: 0, total: file.size });
  place.hidden = false;
  cancel.focus();
  try {
    return await send(content, "PUT", headers, file, fetching);
  } finally {
    if (place.contains(document.activeElement)) chosen.focus();
    place.hidden = true;
    removeEventListener("beforeunload", warn);
  }
}

async function run() {
  const [file] = chosen.files;
  const { most, readableMost } = form.dataset;
  if (file.size > Number(most)) return say(`This file has ${readable(file.size)}. Choose one of at most ${readableMost}.`, "bad");
  say("", "");
  const stop = new AbortController();
  const answer = await upload(file, stop);
  if (answer.ok) {
    saveMessage("The file is stored.", "good");
    visit(location.href);
  }
  else if (stop.signal.aborted) say("Upload cancelled. The file was not stored.", "warn");
  else if (answer.status === 412) say("Someone else changed the file in the meantime, and yours was not stored. Reload the page to see the current one.", "bad");
  else say(sentences(answer.problem, "upload a file here"), "bad");
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  alone(run);
});
