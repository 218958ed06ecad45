// The keys of the page.

import { GUESSES } from "../model/misprediction";
import { element } from "./dom";

const KEYS: [string, string][] = [
  ["/", "search functions and files"],
  ["o", "overview"],
  ["← →", "step along the path, in the list of steps, the graph, and the source"],
  ["[ ]", "previous and next path of the list"],
  ["↑ ↓", "move in a list"],
  ["z", "zoom into the focused decision of the icicle (or double-click)"],
  ["+ - 0", "zoom in and out of the focused timeline, and show all events"],
  ["c", "copy the path as text"],
  ["t", "change the theme"],
  ["?", "this list"],
];

export function helpDialog(): HTMLDialogElement {
  const rows = KEYS.map(([key, text]) =>
    element(
      "div",
      {},
      element("dt", {}, ...key.split(" ").map((each) => element("kbd", {}, each))),
      element("dd", {}, text),
    ),
  );
  const dialog = element(
    "dialog",
    { "aria-label": "Keys" },
    element("h2", {}, "Keys"),
    element("dl", {}, ...rows),
    element(
      "p",
      { class: "detail" },
      "A path opens at the branch that decides it: the branch that splits the most work. " +
        "◆ marks a path of whose executions the edge counts alone would predict less than half, and " +
        "the decision where they lose it. ▲ marks a path of which they predict more than twice " +
        "as much as ran.",
    ),
    element("p", { class: "detail" }, GUESSES),
    element("form", { method: "dialog" }, element("button", {}, "Close")),
  );
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  return dialog;
}
