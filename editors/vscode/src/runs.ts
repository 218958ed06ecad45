// Recorded runs: finds them, and reads them with the holloway program.

import { execFile } from "node:child_process";
import { readdir } from "node:fs/promises";
import * as path from "node:path";
import { promisify } from "node:util";

import type { SectionSummary } from "@friedemannsommer/lcov-parser";
import lcovParser from "@friedemannsommer/lcov-parser/sync";

import { parseReport, type Report } from "./report.js";

const run = promisify(execFile);

/** A run that was read. */
export interface Run {
  /** Its directory. */
  directory: string;
  report: Report;
  /** The coverage of each file. */
  coverage: SectionSummary[];
}

/** The directories of the runs in a folder, latest first. */
export async function runsOf(folder: string): Promise<string[]> {
  const runs = path.join(folder, "target", "holloway", "runs");
  const names = await readdir(runs).catch(() => []);
  const recorded = names.filter((name) => /^\d{8}-\d{6}/.test(name));
  return recorded
    .sort()
    .reverse()
    .map((name) => path.join(runs, name));
}

/** The holloway program was not found. */
export class MissingProgram extends Error {}

/** Calls holloway. Its error is the first line that it prints. */
export async function holloway(
  executable: string,
  words: string[],
  folder: string,
): Promise<string> {
  try {
    const options = { cwd: folder, maxBuffer: 1 << 30 };
    return (await run(executable, words, options)).stdout;
  } catch (error) {
    const failure = error as NodeJS.ErrnoException & { stderr?: string };
    if (failure.code === "ENOENT") {
      throw new MissingProgram(
        `cannot find ${executable}: set holloway.executable`,
      );
    }
    throw new Error(failure.stderr?.trim().split("\n")[0] || failure.message);
  }
}

/** Reads a run: its functions and paths, and its coverage. */
export async function readRun(
  executable: string,
  directory: string,
  folder: string,
): Promise<Run> {
  const [report, lcov] = await Promise.all([
    holloway(executable, ["report", directory, "--format", "json"], folder),
    holloway(executable, ["export", "--format", "lcov", directory], folder),
  ]);
  const coverage = lcovParser({ from: lcov });
  return { directory, report: parseReport(report), coverage };
}
