// Decisions of a path, as the lists of steps and the source show them.

import type { FileLine, Graph } from "../model/graph";
import { decisionWords } from "../model/steps";
import { element } from "./dom";

/** The decisions of a path that are marked. */
export interface MarkedDecisions {
  /** The edge at the decision that decides the path, or -1. */
  deciding: number;
  /** The edge at the decision that the edge counts mispredict, or -1. */
  mispredicted: number;
  /** The other way, which the edge counts predict too often. The line is null if it is unknown. */
  expected: { words: string; target: FileLine | null } | null;
}

/** The longest quotation of a line. */
const QUOTED = 60;

/** What was decided on these edges of a line, with marks. */
export function decisionNote(
  graph: Graph,
  edges: number[],
  { deciding, mispredicted, expected }: MarkedDecisions,
): HTMLElement {
  const words = [...new Set(edges.map((edge) => decisionWords(graph, edge)))].join("; ");
  const others = [...new Set(edges)].map((edge) => otherWays(graph, edge));
  const isWrong = expected !== null && edges.includes(mispredicted);
  const prediction = isWrong ? `◆ edge counts predict → ${expected.words} too often` : "";
  return element(
    "span",
    { class: "outcome", title: [words, ...others, prediction].filter(Boolean).join("\n") || null },
    edges.includes(deciding) &&
      element(
        "span",
        { class: "decides", title: "This branch decides the path: it splits the most work" },
        "decides",
      ),
    isWrong &&
      element(
        "span",
        { class: "edges-predict", title: prediction },
        "◆",
        element("span", { class: "mark-word" }, " mispredicted"),
      ),
    words,
    // A line that is predicted has a mark of its own.
    isWrong && !expected.target && element("span", { class: "edges-predict" }, prediction),
  );
}

/** The other ways of a branch, if its words only say how many they are. */
function otherWays(graph: Graph, edge: number): string {
  const others = graph.otherWays(edge);
  if (others.length < 2) return "";
  return `other ways: ${others.map((other) => graph.decision(other)).join(", ")}`;
}

/** The text of the line where the last of these edges leads. Null if it is unknown. */
export function targetText(
  graph: Graph,
  edges: number[],
  textOf: (file: number, line: number) => string,
): HTMLElement | null {
  const target = graph.edges[edges[edges.length - 1]!]!.target;
  const text = target ? textOf(target.file, target.line).trim() : "";
  if (!target || text === "") return null;
  const short = text.length > QUOTED ? `${text.slice(0, QUOTED - 1)}…` : text;
  const title = `${graph.lineName(target)}: ${text}`;
  return element("span", { class: "target-text", title }, short);
}
