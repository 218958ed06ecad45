// The records of the document, as crates/report/src/html writes them.

import type { Wire } from "./numbers";
import type { ComparedPhasesWire } from "./phases";
import type { LoopsDocument, SamplesDocument, VariationDocument } from "./streams";
import type { TracesWire } from "./traces";

/** The version of the document that this page reads. */
export const FORMAT = 4;

export interface Head {
  format: number;
  title: string;
  unit: "paths" | "edges";
  /** What the reader must know of estimated counts. Null if the counts are exact. */
  basis: string | null;
  images: { name: string; path: string; processes: number; threads: number }[];
  notes: string[];
  cpu_time: {
    user_seconds: number;
    system_seconds: number;
    woven_samples: Wire;
    samples: Wire;
  } | null;
  totals: {
    distinct_paths: Wire;
    possible_paths: Wire;
    distinct_edges: Wire;
    possible_edges: Wire;
    instructions: Wire;
    functions: number;
    functions_run: number;
  };
  shares: { percent: number; paths: number }[];
  functions: {
    names: string[];
    files: number[];
    lines: number[];
    calls: Wire[];
    instructions: Wire[];
    executions: Wire[];
    distinct: Wire[];
    predicted: Wire[];
    /** Instructions of the path executions that the edge counts do not predict. */
    missed_instructions: Wire[];
  };
  never_ran: { names: string[]; files: number[]; lines: number[] };
  hot: {
    functions: number[];
    numbers: Wire[];
    routes: string[];
    counts: Wire[];
    instructions: Wire[];
    /** Executions in the baseline. Null without one. */
    before: Wire[] | null;
  };
  missed: MissedPaths;
  files: { names: string[]; library: number[] };
  baseline: BaselineHead | null;
  /** The parts of the run besides the counts, in the order of their lines. */
  parts: (keyof Parts)[];
}

/** The paths of which the edge counts predict less than half of the executions. */
export interface MissedPaths {
  functions: number[];
  numbers: Wire[];
  routes: string[];
  counts: Wire[];
  predicted: Wire[];
  instructions: Wire[];
  /** The number of all missed paths. The list has the first of them. */
  all: number;
}

/** How a function was found in the baseline, as `holloway diff` says it. */
export type Pairing = "same" | "moved" | "renamed" | "changed" | "absent";

/** The run with which the page compares its run. */
export interface BaselineHead {
  title: string;
  has_paths: boolean;
  instructions: Wire;
  distinct_paths: Wire;
  distinct_edges: Wire;
  functions_run: number;
  /** By function of the page. */
  functions: { calls: Wire[]; instructions: Wire[]; pairing: Pairing[] };
  gone: {
    names: string[];
    files: number[];
    lines: number[];
    instructions: Wire[];
    /** Whether the run's build has the function. */
    is_known: number[];
  };
  changed: {
    functions: number[];
    numbers: Wire[];
    routes: string[];
    counts: Wire[];
    before: Wire[];
    instructions: Wire[];
  };
}

export interface FunctionWire {
  entry: number;
  exit: number;
  scope_names: string[];
  /** The files of the function's code, and by file: its name, as short as possible. */
  files: number[];
  file_names: string[];
  scopes: number[];
  instructions: number[];
  counts: Wire[];
  places: number[][];
  edges: number[];
  taken: Wire[];
  words: string[];
  /** By edge: the file and the line where control goes. -1, 0: unknown, or the branch's line. */
  targets: number[];
  dag: number[];
  values: Wire[];
  increments: (Wire | null)[];
  paths: Wire[];
  /** By path that ran: the edge that it takes at the decision that decides it, or -1. */
  deciding: number[];
  predicted: Wire[];
  baseline: {
    counts: Wire[];
    taken: Wire[];
    paths: Wire[];
    other_paths: number;
    other_executions: Wire;
  } | null;
}

export interface FileWire {
  path: string;
  excerpts: { first: number[]; text: string[] };
  /** Whether the text is not the text that the compiler read. */
  is_changed: boolean;
  counts: Wire[];
  baseline: Wire[] | null;
}

/** The parts of a run besides the counts. */
export interface Parts {
  loops: StreamWire<LoopsDocument>;
  variation: StreamWire<VariationDocument>;
  samples: StreamWire<SamplesDocument>;
  traces: TracesWire;
  phases: ComparedPhasesWire;
}

/** A document of the run, and the same of its baseline. */
export interface StreamWire<Document> {
  now: StreamDocument<Document>;
  before: StreamDocument<Document> | null;
}

export interface StreamDocument<Document> {
  /** By record of the document: the index of its function, or -1 if the page does not have it. */
  functions: number[];
  document: Document;
}
