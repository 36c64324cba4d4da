// Downloads of exports. The browser would not say why there is no file, so a script receives it, and shows an error below the link.

/** The name that the server gives to a file. */
function nameOf({ headers, url }) {
  const disposition = headers.get("Content-Disposition") ?? "";
  const [encoded, named] = [/filename\*=UTF-8''([^;]+)/.exec(disposition), /filename="([^"]+)"/.exec(disposition)];
  return encoded ? decodeURIComponent(encoded[1]) : named?.[1] ?? new URL(url).pathname.split("/").pop();
}

/** Saves the file of a link. Returns the reason if there is none. */
async function save(url) {
  const response = await fetch(url, { headers: { Accept: "*/*" } });
  if (!response.ok) {
    const problem = await response.json().catch(() => ({}));
    return problem.detail ?? problem.title ?? `The download failed with status ${response.status}. Try again.`;
  }
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = nameOf(response);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

async function download(link) {
  const place = link.closest("p") ?? link;
  place.parentNode.querySelector(":scope > .download-failed")?.remove();
  link.setAttribute("aria-busy", "true");
  const problem = await save(link.href).catch(() => "The download was interrupted. Try again.");
  link.removeAttribute("aria-busy");
  if (!problem) return;
  const said = Object.assign(document.createElement("p"), { className: "banner download-failed", textContent: problem });
  said.setAttribute("role", "alert");
  place.after(said);
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[download]");
  const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
  if (!link || !isPlain || link.protocol === "blob:") return;
  event.preventDefault();
  download(link);
});
