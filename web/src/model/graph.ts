// A function's control flow graph with its counts and its path numbering.

import { exact, wholePercent } from "../data/numbers";
import type { FunctionWire } from "../data/wire";

/** Words of a passed check: control stays on the line, and other edges do not return. */
const PASSED_CHECK = "goes on";

export interface Place {
  scope: number;
  line: number;
  column: number;
}

/** A line of a file. */
export interface FileLine {
  file: number;
  line: number;
}

/** The function, or a function inlined into it. */
export interface Scope {
  name: string;
  file: number;
  line: number;
  parent: number;
  callLine: number;
}

export enum EdgeKind {
  Plain,
  Pinned,
  Cut,
  Exit,
}

export interface Edge {
  from: number;
  to: number;
  kind: EdgeKind;
  place: Place | null;
  taken: bigint;
  /** Executions in the baseline. 0 without one. */
  before: bigint;
  /** What the code adds to the number of the path that takes the edge or ends there, and of the path
   * that starts behind it. Null on the spanning tree: it adds nothing there. */
  increments: [bigint | null, bigint | null];
  /** Where control goes. Empty if nothing is decided. */
  words: string;
  /** The line where control goes. Null if it is unknown, or the line of the branch. */
  target: FileLine | null;
}

export enum DagKind {
  Edge,
  Start,
  Back,
  Cut,
}

/** An edge of the acyclic graph that numbers the paths (Ball, Larus 1996). */
export interface DagEdge {
  from: number;
  to: number;
  kind: DagKind;
  /** The edge of the graph. For a start edge, the block where paths start. */
  number: number;
  value: bigint;
}

export class Graph {
  readonly entry: number;
  readonly exit: number;
  readonly scopes: Scope[];
  readonly instructions: number[];
  readonly counts: bigint[];
  /** Whether the chords are known: the edges where the code adds to the number of a path. */
  readonly hasChords: boolean;
  /** By block: its executions in the baseline. Null if there is none. */
  readonly before: bigint[] | null;
  readonly places: Place[][];
  readonly edges: Edge[];
  readonly dag: DagEdge[];
  /** By block: its edges of the acyclic graph, the largest value first. */
  readonly dagOut: DagEdge[][];
  /** By block: its edges, without exit edges. */
  readonly out: number[][];
  /** By file of the function's code: its name, as short as possible. */
  readonly fileNames: Map<number, string>;

  /** `file` is the function's own file. `isLibrary` says whether a file belongs to a standard library.
   * Code from there is shown on the line that it was inlined into. */
  constructor(
    wire: FunctionWire,
    readonly file: number,
    private readonly isLibrary: (file: number) => boolean,
  ) {
    this.entry = wire.entry;
    this.exit = wire.exit;
    this.instructions = wire.instructions;
    this.counts = wire.counts.map(exact);
    this.fileNames = new Map(wire.files.map((file, index) => [file, wire.file_names[index]!]));
    this.hasChords = wire.increments.length > 0;
    this.before = wire.baseline?.counts.map(exact) ?? null;
    this.scopes = wire.scope_names.map((name, scope) => {
      const [file, line, parent, callLine] = wire.scopes.slice(4 * scope, 4 * scope + 4) as [
        number,
        number,
        number,
        number,
      ];
      return { name, file, line, parent, callLine };
    });
    this.places = wire.places.map((fields) =>
      withoutRepetitions(placesOf(fields).map((place) => this.userPlace(place))),
    );
    this.edges = wire.words.map((words, number) => {
      const edge = edgeOf(wire, words, number);
      return { ...edge, place: edge.place && this.userPlace(edge.place) };
    });
    this.out = this.instructions.map(() => []);
    this.edges.forEach((edge, number) => {
      if (edge.kind !== EdgeKind.Exit) this.out[edge.from]!.push(number);
    });
    this.dag = wire.values.map((value, index) =>
      this.dagEdge(wire.dag[2 * index]!, wire.dag[2 * index + 1]!, exact(value)),
    );
    this.dagOut = this.instructions.map(() => []);
    for (const edge of this.dag) this.dagOut[edge.from]!.push(edge);
    for (const edges of this.dagOut)
      edges.sort((a, b) => (a.value < b.value ? 1 : a.value > b.value ? -1 : 0));
  }

  private dagEdge(kind: DagKind, number: number, value: bigint): DagEdge {
    switch (kind) {
      case DagKind.Edge:
        return { from: this.edges[number]!.from, to: this.edges[number]!.to, kind, number, value };
      case DagKind.Start:
        return { from: this.entry, to: number, kind, number, value };
      case DagKind.Back:
      case DagKind.Cut:
        return { from: this.edges[number]!.from, to: this.exit, kind, number, value };
    }
  }

  /** The frames of a place, innermost first, each with the line where control is. */
  frames(place: Place): { scope: number; line: number }[] {
    const frames = [];
    let { scope, line } = place;
    while (scope >= 0 && scope < this.scopes.length && frames.length <= this.scopes.length) {
      frames.push({ scope, line });
      const { parent, callLine } = this.scopes[scope]!;
      scope = parent;
      line = callLine;
    }
    return frames;
  }

  /** The file of a place. */
  fileOf(place: Place): number {
    return this.scopes[place.scope]?.file ?? -1;
  }

  /** A line in a few characters: `12`, or `list.h:12` in another file than the function's own. */
  lineName({ file, line }: FileLine): string {
    return file === this.file ? `${line}` : `${this.fileNames.get(file) ?? "?"}:${line}`;
  }

  /** A place in a few characters, as `lineName`. */
  placeName(place: Place): string {
    return this.lineName({ file: this.fileOf(place), line: place.line });
  }

  /** A place in a sentence: `line 12`, `list.h:12`. */
  placeWords(place: Place): string {
    return this.lineWords({ file: this.fileOf(place), line: place.line });
  }

  /** A line in a sentence, as `placeWords`. */
  lineWords(line: FileLine): string {
    return line.file === this.file ? `line ${line.line}` : this.lineName(line);
  }

  /** The innermost frame of a place outside of libraries. */
  private userPlace(place: Place): Place {
    const frame = this.frames(place).find(({ scope }) => !this.isLibrary(this.scopes[scope]!.file));
    if (!frame || frame.scope === place.scope) return place;
    return { scope: frame.scope, line: frame.line, column: 0 };
  }

  /** The back edges to a block. Paths also start behind a cut. */
  private backEdges(block: number): Edge[] {
    return this.dag
      .filter(({ kind, number }) => kind === DagKind.Back && this.edges[number]!.to === block)
      .map(({ number }) => this.edges[number]!);
  }

  /** Whether a back edge leads to a block. Paths also start behind a cut. */
  isLoopHead(block: number): boolean {
    return this.backEdges(block).length > 0;
  }

  /** The line where the hottest edge back to the head of a loop leads, as the words of its branch
   * name it. Null if no branch leads there at once. */
  loopLine(head: number): FileLine | null {
    const [hottest] = this.backEdges(head)
      .flatMap((back) => [back, ...this.edgesBefore(back)])
      .filter(({ target }) => target !== null)
      .sort((a, b) => (a.taken < b.taken ? 1 : a.taken > b.taken ? -1 : 0));
    return hottest?.target ?? null;
  }

  /** The edges that lead to an edge by blocks without code in the source. */
  private edgesBefore(edge: Edge): Edge[] {
    const seen = new Set<Edge>();
    const waiting = [edge];
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      const { from } = next;
      if (this.places[from]!.length > 0) continue;
      const before = this.edges.filter(
        (each) => each.to === from && each.kind !== EdgeKind.Exit && !seen.has(each),
      );
      before.forEach((each) => seen.add(each));
      waiting.push(...before);
    }
    return [...seen];
  }

  /** How often the run left the block of an edge by this edge: `50 %`. Empty if it never did. */
  share(number: number): string {
    const { from, taken } = this.edges[number]!;
    const all = this.out[from]!.reduce((sum, edge) => sum + this.edges[edge]!.taken, 0n);
    return all === 0n ? "" : wholePercent(taken, all);
  }

  /** Where control goes along an edge, and how often the run went there: `line 12 (50 %)`. */
  decision(number: number): string {
    const share = this.share(number);
    return this.edges[number]!.words + (share === "" ? "" : ` (${share})`);
  }

  /** The other ways that the run took at the branch of an edge, the most frequent first. */
  otherWays(number: number): number[] {
    const { from } = this.edges[number]!;
    return this.out[from]!.filter(
      (other) => other !== number && this.edges[other]!.taken > 0n && this.isShown(other),
    ).sort((a, b) => Number(this.edges[b]!.taken - this.edges[a]!.taken));
  }

  /** The blocks with code on a line, or with code that was inlined into it. */
  blocksOn({ file, line }: FileLine): number[] {
    const isOn = (place: Place): boolean =>
      this.frames(place).some(
        (frame) => frame.line === line && this.fileOf({ ...frame, column: 0 }) === file,
      );
    return this.places.flatMap((places, block) => (places.some(isOn) ? [block] : []));
  }

  /** Whether an edge is a decision with words. A passed check has none. */
  isShown(number: number): boolean {
    const { words } = this.edges[number]!;
    return words !== "" && words !== PASSED_CHECK;
  }

  /** Whether several edges of a block were taken: a decision that the run made both ways. */
  isDecided(block: number): boolean {
    return this.out[block]!.filter((edge) => this.edges[edge]!.taken > 0n).length > 1;
  }
}

function withoutRepetitions(places: Place[]): Place[] {
  return places.filter(({ scope, line }, index) => {
    const before = places[index - 1];
    return before?.scope !== scope || before.line !== line;
  });
}

function placesOf(fields: number[]): Place[] {
  const places = [];
  for (let at = 0; at < fields.length; at += 3) {
    places.push({ scope: fields[at]!, line: fields[at + 1]!, column: fields[at + 2]! });
  }
  return places;
}

function edgeOf(wire: FunctionWire, words: string, number: number): Edge {
  const [from, to, kind, scope, line, column] = wire.edges.slice(6 * number, 6 * number + 6) as [
    number,
    number,
    EdgeKind,
    number,
    number,
    number,
  ];
  const place = scope < 0 ? null : { scope, line, column };
  const before = exact(wire.baseline?.taken[number] ?? 0);
  const increment = (index: number): bigint | null => {
    const wired = wire.increments[2 * number + index] ?? null;
    return wired === null ? null : exact(wired);
  };
  return {
    from,
    to,
    kind,
    place,
    taken: exact(wire.taken[number]!),
    before,
    increments: [increment(0), increment(1)],
    words,
    target: targetOf(wire, number),
  };
}

function targetOf(wire: FunctionWire, number: number): FileLine | null {
  const [file, line] = wire.targets.slice(2 * number, 2 * number + 2) as [number, number];
  return file < 0 ? null : { file, line };
}
