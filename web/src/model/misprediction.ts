// Why the edge counts mispredict a path: where the prediction leaves it, and to which paths it gives
// the executions instead.

import { grouped, plural, wholePercent } from "../data/numbers";
import { expectedWay, label } from "./decisions";
import { DagKind, type DagEdge, type Graph } from "./graph";
import type { Paths, Prefix, Way } from "./paths";

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
}

/** Executions with the decisions of a path up to its marked decision. */
interface Executions {
  arrived: bigint;
  /** Those that also take the path's way, and the other way. */
  took: bigint;
  tookOther: bigint;
  /** Those that follow the path to its end. */
  followed: bigint;
}

/** A path to which the prediction gives executions of an edge. */
export interface Taker {
  number: bigint;
  ran: bigint;
  predicted: bigint;
  /** Its first edge that the mispredicted path does not have, and whether that is its start. */
  differs: DagEdge;
  startsElsewhere: boolean;
}

/** The marked decision of a path of whose executions less than half are predicted. */
export function misprediction(paths: Paths, edges: DagEdge[], path: number): Misprediction | null {
  if (!paths.isMissed(paths.counts[path]!, paths.predicted[path]!)) return null;
  let prefix = paths.root();
  for (const edge of edges) {
    const way = paths.next(prefix).find((each) => each.edge === edge);
    if (!way) break;
    const other = expectedWay(paths, prefix, way);
    if (other) {
      const counted = (count: (prefix: Prefix) => bigint, followed: bigint): Executions => ({
        arrived: count(prefix),
        took: count(way.prefix),
        tookOther: count(other.prefix),
        followed,
      });
      return {
        edge,
        expected: other.edge,
        ran: counted((each) => paths.executions(each), paths.counts[path]!),
        predicted: counted((each) => paths.predictedExecutions(each), paths.predicted[path]!),
        takers: takers(paths, edges, way),
      };
    }
    prefix = way.prefix;
  }
  return null;
}

/** The predicted paths that take a way after other decisions than a path. */
function takers(paths: Paths, path: DagEdge[], { edge }: Way): Taker[] {
  const length = path.indexOf(edge);
  const startsElsewhere = (at: number): boolean => at === 0 && path[0]!.kind === DagKind.Start;
  const all = paths.predictedPaths().flatMap(({ number, ran, predicted }): Taker[] => {
    const edges = paths.edgesOf(number);
    const at = edges.findIndex((each, index) => each !== path[index]);
    return at >= 0 && at < length && edges.includes(edge)
      ? [{ number, ran, predicted, differs: edges[at]!, startsElsewhere: startsElsewhere(at) }]
      : [];
  });
  return all.sort((a, b) => (a.predicted < b.predicted ? 1 : a.predicted > b.predicted ? -1 : 0));
}

/** How the paths are predicted (crates/analysis/src/predict.rs). */
export const GUESSES =
  "Many sets of paths have the same edge counts. The prediction is one of them: it takes the edge " +
  "with the most executions left, extends it to a path along the edges with the most executions " +
  "left, gives this path the smallest count of its edges, subtracts that count, and repeats.";

/** A part of a sentence: words, or the number of a path. */
export type Part = string | bigint;

/** Why the edge counts mispredict a decision. */
export interface Explanation {
  ran: Part[];
  predicted: Part[];
  why: Part[];
}

/** The paths that are named. */
const NAMED = 3;

/** Explains a mispredicted decision in words and numbers. `number` is that of the path. */
export function explanation(graph: Graph, wrong: Misprediction, number: bigint): Explanation {
  const { edge, expected, ran, predicted } = wrong;
  const isStart = edge.kind === DagKind.Start;
  const branch = isStart ? null : graph.edges[edge.number]!;
  const at = branch?.place ? graph.placeWords(branch.place) : "this branch";
  const way = `→ ${label(graph, edge)}`;
  const here = isStart ? "paths start" : `executions take this path's decisions up to ${at}`;
  const everywhere = isStart ? "" : `; ${graph.share(edge.number)} on all paths`;
  const share = ({ took, arrived }: Executions): string => wholePercent(took, arrived);
  const took =
    predicted.took === 0n
      ? "none of them"
      : `${grouped(predicted.took)} of them (${share(predicted)})`;
  return {
    ran: [
      `${grouped(ran.arrived)} ${here}, and ${grouped(ran.took)} of them (${share(ran)}${everywhere}) ` +
        `go on as this path does, ${way}.`,
    ],
    predicted: [
      `${grouped(predicted.arrived)} come here like this, and ${took} go on as this path does. ` +
        `${grouped(predicted.tookOther)} go → ${label(graph, expected)}.${lost(wrong, number)}`,
    ],
    why: why(graph, wrong),
  };
}

/** How many of the predicted executions are lost at later decisions. */
function lost({ predicted }: Misprediction, number: bigint): string {
  const { took, followed } = predicted;
  if (took === followed) return "";
  const rest = followed === 0n ? "None" : `Only ${grouped(followed)}`;
  return ` ${rest} of the ${grouped(took)} follow p${number} to its end.`;
}

/** To which paths the prediction gives the executions of the path's way. */
function why(graph: Graph, { edge, predicted, takers }: Misprediction): Part[] {
  const sum = (list: Taker[]): bigint => list.reduce((all, each) => all + each.predicted, 0n);
  const total = plural(predicted.took + sum(takers), "execution");
  const way = edge.kind === DagKind.Start ? "start like this" : "go this way";
  const known = `Edge counts say that ${total} ${way} in all, but not after which decisions. `;
  const named = takers
    .slice(0, NAMED)
    .map((taker, index): Part[] => [
      `${grouped(taker.predicted)} ${index === 0 ? "of them " : ""}to `,
      taker.number,
      ` (${index === 0 ? `${beginning(graph, taker)}; ` : ""}${ranWords(taker.ran)})`,
    ]);
  const others = takers.slice(NAMED);
  const rest = `${grouped(sum(others))} to ${plural(others.length, "other path")}`;
  const given = others.length === 0 ? named : [...named, [rest]];
  const joined = given.flatMap((parts, index) =>
    index === 0 ? parts : [index === given.length - 1 ? " and " : ", ", ...parts],
  );
  return given.length === 0 ? [known] : [known, "The prediction gives ", ...joined, "."];
}

function ranWords(ran: bigint): string {
  return ran === 0n ? "never ran" : `ran ${plural(ran, "time")}`;
}

/** Where a path leaves the mispredicted path: `by line 12 → line 14`, `from line 8`. */
function beginning(graph: Graph, { differs, startsElsewhere }: Taker): string {
  if (differs.kind === DagKind.Start) return label(graph, differs);
  if (startsElsewhere) return "from the entry";
  const { place } = graph.edges[differs.number]!;
  return `by ${place ? `${graph.placeWords(place)} ` : ""}→ ${label(graph, differs)}`;
}
