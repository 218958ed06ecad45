// The grammar of a trace: the rules that stand for most of it, and the graph around one of them.

import { brief, grouped, plural } from "../data/numbers";
import type { Part } from "../model/grammar";
import { ruleGraph, type RuleNode } from "../model/rules";
import type { Trace } from "../model/trace";
import { bar, columns, number } from "./cells";
import { button, element, shape } from "./dom";
import { shortened } from "./name";
import { Rows } from "./rows";

const ROW = 28;
const [NODE_WIDTH, NODE_HEIGHT, LEVEL] = [116, 38, 66];
/** Rules of the list. */
const LISTED = 2000;

export interface RulesContext {
  nameOf: (terminal: number) => string;
  /** The user chose a rule, or none. */
  choose: (rule: number | null) => void;
  open: (terminal: number) => void;
}

export class RulesPane {
  readonly root: HTMLElement;
  private readonly rows: Rows;
  private readonly drawing = element("div", { class: "rules-drawing" });
  private readonly about = element("p", { class: "detail rules-about", role: "status" });
  private trace: Trace | null = null;
  private frequencies: Float64Array = new Float64Array(0);
  private listed: number[] = [];
  private rule = 0;

  constructor(private readonly context: RulesContext) {
    this.rows = new Rows({
      name: "Rules of the grammar",
      height: ROW,
      render: (row) => this.row(this.listed[row]!),
      select: (row) => this.show(this.listed[row]!),
      empty: "The page has no rule for a recurring sequence.",
    });
    this.root = element(
      "section",
      { class: "panel rules", "aria-label": "Grammar" },
      element(
        "div",
        { class: "pane-head" },
        element("h2", {}, "Grammar"),
        button("S", "Show the start rule, which stands for all events", () => this.show(0), {
          class: "quiet",
        }),
      ),
      columns("of events", "runs", "events", "rule"),
      this.rows.root,
      this.about,
      this.drawing,
    );
    new ResizeObserver(() => this.draw()).observe(this.drawing);
  }

  open(trace: Trace): void {
    this.trace = trace;
    const { grammar } = trace;
    this.frequencies = grammar.frequencies();
    // The longest rules; of equally long ones, those that run most.
    this.listed = Array.from({ length: grammar.length }, (_, rule) => rule)
      .filter((rule) => rule > 0 && grammar.numberOf(rule) < trace.wire.stats.rules)
      .sort((a, b) => grammar.events[b]! - grammar.events[a]! || this.share(b) - this.share(a))
      .slice(0, LISTED);
    this.rule = 0;
    this.rows.show(this.listed.length);
    this.draw();
  }

  private share(rule: number): number {
    return this.frequencies[rule]! * this.trace!.grammar.events[rule]!;
  }

  private show(rule: number): void {
    this.rule = rule;
    this.rows.mark(this.listed.indexOf(rule));
    this.draw();
    this.context.choose(rule === 0 ? null : rule);
  }

  private row(rule: number): (Node | string)[] {
    const { grammar, length } = this.trace!;
    const share = this.share(rule);
    const name = this.name({ sort: "rule", id: rule });
    const first = grammar.beginning(rule, 2).map(this.context.nameOf).join(", ");
    const title = `${name}: ${plural(this.frequencies[rule]!, "run")} of ${plural(grammar.events[rule]!, "event")}`;
    return [
      bar(share, length, title),
      number(brief(this.frequencies[rule]!)),
      number(brief(grammar.events[rule]!)),
      element(
        "span",
        { class: "name", title: `${title}: ${first} …` },
        element("b", {}, name),
        element("span", { class: "detail" }, `${first} …`),
      ),
    ];
  }

  private name(part: Part): string {
    const { grammar, wire } = this.trace!;
    switch (part.sort) {
      case "terminal":
        return this.context.nameOf(part.id);
      case "leaf":
        return `R${grammar.leaves[part.id]!.number}`;
      case "rule": {
        const rule = grammar.numberOf(part.id);
        const piece = rule - wire.stats.rules;
        return rule === 0 ? "S" : piece >= 0 ? `S, part ${piece + 1}` : `R${rule}`;
      }
    }
  }

  private draw(): void {
    const { trace, drawing } = this;
    const width = drawing.clientWidth;
    if (!trace || width === 0) return;
    const { grammar } = trace;
    const graph = ruleGraph(grammar, this.rule);
    const chosen = this.name({ sort: "rule", id: this.rule });
    const users = graph.hiddenUsers > 0 ? ` ${plural(graph.hiddenUsers, "more rule")} use it.` : "";
    this.about.textContent =
      `${chosen} stands for ${plural(grammar.events[this.rule]!, "event")} and occurs ` +
      `${plural(this.frequencies[this.rule]!, "time")}.${users}`;
    const levels = new Map<number, RuleNode[]>();
    for (const node of graph.nodes)
      levels.set(node.level, [...(levels.get(node.level) ?? []), node]);
    const lowest = Math.min(...levels.keys());
    const widest = Math.max(...[...levels.values()].map((nodes) => nodes.length));
    const full = Math.max(width, widest * (NODE_WIDTH + 10) + 10);
    const centers = new Map<RuleNode, [number, number]>();
    for (const level of [...levels.keys()].sort((a, b) => a - b)) {
      const nodes = levels.get(level)!;
      const above = (node: RuleNode): number => {
        const xs = graph.edges
          .filter(({ from, to }) => to === node && centers.has(from))
          .map(({ from }) => centers.get(from)![0]);
        return xs.length === 0 ? 0 : xs.reduce((sum, x) => sum + x, 0) / xs.length;
      };
      nodes.sort((a, b) => above(a) - above(b));
      nodes.forEach((node, index) => {
        const x = (full * (index + 0.5)) / nodes.length;
        centers.set(node, [x, 10 + NODE_HEIGHT / 2 + (level - lowest) * LEVEL]);
      });
    }
    const height = 20 + NODE_HEIGHT + (Math.max(...levels.keys()) - lowest) * LEVEL;
    const lines = graph.edges.flatMap(({ from, to, times }) => {
      const [[x0, y0], [x1, y1]] = [centers.get(from)!, centers.get(to)!];
      const [top, bottom] = [y0 + NODE_HEIGHT / 2, y1 - NODE_HEIGHT / 2];
      const middle = (top + bottom) / 2;
      const width = 1 + Math.min(3, Math.log2(times + 1) / 2);
      const d = `M${x0} ${top}C${x0} ${middle} ${x1} ${middle} ${x1} ${bottom}`;
      const line = shape("path", { d, class: "edge", "stroke-width": width.toFixed(1) });
      if (times === 1) return [line];
      const at = { x: x1 + 4, y: bottom - 3, class: "edge-value" };
      return [line, shape("text", at, `× ${grouped(times)}`)];
    });
    drawing.replaceChildren(
      shape("svg", { width: full, height, "aria-hidden": "true" }, ...lines),
      ...graph.nodes.map((node) => this.node(node, centers.get(node)!)),
    );
    drawing.scrollLeft = (full - width) / 2;
  }

  private node(node: RuleNode, [x, y]: [number, number]): HTMLElement {
    const { grammar } = this.trace!;
    const name = this.name(node.part);
    const events = grammar.eventsOf(node.part);
    const left = node.part.sort === "leaf" ? ", not in the page" : "";
    const hidden = node.hidden > 0 ? `, ${node.hidden} more parts` : "";
    const title = `${name}: ${plural(events, "event")}${left}${hidden}`;
    const isRule = node.part.sort === "rule";
    const lines = isRule
      ? `${brief(events)} events${node.hidden > 0 ? ` · +${node.hidden}` : ""}`
      : node.part.sort === "leaf"
        ? "not in the page"
        : "path";
    const box = button(
      "",
      title,
      () => {
        if (node.part.sort === "rule") this.show(node.part.id);
        if (node.part.sort === "terminal") this.context.open(node.part.id);
      },
      {
        class: `rule-node ${node.part.sort} ${node.level === 0 ? "chosen" : ""}`,
        style:
          `left:${(x - NODE_WIDTH / 2).toFixed(1)}px;top:${(y - NODE_HEIGHT / 2).toFixed(1)}px;` +
          `width:${NODE_WIDTH}px;height:${NODE_HEIGHT}px`,
      },
    );
    box.append(element("b", {}, shortened(name, 16)), element("span", {}, lines));
    return box;
  }
}
