// Long names: they are shortened in their middle, so that the last part stays legible. The whole name
// is the title of its element.

import { element } from "./dom";

/** Characters at the end of a name that are always shown, if there is room. */
const TAIL = 28;

/** A name whose middle gives way if there is too little room, and then its beginning. */
export function nameElement(text: string): HTMLElement {
  const [head, tail] = split(text);
  return element(
    "bdi",
    { class: "long-name", title: text },
    head && element("span", { class: "name-head" }, head),
    element("span", { class: "name-tail" }, element("span", {}, tail)),
  );
}

/** A name in at most so many characters. */
export function shortened(text: string, length: number): string {
  if (text.length <= length) return text;
  const tail = Math.ceil((2 * (length - 1)) / 3);
  return `${text.slice(0, length - 1 - tail)}…${text.slice(text.length - tail)}`;
}

/** The beginning of a name, and its last part: the last segments that fit. */
function split(text: string): [string, string] {
  if (text.length <= TAIL) return ["", text];
  let tail = text.length - TAIL;
  for (let at = text.length - TAIL; at < text.length - 6; at++) {
    if (text.startsWith("::", at)) {
      tail = at + 2;
      break;
    }
  }
  return [text.slice(0, tail), text.slice(tail)];
}
