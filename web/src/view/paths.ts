// The pane of paths: the icicle, and a list of the paths that ran.

import { brief, grouped, percent } from "../data/numbers";
import { DagKind, type DagEdge } from "../model/graph";
import { both, change } from "../model/change";
import type { ChosenPath, RanFunction } from "../model/function";
import type { Order } from "../model/paths";
import { predictionError, type ErrorSort } from "../model/prediction";
import { routeParts, sharedParts, words, type RoutePart } from "../model/route";
import type { Step } from "../model/steps";
import { BY_EDGES } from "./cells";
import { element } from "./dom";
import { Icicle } from "./icicle";
import { Rows } from "./rows";

const ROW = 30;
const MISSED =
  "Keeps the paths with ◆: a prediction from the edge counts alone finds less than half of their " +
  "executions.";
const ORDERS: [Order, string][] = [
  ["instructions", "instructions"],
  ["count", "count"],
  ["missed", "missed executions"],
  ["predicted", "predicted count"],
  ["change", "change from the baseline"],
  ["length", "length"],
  ["number", "path number"],
];

export class PathsPane {
  readonly root: HTMLElement;
  private readonly icicle: Icicle;
  private readonly rows: Rows;
  private readonly heading = element("span", { class: "count" });
  private readonly order: HTMLSelectElement;
  private readonly filter: HTMLInputElement;
  private readonly missed: HTMLInputElement;
  private fn: RanFunction | null = null;
  private path: ChosenPath | null = null;
  /** The numbers of the listed paths: first those that ran. */
  private listed: bigint[] = [];
  /** The edges that all listed paths have. */
  private shared = new Set<DagEdge>();

  constructor(
    private readonly about: string,
    choose: (path: bigint) => void,
    chooseDecision: (path: bigint, edge: DagEdge) => void,
  ) {
    this.icicle = new Icicle((path, edge) => chooseDecision(this.fn!.paths.numbers[path]!, edge));
    this.rows = new Rows({
      name: "Paths",
      height: ROW,
      render: (row) => this.row(row),
      select: (row) => choose(this.listed[row]!),
      empty: "No path is listed.",
    });
    this.order = element("select", {
      "aria-label": "Order of the paths",
      onchange: () => this.list(),
    });
    this.filter = element("input", {
      type: "search",
      placeholder: "line 12, p3",
      "aria-label": "Filter of the paths: a line or a path number",
      title: "line 12: paths through this line. p3: this path.",
      oninput: () => this.list(),
    });
    this.missed = element("input", {
      type: "checkbox",
      "aria-describedby": "missed-hint",
      onchange: () => this.list(),
    });
    this.root = element(
      "section",
      { class: "pane paths-pane", "aria-label": "Paths" },
      element("div", { class: "pane-head" }, element("h2", {}, "Paths ", this.heading)),
      this.icicle.root,
      element("div", { class: "tools" }, this.order, this.filter),
      element(
        "div",
        { class: "missed-filter" },
        element("label", {}, this.missed, "◆ only paths that edge counts miss"),
        element("span", { class: "hint", id: "missed-hint", role: "tooltip" }, MISSED),
      ),
      element(
        "div",
        { class: "columns", "aria-hidden": "true" },
        element("span", { title: "Share of the function's instructions" }, "of function"),
        element("span", { title: "Executions of the path" }, "ran"),
        element("span", { class: "before" }, "baseline"),
        element("span", { title: BY_EDGES }, "by edges"),
        element("span", {}, "path"),
      ),
      this.rows.root,
    );
  }

  /** `step` is the step of the path in view. */
  show(fn: RanFunction, path: ChosenPath | null, step: Step | null): void {
    const isNew = fn !== this.fn;
    this.fn = fn;
    this.path = path;
    if (isNew) {
      this.root.classList.toggle("compared", fn.paths.isCompared);
      const orders = ORDERS.filter(([order]) => order !== "change" || fn.paths.isCompared);
      const order = this.order.value;
      this.order.replaceChildren(
        ...orders.map(([value, text]) =>
          element("option", { value, selected: value === order }, `by ${text}`),
        ),
      );
      this.filter.value = "";
      this.missed.checked = false;
      this.root.classList.toggle("has-missed", fn.paths.hasMissed);
      this.list();
    }
    this.icicle.show(fn, path?.index ?? -1, step?.decisions ?? []);
    this.rows.mark(this.chosenRow());
  }

  focus(): void {
    this.rows.root.focus({ preventScroll: true });
  }

  /** The path that the list shows before (-1) or after (1) another. */
  neighbor(path: bigint, step: number): bigint | undefined {
    return this.listed[this.listed.indexOf(path) + step];
  }

  private list(): void {
    const { fn } = this;
    if (!fn) return;
    const { paths } = fn;
    const matches = wanted(fn, this.filter.value.trim().toLowerCase());
    const isWanted = (path: bigint): boolean =>
      matches(path) && (!this.missed.checked || isMissed(fn, path));
    const ran = paths
      .sorted(this.order.value as Order)
      .map((path) => paths.numbers[path]!)
      .filter(isWanted);
    const gone = paths.gone.filter(isWanted);
    const phantoms = paths.phantoms.filter((path) => isWanted(path) && paths.before(path) === 0n);
    this.listed = [...ran, ...gone, ...phantoms];
    this.shared = sharedEdges(fn, this.listed);
    const { length } = paths;
    const count =
      ran.length === length ? grouped(length) : `${grouped(ran.length)} of ${grouped(length)}`;
    const others = [
      gone.length > 0 && `${grouped(gone.length)} that ran only in the baseline`,
      phantoms.length > 0 && `${grouped(phantoms.length)} that never ran`,
    ].filter(Boolean);
    this.heading.textContent = [count, ...others].join(", and ");
    this.rows.show(this.listed.length, this.chosenRow());
  }

  /** The row of the chosen path, or -1. */
  private chosenRow(): number {
    return this.path ? this.listed.indexOf(this.path.number) : -1;
  }

  private row(row: number): (Node | string | false)[] {
    const { paths } = this.fn!;
    const number = this.listed[row]!;
    const path = paths.indexOf(number);
    const count = path < 0 ? 0n : paths.counts[path]!;
    const before = paths.before(number);
    const part = path < 0 ? 0 : paths.weight(path, path + 1);
    const whole = paths.weight(0, paths.length);
    const parts = this.ownParts(row);
    const shared = row === 0 ? 0 : sharedParts(parts, this.ownParts(row - 1));
    return [
      element(
        "span",
        { class: "share-cell" },
        element("span", {
          class: "share-bar",
          style: `width:${((100 * part) / (whole || 1)).toFixed(2)}%`,
        }),
        element("span", {}, path >= 0 ? percent(part, whole) : before > 0n ? "gone" : "never ran"),
      ),
      element("span", { class: "number", title: grouped(count) }, this.about + brief(count)),
      paths.isCompared &&
        element(
          "span",
          {
            class: `number before change ${change(count, before).sort}`,
            title: both(count, before),
          },
          `${brief(before)} `,
          element("small", {}, change(count, before).text),
        ),
      this.byEdges(count, paths.predictionOf(number)),
      element(
        "span",
        { class: "name", title: `p${number} ${words(routeParts(this.fn!, number))}` },
        element("b", {}, `p${number}`),
        element(
          "span",
          { class: "detail" },
          ...(shared === 0
            ? []
            : [
                element("span", { "aria-hidden": "true" }, "… "),
                element("span", { class: "unseen" }, `${words(parts.slice(0, shared))}, `),
              ]),
          words(parts.slice(shared)),
        ),
      ),
    ];
  }

  /** The parts of a listed path that other listed paths do not have. */
  private ownParts(row: number): RoutePart[] {
    return routeParts(this.fn!, this.listed[row]!, (edge) => !this.shared.has(edge));
  }

  /** The executions that the edge counts predict, in a cell, and how far they are from the truth. */
  private byEdges(count: bigint, predicted: bigint): HTMLElement {
    const { sort, text, words } = predictionError(count, predicted);
    return element(
      "span",
      { class: `number by-edges ${sort}`, title: `${words[0]!.toUpperCase()}${words.slice(1)}` },
      `${MARKS[sort]}${brief(predicted)}`,
      element("small", {}, text),
    );
  }
}

const MARKS: Record<ErrorSort, string> = { missed: "◆ ", excess: "▲ ", near: "", same: "" };

/** Whether the edge counts predict less than half of the executions of the path with this number. */
function isMissed({ paths }: RanFunction, number: bigint): boolean {
  const path = paths.indexOf(number);
  return path >= 0 && paths.isMissed(paths.counts[path]!, paths.predicted[path]!);
}

/** A longer list shows all decisions of its paths: finding the shared ones would take too long. */
const MAX_COMPARED = 20_000;

/** The edges that all of several paths have. */
function sharedEdges({ paths }: RanFunction, numbers: bigint[]): Set<DagEdge> {
  const first = numbers[0];
  if (first === undefined || numbers.length === 1 || numbers.length > MAX_COMPARED)
    return new Set();
  let shared = new Set(paths.edgesOf(first));
  for (const number of numbers) {
    if (shared.size === 0) break;
    shared = new Set(paths.edgesOf(number).filter((edge) => shared.has(edge)));
  }
  return shared;
}

/** The paths that a filter keeps. */
function wanted({ paths, graph }: RanFunction, text: string): (number: bigint) => boolean {
  const line = /^(?:line\s*)?(\d+)$/.exec(text)?.[1];
  const wantedNumber = /^p(\d+)$/.exec(text)?.[1];
  if (wantedNumber !== undefined) return (number) => number === BigInt(wantedNumber);
  if (line === undefined) return () => true;
  const isOnLine = graph.places.map((places) =>
    places.some((place) => graph.frames(place).some((frame) => frame.line === Number(line))),
  );
  return (number) =>
    paths
      .edgesOf(number)
      .some((edge) => isOnLine[edge.to] || (edge.kind !== DagKind.Start && isOnLine[edge.from]));
}
