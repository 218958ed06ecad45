// What the extension reads of `holloway report --format json` (docs/json.md), and what it shows.

import * as path from "node:path";

/** A path that ran. */
export interface PathRecord {
  id: number;
  path_name: string;
  count: number;
  instructions: number;
  blocks: number[];
}

/** A block of a function's graph. */
export interface BlockRecord {
  id: number;
  places: string[];
  /** The places with library code at the lines that it was inlined into, if they differ. */
  user_places?: string[];
}

/** A function that ran. */
export interface FunctionRecord {
  name: string;
  file: string;
  line: number;
  possible_paths: number;
  paths: PathRecord[];
  blocks: BlockRecord[];
  edges: { from: number; to: number; count: number }[];
}

/** A run. */
export interface Report {
  schema: number;
  totals: { instructions: number };
  damage: string[];
  functions: FunctionRecord[];
}

/** A place in the source. Lines count from 1. */
export interface Place {
  file: string;
  line: number;
}

/** A path with its function. */
export interface RankedPath {
  function: FunctionRecord;
  path: PathRecord;
  /** Its share of the run's instructions, 0 to 1. */
  share: number;
}

/** A line of a path, and the steps at which the path runs it, from 1. */
export interface StepLine {
  file: string;
  line: number;
  steps: number[];
}

/** Reads a report. Fails if its schema is unknown. */
export function parseReport(text: string): Report {
  const report = JSON.parse(text) as Report;
  if (report.schema !== 1) {
    throw new Error(
      `this version of holloway writes schema ${report.schema}, not 1`,
    );
  }
  return report;
}

/** How often a function was entered. */
export function calls(record: FunctionRecord): number {
  const entries = record.edges.filter((edge) => edge.from === -1);
  return entries.reduce((sum, edge) => sum + edge.count, 0);
}

/** The place in a text `file:line:column`. File names may have colons. */
export function parsePlace(text: string): Place | undefined {
  const match = /^(.*):(\d+):\d+$/.exec(text);
  return match ? { file: match[1]!, line: Number(match[2]) } : undefined;
}

/**
 * The lines of a path in the order of its steps. A line that follows itself is one step. Library
 * code counts as the line that it was inlined into, because its source may not be on the machine.
 */
export function places(record: FunctionRecord, path: PathRecord): Place[] {
  const blocks = new Map(record.blocks.map((block) => [block.id, block]));
  const lines: Place[] = [];
  for (const id of path.blocks) {
    const block = blocks.get(id);
    for (const text of block?.user_places ?? block?.places ?? []) {
      const place = parsePlace(text);
      const last = lines.at(-1);
      if (place && (last?.file !== place.file || last.line !== place.line)) {
        lines.push(place);
      }
    }
  }
  return lines;
}

/** The different lines of a path with their steps, in the order of the first step. */
export function stepLines(
  record: FunctionRecord,
  path: PathRecord,
): StepLine[] {
  const lines = new Map<string, StepLine>();
  places(record, path).forEach(({ file, line }, index) => {
    const key = `${file}:${line}`;
    const entry = lines.get(key) ?? { file, line, steps: [] };
    entry.steps.push(index + 1);
    lines.set(key, entry);
  });
  return [...lines.values()];
}

/** The instructions that all executions of a path ran. */
function weight(path: PathRecord): number {
  return path.count * path.instructions;
}

/** The hottest path of a function by its instructions. */
export function hottestPath(record: FunctionRecord): PathRecord | undefined {
  let hottest: PathRecord | undefined;
  for (const path of record.paths) {
    if (!hottest || weight(path) > weight(hottest)) {
      hottest = path;
    }
  }
  return hottest;
}

/** The hottest paths of a run, by instructions. */
export function hottestPaths(report: Report, top: number): RankedPath[] {
  const all = report.functions.flatMap((record) =>
    record.paths.map((path) => ({
      function: record,
      path,
      share: weight(path) / Math.max(report.totals.instructions, 1),
    })),
  );
  return all.sort((a, b) => weight(b.path) - weight(a.path)).slice(0, top);
}

/** The text above a function: its calls, its paths, and the share of its hottest path. */
export function lensText(record: FunctionRecord): string {
  const called = `${count(calls(record))} ${calls(record) === 1 ? "call" : "calls"}`;
  const hottest = hottestPath(record);
  if (!hottest) {
    return called;
  }
  const executions = record.paths.reduce((sum, path) => sum + path.count, 0);
  const ran = `${count(record.paths.length)} of ${count(record.possible_paths)} paths`;
  const share = percent(hottest.count / Math.max(executions, 1));
  return `${called} · ${ran} · hottest path ${share}: ${lineList(record, hottest)}`;
}

/**
 * The lines of a path: `12 → 14 → list.rs:7 → 8`. A line in another file than the line before has
 * the name of its file. The middle of a long path is left out.
 */
export function lineList(record: FunctionRecord, shown: PathRecord): string {
  let current = record.file;
  const lines = places(record, shown).map(({ file, line }) => {
    const text =
      file === current ? String(line) : `${path.basename(file)}:${line}`;
    current = file;
    return text;
  });
  const listed =
    lines.length > 8 ? [...lines.slice(0, 4), "…", ...lines.slice(-3)] : lines;
  return listed.join(" → ");
}

/** A function's name without its modules: `SliceRead::skip` of `json::read::SliceRead::skip`. */
export function shortName(name: string): string {
  return name.replace(/\b(?:[a-z_][a-z0-9_]*::)+(?=[A-Za-z_<])/g, "");
}

/** The text after a line of a path: `step 3`, or `steps 2, 4`. */
export function stepText(steps: number[]): string {
  return `${steps.length === 1 ? "step" : "steps"} ${steps.join(", ")}`;
}

/** A number with thousands separators. */
export function count(number: number): string {
  return number.toLocaleString("en-US");
}

/** A share as percents with one decimal. A share below 1 is never shown as 100.0 %. */
export function percent(share: number): string {
  const tenths = Math.round(share * 1000);
  return `${((share < 1 ? Math.min(tenths, 999) : tenths) / 10).toFixed(1)} %`;
}
