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
  stats: {
    events: Wire;
    paths: Wire;
    distinct_paths: number;
    functions: number;
    instructions: Wire;
    gaps: Wire;
    rules: number;
    symbols: number;
  };
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
}

export interface GrammarWire {
  sizes: number[];
  symbols: number[];
  numbers: number[];
  leaves: Wire[];
}
