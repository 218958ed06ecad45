// The paths of a function that ran, sorted by number. Paths that begin alike are neighbors, so a
// range of this table is a shared prefix (Ball, Larus 1996, section 3.2).

import { exact, type Wire } from "../data/numbers";
import { DagKind, EdgeKind, type DagEdge, type Graph } from "./graph";

export type Order =
  "instructions" | "count" | "length" | "number" | "missed" | "predicted" | "change";

/** A prefix of paths: the paths first … last − 1 reach `block` by the same edges. */
export interface Prefix {
  block: number;
  /** The number of all paths with this prefix minus this is the number of their rest. */
  base: bigint;
  first: number;
  last: number;
  /** The same range of the predicted paths. */
  predictedFirst: number;
  predictedLast: number;
  /** Whether the edge counts predict less than half of the executions of this prefix or of a shorter
   * one. */
  isMissed: boolean;
}

/** A way on from a prefix, with the longer prefix. */
export interface Way {
  edge: DagEdge;
  prefix: Prefix;
}

/** A path that the edge counts predict. */
export interface PredictedPath {
  number: bigint;
  ran: bigint;
  predicted: bigint;
}

/** Paths with counts, sorted by number. */
class Table {
  readonly numbers: BigUint64Array;
  readonly counts: BigUint64Array;
  /** Sums of counts. */
  private readonly sums: BigUint64Array;

  /** `fields` has differences of numbers, and counts. */
  constructor(fields: Wire[]) {
    const length = fields.length / 2;
    this.numbers = new BigUint64Array(length);
    this.counts = new BigUint64Array(length);
    this.sums = new BigUint64Array(length + 1);
    let number = 0n;
    for (let index = 0; index < length; index++) {
      number += exact(fields[2 * index]!);
      this.numbers[index] = number;
      this.counts[index] = exact(fields[2 * index + 1]!);
      this.sums[index + 1] = this.sums[index]! + this.counts[index]!;
    }
  }

  /** The sum of the counts in a range. */
  sum(first: number, last: number): bigint {
    return this.sums[last]! - this.sums[first]!;
  }

  /** The index of the path with this number, or -1. */
  indexOf(number: bigint): number {
    const index = this.lowerBound(number, 0, this.numbers.length);
    return this.numbers[index] === number ? index : -1;
  }

  /** The first index of a range whose path has this number or a larger one. */
  lowerBound(number: bigint, first: number, last: number): number {
    while (first < last) {
      const middle = (first + last) >> 1;
      if (this.numbers[middle]! < number) first = middle + 1;
      else last = middle;
    }
    return first;
  }
}

export class Paths {
  readonly length: number;
  readonly numbers: BigUint64Array;
  readonly counts: BigUint64Array;
  /** By path: the executions that the edge counts predict. */
  readonly predicted: BigUint64Array;
  /** By path: instructions of one execution. */
  readonly instructions: Float64Array;
  /** Sums of count × instructions: the weight of a range is a difference. */
  private readonly sums: Float64Array;
  private readonly ran: Table;
  /** The paths that the edge counts predict, whether they ran or not. */
  private readonly prediction: Table;
  /** The paths of the baseline. Null if there is none. */
  private readonly baseline: Table | null;
  /** The numbers of paths that ran only in the baseline, those that ran most first. */
  readonly gone: bigint[];
  /** Whether the edge counts predict less than half of the executions of a path. */
  readonly hasMissed: boolean;
  /** The numbers of the predicted paths that never ran, the most predicted executions first. */
  readonly phantoms: bigint[];

  constructor(
    readonly graph: Graph,
    paths: Wire[],
    /** By path: the edge that it takes at the decision that decides it, or -1. */
    readonly deciding: number[],
    predicted: Wire[],
    baseline: Wire[] | null,
  ) {
    this.baseline = baseline && new Table(baseline);
    this.ran = new Table(paths);
    this.prediction = new Table(predicted);
    this.numbers = this.ran.numbers;
    this.counts = this.ran.counts;
    this.length = this.numbers.length;
    this.predicted = new BigUint64Array(this.length);
    this.prediction.numbers.forEach((number, index) => {
      const path = this.indexOf(number);
      if (path !== -1) this.predicted[path] = this.prediction.counts[index]!;
    });
    this.hasMissed = this.counts.some((count, path) => this.isMissed(count, this.predicted[path]!));
    this.phantoms = [...this.prediction.numbers]
      .filter((number) => this.indexOf(number) === -1)
      .sort((a, b) => Number(this.predictionOf(b) - this.predictionOf(a)));
    this.gone = [...(this.baseline?.numbers ?? [])]
      .filter((number) => this.indexOf(number) === -1)
      .sort((a, b) => Number(this.before(b) - this.before(a)));
    this.instructions = new Float64Array(this.length);
    this.measure();
    this.sums = new Float64Array(this.length + 1);
    for (let path = 0; path < this.length; path++) {
      this.sums[path + 1] =
        this.sums[path]! + Number(this.counts[path]!) * this.instructions[path]!;
    }
  }

  /** The index of the path with this number, or -1. */
  indexOf(number: bigint): number {
    return this.ran.indexOf(number);
  }

  /** The executions that the edge counts predict of the path with this number. */
  predictionOf(number: bigint): bigint {
    return this.prediction.counts[this.prediction.indexOf(number)] ?? 0n;
  }

  /** The executions of the path with this number in the baseline. */
  before(number: bigint): bigint {
    const { baseline } = this;
    return baseline?.counts[baseline.indexOf(number)] ?? 0n;
  }

  get isCompared(): boolean {
    return this.baseline !== null;
  }

  /** Count × instructions of the paths in a range. */
  weight(first: number, last: number): number {
    return this.sums[last]! - this.sums[first]!;
  }

  totalInstructions(path: number): bigint {
    return this.counts[path]! * BigInt(this.instructions[path]!);
  }

  /** Executions of the paths of a prefix. */
  executions({ first, last }: Prefix): bigint {
    return this.ran.sum(first, last);
  }

  /** Executions of the paths of a prefix that the edge counts predict. */
  predictedExecutions({ predictedFirst, predictedLast }: Prefix): bigint {
    return this.prediction.sum(predictedFirst, predictedLast);
  }

  /** Whether the edge counts predict less than half of these executions. */
  isMissed(executions: bigint, predicted: bigint): boolean {
    return 2n * predicted < executions;
  }

  /** The hottest path of a range. */
  hottest(first: number, last: number): number {
    let hottest = first;
    for (let path = first; path < last; path++) {
      if (this.weight(path, path + 1) > this.weight(hottest, hottest + 1)) hottest = path;
    }
    return hottest;
  }

  /** The paths in an order. */
  sorted(order: Order): number[] {
    const key = (path: number): number => {
      switch (order) {
        case "instructions":
          return -this.weight(path, path + 1);
        case "count":
          return -Number(this.counts[path]!);
        case "length":
          return -this.instructions[path]!;
        case "number":
          return path;
        case "change": {
          const change = Number(this.counts[path]! - this.before(this.numbers[path]!));
          return -Math.abs(change) * this.instructions[path]!;
        }
        case "predicted":
          return -Number(this.predicted[path]!);
        case "missed":
          return -Number(this.missed(path)) * this.instructions[path]!;
      }
    };
    const keys = Float64Array.from({ length: this.length }, (_, path) => key(path));
    return Array.from({ length: this.length }, (_, path) => path).sort(
      (a, b) => keys[a]! - keys[b]! || a - b,
    );
  }

  /** Executions of a path that the edge counts do not predict. */
  missed(path: number): bigint {
    const [count, predicted] = [this.counts[path]!, this.predicted[path]!];
    return count > predicted ? count - predicted : 0n;
  }

  /** All paths. */
  root(): Prefix {
    const predictedLast = this.prediction.numbers.length;
    const { length } = this;
    return {
      block: this.graph.entry,
      base: 0n,
      first: 0,
      last: length,
      predictedFirst: 0,
      predictedLast,
      isMissed: false,
    };
  }

  /** The ways on from a prefix that its paths take. */
  next(prefix: Prefix): Way[] {
    return this.ways(prefix).filter(({ prefix: { first, last } }) => first < last);
  }

  /** The ways on from a prefix that its paths take or that the edge counts predict. */
  ways(prefix: Prefix): Way[] {
    const ways = [];
    let { last, predictedLast } = prefix;
    for (const edge of this.graph.dagOut[prefix.block]!) {
      if (last === prefix.first && predictedLast === prefix.predictedFirst) break;
      const base = prefix.base + edge.value;
      const first = this.ran.lowerBound(base, prefix.first, last);
      const predictedFirst = this.prediction.lowerBound(base, prefix.predictedFirst, predictedLast);
      const isMissed =
        prefix.isMissed ||
        this.isMissed(
          this.ran.sum(first, last),
          this.prediction.sum(predictedFirst, predictedLast),
        );
      const longer = { block: edge.to, base, first, last, predictedFirst, predictedLast, isMissed };
      if (first < last || predictedFirst < predictedLast) ways.push({ edge, prefix: longer });
      [last, predictedLast] = [first, predictedFirst];
    }
    return ways.reverse();
  }

  /** The edges of the path with this number, in order, by the values of the edges. Empty if there is
   * no such path. */
  edgesOf(number: bigint): DagEdge[] {
    const edges = [];
    let [block, rest] = [this.graph.entry, number];
    while (block !== this.graph.exit) {
      const edge = this.graph.dagOut[block]!.find((out) => out.value <= rest);
      if (!edge) return [];
      rest -= edge.value;
      edges.push(edge);
      block = edge.to;
    }
    return rest === 0n ? edges : [];
  }

  /** The paths with a prefix that the edge counts predict. */
  predictedPaths({ predictedFirst, predictedLast }: Prefix): PredictedPath[] {
    const { numbers, counts } = this.prediction;
    return [...numbers.subarray(predictedFirst, predictedLast)].map((number, index) => {
      const path = this.indexOf(number);
      const ran = path === -1 ? 0n : this.counts[path]!;
      return { number, ran, predicted: counts[predictedFirst + index]! };
    });
  }

  /** Adds up instructions along all prefixes, each of them once. */
  private measure(): void {
    const { exit, instructions } = this.graph;
    const stack: [Prefix, number][] = [[this.root(), 0]];
    for (let top = stack.pop(); top; top = stack.pop()) {
      const [prefix, before] = top;
      for (const { edge, prefix: longer } of this.next(prefix)) {
        const sum = before + (edge.kind === DagKind.Start ? 0 : instructions[edge.from]!);
        if (edge.to === exit) this.instructions.fill(sum, longer.first, longer.last);
        else stack.push([longer, sum]);
      }
    }
  }
}

/** The blocks that a path runs through. */
export function blocksOf(graph: Graph, edges: DagEdge[]): number[] {
  const first = edges[0];
  const blocks = first && first.kind !== DagKind.Start ? [graph.entry] : [];
  for (const edge of edges) if (edge.to !== graph.exit) blocks.push(edge.to);
  return blocks;
}

/** Whether a path ends in a call that did not come back. */
export function isLeft(graph: Graph, edges: DagEdge[]): boolean {
  const last = edges[edges.length - 1];
  return (
    last !== undefined &&
    last.kind === DagKind.Edge &&
    graph.edges[last.number]!.kind === EdgeKind.Exit
  );
}
