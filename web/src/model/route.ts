// A path in a few words: the decisions on it that the run made in several ways.

import { DagKind, type DagEdge } from "./graph";
import type { RanFunction } from "./function";
import { beginning } from "./steps";

/** The decisions of a path that `keeps` accepts, and where the path starts. */
export function route(
  { graph, paths }: RanFunction,
  number: bigint,
  keeps: (edge: DagEdge) => boolean = () => true,
): string {
  const words: string[] = [];
  let start = "";
  for (const edge of paths.edgesOf(number).filter(keeps)) {
    if (edge.kind === DagKind.Start) start = beginning(graph, [edge]);
    else if (graph.isDecided(edge.from) && graph.isShown(edge.number)) {
      const { place, words: where } = graph.edges[edge.number]!;
      words.push(`${place ? `${place.line} ` : ""}→ ${where}`);
    }
  }
  return [...words, start].filter(Boolean).join(", ");
}
