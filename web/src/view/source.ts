// The pane of the source: the file with counts in the margin, a strip with the whole file, and the
// lines of the chosen path, numbered in order, with what was decided on them.

import { brief, grouped } from "../data/numbers";
import { both, change } from "../model/change";
import type { ChosenPath, Reader, RanFunction } from "../model/function";
import type { SourceFile, SourceLine } from "../model/source";
import { shortName, shownDecisions, type Step } from "../model/steps";
import { decisionNote, targetText, type MarkedDecisions } from "./decision";
import { classNames, colorOf, element, heat } from "./dom";
import { Rows } from "./rows";
import { onTheme } from "./theme";

const ROW = 20;
const STRIP_WIDTH = 14;
/** The blocks of a line that are named. */
const MAX_BLOCKS = 6;
const COUNTS =
  "The count of a line says how often control came to it: in all functions, and in all copies of " +
  "its code. A block is a part of this function without a branch inside. The compiler copies and " +
  "moves code, so a line may have code in several blocks, and their counts differ from that of the line.";

/** The steps of a path, and the index of the one in view. */
export interface StepInView {
  steps: Step[];
  step: number;
}

export class SourcePane {
  readonly root: HTMLElement;
  private readonly rows: Rows;
  private readonly files: HTMLSelectElement;
  private readonly frames = element("div", { class: "frames", role: "status" });
  private readonly warning = element("p", { class: "source-warning", role: "note", hidden: true });
  private readonly strip = element("canvas", { width: STRIP_WIDTH });
  /** The part of the file that is visible, on the strip. */
  private readonly window = element("div", { class: "strip-window" });
  private fn: RanFunction | null = null;
  private file = -1;
  private source: SourceFile | null = null;
  private steps: Step[] = [];
  private step = 0;
  private path: bigint | null = null;
  private marked: MarkedDecisions = { deciding: -1, mispredicted: -1, expected: null };
  /** The line of the code that the edge counts predict, in the file that is shown. 0: none. */
  private expectedLine = 0;
  /** By row of the list: the row of the source, or −1 − the row of the source for a note below it. */
  private shown: number[] = [];
  /** By line of the file: the steps on it, and in code that was inlined into it, and the steps on it
   * alone. */
  private lit = new Map<number, { steps: number[]; own: number[] }>();

  constructor(
    private readonly reader: Reader,
    private readonly textOf: (file: number, line: number) => string,
    private readonly chooseStep: (step: number) => void,
  ) {
    this.rows = new Rows({
      name: "Source",
      height: ROW,
      render: (row) => this.row(row),
      rowClass: (row) => this.rowClass(row),
      empty: "This code has no source file.",
    });
    this.files = element("select", {
      "aria-label": "Source file",
      onchange: () => this.showFile(Number(this.files.value)),
    });
    this.strip.addEventListener("click", (event) =>
      this.scrollTo(event.offsetY / this.strip.clientHeight),
    );
    this.rows.root.addEventListener("click", (event) => this.click(event.target));
    this.rows.root.addEventListener("scroll", () => this.moveWindow());
    new ResizeObserver(() => this.drawStrip()).observe(this.rows.root);
    onTheme(() => this.drawStrip());
    this.root = element(
      "section",
      { class: "pane source-pane", "aria-label": "Source code" },
      element("div", { class: "pane-head" }, element("h2", {}, "Source"), this.files),
      element(
        "p",
        {
          class: "legend",
          title:
            "The count says how often control came to the line: in all functions of this page, and " +
            "in all copies that were inlined. So it may differ from the count of a block. " +
            "A share behind an arrow is that of all executions of the branch.",
        },
        "Left: how often the line ran, in all functions. Blue: the steps of this path.",
      ),
      this.warning,
      this.frames,
      element(
        "div",
        { class: "source-body" },
        this.rows.root,
        element("div", { class: "strip", "aria-hidden": "true" }, this.strip, this.window),
      ),
    );
  }

  show(
    fn: RanFunction,
    path: ChosenPath | null,
    { steps, step }: StepInView,
    marked: MarkedDecisions,
  ): void {
    const isNew = fn !== this.fn || (path?.number ?? null) !== this.path;
    if (fn !== this.fn) this.listFiles(fn);
    this.fn = fn;
    this.path = path?.number ?? null;
    this.steps = steps;
    this.step = step;
    this.marked = marked;
    const current = steps[step];
    const file = current ? fn.graph.scopes[current.place.scope]!.file : fn.file;
    this.showFile(file);
    const line = current?.place.line ?? fn.line;
    const row = Math.max(0, this.source?.rowOf(line) ?? 0);
    const shown = Math.max(0, this.shown.indexOf(row));
    if (isNew) this.rows.center(shown);
    else this.rows.reveal(shown, true);
    this.revealCode(shown);
    this.moveWindow();
    this.drawFrames(path, current);
  }

  /** Scrolls to the beginning of a line's code, if most of the pane would be its indentation. */
  private revealCode(row: number): void {
    const { root } = this.rows;
    const code = root.querySelector<HTMLElement>(`[data-row="${row}"] code`);
    if (!code) return;
    const { text } = this.source!.lines[this.shown[row]!]!;
    const indent = (text.search(/\S/) / Math.max(1, text.length)) * code.offsetWidth;
    const isFar = code.offsetLeft + indent > root.clientWidth / 2;
    root.scrollLeft = isFar ? Math.max(0, indent - 2 * ROW) : 0;
  }

  private listFiles(fn: RanFunction): void {
    const files = [...new Set([fn.file, ...fn.graph.scopes.map((scope) => scope.file)])];
    this.files.replaceChildren(
      ...files.map((file) => element("option", { value: file }, this.reader.fileName(file))),
    );
  }

  private showFile(file: number): void {
    const isNew = file !== this.file;
    this.file = file;
    this.files.value = String(file);
    this.source = this.reader.file(file);
    this.light();
    this.shown = this.source.lines.flatMap(({ line }, row) =>
      this.hasNote(line) ? [row, -1 - row] : [row],
    );
    const name = this.reader.fileName(file);
    this.warning.hidden = !this.source.isChanged && !this.source.isMissing;
    this.warning.textContent = this.source.isMissing
      ? `${name} was not found when the page was written, so its lines have no text.`
      : `${name} has changed since the program was built, so counts may stand beside other lines.`;
    if (isNew) this.rows.show(this.shown.length);
    else this.rows.resize(this.shown.length);
    this.drawStrip();
  }

  /** Whether a note follows a line: what the path decides there, or what the edge counts predict. */
  private hasNote(line: number): boolean {
    if (line === 0) return false;
    return line === this.expectedLine || this.decisionsOn(line).length > 0;
  }

  /** The decisions of the path on a line. */
  private decisionsOn(line: number): number[] {
    const own = this.lit.get(line)?.own ?? [];
    return own.flatMap((step) => shownDecisions(this.fn!.graph, this.steps[step]!));
  }

  /** Finds the lines of the path in the file that is shown. */
  private light(): void {
    this.lit = new Map();
    const graph = this.fn!.graph;
    this.steps.forEach((step, index) => {
      graph.frames(step.place).forEach((frame, depth) => {
        if (graph.scopes[frame.scope]!.file !== this.file || frame.line === 0) return;
        const known = this.lit.get(frame.line) ?? { steps: [], own: [] };
        if (known.steps[known.steps.length - 1] !== index) known.steps.push(index);
        if (depth === 0) known.own.push(index);
        this.lit.set(frame.line, known);
      });
    });
    const target = this.marked.expected?.target;
    this.expectedLine = target?.file === this.file ? target.line : 0;
  }

  private rowClass(index: number): string {
    const shown = this.shown[index]!;
    const row = shown < 0 ? -1 - shown : shown;
    const { line } = this.source!.lines[row]!;
    const lit = this.lit.get(line);
    if (line === 0) return "gap";
    const isCurrent = lit?.steps.includes(this.step) ?? false;
    const isNever = this.source!.counts.get(line) === 0n;
    const name = lit !== undefined && (lit.own.length === 0 ? "lit-call" : "lit");
    const isExpected = line === this.expectedLine;
    const isNote = shown < 0;
    return classNames(
      isNote && "note",
      name,
      isCurrent && "current",
      isNever && !isNote && "never",
      isExpected && "expected",
    );
  }

  private row(index: number): (Node | string | false)[] {
    const row = this.shown[index]!;
    if (row < 0) return this.note(this.source!.lines[-1 - row]!);
    const { line, spans, text } = this.source!.lines[row] as SourceLine;
    if (line === 0) return [element("span", { class: "gap-text" }, text)];
    const count = this.source!.counts.get(line);
    const before = this.source!.before?.get(line);
    const isCompared = before !== undefined;
    const lit = this.lit.get(line);
    const order = lit?.steps.map((step) => step + 1) ?? [];
    return [
      element(
        "span",
        {
          class: "margin",
          style: `--heat:${count === undefined ? 0 : heat(count, this.source!.highest).toFixed(2)}`,
          title: isCompared
            ? both(count ?? 0n, before ?? 0n)
            : count === undefined
              ? ""
              : `${this.reader.profile.about}${grouped(count)} times`,
        },
        count === undefined ? "" : this.reader.profile.about + brief(count),
      ),
      this.source!.before !== null && lineChange(isCompared, count ?? 0n, before ?? 0n),
      element("span", { class: "line-number" }, String(line)),
      element(
        "span",
        { class: "order", title: order.length > 0 ? `Step ${order.join(", ")}` : "" },
        numbered(order),
      ),
      element(
        "code",
        {},
        ...spans.map((span) =>
          span.sort === "plain"
            ? span.text
            : element("span", { class: `c-${span.sort}` }, span.text),
        ),
      ),
    ];
  }

  /** The note below a line: what the path decides on it, and what the edge counts predict. */
  private note({ line, text }: SourceLine): HTMLElement[] {
    const decisions = this.decisionsOn(line);
    const indent = text.slice(0, text.search(/\S|$/));
    return [
      element("span", { class: "margin" }),
      element("span", { class: "line-number" }),
      element("span", { class: "order" }),
      element("code", { "aria-hidden": "true" }, indent),
      decisions.length > 0 && decisionNote(this.fn!.graph, decisions, this.marked),
      decisions.length > 0 && targetText(this.fn!.graph, decisions, this.textOf),
      line === this.expectedLine &&
        element(
          "span",
          { class: "outcome edges-predict" },
          "◆ edge counts predict this way too often",
        ),
    ].filter((each) => each instanceof HTMLElement);
  }

  private click(target: EventTarget | null): void {
    const row =
      target instanceof Element
        ? target.closest<HTMLElement>("[data-row]")?.dataset.row
        : undefined;
    const shown = row === undefined ? undefined : this.shown[Number(row)];
    const lit =
      shown === undefined
        ? undefined
        : this.lit.get(this.source!.lines[shown < 0 ? -1 - shown : shown]!.line);
    if (!lit) return;
    const next = lit.steps.find((step) => step > this.step) ?? lit.steps[0]!;
    this.chooseStep(next);
  }

  /** Where the step's code was written, and where it was inlined. */
  private drawFrames(path: ChosenPath | null, step: Step | undefined): void {
    if (!path || !step) {
      this.frames.textContent = path ? "This path has no lines." : "";
      return;
    }
    const { graph } = path.fn;
    const frames = graph.frames(step.place).map(({ scope, line }) => {
      const { name, file } = graph.scopes[scope]!;
      return `${shortName(name)} at ${graph.fileNames.get(file) ?? "?"}:${line}`;
    });
    this.frames.replaceChildren(
      element("b", {}, `step ${this.step + 1} of ${this.steps.length} `),
      this.counts(step),
      element("span", { class: "step-frames" }, frames.join("  ‹ in ‹  ")),
    );
  }

  /** How often the line of a step ran, and the blocks of this function that have its code. */
  private counts(step: Step): HTMLElement {
    const { graph } = this.fn!;
    const { about } = this.reader.profile;
    const { line } = step.place;
    const blocks = graph
      .blocksOn({ file: graph.fileOf(step.place), line })
      .filter((block) => graph.counts[block]! > 0n || block === step.block);
    const parts = blocks.map((block) => `b${block} ${about}${brief(graph.counts[block]!)}`);
    const shown = parts.length > MAX_BLOCKS ? [...parts.slice(0, MAX_BLOCKS), "…"] : parts;
    const count = this.source?.counts.get(line);
    const all = count === undefined ? "" : `line: ${about}${brief(count)}; `;
    return element(
      "span",
      { class: "line-counts", title: COUNTS },
      `${all}its blocks here: ${shown.join(", ")}`,
    );
  }

  private scrollTo(part: number): void {
    const { length } = this.shown;
    this.rows.reveal(Math.min(length - 1, Math.floor(part * length)), true);
  }

  /** Draws the whole file: the heat of its lines, and beside it the lines of the path. Several lines
   * that share a row of the strip have the mean of their heat, so hot places stand out. */
  private drawStrip(): void {
    const { source, strip } = this;
    const context = strip.getContext("2d");
    const height = this.rows.root.clientHeight;
    if (!source || !context || height === 0) return;
    strip.height = height;
    const [hot, accent] = [colorOf(this.root, "--hot"), colorOf(this.root, "--accent")];
    const { length } = source.lines;
    const size = height / Math.max(1, length);
    const heats = new Float64Array(height);
    source.lines.forEach(({ line }, row) => {
      const count = source.counts.get(line);
      const value = count === undefined ? 0 : heat(count, source.highest) ** 2;
      const [top, bottom] = [Math.floor(row * size), Math.max(1, Math.floor((row + 1) * size))];
      if (size >= 1) heats.fill(value, top, bottom);
      else heats[top]! += value * size;
      if (this.lit.has(line)) {
        context.globalAlpha = 1;
        context.fillStyle = accent;
        context.fillRect(8, row * size, STRIP_WIDTH - 8, Math.max(2, size));
      }
    });
    context.fillStyle = hot;
    heats.forEach((value, y) => {
      context.globalAlpha = Math.min(1, value);
      if (value > 0) context.fillRect(0, y, 7, 1);
    });
    this.moveWindow();
  }

  /** Shows on the strip which part of the file is visible, and tells the style how far it is scrolled
   * sideways. */
  private moveWindow(): void {
    const { scrollTop, scrollLeft, clientHeight } = this.rows.root;
    this.rows.root.style.setProperty("--scrolled", `${scrollLeft}px`);
    const whole = Math.max(clientHeight, this.shown.length * ROW);
    const percent = (part: number): string => `${((100 * part) / whole).toFixed(2)}%`;
    this.window.style.top = percent(scrollTop);
    this.window.style.height = percent(clientHeight);
  }
}

/** Numbers in ascending order, in a few characters: `3`, `3,7`, `3–5`, `3,…`. */
function numbered(numbers: number[]): string {
  const [first, last] = [numbers[0], numbers[numbers.length - 1]];
  if (first === undefined || last === undefined) return "";
  if (numbers.length === 1) return `${first}`;
  if (last - first === numbers.length - 1) return `${first}–${last}`;
  return numbers.length === 2 ? `${first},${last}` : `${first},…`;
}

/** How the count of a line differs from the baseline. */
function lineChange(isCompared: boolean, now: bigint, before: bigint): HTMLElement {
  const { sort, text } = change(now, before);
  const words = sort === "same" ? "=" : text;
  const attributes = { class: `line-change ${sort}`, "aria-hidden": "true" };
  return element("span", attributes, isCompared ? words : "");
}
