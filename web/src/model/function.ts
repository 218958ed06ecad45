// A function that ran, with its paths, read from the document on first use.

import { exact, type Wire } from "../data/numbers";
import type { Profile } from "../data/profile";
import type { FunctionWire } from "../data/wire";
import { Graph, type DagEdge } from "./graph";
import { Paths } from "./paths";
import { SourceFile } from "./source";

export interface RanFunction {
  index: number;
  name: string;
  file: number;
  line: number;
  instructions: bigint;
  calls: bigint;
  graph: Graph;
  paths: Paths;
  /** Instructions in the baseline. Null if there is no baseline. */
  before: bigint | null;
  /** Paths of the baseline that this build of the function does not have. */
  otherPaths: number;
}

/** Reads functions and files, and keeps the latest of them. */
export class Reader {
  private readonly functions = new Map<number, RanFunction>();
  private readonly files = new Map<number, SourceFile>();

  constructor(readonly profile: Profile) {}

  function(index: number): RanFunction {
    return remember(this.functions, index, () => {
      const wire = this.profile.functionWire(index);
      const table = this.profile.head.functions;
      const graph = new Graph(
        wire,
        table.files[index]!,
        (file) => this.profile.head.files.library[file] === 1,
      );
      return {
        index,
        name: table.names[index]!,
        file: table.files[index]!,
        line: table.lines[index]!,
        instructions: exact(table.instructions[index]!),
        calls: exact(table.calls[index]!),
        graph,
        paths: new Paths(
          graph,
          wire.paths,
          wire.deciding,
          wire.predicted,
          this.baselinePaths(wire, index),
        ),
        before: this.before(index),
        otherPaths: wire.baseline?.other_paths ?? 0,
      };
    });
  }

  private before(index: number): bigint | null {
    const instructions = this.profile.head.baseline?.functions.instructions[index];
    return instructions === undefined ? null : exact(instructions);
  }

  /** The paths of a function in the baseline. Null if they are not compared. */
  private baselinePaths(wire: FunctionWire, index: number): Wire[] | null {
    const { baseline } = this.profile.head;
    const isCompared = baseline?.has_paths && baseline.functions.pairing[index] !== "changed";
    return isCompared ? (wire.baseline?.paths ?? []) : null;
  }

  file(index: number): SourceFile {
    return remember(this.files, index, () => new SourceFile(this.profile.fileWire(index)));
  }

  fileName(index: number): string {
    return this.profile.head.files.names[index] || "?";
  }
}

/** A path in view. */
export interface ChosenPath {
  fn: RanFunction;
  number: bigint;
  /** The index of the path among the paths that ran, or -1. */
  index: number;
  edges: DagEdge[];
}

const KEPT = 24;

function remember<T>(known: Map<number, T>, index: number, make: () => T): T {
  const value = known.get(index) ?? make();
  known.delete(index);
  known.set(index, value);
  const oldest = known.keys().next().value;
  if (known.size > KEPT && oldest !== undefined) known.delete(oldest);
  return value;
}
