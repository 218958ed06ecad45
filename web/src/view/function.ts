// The view of a function: three panes that follow one another. Choosing a path in one of them shows
// it in all.

import { exact, grouped, percent, plural } from "../data/numbers";
import type { Pairing } from "../data/wire";
import { change } from "../model/change";
import type { ChosenPath, Reader, RanFunction } from "../model/function";
import { isLeft } from "../model/paths";
import { predictionError } from "../model/prediction";
import { decidingEdge, label } from "../model/decisions";
import { misprediction, type Misprediction } from "../model/misprediction";
import { beginning, ending, steps, type Step } from "../model/steps";
import type { State, Store } from "../state";
import type { MarkedDecisions } from "./decision";
import { button, element } from "./dom";
import { DagKind, type DagEdge } from "../model/graph";
import { GraphPane } from "./graph";
import { mispredictionNote } from "./misprediction";
import { PathsPane } from "./paths";
import { SourcePane } from "./source";
import { stepsAsText, StepsPane } from "./steps";

const PAIRINGS: Record<Pairing, string> = {
  same: "",
  moved: ", where it is in another file or module",
  renamed: ", where it has another name",
  changed: ", where its code is another one: only totals are compared",
  absent: ", which does not have it",
};

const DECIDES =
  "Of the branches on this path, this one splits the most work: " +
  "more instructions get there and are divided more evenly.";
const LEAVES = "The first decision of this path after which no path ran.";
const MISPREDICTED =
  "The first decision at which the edge counts predict less than half of the executions of the " +
  "paths that begin like this one.";

export class FunctionView {
  readonly root: HTMLElement;
  private readonly title = element("div", { class: "function-title" });
  private readonly about = element("div", { class: "path-title", role: "status" });
  private readonly notes = element("div", { class: "path-notes" });
  private readonly panes: HTMLElement;
  private readonly paths: PathsPane;
  private readonly stepList: StepsPane;
  private readonly graph: GraphPane;
  private readonly source: SourcePane;
  private path: ChosenPath | null = null;
  /** The path whose steps and decisions are known. */
  private readFor: ChosenPath | null = null;
  private steps: Step[] = [];
  /** The step in view, which is a step of the path. */
  private step = 0;
  /** The edge at the decision that decides the path, or -1. */
  private deciding = -1;
  /** Where the edge counts leave the path, if they miss it. */
  private wrong: Misprediction | null = null;

  constructor(
    private readonly reader: Reader,
    private readonly store: Store,
  ) {
    this.paths = new PathsPane(
      reader.profile.about,
      (path) => this.choosePath(path),
      (path, edge) => this.chooseDecision(path, edge),
    );
    const { about } = reader.profile;
    const textOf = (file: number, line: number): string => this.textOf(file, line);
    const chooseStep = (step: number): void => void this.goToStep(step);
    this.stepList = new StepsPane({ textOf, choose: chooseStep, copy: () => void this.copy() });
    this.graph = new GraphPane({ about, textOf, choose: (block) => this.chooseBlock(block) });
    this.source = new SourcePane(reader, textOf, chooseStep);
    this.panes = element(
      "div",
      { class: "panes" },
      this.paths.root,
      element("div", { class: "middle" }, this.stepList.root, this.graph.root),
      this.source.root,
    );
    this.root = element(
      "main",
      { class: "function", id: "function" },
      element("div", { class: "titles" }, this.title, this.about, this.notes),
      this.panes,
    );
  }

  show(state: State): void {
    const fn = this.reader.function(state.fn);
    const number =
      state.path ??
      (fn.paths.length > 0 ? fn.paths.numbers[fn.paths.hottest(0, fn.paths.length)]! : null);
    this.path = number === null ? null : this.find(fn, number);
    this.readPath();
    const step = state.step ?? this.firstStep();
    this.step = Math.max(0, Math.min(Math.trunc(step), this.steps.length - 1));
    this.panes.classList.toggle("no-paths", fn.paths.length === 0);
    this.notes.classList.toggle("long", fn.paths.hasMissed);
    this.drawTitles(fn);
    const current = this.steps[this.step] ?? null;
    this.paths.show(fn, this.path, current);
    this.graph.show(fn, this.path, current, this.wrong);
    const marked = this.decisions();
    this.stepList.show(this.path, this.steps, this.step, marked);
    this.source.show(fn, this.path, { steps: this.steps, step: this.step }, marked);
  }

  /** Lets the keys choose a path of the list. */
  focus(): void {
    this.paths.focus();
  }

  /** Goes along the path, or to another path of the list. */
  move(key: string): boolean {
    const { step } = this;
    switch (key) {
      case "ArrowRight":
        return this.goToStep(step + 1);
      case "ArrowLeft":
        return this.goToStep(step - 1);
      case "]":
        return this.goToPath(1);
      case "[":
        return this.goToPath(-1);
      case "c":
        void this.copy();
        return true;
      default:
        return false;
    }
  }

  /** The path as text, for a message or an issue. */
  asText(): string {
    const { path } = this;
    if (!path) return "";
    const { name, file, line } = path.fn;
    const fileName = (file: number): string => this.reader.fileName(file);
    return (
      [
        `${name} (${fileName(file)}:${line}), path p${path.number}`,
        this.sentence(path),
        ...stepsAsText(path, this.steps, (file, line) => this.textOf(file, line), fileName),
      ].join("\n") + "\n"
    );
  }

  private find(fn: RanFunction, number: bigint): ChosenPath | null {
    if (this.path?.fn === fn && this.path.number === number) return this.path;
    const edges = fn.paths.edgesOf(number);
    return edges.length === 0 ? null : { fn, number, index: fn.paths.indexOf(number), edges };
  }

  /** Finds the steps of the path in view, and its two important decisions. */
  private readPath(): void {
    if (this.path === this.readFor) return;
    this.readFor = this.path;
    [this.steps, this.deciding, this.wrong] = [[], -1, null];
    if (!this.path) return;
    const { fn, edges, index } = this.path;
    this.steps = steps(fn.graph, edges);
    this.deciding = decidingEdge(fn.paths, edges, index);
    if (index >= 0) this.wrong = misprediction(fn.paths, edges, index);
  }

  /** The step at which the path opens: at its marked decision, or else at the decision that decides
   * it. */
  private firstStep(): number {
    const { wrong } = this;
    return wrong ? this.stepOf(wrong.edge) : this.stepAt(this.deciding);
  }

  private stepOf(edge: DagEdge): number {
    return edge.kind === DagKind.Start ? 0 : this.stepAt(edge.number);
  }

  /** The first step with a decision. 0 if there is none. */
  private stepAt(edge: number): number {
    return Math.max(
      0,
      this.steps.findIndex(({ decisions }) => decisions.includes(edge)),
    );
  }

  /** The decisions that the source marks. */
  private decisions(): MarkedDecisions {
    const { wrong, deciding } = this;
    if (!wrong || !this.path) return { deciding, mispredicted: -1, expected: null };
    const { graph } = this.path.fn;
    const { expected } = wrong;
    const target = expected.kind === DagKind.Start ? null : graph.edges[expected.number]!.target;
    return {
      deciding,
      mispredicted: wrong.edge.number,
      expected: { words: label(graph, expected), target },
    };
  }

  /** Shows the step of a path at which it takes an edge. */
  private chooseDecision(path: bigint, edge: DagEdge): void {
    this.path = this.find(this.path!.fn, path);
    this.readPath();
    this.store.set({ path, step: this.stepOf(edge) });
  }

  private choosePath(path: bigint): void {
    this.store.set({ path, step: null });
  }

  private chooseBlock(block: number): void {
    const step = this.steps.findIndex((each) => each.block === block);
    if (step >= 0) this.store.set({ step });
  }

  private goToStep(step: number): boolean {
    if (step >= 0 && step < this.steps.length) this.store.set({ step, path: this.path!.number });
    return true;
  }

  private goToPath(step: number): boolean {
    const path = this.path ? this.paths.neighbor(this.path.number, step) : undefined;
    if (path !== undefined) this.choosePath(path);
    return true;
  }

  private textOf(file: number, line: number): string {
    if (file < 0) return "";
    const source = this.reader.file(file);
    return source.lines[source.rowOf(line)]?.text ?? "";
  }

  private drawTitles(fn: RanFunction): void {
    const total = exact(this.reader.profile.head.totals.instructions);
    this.title.replaceChildren(
      element("h2", {}, element("bdi", {}, fn.name)),
      element("span", { class: "detail" }, `${this.reader.fileName(fn.file)}:${fn.line}`),
      element(
        "span",
        { class: "detail" },
        `${percent(fn.instructions, total)} of the run · called ${this.reader.profile.about}${plural(fn.calls, "time")}`,
      ),
      ...this.compared(fn),
    );
    const { path } = this;
    this.notes.replaceChildren(...this.noted(path));
    if (!path) {
      this.about.replaceChildren(
        fn.paths.length === 0
          ? "Edges were counted, so no path is shown."
          : "There is no such path.",
      );
      return;
    }
    this.about.replaceChildren(element("b", {}, `p${path.number} `), this.sentence(path));
  }

  /** The function's instructions in the baseline. */
  private compared(fn: RanFunction): HTMLElement[] {
    const { baseline } = this.reader.profile.head;
    if (!baseline || fn.before === null) return [];
    const { sort, text } = change(fn.instructions, fn.before);
    const pairing = PAIRINGS[baseline.functions.pairing[fn.index]!];
    const other =
      fn.otherPaths > 0 ? `, and ${plural(fn.otherPaths, "path")} that end elsewhere` : "";
    const title = `${grouped(fn.instructions)} instructions, ${grouped(fn.before)} in the baseline`;
    return [
      element(
        "span",
        { class: `change ${sort}`, title },
        `${text} against the baseline${pairing}${other}`,
      ),
    ];
  }

  /** Which decision decides the path, and why the edge counts miss it. */
  private noted(path: ChosenPath | null): HTMLElement[] {
    if (!path) return [];
    const { graph } = path.fn;
    const notes = [];
    const line = (edge: number): string => {
      const place = graph.edges[edge]!.place;
      return place ? ` on ${graph.placeWords(place)}` : "";
    };
    const go = (step: number): void => this.store.set({ step, path: path.number });
    const { deciding, wrong } = this;
    if (deciding >= 0) {
      const verb = path.index < 0 ? "No path ran like this from here on:" : "Decided";
      notes.push(
        button(
          `${verb}${line(deciding)} → ${graph.decision(deciding)}`,
          path.index < 0 ? LEAVES : DECIDES,
          () => go(this.stepAt(deciding)),
          { class: "deciding-note" },
        ),
      );
    }
    if (deciding >= 0 && !wrong && path.index >= 0)
      notes.push(element("span", { class: "why" }, DECIDES));
    if (wrong) {
      const at = wrong.edge.kind === DagKind.Start ? "" : line(wrong.edge.number);
      notes.push(
        button(
          `◆ Edge counts mispredict this path${at}: they predict → ${label(graph, wrong.expected)} too often`,
          MISPREDICTED,
          () => go(this.stepOf(wrong.edge)),
          { class: "unexpected-note" },
        ),
        mispredictionNote(path, wrong, (number) => this.choosePath(number)),
      );
    }
    return notes;
  }

  private sentence(path: ChosenPath): string {
    const { paths, graph } = path.fn;
    const start = beginning(graph, path.edges);
    const end = isLeft(graph, path.edges) ? "is left in a call" : ending(graph, path.edges);
    const { index } = path;
    const predicted = paths.predictionOf(path.number);
    const before = paths.before(path.number);
    if (index < 0 && before > 0n)
      return `ran only in the baseline, ${grouped(before)} times: ${start}, ${end}`;
    if (index < 0) {
      const byEdges = predicted > 0n ? ` · edge counts predict ${grouped(predicted)}` : "";
      return `never ran: ${start}, ${end}${byEdges}`;
    }
    const byEdges = predictionError(paths.counts[index]!, predicted).words;
    const [count, instructions] = [paths.counts[index]!, paths.instructions[index]!];
    const ran = `ran ${this.reader.profile.about}${plural(count, "time")}${paths.isCompared ? ` (${grouped(before)} in the baseline)` : ""}, ${grouped(instructions)} instructions each`;
    return `${ran}: ${start}, ${end} · ${byEdges}`;
  }

  private async copy(): Promise<void> {
    const text = this.asText();
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Without a clipboard, the text is selected in a box.
      const box = element("textarea", {
        "aria-label": "The path as text",
        class: "copy-box",
        rows: 12,
      });
      box.value = text;
      box.addEventListener("blur", () => box.remove());
      document.body.append(box);
      box.select();
    }
  }
}
