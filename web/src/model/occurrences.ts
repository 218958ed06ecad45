// Finds where a sequence of events occurs in a trace. An automaton (Knuth, Morris, Pratt 1977) reads
// the events; its state is how many of the last events are a beginning of the sequence. A rule takes
// each state to another one and ends a number of occurrences on the way. So a rule is read in one
// step, and occurrences that overlap are all counted.

import type { Grammar, Part } from "./grammar";

export class Occurrences {
  private readonly states: number;
  /** By state: the longest shorter state that fits as well. */
  private readonly fallback: number[];
  /** By rule and state: the state behind the rule, and the occurrences that end in it. */
  private readonly next: Uint8Array;
  private readonly counts: Float64Array;

  /** The sequence has at most 254 events. The grammar has no leaves. */
  constructor(
    private readonly grammar: Grammar,
    private readonly sequence: number[],
  ) {
    this.states = sequence.length + 1;
    this.fallback = fallbacks(sequence);
    this.next = new Uint8Array(grammar.length * this.states);
    this.counts = new Float64Array(grammar.length * this.states);
    for (let rule = grammar.length - 1; rule >= 0; rule--) {
      const right = grammar.rightSide(rule);
      for (let state = 0; state < this.states; state++) {
        let [at, count] = [state, 0];
        for (const part of right) {
          const [after, ended] = this.read(part, at);
          at = after;
          count += ended;
        }
        this.next[rule * this.states + state] = at;
        this.counts[rule * this.states + state] = count;
      }
    }
  }

  /** Occurrences in the whole trace. */
  get total(): number {
    return this.counts[0]!;
  }

  /** The occurrences that end in each column. */
  columns(bounds: number[]): number[] {
    const counts = bounds.slice(1).map(() => 0);
    // An occurrence that ends in the first column may begin before it.
    const first = Math.max(0, bounds[0]! - this.sequence.length + 1);
    let state = 0;
    this.grammar.cover([first, ...bounds], (part, column) => {
      const [after, ended] = this.read(part, state);
      state = after;
      if (column > 0) counts[column - 1]! += ended;
    });
    return counts;
  }

  /** The position of the first occurrence that begins at this position or later, or -1. */
  after(position: number): number {
    const end = this.grammar.events[0]!;
    let [low, high] = [position, end];
    if (this.within(position, end) === 0) return -1;
    // The first occurrence lies within position … high, and not within position … low.
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (this.within(position, middle) > 0) high = middle;
      else low = middle;
    }
    return high - this.sequence.length;
  }

  /** Occurrences that begin and end in a window. */
  private within(from: number, to: number): number {
    if (to <= from) return 0;
    let [state, count] = [0, 0];
    this.grammar.cover([from, to], (part) => {
      const [after, ended] = this.read(part, state);
      state = after;
      count += ended;
    });
    return count;
  }

  /** The state behind a symbol, and the occurrences that end in it. */
  private read(part: Part, state: number): [number, number] {
    if (part.sort === "rule") {
      const at = part.id * this.states + state;
      return [this.next[at]!, this.counts[at]!];
    }
    let known = state;
    while (known > 0 && this.sequence[known] !== part.id) known = this.fallback[known]!;
    if (this.sequence[known] === part.id) known += 1;
    return [known, known === this.sequence.length ? 1 : 0];
  }
}

function fallbacks(sequence: number[]): number[] {
  const fallback = [0, 0];
  let known = 0;
  for (let length = 1; length < sequence.length; length++) {
    while (known > 0 && sequence[known] !== sequence[length]) known = fallback[known]!;
    if (sequence[known] === sequence[length]) known += 1;
    fallback.push(known);
  }
  return fallback;
}
