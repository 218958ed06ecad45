// The source text of a file with the counts of its lines. Only parts of the file are there.

import { exact, type Wire } from "../data/numbers";
import type { FileWire } from "../data/wire";
import { colorLines, type Span } from "./colors";

export interface SourceLine {
  /** The line number; 0 for a gap between two parts, whose text says which lines it has. */
  line: number;
  spans: Span[];
  text: string;
}

export class SourceFile {
  readonly path: string;
  /** Whether the text is not the text that the compiler read. */
  readonly isChanged: boolean;
  /** Whether the page has no text of the file, but counts. */
  readonly isMissing: boolean;
  readonly lines: SourceLine[] = [];
  readonly counts: Map<number, bigint>;
  /** The counts of the baseline. Null if there is none. */
  readonly before: Map<number, bigint> | null;
  readonly highest: number;
  private readonly rows = new Map<number, number>();

  constructor(wire: FileWire) {
    this.path = wire.path;
    this.isChanged = wire.is_changed;
    this.counts = countsOf(wire.counts);
    this.before = wire.baseline && countsOf(wire.baseline);
    this.highest = Number([...this.counts.values()].reduce((a, b) => (b > a ? b : a), 0n));
    wire.excerpts.text.forEach((text, part) => this.addPart(wire.excerpts.first[part]!, text));
    this.isMissing = this.lines.length === 0 && this.counts.size > 0;
    if (this.isMissing) this.addLinesWithoutText();
  }

  /** The row of a line, or -1. */
  rowOf(line: number): number {
    return this.rows.get(line) ?? -1;
  }

  private addPart(first: number, text: string): void {
    const before = this.lines[this.lines.length - 1];
    if (before) this.lines.push({ line: 0, spans: [], text: gap(before.line + 1, first - 1) });
    const lines = text.split("\n");
    const colors = colorLines(lines, this.path);
    lines.forEach((each, index) => {
      this.rows.set(first + index, this.lines.length);
      this.lines.push({ line: first + index, spans: colors[index]!, text: each });
    });
  }

  /** A file that cannot be read still has counts. */
  private addLinesWithoutText(): void {
    for (const line of this.counts.keys()) {
      this.rows.set(line, this.lines.length);
      this.lines.push({ line, spans: [], text: "" });
    }
  }
}

/** Counts by line, from differences of lines, and counts. */
function countsOf(fields: Wire[]): Map<number, bigint> {
  const counts = new Map<number, bigint>();
  let line = 0;
  for (let at = 0; at < fields.length; at += 2) {
    line += Number(fields[at]!);
    counts.set(line, exact(fields[at + 1]!));
  }
  return counts;
}

function gap(first: number, last: number): string {
  return first === last
    ? `⋯ line ${first} is not in the page`
    : `⋯ lines ${first}–${last} are not in the page`;
}
