// The explanation of a misprediction: a table with the executions at the marked decision, and
// sentences about the paths that get them instead.

import { grouped, wholePercent } from "../data/numbers";
import { label } from "../model/decisions";
import type { ChosenPath } from "../model/function";
import { DagKind } from "../model/graph";
import {
  GUESSES,
  instead,
  lost,
  why,
  type Executions,
  type Misprediction,
  type Part,
} from "../model/misprediction";
import { button, element } from "./dom";

const SAME_DECISIONS =
  "Executions that start where this path starts, and take its way at each branch up to this one";

/** Explains a misprediction. `show` shows a path. */
export function mispredictionNote(
  path: ChosenPath,
  wrong: Misprediction,
  show: (path: bigint) => void,
): HTMLElement {
  const { graph } = path.fn;
  const sentence = (head: string, parts: Part[]): HTMLElement | null =>
    parts.length === 0
      ? null
      : element("p", {}, element("b", {}, `${head}: `), ...linked(parts, show));
  const loss = lost(graph, wrong);
  return element(
    "div",
    { class: "why" },
    table(path, wrong),
    element(
      "div",
      { class: "why-words", title: GUESSES },
      sentence("Why", [...why(graph, wrong), " ", ...instead(graph, wrong)]),
      sentence("Where", loss === "" ? [] : [loss]),
    ),
  );
}

function table(path: ChosenPath, wrong: Misprediction): HTMLElement {
  const { edge, expected, ran, predicted } = wrong;
  const { graph } = path.fn;
  const place = edge.kind === DagKind.Start ? null : graph.edges[edge.number]!.place;
  const heads: [string, string][] = [
    [`came to ${place ? graph.placeWords(place) : "this branch"}`, SAME_DECISIONS],
    [`→ ${label(graph, edge)}`, "Those of them that take the way of this path"],
    [`→ ${label(graph, expected)}`, "Those of them that take the other way"],
    ["to its end", "Those that follow this path to its end"],
  ];
  const head = ([text, title]: [string, string]): HTMLElement =>
    element("th", { scope: "col", title }, text);
  const row = (name: string, each: Executions): HTMLElement =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, name),
      element("td", {}, grouped(each.arrived)),
      shareCell(each.took, each.arrived),
      shareCell(each.tookOther, each.arrived),
      element("td", {}, grouped(each.followed)),
    );
  return element(
    "table",
    { "aria-label": "Executions that decide as this path does" },
    element(
      "thead",
      {},
      element("tr", {}, element("td", {}, `deciding like p${path.number}`), ...heads.map(head)),
    ),
    element("tbody", {}, row("ran", ran), row("predicted", predicted)),
  );
}

/** A part of the executions, and its share. */
function shareCell(part: bigint, whole: bigint): HTMLElement {
  const share = part === 0n || whole === 0n ? "" : wholePercent(part, whole);
  return element("td", {}, grouped(part), element("small", {}, share));
}

/** Words in which a path is a button that shows it. */
function linked(parts: Part[], show: (path: bigint) => void): (Node | string)[] {
  return parts.map((part) =>
    typeof part === "string"
      ? part
      : button(`p${part}`, "Show this path", () => show(part), { class: "taker" }),
  );
}
