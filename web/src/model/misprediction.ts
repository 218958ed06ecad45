// Why the edge counts mispredict a path: where the prediction leaves it, and to which paths it gives
// the executions instead.

import { grouped, plural } from "../data/numbers";
import { expectedWay, label } from "./decisions";
import { DagKind, type DagEdge, type Graph } from "./graph";
import type { Paths, PredictedPath, Prefix, Way } from "./paths";

/** A decision of one path that the edge counts would predict differently. */
export interface Misprediction {
  /** The edge that the path takes, and the other one, which the edge counts predict too often. */
  edge: DagEdge;
  expected: DagEdge;
  /** Executions, real and predicted. */
  ran: Executions;
  predicted: Executions;
  /** The paths with other decisions before this edge to which the prediction gives it, those with
   * the most predicted executions first. */
  takers: Taker[];
  /** The predicted paths that decide alike up to here and take the other way, in the same order. */
  others: PredictedPath[];
  /** The decisions at which the prediction loses executions of the path, in the path's order. Their
   * losses, minus its gains at other decisions, are all executions that are not predicted. */
  losses: Loss[];
}

/** Executions with the decisions of a path up to its marked decision. */
export interface Executions {
  arrived: bigint;
  /** Those that also take the path's way, and the other way. */
  took: bigint;
  tookOther: bigint;
  /** Those that follow the path to its end. */
  followed: bigint;
}

/** A path to which the prediction gives executions of an edge. */
export interface Taker extends PredictedPath {
  /** Its first edge that the mispredicted path does not have, and whether that is its start. */
  differs: DagEdge;
  startsElsewhere: boolean;
}

/** Executions that leave a path at an edge too often. */
export interface Loss {
  edge: DagEdge;
  executions: bigint;
}

/** The marked decision of a path of whose executions less than half are predicted. */
export function misprediction(paths: Paths, edges: DagEdge[], path: number): Misprediction | null {
  if (!paths.isMissed(paths.counts[path]!, paths.predicted[path]!)) return null;
  let prefix = paths.root();
  let marked: Omit<Misprediction, "losses"> | null = null;
  const losses: Loss[] = [];
  for (const edge of edges) {
    const way = paths.next(prefix).find((each) => each.edge === edge);
    if (!way) return null;
    const left = (count: (prefix: Prefix) => bigint): bigint => count(prefix) - count(way.prefix);
    const executions =
      left((each) => paths.predictedExecutions(each)) - left((each) => paths.executions(each));
    if (executions > 0n) losses.push({ edge, executions });
    const other = expectedWay(paths, prefix, way);
    if (other) marked = mark(paths, edges, path, [prefix, way, other]);
    prefix = way.prefix;
  }
  return marked && { ...marked, losses };
}

/** The marked decision: at the end of a prefix, the path takes a way and is expected on the other. */
function mark(
  paths: Paths,
  edges: DagEdge[],
  path: number,
  [prefix, way, other]: [Prefix, Way, Way],
): Omit<Misprediction, "losses"> {
  const counted = (count: (prefix: Prefix) => bigint, followed: bigint): Executions => ({
    arrived: count(prefix),
    took: count(way.prefix),
    tookOther: count(other.prefix),
    followed,
  });
  return {
    edge: way.edge,
    expected: other.edge,
    ran: counted((each) => paths.executions(each), paths.counts[path]!),
    predicted: counted((each) => paths.predictedExecutions(each), paths.predicted[path]!),
    takers: takers(paths, edges, way),
    others: mostPredicted(paths.predictedPaths(other.prefix)),
  };
}

/** The predicted paths that take a way after other decisions than a path. */
function takers(paths: Paths, path: DagEdge[], { edge }: Way): Taker[] {
  const length = path.indexOf(edge);
  const startsElsewhere = (at: number): boolean => at === 0 && path[0]!.kind === DagKind.Start;
  const all = paths.predictedPaths(paths.root()).flatMap((predicted): Taker[] => {
    const edges = paths.edgesOf(predicted.number);
    const at = edges.findIndex((each, index) => each !== path[index]);
    return at >= 0 && at < length && edges.includes(edge)
      ? [{ ...predicted, differs: edges[at]!, startsElsewhere: startsElsewhere(at) }]
      : [];
  });
  return mostPredicted(all);
}

function mostPredicted<Path extends PredictedPath>(paths: Path[]): Path[] {
  return paths.sort((a, b) => (a.predicted < b.predicted ? 1 : a.predicted > b.predicted ? -1 : 0));
}

/** How the paths are predicted (crates/analysis/src/predict.rs). */
export const GUESSES =
  "Many sets of paths have the same edge counts. The prediction is one of them: it takes the edge " +
  "with the most executions left, extends it to a path along the edges with the most executions " +
  "left, gives this path the smallest count of its edges, subtracts that count, and repeats.";

/** A part of a sentence: words, or the number of a path. */
export type Part = string | bigint;

/** The paths that are named in a sentence. */
const NAMED = 3;
/** A decision is named if it loses at least this part of a path's executions. */
const LOSS = 20n;

/** To which paths the prediction gives the executions of the path's way. */
export function why(graph: Graph, { edge, predicted, takers }: Misprediction): Part[] {
  const total = plural(predicted.took + sum(takers), "execution");
  const way = edge.kind === DagKind.Start ? "start like this" : `go → ${label(graph, edge)}`;
  const known = `In all, ${total} ${way}. Edge counts do not say after which decisions. `;
  const [first] = takers;
  if (!first) return [known];
  return [
    known,
    "The prediction serves the hottest edges first, and gives ",
    ...listed(takers),
    ". ",
    first.number,
    ` comes here ${beginning(graph, first)}.`,
  ];
}

/** As which paths the prediction counts the executions that take the other way. */
export function instead(graph: Graph, wrong: Misprediction): Part[] {
  const { expected, predicted, others } = wrong;
  if (predicted.tookOther === 0n) return [];
  const way = expected.kind === DagKind.Start ? "starts" : `→ ${label(graph, expected)}`;
  return [`Of those predicted ${way}, it gives `, ...listed(others), "."];
}

/** At which decisions the path loses executions, if there are several. */
export function lost(graph: Graph, { ran, losses }: Misprediction): string {
  const named = losses.filter(({ executions }) => LOSS * executions >= ran.followed);
  if (named.length < 2) return "";
  const at = ({ edge, executions }: Loss): string => {
    const place = edge.kind === DagKind.Start ? null : graph.edges[edge.number]!.place;
    return `${grouped(executions)} ${place ? `on ${graph.placeWords(place)}` : `→ ${label(graph, edge)}`}`;
  };
  return `the prediction lets too many executions leave this path: ${named.map(at).join(", ")}.`;
}

/** Paths with their predicted executions: `1,200 to p3 (ran 7 times), and 20 to 2 other paths`. */
function listed(paths: PredictedPath[]): Part[] {
  const named = paths
    .slice(0, NAMED)
    .map(({ number, ran, predicted }): Part[] => [
      `${grouped(predicted)} to `,
      number,
      ` (${ran === 0n ? "never ran" : `ran ${plural(ran, "time")}`})`,
    ]);
  const rest = paths.slice(NAMED);
  const last = [`${grouped(sum(rest))} to ${plural(rest.length, "other path")}`];
  const all = rest.length === 0 ? named : [...named, last];
  return all.flatMap((parts, index) =>
    index === 0 ? parts : [index === all.length - 1 ? " and " : ", ", ...parts],
  );
}

function sum(paths: PredictedPath[]): bigint {
  return paths.reduce((all, { predicted }) => all + predicted, 0n);
}

/** Where a path leaves the mispredicted path: `by line 12 → line 14`, `from line 8`. */
function beginning(graph: Graph, { differs, startsElsewhere }: Taker): string {
  if (differs.kind === DagKind.Start) return label(graph, differs);
  if (startsElsewhere) return "from the entry";
  const { place } = graph.edges[differs.number]!;
  return `by ${place ? `${graph.placeWords(place)} ` : ""}→ ${label(graph, differs)}`;
}
