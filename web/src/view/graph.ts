// The pane of the graph: blocks from top to bottom with their counts, edges as wide as they are
// hot, and the chosen path on top. Only the visible part is drawn.

import { brief, grouped } from "../data/numbers";
import { both, change } from "../model/change";
import { DagKind, type DagEdge, type Graph } from "../model/graph";
import type { ChosenPath, RanFunction } from "../model/function";
import { layOut, NODE_HEIGHT, NODE_WIDTH, type Box, type Layout, type Line } from "../model/layout";
import type { Misprediction } from "../model/misprediction";
import type { Step } from "../model/steps";
import { button, classNames, element, heat, shape } from "./dom";
import { shortened } from "./name";

const SCALES = [0.1, 0.15, 0.25, 0.35, 0.5, 0.7, 0.85, 1, 1.25];
/** Below this scale, the text of blocks is too small to read. */
const LEGIBLE = 0.7;

/** Pixels around a graph that fits. */
const MARGIN = 12;

export interface GraphContext {
  /** What stands before a count: a sign that it is estimated, if it is. */
  about: string;
  textOf: (file: number, line: number) => string;
  /** The user chose a block. */
  choose: (block: number) => void;
}

export class GraphPane {
  readonly root: HTMLElement;
  private readonly drawing = shape("svg", { class: "graph", role: "img" });
  private readonly scroller: HTMLElement;
  private readonly cold: HTMLInputElement;
  private readonly values: HTMLInputElement;
  private readonly chords: HTMLInputElement;
  private readonly changes: HTMLInputElement;
  private fn: RanFunction | null = null;
  private layout: Layout | null = null;
  private path: ChosenPath | null = null;
  private step: Step | null = null;
  private wrong: Misprediction | null = null;
  private scale = 0.85;

  constructor(private readonly context: GraphContext) {
    this.scroller = element("div", {
      class: "graph-scroller",
      tabindex: 0,
      role: "region",
      "aria-label": "Control flow graph",
    });
    this.scroller.append(this.drawing);
    this.scroller.addEventListener("scroll", () => this.draw());
    new ResizeObserver(() => {
      if (this.step) this.reveal(this.step.block);
      this.draw();
    }).observe(this.scroller);
    this.cold = element("input", { type: "checkbox", onchange: () => this.layOutAgain() });
    this.values = element("input", { type: "checkbox", onchange: () => this.draw() });
    this.chords = element("input", { type: "checkbox", onchange: () => this.draw() });
    this.changes = element("input", {
      type: "checkbox",
      checked: true,
      onchange: () => this.draw(),
    });
    this.root = element(
      "section",
      { class: "pane graph-pane", "aria-label": "Graph" },
      element(
        "div",
        { class: "pane-head" },
        element("h2", {}, "Graph"),
        button("−", "Smaller", () => this.zoom(-1), { class: "quiet" }),
        button("+", "Larger", () => this.zoom(1), { class: "quiet" }),
        button("Fit path", "Show the whole path", () => this.fit(this.pathBoxes()), {
          class: "quiet",
        }),
        button("Fit all", "Show the whole graph", () => this.fit(this.allBoxes()), {
          class: "quiet",
        }),
      ),
      element(
        "div",
        { class: "graph-options", role: "group", "aria-label": "What the graph shows" },
        element(
          "span",
          {
            class: "graph-legend",
            title:
              "A block is code without a branch inside. Its number says how often it ran in this " +
              "function. A line may have code in several blocks, and in several functions.",
          },
          "Number: how often a block ran here",
        ),
        element("label", { title: "Also show the blocks that never ran" }, this.cold, "never ran"),
        element(
          "label",
          { class: "of-baseline", title: "Show how the edges differ from the baseline" },
          this.changes,
          "changes",
        ),
        element(
          "label",
          {
            title:
              "Show the edge values of the path numbering (Ball and Larus). " +
              "The values along a path add up to its number.",
          },
          this.values,
          "edge values",
        ),
        element(
          "label",
          {
            class: "of-chords",
            title:
              "Show the chords: the edges where the program adds to the number of its path. " +
              "The increments along a path add up to its number, as the values do.",
          },
          this.chords,
          "chords",
        ),
      ),
      this.scroller,
    );
  }

  /** `wrong` is the decision of the path that the edge counts mispredict. */
  show(
    fn: RanFunction,
    path: ChosenPath | null,
    step: Step | null,
    wrong: Misprediction | null,
  ): void {
    const isNew = fn !== this.fn;
    const isNewPath = isNew || path?.number !== this.path?.number;
    this.fn = fn;
    this.path = path;
    this.step = step;
    this.wrong = wrong;
    if (isNew) this.root.classList.toggle("compared", fn.graph.before !== null);
    if (isNew) this.root.classList.toggle("has-chords", fn.graph.hasChords);
    if (isNew) this.layOutAgain();
    const target = step?.block ?? (isNewPath ? path?.edges[0]?.to : undefined);
    if (target !== undefined) this.reveal(target);
    this.draw();
  }

  private layOutAgain(): void {
    const { fn } = this;
    if (!fn) return;
    const { graph } = fn;
    this.layout = layOut(
      graph,
      (block) =>
        block !== graph.exit &&
        (this.cold.checked ||
          graph.counts[block]! > 0n ||
          (graph.before?.[block] ?? 0n) > 0n ||
          block === graph.entry),
    );
    this.scale = fittingScale(this.scroller.clientWidth, this.layout.width);
    this.scroller.scrollTo(
      Math.max(0, (this.layout.width * this.scale - this.scroller.clientWidth) / 2),
      0,
    );
    this.draw();
  }

  /** Zooms in (1) or out (−1). What is in view stays there: the current step, or else the middle. */
  private zoom(direction: 1 | -1): void {
    const { scale, scroller } = this;
    const larger = SCALES.find((each) => each > scale * 1.01) ?? SCALES[SCALES.length - 1]!;
    const smaller = SCALES.filter((each) => each < scale / 1.01).pop() ?? SCALES[0]!;
    const middle = {
      x: (scroller.scrollLeft + scroller.clientWidth / 2) / scale,
      y: (scroller.scrollTop + scroller.clientHeight / 2) / scale,
    };
    const box = this.step && this.layout?.boxes[this.step.block];
    this.scale = direction > 0 ? larger : smaller;
    this.center(box ? { x: box.x + NODE_WIDTH / 2, y: box.y + NODE_HEIGHT / 2 } : middle);
  }

  /** Scrolls until a point of the graph is in the middle. */
  private center({ x, y }: { x: number; y: number }): void {
    this.draw();
    const { clientWidth, clientHeight } = this.scroller;
    this.scroller.scrollTo(x * this.scale - clientWidth / 2, y * this.scale - clientHeight / 2);
    this.draw();
  }

  /** Zooms until all of these boxes are in view. */
  private fit(boxes: Box[]): void {
    if (boxes.length === 0) return;
    const { clientWidth, clientHeight } = this.scroller;
    const [left, top] = [
      Math.min(...boxes.map(({ x }) => x)),
      Math.min(...boxes.map(({ y }) => y)),
    ];
    const right = Math.max(...boxes.map(({ x }) => x)) + NODE_WIDTH;
    const bottom = Math.max(...boxes.map(({ y }) => y)) + NODE_HEIGHT;
    const room = (size: number): number => Math.max(1, size - 2 * MARGIN);
    this.scale = Math.min(
      SCALES[SCALES.length - 1]!,
      room(clientWidth) / (right - left),
      room(clientHeight) / (bottom - top),
    );
    this.center({ x: (left + right) / 2, y: (top + bottom) / 2 });
  }

  private allBoxes(): Box[] {
    return this.layout?.boxes.filter((box) => box !== null) ?? [];
  }

  private pathBoxes(): Box[] {
    return this.allBoxes().filter(({ block }) => this.isOnPath(block));
  }

  private isOnPath(block: number): boolean {
    const runs = (edge: DagEdge): boolean =>
      edge.to === block || (edge.kind !== DagKind.Start && edge.from === block);
    return this.path?.edges.some(runs) ?? false;
  }

  private reveal(block: number): void {
    const box = this.layout?.boxes[block];
    if (!box) return;
    const [x, y] = [box.x * this.scale, box.y * this.scale];
    const { scrollLeft, scrollTop, clientWidth, clientHeight } = this.scroller;
    const isVisible =
      x >= scrollLeft &&
      y >= scrollTop &&
      x + NODE_WIDTH * this.scale <= scrollLeft + clientWidth &&
      y + NODE_HEIGHT * this.scale <= scrollTop + clientHeight;
    if (!isVisible)
      this.scroller.scrollTo(
        x - clientWidth / 2 + (NODE_WIDTH * this.scale) / 2,
        y - clientHeight / 3,
      );
  }

  private draw(): void {
    const { fn, layout, scale, drawing } = this;
    if (!fn || !layout) return;
    const { graph } = fn;
    drawing.setAttribute("width", String(layout.width * scale));
    drawing.setAttribute("height", String(layout.height * scale));
    drawing.setAttribute("viewBox", `0 0 ${layout.width} ${layout.height}`);
    drawing.setAttribute(
      "aria-label",
      `Graph of ${fn.name}: ${layout.boxes.filter(Boolean).length} blocks`,
    );
    const [top, bottom] = [
      this.scroller.scrollTop / scale - 120,
      (this.scroller.scrollTop + this.scroller.clientHeight) / scale + 120,
    ];
    const onPath = new Set(
      (this.path?.edges ?? [])
        .filter((edge) => edge.kind !== DagKind.Start)
        .map((edge) => edge.number),
    );
    const visible = layout.lines.filter(({ points }) => {
      const ys = points.map(([, y]) => y);
      return Math.max(...ys) >= top && Math.min(...ys) <= bottom;
    });
    const highest = graph.counts.reduce((a, b) => (b > a ? b : a), 1n);
    const boxes = layout.boxes.filter(
      (box): box is Box => box !== null && box.y + NODE_HEIGHT >= top && box.y <= bottom,
    );
    drawing.replaceChildren(
      shape("defs", {}, arrow("arrow"), arrow("arrow-path")),
      ...visible
        .filter((line) => !onPath.has(line.edge))
        .map((line) => this.line(graph, line, highest, false)),
      ...visible
        .filter((line) => onPath.has(line.edge))
        .map((line) => this.line(graph, line, highest, true)),
      ...boxes.map((box) => this.box(fn, box, highest)),
      ...visible.flatMap((line) => this.expectation(line)),
      ...(this.changes.checked && graph.before !== null
        ? visible.flatMap((line) => this.difference(graph, line))
        : []),
      ...(this.values.checked ? visible.flatMap((line) => this.value(graph, line)) : []),
      ...(this.chords.checked ? visible.flatMap((line) => this.increment(graph, line)) : []),
    );
  }

  private line(graph: Graph, line: Line, highest: bigint, isOnPath: boolean): SVGElement {
    const edge = graph.edges[line.edge]!;
    const width = (isOnPath ? 2.6 : 1) + 3 * heat(edge.taken, highest);
    const isChord = this.chords.checked && edge.increments.some((each) => each !== null);
    const classes = classNames(
      "edge",
      isChord && "chord",
      this.isExpected(line) && "expected",
      line.isBack && "back",
      edge.taken === 0n && "cold",
      isOnPath && "on-path",
    );
    const words = edge.words ? `${edge.words}, ` : "";
    return shape(
      "path",
      {
        class: classes,
        d: curve(line),
        "stroke-width": width.toFixed(1),
        "marker-end": `url(#${isOnPath ? "arrow-path" : "arrow"})`,
      },
      shape(
        "title",
        {},
        `b${edge.from} to b${edge.to}: ${words}taken ` +
          (graph.before
            ? both(edge.taken, edge.before)
            : `${this.context.about}${grouped(edge.taken)} times`),
      ),
    );
  }

  private box(fn: RanFunction, { block, x, y }: Box, highest: bigint): SVGElement {
    const { graph } = fn;
    const count = graph.counts[block]!;
    const places = graph.places[block]!;
    const isOnPath = this.isOnPath(block);
    const isCurrent = this.step?.block === block;
    const classes = classNames(
      "block",
      count === 0n && "cold",
      isOnPath && "on-path",
      isCurrent && "current",
    );
    const first = places[0];
    const own = places
      .filter((place) => place.scope === places[0]!.scope)
      .map((place) => place.line);
    const [low, high] = [Math.min(...own), Math.max(...own)];
    const range = low === high ? `${low}` : `${low}–${high}`;
    const file = first && graph.fileOf(first);
    const lines =
      first === undefined || file === undefined
        ? ""
        : file === graph.file
          ? range
          : `${graph.fileNames.get(file) ?? "?"}:${range}`;
    const name = `b${block}`;
    const code = first ? this.context.textOf(graph.fileOf(first), first.line).trim() : "";
    const before = graph.before?.[block];
    const difference = before === undefined || before === count ? null : change(count, before);
    const room = difference ? 24 - difference.text.length : 25;
    const group = shape(
      "g",
      {
        class: classes,
        transform: `translate(${x.toFixed(1)},${y})`,
        style: `--heat:${heat(count, highest).toFixed(2)}`,
      },
      shape(
        "title",
        {},
        `b${block}: ${this.context.about}${grouped(count)} executions${before === undefined ? "" : ` (${grouped(before)} in the baseline)`}, ${graph.instructions[block]} instructions` +
          `${lines ? `, line ${lines}` : ""}\n${code}`,
      ),
      shape("rect", { width: NODE_WIDTH, height: NODE_HEIGHT, rx: 7 }),
      text(9, 18, "block-name", name),
      text(
        16 + 7 * name.length,
        18,
        "block-lines",
        fitting(lines, 20 - name.length - brief(count).length),
      ),
      text(NODE_WIDTH - 9, 18, "block-count", this.context.about + brief(count)),
      first
        ? text(9, 36, "block-code", shortened(code, room))
        : text(9, 36, "block-code no-line", "no line in the source"),
      difference && text(NODE_WIDTH - 9, 36, `block-change ${difference.sort}`, difference.text),
    );
    group.addEventListener("click", () => this.context.choose(block));
    return group;
  }

  /** Whether the edge counts predict that the path takes this edge. */
  private isExpected({ edge }: Line): boolean {
    return this.wrong?.expected.kind !== DagKind.Start && this.wrong?.expected.number === edge;
  }

  /** The label of the edge that the edge counts predict. */
  private expectation(line: Line): SVGElement[] {
    if (!this.isExpected(line)) return [];
    const [x, y] = line.isBack ? line.points[3]! : line.points[line.points.length - 1]!;
    return [text(x + (line.isBack ? 4 : 8), y - 8, "edge-expected", "◆ predicted too often")];
  }

  /** How an edge differs from the baseline, where control had a choice. */
  private difference(graph: Graph, line: Line): SVGElement[] {
    const edge = graph.edges[line.edge]!;
    const { sort, text: words } = change(edge.taken, edge.before);
    if (graph.out[edge.from]!.length < 2 || sort === "same") return [];
    const [x, y] = line.isBack ? line.points[3]! : line.points[line.points.length - 1]!;
    return [text(x + (line.isBack ? 4 : 8), y - 20, `edge-change ${sort}`, words)];
  }

  /** The increments of a chord: `⊕ −1`, or for a chord that ends a path also what the number of the
   * next path starts with: `⊕ +1, then +4`. */
  private increment(graph: Graph, line: Line): SVGElement[] {
    const edge = graph.edges[line.edge]!;
    const [before, after] = edge.increments;
    const words = [
      before !== null && signed(before),
      after !== null && `then ${signed(after)}`,
    ].filter(Boolean);
    if (words.length === 0) return [];
    const [x, y] = line.isBack ? line.points[3]! : line.points[line.points.length - 1]!;
    const label = `⊕ ${words.join(", ")}`;
    return [text(x + (line.isBack ? 4 : 8), y - 32, "edge-increment", label)];
  }

  /** The values of an edge: `+3`, or for an edge that ends a path also the value of the next path's
   * start: `+1, then 4`. */
  private value(graph: Graph, line: Line): SVGElement[] {
    const own = graph.dag.find((edge) => edge.kind !== DagKind.Start && edge.number === line.edge);
    if (!own) return [];
    const start = graph.dag.find(
      (edge) => edge.kind === DagKind.Start && edge.number === graph.edges[line.edge]!.to,
    );
    const ends = own.kind === DagKind.Back || own.kind === DagKind.Cut;
    const label = ends
      ? `+${own.value}, then ${start?.value ?? 0}`
      : own.value === 0n
        ? ""
        : `+${own.value}`;
    const [x, y] = line.isBack ? line.points[3]! : line.points[line.points.length - 1]!;
    return label === "" ? [] : [text(x + (line.isBack ? 4 : 8), y - 8, "edge-value", label)];
  }
}

function signed(number: bigint): string {
  return number < 0n ? `−${-number}` : `+${number}`;
}

/** The largest scale at which the graph fits, if it stays legible. */
function fittingScale(width: number, graphWidth: number): number {
  const fits = SCALES.filter((scale) => scale <= 1 && graphWidth * scale <= width);
  return Math.max(LEGIBLE, ...fits);
}

function text(x: number, y: number, name: string, content: string): SVGElement {
  return shape("text", { x, y, class: name }, content);
}

function arrow(id: string): SVGElement {
  return shape(
    "marker",
    {
      id,
      viewBox: "0 0 8 8",
      refX: 7,
      refY: 4,
      markerWidth: 9,
      markerHeight: 9,
      markerUnits: "userSpaceOnUse",
      orient: "auto",
    },
    shape("path", { d: "M0 0L8 4L0 8z" }),
  );
}

/** A smooth line through the points. Back edges have rounded corners. */
function curve({ points, isBack }: Line): string {
  const [start, ...rest] = points as [[number, number], ...[number, number][]];
  let d = `M${start[0].toFixed(1)} ${start[1].toFixed(1)}`;
  if (isBack) return d + rest.map(([x, y]) => `L${x.toFixed(1)} ${y.toFixed(1)}`).join("");
  let [x0, y0] = start;
  for (const [x, y] of rest) {
    const middle = (y0 + y) / 2;
    d +=
      x === x0
        ? `L${x.toFixed(1)} ${y}`
        : `C${x0.toFixed(1)} ${middle} ${x.toFixed(1)} ${middle} ${x.toFixed(1)} ${y}`;
    [x0, y0] = [x, y];
  }
  return d;
}

/** A text of at most so many characters. Long ranges of lines lose their last line. */
function fitting(lines: string, length: number): string {
  if (lines.length <= length) return lines;
  const first = lines.replace(/–.*/, "…");
  if (first.length <= length) return first;
  return lines.includes(":") && length > 6 ? shortened(first, length) : "";
}
