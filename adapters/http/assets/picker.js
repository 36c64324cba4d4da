// Fields that name an item: a combobox (ARIA 1.2) that searches by title. The value is the id of the chosen item; other text is kept as typed.

const PAUSE = 200;
const MOST = 8;

/** True if an item of the list is chosen, and the text was not changed since. */
export const isPicked = ({ dataset: { picked, pickedTitle }, value }) => picked !== undefined && value === pickedTitle;

/** The JSON string of the chosen id, or of the typed text. */
export const pickedIn = (control) => JSON.stringify(isPicked(control) ? control.dataset.picked : control.value);

/** The words of a title as a query: the last one may be unfinished. */
function query(text) {
  const words = text.match(/[\p{L}\p{N}]+/gu) ?? [];
  // The beginning of a word has at least two characters.
  if (words.at(-1)?.length < 2) words.pop();
  return words.length > 0 ? `${words.join(" ")}*` : "";
}

async function search({ search, title }, text, signal) {
  const asked = new URLSearchParams({ fields: title, page_size: MOST, total: "none" });
  if (query(text)) asked.set("q", query(text));
  const response = await fetch(`${search}?${asked}`, { headers: { Accept: "application/json" }, signal });
  if (!response.ok) return [];
  const { _embedded } = await response.json();
  return Object.values(_embedded)[0].map((item) => ({ id: item.id, title: String(item[title] ?? item.id) }));
}

function enhance(picker) {
  const [control, list, hint] = [picker.querySelector("input"), picker.querySelector("ul"), picker.querySelector(".picked")];
  const { noun } = picker.dataset;
  let [active, pending, timer] = [-1, new AbortController(), 0];
  const options = () => [...list.children];

  const close = () => {
    list.hidden = true;
    active = -1;
    control.setAttribute("aria-expanded", "false");
    control.removeAttribute("aria-activedescendant");
  };
  const say = () => {
    hint.textContent = control.value && !isPicked(control) ? `No ${noun} is chosen: pick one from the list to link to it.` : "";
  };
  const choose = ({ id, title }) => {
    Object.assign(control.dataset, { picked: id, pickedTitle: title });
    control.value = title;
    close();
    say();
    control.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const move = (step) => {
    const all = options();
    if (list.hidden || all.length === 0) return;
    active = (active + step + all.length) % all.length;
    for (const [index, option] of all.entries()) option.setAttribute("aria-selected", String(index === active));
    control.setAttribute("aria-activedescendant", all[active].id);
    all[active].scrollIntoView({ block: "nearest" });
  };
  const show = (found) => {
    const made = found.map((item, index) => {
      const option = document.createElement("li");
      Object.assign(option, { role: "option", id: `${list.id}-${index}`, textContent: item.title });
      option.setAttribute("aria-selected", "false");
      option.onpointerdown = (event) => { event.preventDefault(); choose(item); };
      option.choose = () => choose(item);
      return option;
    });
    list.replaceChildren(...made);
    active = -1;
    list.hidden = made.length === 0;
    control.setAttribute("aria-expanded", String(made.length > 0));
    hint.textContent = made.length > 0 ? "" : `No ${noun} has these words.`;
  };
  const run = async () => {
    pending.abort();
    pending = new AbortController();
    const { signal } = pending;
    try {
      const found = await search(picker.dataset, control.value, signal);
      if (!signal.aborted && document.activeElement === control) show(found);
    } catch (error) {
      if (error.name !== "AbortError") hint.textContent = "The search failed. Try again.";
    }
  };

  control.addEventListener("input", (event) => {
    if (!event.isTrusted) return;
    clearTimeout(timer);
    timer = setTimeout(run, PAUSE);
  });
  control.addEventListener("keydown", (event) => {
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in steps) {
      event.preventDefault();
      if (list.hidden) run(); else move(steps[event.key]);
    } else if (event.key === "Enter" && !list.hidden) {
      event.preventDefault();
      options()[Math.max(active, 0)].choose();
    } else if (event.key === "Escape" && !list.hidden) {
      event.preventDefault();
      close();
    }
  });
  control.addEventListener("click", () => { if (list.hidden) run(); });
  // A hint that appears before the end of a click would move the button away from it.
  control.addEventListener("blur", () => { clearTimeout(timer); pending.abort(); close(); setTimeout(say, 300); });
}

for (const picker of document.querySelectorAll(".picker")) if (!picker.querySelector("[readonly]")) enhance(picker);
