// A path as steps in the source: the lines in order, with what was decided on each. As
// crates/analysis/src/trail.rs, whose steps the terminal shows.

import { DagKind, type DagEdge, type Edge, type Graph, type Place } from "./graph";
import { blocksOf } from "./paths";

export interface Step {
  place: Place;
  /** The block whose code the step shows. */
  block: number;
  /** The edges that were decided on this line. */
  decisions: number[];
}

export function steps(graph: Graph, path: DagEdge[]): Step[] {
  const steps: Step[] = [];
  const taken = path.filter((edge) => edge.kind !== DagKind.Start);
  blocksOf(graph, path).forEach((block, index) => {
    const begin = steps.length;
    for (const place of graph.places[block]!) add(steps, place, block);
    const edge = taken[index];
    if (edge) decide(graph, steps, begin, edge.number, block);
  });
  return steps;
}

/** The decisions of a step that have words. */
export function shownDecisions(graph: Graph, step: Step): number[] {
  return step.decisions.filter((edge) => graph.isShown(edge));
}

/** Where control goes along an edge, how often, and which other ways the run took there:
 * `→ line 14 (30 %), not line 16 (70 %)`. */
export function decisionWords(graph: Graph, edge: number): string {
  const share = graph.share(edge);
  const others = graph.otherWays(edge);
  const [first] = others;
  const not =
    first === undefined
      ? ""
      : others.length === 1
        ? `, not ${graph.decision(first)}`
        : `, not ${others.length} other ways`;
  return `→ ${graph.edges[edge]!.words}${share === "" ? "" : ` (${share})`}${not}`;
}

/** The function whose inlined code a step shows. Empty for code of the function itself. */
export function inlinedName(graph: Graph, step: Step): string {
  const scope = graph.scopes[step.place.scope];
  return scope && scope.parent >= 0 ? shortName(scope.name) : "";
}

/** The last part of a function's name, without the arguments of types. */
export function shortName(name: string): string {
  let short = name;
  for (let before = ""; before !== short;) {
    before = short;
    short = short.replace(/<[^<>]*>/g, "");
  }
  return short.split("::").filter(Boolean).pop() ?? name;
}

/** How a path ends, in words. */
export function ending(graph: Graph, path: DagEdge[]): string {
  const last = path[path.length - 1];
  if (!last) return "";
  const edge = graph.edges[last.number]!;
  switch (last.kind) {
    case DagKind.Back:
      return `goes back to ${target(graph, edge)}`;
    case DagKind.Cut:
      return `goes on at ${target(graph, edge)}, where the next path starts`;
    case DagKind.Edge:
    case DagKind.Start:
      return edge.words || "returns";
  }
}

/** Where a path starts, in words. */
export function beginning(graph: Graph, path: DagEdge[]): string {
  const first = path[0];
  if (!first || first.kind !== DagKind.Start) return "from the entry";
  const name = blockName(graph, first.number);
  return graph.isLoopHead(first.number)
    ? `from the loop at ${name}`
    : `from ${name}, where the previous path was cut`;
}

/** A block as a line: for the head of a loop, the line where branches lead back to it, or else the
 * block's first line, if it has one. */
export function blockName(graph: Graph, block: number): string {
  const loop = graph.loopLine(block);
  if (loop) return graph.lineWords(loop);
  const place = graph.places[block]![0];
  return place ? graph.placeWords(place) : `b${block}`;
}

function target(graph: Graph, edge: Edge): string {
  return blockName(graph, edge.to);
}

function add(steps: Step[], place: Place, block: number): void {
  if (!isOn(steps[steps.length - 1], place)) steps.push({ place, block, decisions: [] });
}

function decide(graph: Graph, steps: Step[], begin: number, number: number, block: number): void {
  const edge = graph.edges[number]!;
  if (edge.words === "" || edge.to === graph.exit) return;
  if (edge.place) {
    for (let index = steps.length - 1; index >= Math.max(begin - 1, 0); index--) {
      if (isOn(steps[index], edge.place)) {
        steps[index]!.decisions.push(number);
        return;
      }
    }
    add(steps, edge.place, block);
  }
  steps[steps.length - 1]?.decisions.push(number);
}

function isOn(step: Step | undefined, place: Place): boolean {
  return step !== undefined && step.place.scope === place.scope && step.place.line === place.line;
}
