// The tree of decisions of a function's paths, as an icicle shows it: paths with equal first
// decisions share a node. A branch that all paths of a prefix leave the same way is skipped, unless
// the edge counts expect another way there.

import { DagKind, type DagEdge, type Graph } from "./graph";
import type { Paths, Prefix } from "./paths";
import { blockName } from "./steps";

export interface Decision {
  prefix: Prefix;
  edge: DagEdge;
  label: string;
  /** The line of the branch, or 0. */
  line: number;
  /** Where the edge counts of the whole function say that control goes here, if the paths of this
   * prefix mostly go elsewhere. */
  expected: string | null;
  weight: number;
}

/** The decisions that follow a prefix, in the order of path numbers. Empty at the end of paths. */
export function decisions(paths: Paths, from: Prefix): Decision[] {
  let prefix = from;
  for (;;) {
    const ways = paths.next(prefix);
    const only = ways.length === 1 ? ways[0] : undefined;
    if (!only || expected(paths, prefix, ways, only) !== null)
      return ways.map((way) => decision(paths, prefix, ways, way));
    if (only.edge.to === paths.graph.exit) return [];
    prefix = only.prefix;
  }
}

type Way = { edge: DagEdge; prefix: Prefix };

function decision(paths: Paths, from: Prefix, ways: Way[], way: Way): Decision {
  const { graph } = paths;
  const weight = paths.weight(way.prefix.first, way.prefix.last);
  return {
    prefix: way.prefix,
    edge: way.edge,
    label: label(graph, way.edge),
    line: way.edge.kind === DagKind.Start ? 0 : (graph.edges[way.edge.number]!.place?.line ?? 0),
    expected: expected(paths, from, ways, way),
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

/** The way that the edge counts expect at the block of a prefix, if `way` is the way that most of
 * the prefix's paths take, and the two differ. */
function expected(paths: Paths, from: Prefix, ways: Way[], way: Way): string | null {
  const { graph } = paths;
  if (from.block === graph.entry) return null;
  const executions = (each: Way): bigint => paths.executions(each.prefix.first, each.prefix.last);
  const mine = executions(way);
  if (ways.some((other) => other !== way && executions(other) >= mine)) return null;
  const taken = (number: number): bigint => graph.edges[number]!.taken;
  const hottest = graph.out[from.block]!.reduce((a, b) => (taken(b) > taken(a) ? b : a));
  if (way.edge.kind === DagKind.Start || taken(hottest) <= taken(way.edge.number)) return null;
  return graph.edges[hottest]!.words || blockName(graph, graph.edges[hottest]!.to);
}

/** A decision of one path that the edge counts would predict differently. */
export interface Misprediction {
  edge: DagEdge;
  expected: string;
}

/** The decisions of a path on the way of which the edge counts expect another way. */
export function mispredictions(paths: Paths, edges: DagEdge[], path: number): Misprediction[] {
  const found: Misprediction[] = [];
  let prefix = paths.root();
  for (const edge of edges) {
    const ways = paths.next(prefix);
    const way = ways.find((each) => each.prefix.first <= path && path < each.prefix.last);
    if (!way) break;
    const other = expected(paths, prefix, ways, way);
    if (other !== null) found.push({ edge, expected: other });
    prefix = way.prefix;
  }
  return found;
}
