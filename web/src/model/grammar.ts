// The grammar of a trace: rule 0 stands for all events, and a rule uses only rules with larger
// numbers. Questions about a window of the trace are answered without expanding it: a rule that lies
// inside of a column is one step. crates/report/src/html/grammar.rs says which rules a page has.

import { exact } from "../data/numbers";
import type { GrammarWire } from "../data/traces";

export type Part =
  { sort: "terminal"; id: number } | { sort: "rule"; id: number } | { sort: "leaf"; id: number };

/** A rule that the page does not have. */
export interface Leaf {
  number: number;
  events: number;
  /** By row of the timeline. */
  sums: number[];
}

/** A part of the trace in one column: all of a symbol, or a share of one. */
export type Visit = (part: Part, column: number, share: number) => void;

export class Grammar {
  /** By rule: its first symbol; and the end of the last rule. */
  private readonly starts: Uint32Array;
  private readonly symbols: Float64Array;
  /** By symbol: its position in the expansion of its rule. */
  private readonly offsets: Float64Array;
  /** By rule: the events of its expansion. */
  readonly events: Float64Array;
  readonly leaves: Leaf[];
  private readonly numbers: number[];

  /** `rows` is the number of sums of a leaf. */
  constructor(wire: GrammarWire, rows: number) {
    this.numbers = wire.numbers;
    this.symbols = Float64Array.from(wire.symbols);
    this.starts = new Uint32Array(wire.sizes.length + 1);
    wire.sizes.forEach((size, rule) => (this.starts[rule + 1] = this.starts[rule]! + size));
    this.leaves = [];
    for (let at = 0; at < wire.leaves.length; at += 2 + rows) {
      const [number, events, ...sums] = wire.leaves
        .slice(at, at + 2 + rows)
        .map((field) => Number(exact(field))) as [number, number, ...number[]];
      this.leaves.push({ number, events, sums });
    }
    this.events = new Float64Array(this.length);
    this.offsets = new Float64Array(this.symbols.length);
    for (let rule = this.length - 1; rule >= 0; rule--) {
      let offset = 0;
      for (let at = this.starts[rule]!; at < this.starts[rule + 1]!; at++) {
        this.offsets[at] = offset;
        offset += this.eventsOf(this.part(at));
      }
      this.events[rule] = offset;
    }
  }

  /** Number of rules. */
  get length(): number {
    return this.starts.length - 1;
  }

  /** Number of symbols on the right side of a rule. */
  size(rule: number): number {
    return this.starts[rule + 1]! - this.starts[rule]!;
  }

  /** The number of a rule in the trace. */
  numberOf(rule: number): number {
    return this.numbers.length === 0 ? rule : this.numbers[rule]!;
  }

  /** The right side of a rule, or its first symbols. */
  rightSide(rule: number, limit = Infinity): Part[] {
    const parts = [];
    const end = Math.min(this.starts[rule + 1]!, this.starts[rule]! + limit);
    for (let at = this.starts[rule]!; at < end; at++) parts.push(this.part(at));
    return parts;
  }

  eventsOf(part: Part): number {
    switch (part.sort) {
      case "terminal":
        return 1;
      case "rule":
        return this.events[part.id]!;
      case "leaf":
        return this.leaves[part.id]!.events;
    }
  }

  /** By rule: how often it occurs in the trace (Larus 1999, section 3.3). */
  frequencies(): Float64Array {
    const counts = new Float64Array(this.length);
    counts[0] = 1;
    for (let rule = 0; rule < this.length; rule++) {
      for (const part of this.rightSide(rule)) {
        if (part.sort === "rule") counts[part.id]! += counts[rule]!;
      }
    }
    return counts;
  }

  /** By rule: the sum of a weight over the symbols of its expansion. */
  sums(weight: (part: Part & { sort: "terminal" | "leaf" }) => number): Float64Array {
    const sums = new Float64Array(this.length);
    for (let rule = this.length - 1; rule >= 0; rule--) {
      for (const part of this.rightSide(rule))
        sums[rule]! += part.sort === "rule" ? sums[part.id]! : weight(part);
    }
    return sums;
  }

  /** Visits the trace from the first bound to the last one, in order. Column n reaches from bound n
   * to bound n + 1. A rule that is in several columns is visited symbol by symbol, except for the
   * rule `whole`: it is visited in shares, as leaves are. */
  cover(bounds: number[], visit: Visit, whole = -1): void {
    const [first, last] = [bounds[0]!, bounds[bounds.length - 1]!];
    let column = 0;
    const stack = [{ rule: 0, position: 0, at: this.symbolAt(0, first) }];
    for (let top = stack[0]; top; top = stack[stack.length - 1]) {
      if (top.at >= this.starts[top.rule + 1]!) {
        stack.pop();
        continue;
      }
      const part = this.part(top.at);
      const begin = top.position + this.offsets[top.at]!;
      const end = begin + this.eventsOf(part);
      top.at += 1;
      if (begin >= last) return;
      if (end <= first || end === begin) continue;
      while (bounds[column + 1]! <= begin) column += 1;
      if (begin >= bounds[column]! && end <= bounds[column + 1]!) visit(part, column, 1);
      else if (part.sort === "rule" && part.id !== whole)
        stack.push({ rule: part.id, position: begin, at: this.symbolAt(part.id, first - begin) });
      else this.divide(part, begin, end, bounds, column, visit);
    }
  }

  /** The events from a position on: terminals, and leaves with the rest of their events. */
  from(position: number, limit: number): { part: Part; events: number }[] {
    const found: { part: Part; events: number }[] = [];
    const stack = [{ rule: 0, position: 0, at: this.symbolAt(0, position) }];
    for (let top = stack[0]; top && found.length < limit; top = stack[stack.length - 1]) {
      if (top.at >= this.starts[top.rule + 1]!) {
        stack.pop();
        continue;
      }
      const part = this.part(top.at);
      const begin = top.position + this.offsets[top.at]!;
      const end = begin + this.eventsOf(part);
      top.at += 1;
      if (end <= position || end === begin) continue;
      if (part.sort === "rule")
        stack.push({
          rule: part.id,
          position: begin,
          at: this.symbolAt(part.id, position - begin),
        });
      else found.push({ part, events: end - Math.max(begin, position) });
    }
    return found;
  }

  /** The first terminals of a rule's expansion. It ends at a leaf. */
  beginning(rule: number, limit: number): number[] {
    const terminals: number[] = [];
    const stack = [this.rightSide(rule, limit).reverse()];
    while (stack.length > 0 && terminals.length < limit) {
      const part = stack[stack.length - 1]!.pop();
      if (part === undefined) stack.pop();
      else if (part.sort === "terminal") terminals.push(part.id);
      else if (part.sort === "leaf") break;
      else stack.push(this.rightSide(part.id, limit).reverse());
    }
    return terminals;
  }

  /** Visits the columns of a symbol that is in several. */
  private divide(
    part: Part,
    begin: number,
    end: number,
    bounds: number[],
    first: number,
    visit: Visit,
  ): void {
    for (let column = first; column + 1 < bounds.length && bounds[column]! < end; column++) {
      const size = Math.min(end, bounds[column + 1]!) - Math.max(begin, bounds[column]!);
      if (size > 0) visit(part, column, size / (end - begin));
    }
  }

  private part(at: number): Part {
    const code = this.symbols[at]!;
    const [id, sort] = [Math.floor(code / 3), code % 3];
    return { sort: sort === 0 ? "terminal" : sort === 1 ? "rule" : "leaf", id };
  }

  /** The symbol of a rule at a position of its expansion. */
  private symbolAt(rule: number, position: number): number {
    let [low, high] = [this.starts[rule]!, this.starts[rule + 1]!];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.offsets[middle]! <= position) low = middle;
      else high = middle;
    }
    return low;
  }
}
