// The view of variation: paths that are usually fast but sometimes slow, ranked by net variation,
// and the distribution of the times of one of them.

import { brief, grouped, percent, plural } from "../data/numbers";
import type { TimedPath, VariationDocument } from "../data/streams";
import type { StreamWire } from "../data/wire";
import { bar, columns, name, number } from "./cells";
import { button, element, shape } from "./dom";
import { Rows } from "./rows";

const ROW = 34;
const [WIDTH, HEIGHT] = [640, 260];

export class VariationView {
  readonly root: HTMLElement;
  private readonly rows: Rows;
  private readonly detail = element("div", { class: "detail-body", role: "status" });
  private list: TimedPath[] = [];
  private functions: number[] = [];
  private isCompared = false;
  /** The paths of the baseline, by function and name. */
  private readonly before = new Map<string, TimedPath>();

  constructor(private readonly open: (fn: number, path: number) => void) {
    this.rows = new Rows({
      name: "Paths by net variation",
      height: ROW,
      render: (row) => this.row(this.list[row]!),
      select: (row) => this.choose(row),
      empty: "No path has two samples.",
    });
    this.root = element(
      "main",
      { class: "streams variation", id: "variation" },
      element(
        "section",
        { class: "panel", "aria-label": "Paths by net variation" },
        element("h2", {}, "Paths by net variation"),
        columns("of the run", "base", "p99", "path"),
        this.rows.root,
      ),
      element(
        "section",
        { class: "panel", "aria-label": "Times of the path" },
        element("h2", {}, "Times of the path"),
        this.detail,
      ),
    );
  }

  show({ now, before }: StreamWire<VariationDocument>): void {
    const { document, functions } = now;
    if (this.list === document.variation) return;
    before?.document.variation.forEach((path, index) => {
      const fn = before.functions[index]!;
      if (fn >= 0) this.before.set(`${fn} ${path.path_name}`, path);
    });
    this.isCompared = before !== null;
    this.functions = functions;
    this.list = document.variation;
    this.rows.show(this.list.length, 0);
    if (this.list.length > 0) this.choose(0);
  }

  private choose(row: number): void {
    this.rows.mark(row);
    const path = this.list[row]!;
    const before = this.before.get(`${this.functions[row]} ${path.path_name}`);
    const figure = (figureOf: (path: TimedPath) => string): string => {
      if (!this.isCompared) return figureOf(path);
      return `${figureOf(path)} (${before ? figureOf(before) : "not"} in the baseline)`;
    };
    const figures: [string, string][] = [
      ["base", figure(({ base }) => cycles(base))],
      ["median", figure(({ p50 }) => cycles(p50))],
      ["90 %", figure(({ p90 }) => cycles(p90))],
      ["99 %", figure(({ p99 }) => cycles(p99))],
      ["longest", figure(({ max }) => cycles(max))],
      ["of the run", figure(({ share }) => percent(share, 1))],
      ["samples", figure(({ samples }) => grouped(samples))],
      ["executions", figure(({ executions }) => brief(Math.round(executions)))],
      ["rank by count", grouped(path.rank_by_count)],
      ["rank by total time", grouped(path.rank_by_total)],
    ];
    this.detail.replaceChildren(
      element("p", {}, element("bdi", {}, path.function), ` p${path.path}`),
      element("p", { class: "detail" }, certainty(path)),
      histogram(path),
      element(
        "dl",
        { class: "figures" },
        ...figures.map(([name, value]) =>
          element("div", {}, element("dt", {}, name), element("dd", {}, value)),
        ),
      ),
      button("Show the path", "Show the path's decisions, graph, and source", () =>
        this.open(this.functions[row]!, path.path),
      ),
    );
  }

  private row(path: TimedPath): (Node | string)[] {
    return [
      bar(path.share, 1, "", path.certain ? "" : " ?"),
      number(brief(path.base)),
      number(brief(path.p99)),
      name(path.function, `p${path.path}`),
    ];
  }
}

function cycles(number: number): string {
  return plural(Math.round(number), "cycle");
}

function certainty(path: TimedPath): string {
  if (path.certain) return "The net variation is certain.";
  return `The net variation is not certain: ${path.uncertain ?? "too few samples"}.`;
}

/** The times on a logarithmic scale, with the base time and quantiles. */
function histogram(path: TimedPath): SVGElement {
  const [low, high] = [Math.max(1, path.histogram[0]?.[0] ?? 1), Math.max(2, path.max)];
  const x = (time: number): number => {
    const part = Math.log(Math.max(low, time) / low) / Math.log(Math.max(2, high / low));
    return 20 + (WIDTH - 40) * Math.min(1, part);
  };
  const most = Math.max(1, ...path.histogram.map(([, , samples]) => samples));
  const bars = path.histogram.map(([from, to, samples]) => {
    const height = ((HEIGHT - 60) * Math.sqrt(samples)) / Math.sqrt(most);
    const title = `${grouped(from)} to ${grouped(to)} cycles: ${grouped(samples)} samples`;
    const width = Math.max(2, x(to + 1) - x(from) - 0.5);
    const box = { x: x(from), y: HEIGHT - 30 - height, width, height, class: "bucket" };
    return shape("rect", box, shape("title", {}, title));
  });
  const marks = (
    [
      ["base", path.base],
      ["p50", path.p50],
      ["p90", path.p90],
      ["p99", path.p99],
    ] as const
  ).flatMap(([name, time], index) => [
    shape("line", {
      x1: x(time),
      x2: x(time),
      y1: 16 + 11 * index,
      y2: HEIGHT - 30,
      class: "quantile",
    }),
    quantileName(name, x(time), 18 + 11 * index),
  ]);
  const ends = [
    shape("text", { x: 20, y: HEIGHT - 10, class: "axis" }, cycles(low)),
    shape("text", { x: WIDTH - 20, y: HEIGHT - 10, class: "axis end" }, cycles(high)),
  ];
  const name = `${grouped(path.samples)} samples, from ${cycles(low)} to ${cycles(high)}`;
  const frame = {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    class: "histogram",
    role: "img",
    "aria-label": name,
  };
  return shape("svg", frame, ...bars, ...marks, ...ends);
}

/** The name of a quantile beside its line, on the side where it has room. */
function quantileName(name: string, x: number, y: number): SVGElement {
  const isRight = x > WIDTH - 60;
  const end = isRight ? " end" : "";
  return shape("text", { x: isRight ? x - 4 : x + 4, y, class: `quantile-name${end}` }, name);
}
