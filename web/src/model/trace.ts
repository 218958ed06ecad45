// A thread's trace: its events, the functions of the timeline's rows, and sums over windows.

import { exact, type Wire } from "../data/numbers";
import type { TraceWire } from "../data/traces";
import { Grammar, type Part } from "./grammar";
import { Occurrences } from "./occurrences";

export type Event =
  | {
      sort: "path";
      /** A function of the trace. */
      fn: number;
      path: number;
      instructions: number;
      enters: boolean;
      leaves: boolean;
    }
  | { sort: "left"; frames: number }
  | { sort: "gap" }
  /** The page does not have this event. */
  | { sort: "unknown" };

/** A window of the trace: events from … to − 1. */
export interface Window {
  from: number;
  to: number;
}

/** The sums of a window by column and row. */
export interface Sums {
  /** By column × (rows + 1) + row: instructions. The last row has all other functions. */
  cells: Float64Array;
  /** By row: the instructions of the window. */
  totals: number[];
  /** Whether a part of the window is not in the page, so that sums are estimated. */
  isEstimated: boolean;
}

/** A sequence of events that costs much. */
export interface HotSequence {
  terminals: number[];
  count: bigint;
  cost: bigint;
  /** Executions in the baseline. Null if there is none, or if they cannot be compared. */
  before: bigint | null;
}

export class Trace {
  readonly grammar: Grammar;
  readonly events: Event[];
  readonly hot: HotSequence[];
  /** By terminal: its row. */
  private readonly rowOf: number[];
  private readonly width: number;
  /** By rule × width + row: instructions. */
  private readonly sums: Float64Array;
  private known: { rule: number; covered: Float64Array } | null = null;

  constructor(readonly wire: TraceWire) {
    const { rows, hot, before } = wire;
    this.width = rows.length + 1;
    this.grammar = new Grammar(wire.grammar, this.width);
    this.events = eventsOf(wire.terminals);
    this.rowOf = this.events.map((event) =>
      event.sort === "path" ? Math.min(event.fn, rows.length) : rows.length,
    );
    this.hot = hot.terminals.map((terminals, index) => ({
      terminals,
      count: exact(hot.counts[index]!),
      cost: exact(hot.costs[index]!),
      before: wired(before?.hot[index]),
    }));
    this.sums = this.sumRules();
  }

  /** Number of events. */
  get length(): number {
    return this.grammar.events[0]!;
  }

  /** The bounds of the columns of a window, of which there are at most so many. */
  bounds({ from, to }: Window, most: number): number[] {
    const count = Math.max(1, Math.min(to - from, most));
    return Array.from({ length: count + 1 }, (_, column) =>
      Math.round(from + ((to - from) * column) / count),
    );
  }

  /** The instructions of each row in each column. */
  columns(bounds: number[]): Sums {
    const { width } = this;
    const cells = new Float64Array(width * (bounds.length - 1));
    let isEstimated = false;
    this.grammar.cover(bounds, (part, column, share) => {
      isEstimated ||= share < 1;
      this.add(part, share, cells, width * column);
    });
    const totals = Array.from({ length: width }, (_, row) => {
      let total = 0;
      for (let at = row; at < cells.length; at += width) total += cells[at]!;
      return total;
    });
    return { cells, totals, isEstimated };
  }

  /** By column: the share of its events that a rule stands for. */
  covered(rule: number, bounds: number[]): number[] {
    if (this.known?.rule !== rule) this.known = { rule, covered: this.coverage(rule) };
    const { covered } = this.known;
    const sums = bounds.slice(1).map(() => 0);
    this.grammar.cover(
      bounds,
      (part, column, share) => {
        if (part.sort === "rule") sums[column]! += share * covered[part.id]!;
      },
      rule,
    );
    return sums.map((sum, column) => sum / Math.max(1, bounds[column + 1]! - bounds[column]!));
  }

  /** The occurrences of a sequence, or null if the page does not have all events. */
  occurrences(terminals: number[]): Occurrences | null {
    return this.grammar.leaves.length > 0 ? null : new Occurrences(this.grammar, terminals);
  }

  private coverage(rule: number): Float64Array {
    const covered = new Float64Array(this.grammar.length);
    for (let user = this.grammar.length - 1; user >= 0; user--) {
      if (user === rule) covered[user] = this.grammar.events[user]!;
      else
        for (const part of this.grammar.rightSide(user))
          if (part.sort === "rule") covered[user]! += covered[part.id]!;
    }
    return covered;
  }

  private sumRules(): Float64Array {
    const { grammar, width } = this;
    const sums = new Float64Array(grammar.length * width);
    for (let rule = grammar.length - 1; rule >= 0; rule--) {
      for (const part of grammar.rightSide(rule)) {
        if (part.sort === "rule") {
          for (let row = 0; row < width; row++)
            sums[rule * width + row]! += sums[part.id * width + row]!;
        } else this.addPart(part, 1, sums, rule * width);
      }
    }
    return sums;
  }

  private add(part: Part, share: number, into: Float64Array, at: number): void {
    if (part.sort !== "rule") return this.addPart(part, share, into, at);
    for (let row = 0; row < this.width; row++)
      into[at + row]! += this.sums[part.id * this.width + row]!;
  }

  private addPart(part: Part, share: number, into: Float64Array, at: number): void {
    if (part.sort === "leaf") {
      this.grammar.leaves[part.id]!.sums.forEach((sum, row) => (into[at + row]! += share * sum));
      return;
    }
    const event = this.events[part.id]!;
    if (event.sort === "path") into[at + this.rowOf[part.id]!]! += event.instructions;
  }
}

function eventsOf(fields: number[]): Event[] {
  const events: Event[] = [];
  for (let at = 0; at < fields.length;) {
    const first = fields[at]!;
    if (first >= 0) {
      const [path, instructions, ends] = fields.slice(at + 1, at + 4) as [number, number, number];
      const [enters, leaves] = [(ends & 1) !== 0, (ends & 2) !== 0];
      events.push({ sort: "path", fn: first, path, instructions, enters, leaves });
      at += 4;
    } else if (first === -1) {
      events.push({ sort: "left", frames: fields[at + 1]! });
      at += 2;
    } else {
      events.push({ sort: first === -2 ? "gap" : "unknown" });
      at += 1;
    }
  }
  return events;
}

function wired(wire: Wire | null | undefined): bigint | null {
  return wire === null || wire === undefined ? null : exact(wire);
}
