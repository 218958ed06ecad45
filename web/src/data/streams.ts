// The parts of the JSON documents of loops and variation that the page shows. docs/json.md explains
// the fields.

export interface LoopsDocument {
  k: number;
  loops: LoopRecord[];
}

export interface LoopRecord {
  function: string;
  head: { block: number; place: string | null };
  executions: number;
  iterations: number;
  starts: number;
  findings: { kind: string; share: number; paths?: number[]; turns?: number }[];
  sequences: { parent: number | null; paths: number[]; count: number }[];
  paths: { id: number }[];
}

export interface VariationDocument {
  variation: TimedPath[];
}

export interface TimedPath {
  function: string;
  path: number;
  path_name: string;
  samples: number;
  executions: number;
  base: number;
  p50: number;
  p90: number;
  p99: number;
  max: number;
  share: number;
  certain: boolean;
  uncertain: string | null;
  rank_by_count: number;
  rank_by_total: number;
  histogram: [number, number, number][];
}

export interface SamplesDocument {
  basis: string;
  clock: string;
  frequency: number;
  duration_ns: number;
  state: string;
  samples: number;
  lost: number;
  without_file: number;
  records?: { source: string; event: string; stacks: number; branches: number; paths: number };
  programs: { path: string; samples: number }[];
  files: { path: string; blocks: string; samples: number; without_function: number }[];
  functions: SampledFunction[];
  lines: { file: string; line: number; function: string; samples: number }[];
}

export interface SampledFunction {
  name: string;
  linkage_name: string;
  image: string;
  file: string;
  line: number;
  found_by: "blocks" | "symbols";
  samples: number;
  blocks: {
    block: number;
    file: string;
    line: number;
    instructions: number;
    samples: number;
    weight: number;
  }[];
}
