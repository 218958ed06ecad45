// Finds the phases of two runs that execute the same code.

import type { PhaseFunctionWire, PhaseWire } from "../data/phases";

/** A phase of the baseline. */
export interface AlikePhase {
  phase: PhaseWire;
  /** The share of the instructions that both phases execute in the same functions: 0 to 1. */
  share: number;
}

/** The phase of the baseline that is most like a phase. Null if none executes the same functions. */
export function mostAlike(phase: PhaseWire, before: PhaseWire[]): AlikePhase | null {
  const all = before.map((other) => ({ phase: other, share: sharedPart(phase, other) }));
  const best = all.reduce<AlikePhase | null>(
    (most, each) => (each.share > (most?.share ?? 0) ? each : most),
    null,
  );
  return best;
}

/** The function of a phase that is the same as another function. */
export function sameFunction(
  fn: PhaseFunctionWire,
  functions: PhaseFunctionWire[],
): PhaseFunctionWire | undefined {
  return functions.find((other) => key(other) === key(fn));
}

/** The sum of the smaller shares of each function in two phases. */
function sharedPart(a: PhaseWire, b: PhaseWire): number {
  const shares = new Map(b.functions.map((fn) => [key(fn), part(fn, b)]));
  return a.functions.reduce((sum, fn) => sum + Math.min(part(fn, a), shares.get(key(fn)) ?? 0), 0);
}

function part({ amount }: PhaseFunctionWire, { instructions }: PhaseWire): number {
  return Number(instructions) > 0 ? Number(amount) / Number(instructions) : 0;
}

/** Functions that the page does not have are told apart by their names. */
function key(fn: PhaseFunctionWire): number | string {
  return fn.function < 0 ? fn.name : fn.function;
}
