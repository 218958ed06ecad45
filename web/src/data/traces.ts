// The part of the document with the traces, as crates/report/src/html/trace.rs writes it.

import type { Wire } from "./numbers";

export interface TracesWire {
  traces: TraceWire[];
  left_out: number;
}

export interface TraceWire {
  image: string;
  title: string;
  damage: string[];
  stats: StatsWire;
  functions: number[];
  names: string[];
  terminals: number[];
  rows: number[];
  grammar: GrammarWire;
  hot: {
    method: "exact" | "figure-7";
    min_cost: Wire;
    total: Wire;
    found: number;
    terminals: number[][];
    counts: Wire[];
    costs: Wire[];
  };
  phases: [string, number][];
  /** By function of the trace. */
  instructions: Wire[];
  before: TraceBeforeWire | null;
}

export interface StatsWire {
  events: Wire;
  paths: Wire;
  distinct_paths: number;
  functions: number;
  instructions: Wire;
  gaps: Wire;
  rules: number;
  symbols: number;
}

/** The trace of the baseline, as crates/report/src/html/trace_before.rs writes it. */
export interface TraceBeforeWire {
  title: string;
  stats: StatsWire;
  /** By function of the run's trace: its instructions. */
  instructions: Wire[];
  /** By hot sequence of the run's trace: its executions. Null if they cannot be compared. */
  hot: (Wire | null)[];
}

export interface GrammarWire {
  sizes: number[];
  symbols: number[];
  numbers: number[];
  leaves: Wire[];
}
