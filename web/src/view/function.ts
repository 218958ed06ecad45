// The view of a function: three panes that follow one another. Choosing a path in one of them shows
// it in all.

import { exact, grouped, percent, plural } from "../data/numbers";
import type { Pairing } from "../data/wire";
import { change } from "../model/change";
import type { ChosenPath, Reader, RanFunction } from "../model/function";
import { isLeft } from "../model/paths";
import { label, misprediction } from "../model/decisions";
import { beginning, ending, firstChoice, outcome, steps, type Step } from "../model/steps";
import type { State, Store } from "../state";
import { element } from "./dom";
import { GraphPane } from "./graph";
import { PathsPane } from "./paths";
import { SourcePane } from "./source";

const PAIRINGS: Record<Pairing, string> = {
  same: "",
  moved: ", where it is in another file or module",
  renamed: ", where it has another name",
  changed: ", where its code is another one: only totals are compared",
  absent: ", which does not have it",
};

export class FunctionView {
  readonly root: HTMLElement;
  private readonly title = element("div", { class: "function-title" });
  private readonly about = element("div", { class: "path-title", role: "status" });
  private readonly panes: HTMLElement;
  private readonly paths: PathsPane;
  private readonly graph: GraphPane;
  private readonly source: SourcePane;
  private path: ChosenPath | null = null;
  private steps: Step[] = [];
  /** The step in view, which is a step of the path. */
  private step = 0;

  constructor(
    private readonly reader: Reader,
    private readonly store: Store,
  ) {
    this.paths = new PathsPane(
      reader.profile.about,
      (path) => this.choosePath(path),
      () => void this.copy(),
    );
    const { about } = reader.profile;
    this.graph = new GraphPane({
      about,
      textOf: (file, line) => this.textOf(file, line),
      choose: (block) => this.chooseBlock(block),
    });
    this.source = new SourcePane(reader, (step) => store.set({ step }));
    this.panes = element(
      "div",
      { class: "panes" },
      this.paths.root,
      this.graph.root,
      this.source.root,
    );
    this.root = element(
      "main",
      { class: "function", id: "function" },
      element("div", { class: "titles" }, this.title, this.about),
      this.panes,
    );
  }

  show(state: State): void {
    const fn = this.reader.function(state.fn);
    const number =
      state.path ??
      (fn.paths.length > 0 ? fn.paths.numbers[fn.paths.hottest(0, fn.paths.length)]! : null);
    this.path = number === null ? null : this.find(fn, number);
    this.steps = this.path ? steps(fn.graph, this.path.edges) : [];
    const step = state.step ?? this.firstDecision();
    this.step = Math.max(0, Math.min(Math.trunc(step), this.steps.length - 1));
    this.panes.classList.toggle("no-paths", fn.paths.length === 0);
    this.drawTitles(fn);
    this.paths.show(fn, this.path);
    this.graph.show(fn, this.path, this.steps[this.step] ?? null);
    this.source.show(fn, this.path, this.steps, this.step);
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
    const { graph, name, file, line } = path.fn;
    const rows = this.steps.map((step, index) => {
      const { file } = graph.scopes[step.place.scope]!;
      const place = `${this.reader.fileName(file)}:${step.place.line}`;
      const code = this.textOf(file, step.place.line).trim();
      const number = String(index + 1).padStart(3);
      return `${number}  ${place}  ${code}  ${outcome(graph, step)}`.trimEnd();
    });
    return (
      [
        `${name} (${this.reader.fileName(file)}:${line}), path p${path.number}`,
        this.sentence(path),
        ...rows,
        `     ${ending(graph, path.edges)}`,
      ].join("\n") + "\n"
    );
  }

  private find(fn: RanFunction, number: bigint): ChosenPath | null {
    const edges = fn.paths.edgesOf(number);
    return edges.length === 0 ? null : { fn, number, index: fn.paths.indexOf(number), edges };
  }

  /** The step with the path's marked decision, or with its first choice. */
  private firstDecision(): number {
    if (!this.path) return 0;
    const { fn, edges, index } = this.path;
    const wrong = index < 0 ? null : misprediction(fn.paths, edges, index);
    const edge = wrong?.edge.number ?? firstChoice(fn.graph, edges);
    return this.steps.findIndex(({ decisions }) => edge !== undefined && decisions.includes(edge));
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
    if (!path) {
      this.about.replaceChildren(
        fn.paths.length === 0
          ? "Edges were counted, so no path is shown."
          : "There is no such path.",
      );
      return;
    }
    this.about.replaceChildren(
      element("b", {}, `p${path.number} `),
      this.sentence(path),
      this.mark(path) ?? "",
    );
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

  /** Where the edge counts leave a path that they miss. */
  private mark({ fn, edges, index }: ChosenPath): HTMLElement | null {
    const wrong = index < 0 ? null : misprediction(fn.paths, edges, index);
    if (!wrong) return null;
    const { place } = fn.graph.edges[wrong.edge.number]!;
    const words = label(fn.graph, wrong.edge);
    return element(
      "span",
      { class: "unexpected-note" },
      `◆ line ${place?.line ?? "?"}: this path → ${words}; ` +
        `edge counts alone predict → ${wrong.expected}`,
    );
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
    const byEdges =
      predicted === 0n
        ? "edge counts would not predict it"
        : predicted === paths.counts[index]
          ? "edge counts predict it exactly"
          : `edge counts predict ${grouped(predicted)}`;
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
