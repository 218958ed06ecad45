// The pane of steps: the chosen path as one list, from its start to its end, with what was decided.

import { plural } from "../data/numbers";
import type { ChosenPath } from "../model/function";
import {
  beginning,
  decisionWords,
  ending,
  inlinedName,
  shownDecisions,
  type Step,
} from "../model/steps";
import { decisionNote, type MarkedDecisions } from "./decision";
import { button, classNames, element } from "./dom";
import { Rows } from "./rows";

const ROW = 22;

export interface StepsContext {
  /** The text of a line. */
  textOf: (file: number, line: number) => string;
  choose: (step: number) => void;
  copy: () => void;
}

/** A row: a step, a decision of a step, or (step -1) where the path starts or ends. */
interface StepRow {
  step: number;
  /** The edge of a decision, or -1. */
  decision: number;
  text: string;
}

export class StepsPane {
  readonly root: HTMLElement;
  private readonly rows: Rows;
  private readonly heading = element("span", { class: "count" });
  private path: ChosenPath | null = null;
  private steps: Step[] = [];
  private step = 0;
  private marked: MarkedDecisions = { deciding: -1, mispredicted: -1, expected: null };
  private shown: StepRow[] = [];

  constructor(private readonly context: StepsContext) {
    this.rows = new Rows({
      name: "Steps of the path",
      height: ROW,
      render: (row) => this.row(this.shown[row]!),
      rowClass: (row) => this.rowClass(this.shown[row]!),
      select: (row) => this.choose(row),
      isOption: (row) => this.shown[row]!.step >= 0 && this.shown[row]!.decision < 0,
      empty: "No path is chosen.",
    });
    this.root = element(
      "section",
      { class: "pane steps-pane", "aria-label": "Steps of the path" },
      element(
        "div",
        { class: "pane-head" },
        element("h2", {}, "Steps ", this.heading),
        button("Copy", "Copy the path as text (c)", context.copy, { class: "quiet" }),
      ),
      this.rows.root,
    );
  }

  show(path: ChosenPath | null, steps: Step[], step: number, marked: MarkedDecisions): void {
    const isNew = steps !== this.steps;
    [this.path, this.steps, this.step, this.marked] = [path, steps, step, marked];
    if (isNew) {
      this.shown = path ? this.list(path) : [];
      this.heading.textContent = path ? `of p${path.number}: ${plural(steps.length, "line")}` : "";
    }
    const current = this.shown.findIndex((row) => row.step === step && row.decision < 0);
    if (isNew) this.rows.show(this.shown.length, current);
    this.rows.mark(current);
    if (current < 0) return;
    if (isNew) this.rows.center(current);
    // The decisions of the step are below it.
    else this.rows.reveal(current + shownDecisions(path!.fn.graph, steps[step]!).length);
  }

  private list(path: ChosenPath): StepRow[] {
    const { graph } = path.fn;
    const edge = (text: string): StepRow => ({ step: -1, decision: -1, text });
    const steps = this.steps.flatMap((step, index) => [
      { step: index, decision: -1, text: "" },
      ...shownDecisions(graph, step).map((decision) => ({ step: index, decision, text: "" })),
    ]);
    return [
      edge(`starts ${beginning(graph, path.edges)}`),
      ...steps,
      edge(`ends: ${ending(graph, path.edges)}`),
    ];
  }

  private choose(row: number): void {
    const { step } = this.shown[row]!;
    if (step >= 0) this.context.choose(step);
  }

  private rowClass({ step, decision }: StepRow): string {
    return classNames(
      step < 0 ? "step-edge" : decision < 0 ? "step" : "step-decision",
      step === this.step && "current",
    );
  }

  private row({ step, decision, text }: StepRow): (Node | string | false)[] {
    if (step < 0) return [element("span", { class: "step-text", title: text }, text)];
    const { graph } = this.path!.fn;
    if (decision >= 0) return [decisionNote(graph, [decision], this.marked)];
    const each = this.steps[step]!;
    const inlined = inlinedName(graph, each);
    const before = step === 0 ? "" : inlinedName(graph, this.steps[step - 1]!);
    const code = this.code(each);
    return [
      element("span", { class: "step-number" }, `${step + 1}`),
      element("span", { class: "step-place" }, graph.placeName(each.place)),
      element(
        "span",
        { class: "step-text", title: inlined ? `inlined ${inlined}: ${code}` : code },
        inlined !== "" &&
          inlined !== before &&
          element("span", { class: "inlined" }, `in ${inlined}: `),
        element("code", {}, code),
      ),
      // The rows of decisions are no options, so screen readers have the decisions here.
      element(
        "span",
        { class: "unseen" },
        shownDecisions(graph, each)
          .map((edge) => decisionWords(graph, edge))
          .join("; "),
      ),
    ];
  }

  private code({ place }: Step): string {
    return this.context.textOf(this.path!.fn.graph.fileOf(place), place.line).trim();
  }
}

/** The steps of a path as text, one line for each step and each decision. `fileName` gives the whole
 * name of a file. */
export function stepsAsText(
  path: ChosenPath,
  steps: Step[],
  textOf: (file: number, line: number) => string,
  fileName: (file: number) => string,
): string[] {
  const { graph } = path.fn;
  return [
    `     starts ${beginning(graph, path.edges)}`,
    ...steps.flatMap((step, index) => {
      const file = graph.fileOf(step.place);
      const inlined = inlinedName(graph, step);
      const code = textOf(file, step.place.line).trim();
      const place = `${fileName(file)}:${step.place.line}${inlined ? ` (in ${inlined})` : ""}`;
      return [
        `${String(index + 1).padStart(3)}  ${place}  ${code}`.trimEnd(),
        ...shownDecisions(graph, step).map((edge) => `       ${decisionWords(graph, edge)}`),
      ];
    }),
    `     ends: ${ending(graph, path.edges)}`,
  ];
}
