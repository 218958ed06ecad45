// The pane of the source: the file with counts in the margin, a strip with the whole file, and the
// lines of the chosen path, numbered in order, with what was decided on them.

import { brief, grouped } from "../data/numbers";
import { both, change } from "../model/change";
import { shortNames } from "../model/files";
import type { ChosenPath, Reader, RanFunction } from "../model/function";
import type { SourceFile, SourceLine } from "../model/source";
import { outcome, type Step } from "../model/steps";
import { classNames, colorOf, element, heat } from "./dom";
import { Rows } from "./rows";
import { onTheme } from "./theme";

const ROW = 20;
const STRIP_WIDTH = 14;

/** The decisions of a path that the source marks. */
export interface MarkedDecisions {
  /** The edge at the decision that decides the path, or -1. */
  deciding: number;
  /** The edge at the decision that the edge counts mispredict, or -1. */
  mispredicted: number;
  /** Where the edge counts predict that control goes there. */
  expected: { words: string; block: number } | null;
}

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
  /** By file of the function: its name, as short as possible. */
  private shortNames = new Map<number, string>();
  /** By line of the file: the steps on it, and in code that was inlined into it, and the steps on it
   * alone. */
  private lit = new Map<number, { steps: number[]; own: number[] }>();

  constructor(
    private readonly reader: Reader,
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
    if (isNew) this.rows.center(row);
    else this.rows.reveal(row, true);
    this.revealCode(row);
    this.moveWindow();
    this.drawFrames(path, current);
  }

  /** Scrolls to the beginning of a line's code, if the line is wider than the pane. */
  private revealCode(row: number): void {
    const { root } = this.rows;
    const line = root.querySelector<HTMLElement>(`[data-row="${row}"]`);
    const code = line?.querySelector("code");
    if (!line || !code) return;
    const end = code.offsetLeft + code.offsetWidth + (line.lastElementChild?.clientWidth ?? 0);
    const { text } = this.source!.lines[row]!;
    const indent = text.search(/\S/) / Math.max(1, text.length);
    const isWider = end > root.clientWidth;
    root.scrollLeft = isWider ? Math.max(0, indent * code.offsetWidth - 2 * ROW) : 0;
  }

  private listFiles(fn: RanFunction): void {
    const files = [...new Set([fn.file, ...fn.graph.scopes.map((scope) => scope.file)])];
    this.files.replaceChildren(
      ...files.map((file) => element("option", { value: file }, this.reader.fileName(file))),
    );
    const names = shortNames(files.map((file) => this.reader.fileName(file)));
    this.shortNames = new Map(files.map((file, index) => [file, names[index]!]));
  }

  private showFile(file: number): void {
    const isNew = file !== this.file;
    this.file = file;
    this.files.value = String(file);
    this.source = this.reader.file(file);
    this.light();
    if (isNew) this.rows.show(this.source.lines.length);
    else this.rows.redraw();
    this.drawStrip();
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
    this.expectedLine = this.findExpectedLine();
  }

  /** The line of the block that the edge counts predict: its first line behind the branch, because
   * the optimizer moves code from before the branch there. */
  private findExpectedLine(): number {
    const { expected, mispredicted } = this.marked;
    if (!expected) return 0;
    const { graph } = this.fn!;
    const branch = graph.edges[mispredicted]?.place;
    const frames = graph.places[expected.block]!.flatMap((place) => graph.frames(place));
    const own = frames.filter(({ scope }) => graph.scopes[scope]!.file === this.file);
    const behind = own.find(({ scope, line }) => scope === branch?.scope && line > branch.line);
    return (behind ?? own[0])?.line ?? 0;
  }

  private rowClass(row: number): string {
    const { line } = this.source!.lines[row]!;
    const lit = this.lit.get(line);
    if (line === 0) return "gap";
    const isCurrent = lit?.steps.includes(this.step) ?? false;
    const isNever = this.source!.counts.get(line) === 0n;
    const name = lit !== undefined && (lit.own.length === 0 ? "lit-call" : "lit");
    const isExpected = line === this.expectedLine;
    return classNames(name, isCurrent && "current", isNever && "never", isExpected && "expected");
  }

  private row(row: number): (Node | string | false)[] {
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
      this.outcomes(line),
    ];
  }

  /** What the path decides on a line, and what the edge counts predict there. */
  private outcomes(line: number): HTMLElement {
    const lit = this.lit.get(line);
    const steps = (lit?.own ?? []).map((step) => this.steps[step]!);
    const words = new Set(steps.map((step) => outcome(this.fn!.graph, step)).filter(Boolean));
    const has = (edge: number): boolean => steps.some(({ decisions }) => decisions.includes(edge));
    const { deciding, mispredicted, expected } = this.marked;
    const text = [...words].join("; ");
    return element(
      "span",
      { class: "outcome", title: text || null },
      has(deciding) && element("span", { class: "decides" }, "decides"),
      text,
      expected && has(mispredicted) && this.misprediction(expected.words),
      line === this.expectedLine &&
        element("span", { class: "edges-predict" }, "◆ edges predict this"),
    );
  }

  /** The mark of the decision that the edge counts mispredict. It says where they predict that
   * control goes, unless the line there has a mark, too. */
  private misprediction(expected: string): HTMLElement {
    const words = `edges predict → ${expected}`;
    return element(
      "span",
      { class: "edges-predict", title: words },
      this.expectedLine > 0 ? "◆" : `◆ edges: ${expected}`,
    );
  }

  private click(target: EventTarget | null): void {
    const row =
      target instanceof Element
        ? target.closest<HTMLElement>("[data-row]")?.dataset.row
        : undefined;
    const lit = row === undefined ? undefined : this.lit.get(this.source!.lines[Number(row)]!.line);
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
      return `${shortName(name)} at ${this.shortNames.get(file) ?? "?"}:${line}`;
    });
    const words = outcome(graph, step);
    this.frames.replaceChildren(
      element("b", {}, `step ${this.step + 1} of ${this.steps.length} `),
      frames.join("  ‹ in ‹  "),
      words ? element("span", { class: "outcome" }, ` ${words}`) : "",
    );
  }

  private scrollTo(part: number): void {
    this.rows.reveal(
      Math.min(this.source!.lines.length - 1, Math.floor(part * this.source!.lines.length)),
      true,
    );
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
    const whole = Math.max(clientHeight, (this.source?.lines.length ?? 0) * ROW);
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

/** The last part of a function's name, without the arguments of types. */
function shortName(name: string): string {
  let short = name;
  for (let before = ""; before !== short;) {
    before = short;
    short = short.replace(/<[^<>]*>/g, "");
  }
  return short.split("::").filter(Boolean).pop() ?? name;
}
