// JSON as it is written: JavaScript's own parser rounds numbers.

/** The elements of an array, or the members of an object as pairs of name and value; every value is a string of JSON. */
export function parts(json) {
  const text = json.trim();
  const isObject = text[0] === "{";
  const found = [];
  let at = 1;
  const skip = () => { while (/[\s,:]/.test(text[at] ?? "")) at += 1; };
  const take = () => {
    const start = at;
    let depth = 0;
    for (; at < text.length; at += 1) {
      const character = text[at];
      if (character === '"') {
        for (at += 1; at < text.length && text[at] !== '"'; at += 1) if (text[at] === "\\") at += 1;
      } else if (character === "{" || character === "[") depth += 1;
      else if ((character === "}" || character === "]") && depth > 0) depth -= 1;
      else if (depth === 0 && ",:}]".includes(character)) break;
    }
    return text.slice(start, at).trim();
  };
  for (skip(); at < text.length && text[at] !== "}" && text[at] !== "]"; skip()) {
    const first = take();
    if (first === "") break;
    if (!isObject) { found.push(first); continue; }
    skip();
    found.push([JSON.parse(first), take()]);
  }
  return found;
}

/** The members of an object by their names. */
export const members = (json) => new Map(parts(json));

/** The same value without blanks between its parts, so that equal values are equal strings. */
export function compact(json) {
  return json.replace(/("(?:[^"\\]|\\.)*")|\s+/g, "$1");
}

/** A value as people read it. */
export function shown(json) {
  return json.startsWith('"') ? JSON.parse(json) : json;
}
