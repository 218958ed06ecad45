// The pane of the source: the file with counts in the margin, a strip with the whole file, and the
// lines of the chosen path, numbered in order, with what was decided on them.

import { brief, grouped } from "../data/numbers";
import { both, change } from "../model/change";
import type { ChosenPath, Reader, RanFunction } from "../model/function";
import type { SourceFile, SourceLine } from "../model/source";
import { outcome, type Step } from "../model/steps";
import { classNames, colorOf, element, heat } from "./dom";
import { Rows } from "./rows";
import { onTheme } from "./theme";

const ROW = 20;

export class SourcePane {
  readonly root: HTMLElement;
  private readonly rows: Rows;
  private readonly files: HTMLSelectElement;
  private readonly frames = element("div", { class: "frames", role: "status" });
  private readonly strip = element("canvas", { class: "strip", width: 14, "aria-hidden": "true" });
  private fn: RanFunction | null = null;
  private file = -1;
  private source: SourceFile | null = null;
  private steps: Step[] = [];
  private step = 0;
  /** By line of the file: the steps on it, and whether the line only calls their inlined code. */
  private lit = new Map<number, { steps: number[]; isCall: boolean }>();

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
    new ResizeObserver(() => this.drawStrip()).observe(this.rows.root);
    onTheme(() => this.drawStrip());
    this.root = element(
      "section",
      { class: "pane source-pane", "aria-label": "Source code" },
      element("div", { class: "pane-head" }, element("h2", {}, "Source"), this.files),
      this.frames,
      element("div", { class: "source-body" }, this.rows.root, this.strip),
    );
  }

  show(fn: RanFunction, path: ChosenPath | null, steps: Step[], step: number): void {
    const isNew = fn !== this.fn;
    this.fn = fn;
    this.steps = steps;
    this.step = step;
    if (isNew) this.listFiles(fn);
    const current = steps[step];
    const file = current ? fn.graph.scopes[current.place.scope]!.file : fn.file;
    this.showFile(file);
    const line = current?.place.line ?? fn.line;
    this.rows.reveal(Math.max(0, this.source?.rowOf(line) ?? 0), isNew || path === null);
    this.drawFrames(path, current);
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
        const known = this.lit.get(frame.line) ?? { steps: [], isCall: true };
        if (known.steps[known.steps.length - 1] !== index) known.steps.push(index);
        known.isCall &&= depth > 0;
        this.lit.set(frame.line, known);
      });
    });
  }

  private rowClass(row: number): string {
    const { line } = this.source!.lines[row]!;
    const lit = this.lit.get(line);
    if (line === 0) return "gap";
    const isCurrent = lit?.steps.includes(this.step) ?? false;
    const isNever = this.source!.counts.get(line) === 0n;
    const name = lit !== undefined && (lit.isCall ? "lit-call" : "lit");
    return classNames(name, isCurrent && "current", isNever && "never");
  }

  private row(row: number): (Node | string | false)[] {
    const { line, spans, text } = this.source!.lines[row] as SourceLine;
    if (line === 0) return [element("span", { class: "gap-text" }, text)];
    const count = this.source!.counts.get(line);
    const before = this.source!.before?.get(line);
    const isCompared = before !== undefined;
    const lit = this.lit.get(line);
    const order = lit?.steps.map((step) => step + 1) ?? [];
    const chips = order.length > 3 ? `${order.slice(0, 2).join(",")}…` : order.join(",");
    const words = lit?.isCall
      ? ""
      : [
          ...new Set(
            (lit?.steps ?? [])
              .map((step) => outcome(this.fn!.graph, this.steps[step]!))
              .filter(Boolean),
          ),
        ].join("; ");
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
        chips,
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
      element("span", { class: "outcome" }, words),
    ];
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
      return `${shortName(name)} at ${this.reader.fileName(file).split("/").pop()}:${line}`;
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

  private drawStrip(): void {
    const { source, strip } = this;
    const context = strip.getContext("2d");
    const height = this.rows.root.clientHeight;
    if (!source || !context || height === 0) return;
    strip.height = height;
    const [hot, accent] = [colorOf(this.root, "--hot"), colorOf(this.root, "--accent")];
    const size = Math.max(1.5, height / Math.max(1, source.lines.length));
    source.lines.forEach(({ line }, row) => {
      const count = source.counts.get(line);
      const y = (row / source.lines.length) * height;
      if (count !== undefined && count > 0n) {
        context.globalAlpha = 0.2 + 0.8 * heat(count, source.highest);
        context.fillStyle = hot;
        context.fillRect(0, y, 6, size);
      }
      if (this.lit.has(line)) {
        context.globalAlpha = 1;
        context.fillStyle = accent;
        context.fillRect(7, y, 7, Math.max(2, size));
      }
    });
  }
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
