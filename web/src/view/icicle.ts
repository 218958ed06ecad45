// The icicle: each row is a decision, each column a prefix of paths. Its width is count ×
// instructions. Nodes that are too narrow to see are left out until the user zooms in.

import { percent, plural } from "../data/numbers";
import { decisions, type Decision } from "../model/decisions";
import type { RanFunction } from "../model/function";
import { DagKind, type DagEdge } from "../model/graph";
import type { Prefix } from "../model/paths";
import { classNames, element } from "./dom";

const ROW = 24;
const MIN_WIDTH = 4;
const MAX_ROWS = 60;

export class Icicle {
  readonly root: HTMLElement;
  private readonly drawing = element("div", { class: "icicle-drawing" });
  private readonly crumbs = element("div", { class: "crumbs" });
  private fn: RanFunction | null = null;
  /** The path in view: an index, or -1. */
  private path = -1;
  /** The edges that the step in view decides. */
  private decided: number[] = [];
  private zoom: Decision[] = [];

  /** The user chose a path and an edge on it. */
  constructor(private readonly choose: (path: number, edge: DagEdge) => void) {
    this.root = element(
      "div",
      { class: "icicle", role: "group", "aria-label": "Decisions of the paths" },
      this.crumbs,
      this.drawing,
    );
    new ResizeObserver(() => this.draw()).observe(this.root);
  }

  show(fn: RanFunction, path: number, decided: number[]): void {
    if (fn !== this.fn) this.zoom = [];
    this.fn = fn;
    this.path = path;
    this.decided = decided;
    if (!this.zoom.every(({ prefix }) => contains(prefix, path))) this.zoom = [];
    this.draw();
  }

  private draw(): void {
    const { fn } = this;
    if (!fn || fn.paths.length === 0 || this.drawing.clientWidth === 0) {
      this.drawing.replaceChildren();
      return;
    }
    const focused =
      document.activeElement instanceof HTMLElement
        ? document.activeElement.dataset.node
        : undefined;
    const top = this.zoom[this.zoom.length - 1];
    const root = top?.prefix ?? fn.paths.root();
    const nodes: HTMLElement[] = [];
    const depth = this.addChildren(fn, root, 0, this.drawing.clientWidth, 0, nodes);
    this.drawing.replaceChildren(...nodes);
    this.drawing.style.height = `${depth * ROW}px`;
    this.drawCrumbs();
    if (focused) this.drawing.querySelector<HTMLElement>(`[data-node="${focused}"]`)?.focus();
  }

  private addChildren(
    fn: RanFunction,
    prefix: Prefix,
    x: number,
    width: number,
    depth: number,
    nodes: HTMLElement[],
  ): number {
    const whole = fn.paths.weight(prefix.first, prefix.last);
    if (depth === MAX_ROWS || whole === 0) return depth;
    let deepest = depth;
    for (const decision of decisions(fn.paths, prefix)) {
      const size = (width * decision.weight) / whole;
      if (size >= MIN_WIDTH) {
        nodes.push(this.node(fn, decision, x, size, depth));
        deepest = Math.max(
          deepest,
          depth + 1,
          this.addChildren(fn, decision.prefix, x, size, depth + 1, nodes),
        );
      }
      x += size;
    }
    return deepest;
  }

  private node(
    fn: RanFunction,
    decision: Decision,
    x: number,
    width: number,
    depth: number,
  ): HTMLElement {
    const { prefix, edge, label, line, expected } = decision;
    const at = line === "" ? "" : `${line} → `;
    const share = percent(decision.weight, fn.paths.weight(0, fn.paths.length));
    const wrong =
      expected === null ? "" : `\nEdge counts alone would predict ${expected} too often here.`;
    const paths = plural(prefix.last - prefix.first, "path");
    const where = edge.kind === DagKind.Start ? label : fn.graph.decision(edge.number);
    const title = `${at}${where}\n${share} of the function's instructions, ${paths}${wrong}`;
    const isOnPath = contains(prefix, this.path);
    const isCurrent = isOnPath && edge.kind !== DagKind.Start && this.decided.includes(edge.number);
    const classes = classNames(
      "node",
      isOnPath && "on-path",
      isCurrent && "current",
      expected !== null && "unexpected",
      width < 34 && "narrow",
    );
    const node = element(
      "button",
      {
        type: "button",
        class: classes,
        title,
        "aria-label": title,
        "data-node": `${prefix.first}-${prefix.last}-${prefix.block}`,
        style: `left:${x.toFixed(1)}px;top:${depth * ROW}px;width:${Math.max(1, width - 1)}px`,
      },
      expected === null ? null : element("span", { class: "mark", "aria-hidden": "true" }, "◆"),
      width < 34 ? null : `${at}${label}`,
    );
    // The path in view stays, if it takes this way.
    node.addEventListener("click", () =>
      this.choose(isOnPath ? this.path : fn.paths.hottest(prefix.first, prefix.last), edge),
    );
    node.addEventListener("dblclick", () => this.zoomTo(decision));
    node.addEventListener("keydown", (event) => {
      if (event.key === "z") this.zoomTo(decision);
    });
    return node;
  }

  private zoomTo(decision: Decision): void {
    this.zoom.push(decision);
    this.draw();
  }

  private drawCrumbs(): void {
    const crumbs = this.zoom.map((decision, index) => this.crumb(decision.label, index + 1));
    this.crumbs.replaceChildren(
      ...(this.zoom.length > 0 ? [this.crumb("all paths", 0), ...crumbs] : []),
    );
  }

  private crumb(label: string, length: number): HTMLElement {
    const crumb = element(
      "button",
      { type: "button", class: "crumb", title: `Show ${label}` },
      label,
    );
    crumb.addEventListener("click", () => {
      this.zoom.length = length;
      this.draw();
    });
    return crumb;
  }
}

function contains({ first, last }: Prefix, path: number): boolean {
  return first <= path && path < last;
}
