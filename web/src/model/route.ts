// A path in a few words: the decisions on it that the run made in several ways.

import { DagKind, type DagEdge } from "./graph";
import type { RanFunction } from "./function";
import { label } from "./decisions";

/** A decision of a path, or its start. */
export interface RoutePart {
  edge: DagEdge;
  /** `12 → line 14`, or `from line 8`. */
  text: string;
}

/** The decisions of a path that `keeps` accepts, and then its start. */
export function routeParts(
  { graph, paths }: RanFunction,
  number: bigint,
  keeps: (edge: DagEdge) => boolean = () => true,
): RoutePart[] {
  const isNamed = (edge: DagEdge): boolean =>
    edge.kind === DagKind.Start || (graph.isDecided(edge.from) && graph.isShown(edge.number));
  const [first, ...rest] = paths.edgesOf(number);
  if (!first) return [];
  const ordered = first.kind === DagKind.Start ? [...rest, first] : [first, ...rest];
  return ordered
    .filter((edge) => keeps(edge) && isNamed(edge))
    .map((edge) => {
      if (edge.kind === DagKind.Start) return { edge, text: label(graph, edge) };
      const { place, words } = graph.edges[edge.number]!;
      return { edge, text: `${place ? `${graph.placeName(place)} ` : ""}→ ${words}` };
    });
}

/** The parts of a path in words. */
export function words(parts: RoutePart[]): string {
  return parts.map(({ text }) => text).join(", ");
}

/** The number of parts at the beginning of a path that another path has, too. The last part is never
 * counted. */
export function sharedParts(parts: RoutePart[], before: RoutePart[]): number {
  let shared = 0;
  while (shared < parts.length - 1 && parts[shared]!.edge === before[shared]?.edge) shared += 1;
  return shared;
}
