// The view of loops: how sequences of paths follow one another over the iterations. The tree is an
// icicle: each row is one iteration further, and a box is as wide as its sequence is frequent.

import { brief, exact, grouped, percent, plural } from "../data/numbers";
import type { LoopRecord, LoopsDocument } from "../data/streams";
import type { StreamWire } from "../data/wire";
import { change } from "../model/change";
import { columns, name, number } from "./cells";
import { button, classNames, element } from "./dom";
import { Rows } from "./rows";

const ROW = 34;
const BOX = 26;
const MIN_WIDTH = 4;

export class LoopsView {
  readonly root: HTMLElement;
  private readonly rows: Rows;
  private readonly about = element("div", { class: "detail-body", role: "status" });
  private readonly drawing = element("div", { class: "icicle-drawing" });
  private document: LoopsDocument | null = null;
  private functions: number[] = [];
  private isCompared = false;
  /** The loops of the baseline, by function and head. */
  private readonly before = new Map<string, LoopRecord>();
  private loop: LoopRecord | null = null;
  private zoom: number | null = null;

  constructor(private readonly open: (fn: number, path: number) => void) {
    this.rows = new Rows({
      name: "Loops",
      height: ROW,
      render: (row) => this.row(row),
      select: (row) => this.choose(row),
      empty: "No loop ran.",
    });
    const tree = element("div", { class: "icicle tree" }, this.drawing);
    new ResizeObserver(() => this.draw()).observe(tree);
    this.root = element(
      "main",
      { class: "streams loops", id: "loops" },
      element(
        "section",
        { class: "panel", "aria-label": "Loops" },
        element("h2", {}, "Loops"),
        columns("iterations", "entered", "each", "loop"),
        this.rows.root,
      ),
      element(
        "section",
        { class: "panel", "aria-label": "Sequences of paths" },
        element("h2", {}, "Sequences of paths"),
        this.about,
        tree,
      ),
    );
  }

  show({ now, before }: StreamWire<LoopsDocument>): void {
    const { document, functions } = now;
    if (this.document === document) return;
    this.document = document;
    this.functions = functions;
    before?.document.loops.forEach((loop, index) => {
      const fn = before.functions[index]!;
      if (fn >= 0) this.before.set(key(fn, loop), loop);
    });
    this.isCompared = before !== null;
    this.rows.show(document.loops.length, 0);
    if (document.loops.length > 0) this.choose(0);
  }

  private row(row: number): (Node | string)[] {
    const loop = this.document!.loops[row]!;
    const each = loop.executions > 0 ? loop.iterations / loop.executions : 0;
    const place = loop.head.place?.split("/").pop() ?? `b${loop.head.block}`;
    return [
      number(brief(exact(loop.iterations))),
      number(brief(exact(loop.executions))),
      number(each < 100 ? each.toFixed(1) : brief(Math.round(each))),
      name(loop.function, this.isCompared ? `${this.changeOf(row)} · ${place}` : place),
    ];
  }

  /** The loop in the baseline. */
  private beforeOf(row: number): LoopRecord | undefined {
    return this.before.get(key(this.functions[row]!, this.document!.loops[row]!));
  }

  /** How often the loop turned, against the baseline. */
  private changeOf(row: number): string {
    const now = exact(this.document!.loops[row]!.iterations);
    return change(now, exact(this.beforeOf(row)?.iterations ?? 0)).text;
  }

  private choose(row: number): void {
    this.rows.mark(row);
    this.loop = this.document!.loops[row]!;
    this.zoom = null;
    const { loop } = this;
    const findings = loop.findings.map((finding) => element("li", {}, sentence(finding)));
    this.about.replaceChildren(
      element("p", {}, element("bdi", {}, loop.function), ` ${loop.head.place ?? ""}`),
      element(
        "p",
        { class: "detail" },
        `${plural(loop.starts, "turn")}, sequences of up to ${this.document!.k} paths`,
      ),
      ...(this.isCompared ? [this.comparison(row)] : []),
      findings.length > 0 ? element("ul", {}, ...findings) : "",
      button("Show the first path", "Show the hottest path of this loop", () =>
        this.open(this.functions[row]!, loop.paths[0]?.id ?? 0),
      ),
      button("All sequences", "Leave the zoom", () => {
        this.zoom = null;
        this.draw();
      }),
    );
    this.draw();
  }

  /** The counts of the loop in the baseline, and what was found there. */
  private comparison(row: number): HTMLElement {
    const before = this.beforeOf(row);
    if (!before) return element("p", { class: "change new" }, "The baseline does not have it.");
    const counts =
      `In the baseline: ${plural(exact(before.iterations), "iteration")} ` +
      `(${this.changeOf(row)}), entered ${plural(exact(before.executions), "time")}, ` +
      `${plural(before.starts, "turn")}.`;
    const findings = before.findings.map(sentence).join(" ");
    return element("p", { class: "baseline" }, `${counts} ${findings}`);
  }

  private draw(): void {
    const { loop, drawing, zoom } = this;
    if (!loop || drawing.clientWidth === 0) return;
    const children = new Map<number | null, number[]>();
    loop.sequences.forEach(({ parent }, index) => {
      children.set(parent, [...(children.get(parent) ?? []), index]);
    });
    const boxes: HTMLElement[] = [];
    let deepest = 0;
    const add = (
      parent: number | null,
      x: number,
      width: number,
      whole: number,
      depth: number,
    ): void => {
      for (const index of children.get(parent) ?? []) {
        const { paths, count } = loop.sequences[index]!;
        const size = (width * count) / whole;
        // Each path of a box is one iteration.
        if (size >= MIN_WIDTH) {
          boxes.push(this.box(loop, index, x, size, depth));
          deepest = Math.max(deepest, depth + paths.length);
          add(index, x, size, count, depth + paths.length);
        }
        x += size;
      }
    };
    const roots = zoom === null ? (children.get(null) ?? []) : [zoom];
    const total = roots.reduce((sum, index) => sum + loop.sequences[index]!.count, 0);
    if (zoom === null) add(null, 0, drawing.clientWidth, Math.max(1, total), 0);
    else {
      boxes.push(this.box(loop, zoom, 0, drawing.clientWidth, 0));
      deepest = loop.sequences[zoom]!.paths.length;
      add(zoom, 0, drawing.clientWidth, Math.max(1, total), deepest);
    }
    drawing.replaceChildren(...boxes);
    drawing.style.height = `${deepest * BOX}px`;
  }

  private box(
    loop: LoopRecord,
    index: number,
    x: number,
    width: number,
    depth: number,
  ): HTMLElement {
    const { paths, count, parent } = loop.sequences[index]!;
    const before = parent === null ? null : loop.sequences[parent]!.count;
    const names = paths.map((path) => `p${path}`).join(" ");
    const share =
      before === null ? "" : `, after ${percent(count, before)} of the sequences before it`;
    const title = `${names}: ${grouped(count)} times${share}`;
    const [size, height] = [Math.max(1, width - 1), paths.length * BOX - 1];
    const isRepeated = parent !== null && loop.sequences[parent]!.paths.at(-1) === paths[0];
    const box = element(
      "button",
      {
        type: "button",
        class: classNames("node", width < 34 && "narrow", isRepeated && "repeated"),
        title,
        "aria-label": title,
        style: `left:${x.toFixed(1)}px;top:${depth * BOX}px;width:${size}px;height:${height}px`,
      },
      width < 34 ? null : names,
    );
    box.addEventListener("click", () => {
      this.zoom = index;
      this.draw();
    });
    return box;
  }
}

/** A loop of a function of the page. */
function key(fn: number, { head }: LoopRecord): string {
  return `${fn} ${head.block}`;
}

function sentence({ kind, share, paths, turns }: LoopRecord["findings"][number]): string {
  const names = (paths ?? []).map((path) => `p${path}`).join(" ");
  const part = percent(share, 1);
  switch (kind) {
    case "one-path":
      return `${part} of the turns take ${names}.`;
    case "period":
      return `${part} of the turns follow the period ${names}.`;
    case "steady":
      return `Each of ${names} mostly follows itself (${part}).`;
    case "first-turns":
      return `The first ${turns} turns go another way in ${part} of the executions.`;
    case "trips":
      return `The loop ends after ${turns} turns in ${part} of the executions.`;
    default:
      return `${kind}: ${part}.`;
  }
}
