// The tree of decisions of a function's paths, as an icicle shows it: paths with equal first
// decisions share a node. A branch that all paths of a prefix leave the same way is skipped, unless
// it is marked.
//
// A mark says where the prediction from edge counts (crates/analysis/src/predict.rs) leaves the paths
// that ran. All executions are predicted at the root. A decision is marked if less than half of the
// executions of its paths are predicted, and this holds for no decision before. So each path of
// whose executions less than half are predicted has just one marked decision. The predicted share of
// another way is then too large, and the mark names the way where it is largest.

import { DagKind, type DagEdge, type Graph } from "./graph";
import type { Paths, Prefix, Way } from "./paths";
import { blockName } from "./steps";

export interface Decision {
  prefix: Prefix;
  edge: DagEdge;
  label: string;
  /** The line of the branch: `12`, `list.h:12`. Empty if unknown. */
  line: string;
  /** The other way that the edge counts predict too often, if the decision is marked. */
  expected: string | null;
  weight: number;
}

/** The decisions that follow a prefix, in the order of path numbers. Empty at the end of paths. */
export function decisions(paths: Paths, from: Prefix): Decision[] {
  let prefix = from;
  for (;;) {
    const ways = paths.next(prefix);
    const only = ways.length === 1 ? ways[0] : undefined;
    if (!only || expected(paths, prefix, only) !== null)
      return ways.map((way) => decision(paths, prefix, way));
    if (only.edge.to === paths.graph.exit) return [];
    prefix = only.prefix;
  }
}

function decision(paths: Paths, from: Prefix, way: Way): Decision {
  const { graph } = paths;
  const weight = paths.weight(way.prefix.first, way.prefix.last);
  const place = way.edge.kind === DagKind.Start ? null : graph.edges[way.edge.number]!.place;
  return {
    prefix: way.prefix,
    edge: way.edge,
    label: label(graph, way.edge),
    line: place ? graph.placeName(place) : "",
    expected: expected(paths, from, way),
    weight,
  };
}

/** The words for an edge in the tree. */
export function label(graph: Graph, edge: DagEdge): string {
  if (edge.kind === DagKind.Start) return `from ${blockName(graph, edge.number)}`;
  const { words, to } = graph.edges[edge.number]!;
  return (
    words || (edge.kind === DagKind.Edge ? blockName(graph, to) : `back to ${blockName(graph, to)}`)
  );
}

/** The way that the edge counts predict too often at the end of a prefix, if `way` is marked. */
export function expectedWay(paths: Paths, from: Prefix, way: Way): Way | null {
  if (!way.prefix.isMissed || from.isMissed) return null;
  const [ran, predicted] = [paths.executions(from), paths.predictedExecutions(from)];
  const surplus = ({ prefix }: Way): bigint =>
    paths.predictedExecutions(prefix) * ran - paths.executions(prefix) * predicted;
  return paths.ways(from).reduce((a, b) => (surplus(b) > surplus(a) ? b : a));
}

/** The words for the way that the edge counts predict too often, if `way` is marked. */
function expected(paths: Paths, from: Prefix, way: Way): string | null {
  const other = expectedWay(paths, from, way);
  return other && label(paths.graph, other.edge);
}

/** The decision that decides a path, as a number of an edge. For a path that never ran: the first
 * decision after which no path ran. -1 if there is none. */
export function decidingEdge(paths: Paths, edges: DagEdge[], path: number): number {
  if (path >= 0) return paths.deciding[path]!;
  let prefix: Prefix | undefined = paths.root();
  for (const edge of edges) {
    prefix = prefix && paths.next(prefix).find((each) => each.edge === edge)?.prefix;
    if (!prefix && edge.kind !== DagKind.Start && paths.graph.isShown(edge.number))
      return edge.number;
  }
  return -1;
}
