// The source text of a file with the counts of its lines. Only parts of the file are there.

import { exact } from "../data/numbers";
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
  readonly lines: SourceLine[] = [];
  readonly counts = new Map<number, bigint>();
  readonly highest: number;
  private readonly rows = new Map<number, number>();

  constructor(wire: FileWire) {
    this.path = wire.path;
    let line = 0;
    let highest = 0;
    for (let at = 0; at < wire.counts.length; at += 2) {
      line += Number(wire.counts[at]!);
      const count = exact(wire.counts[at + 1]!);
      this.counts.set(line, count);
      highest = Math.max(highest, Number(count));
    }
    this.highest = highest;
    wire.excerpts.text.forEach((text, part) => this.addPart(wire.excerpts.first[part]!, text));
    if (this.lines.length === 0) this.addLinesWithoutText();
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

function gap(first: number, last: number): string {
  return first === last
    ? `⋯ line ${first} is not in the page`
    : `⋯ lines ${first}–${last} are not in the page`;
}
