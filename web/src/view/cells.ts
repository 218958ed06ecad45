// Cells of lists that several views have.

import { percent } from "../data/numbers";
import { change } from "../model/change";
import { element } from "./dom";
import { nameElement } from "./name";

export const BY_EDGES =
  "How often the path would run by a prediction from the edge counts alone, and how far that is " +
  "from the truth. ◆: less than half of the executions that ran. ▲: more than twice as many.";

/** The heads of columns, some with an explanation. */
export function columns(...heads: (string | [string, string])[]): HTMLElement {
  const head = (each: string | [string, string]): HTMLElement => {
    const [name, title] = typeof each === "string" ? [each, null] : each;
    return element("span", { title }, name);
  };
  return element("div", { class: "columns", "aria-hidden": "true" }, ...heads.map(head));
}

/** A share of a whole as a bar. `after` follows the percentage. */
export function bar(
  part: bigint | number,
  whole: bigint | number,
  title = "",
  after = "",
): HTMLElement {
  const share = Number(whole) > 0 ? Math.min(100, (100 * Number(part)) / Number(whole)) : 0;
  return element(
    "span",
    { class: "share-cell", title: title || null },
    element("span", { class: "share-bar", style: `width:${share.toFixed(2)}%` }),
    element("span", {}, percent(part, whole) + after),
  );
}

export function number(text: string, title = ""): HTMLElement {
  return element("span", { class: "number", title: title || null }, text);
}

/** How a count differs from the count of the baseline. */
export function changeCell(now: bigint, before: bigint, title: string): HTMLElement {
  const { sort, text } = change(now, before);
  return element("span", { class: `number change ${sort}`, title }, text);
}

/** A name, and a detail about it. `whole` is the detail in full. */
export function name(text: string, detail: string, whole = detail): HTMLElement {
  return element(
    "span",
    { class: "name", title: `${text}\n${whole}` },
    nameElement(text),
    element("span", { class: "detail" }, detail),
  );
}
