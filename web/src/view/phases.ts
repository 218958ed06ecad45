// The view of phases: in which parts of the run the longest trace executes different code.

import { brief, exact, grouped, percent, plural, type Wire } from "../data/numbers";
import type {
  ComparedPhasesWire,
  HotSpotWire,
  PhaseFunctionWire,
  PhaseWire,
  PhasesWire,
} from "../data/phases";
import { change } from "../model/change";
import { mostAlike, sameFunction, type AlikePhase } from "../model/phases";
import { bar, changeCell, columns, name, number } from "./cells";
import { element } from "./dom";
import { Rows } from "./rows";

const ROW = 34;

export class PhasesView {
  readonly root: HTMLElement;
  private readonly about = element("div", { class: "detail-body", role: "status" });
  private readonly order = element("div", { class: "phase-order", role: "img" });
  private readonly orderBefore = element("div", { class: "phase-order before", role: "img" });
  private readonly heads: HTMLElement;
  private readonly rows: Rows;
  private readonly functions: Rows;
  private readonly title = element("h2", {}, "Functions");
  private readonly detectors = element("div", { class: "detail-body" });
  private wire: PhasesWire | null = null;
  private before: PhasesWire | null = null;
  /** The phase of the baseline whose functions are compared with the listed ones. */
  private alike: AlikePhase | null = null;
  private listed: PhaseFunctionWire[] = [];
  private whole: Wire = 0;

  constructor(private readonly open: (fn: number, path: number | null) => void) {
    this.rows = new Rows({
      name: "Phases and hot spots",
      height: ROW,
      render: (row) => this.row(row),
      select: (row) => this.choose(row),
    });
    this.functions = new Rows({
      name: "Functions of the phase",
      height: ROW,
      render: (row) => this.functionRow(this.listed[row]!),
      select: (row) => this.openFunction(this.listed[row]!),
      empty: "No profiled function ran.",
    });
    this.heads = columns("of phase", "baseline", "change", "function and hottest lines");
    this.root = element(
      "main",
      { class: "streams phases", id: "phases" },
      element(
        "section",
        { class: "panel phase-head", "aria-label": "Order of the phases" },
        element("h2", {}, "Phases"),
        this.about,
        this.order,
        this.orderBefore,
      ),
      element(
        "section",
        { class: "panel", "aria-label": "Phases and hot spots" },
        element("h2", {}, "Phases and hot spots"),
        columns("of the run", "branches", "segments", "phase"),
        this.rows.root,
      ),
      element(
        "section",
        { class: "panel", "aria-label": "Functions" },
        this.title,
        this.heads,
        this.functions.root,
        this.detectors,
      ),
    );
  }

  show({ now: wire, before }: ComparedPhasesWire): void {
    if (this.wire === wire) return;
    this.wire = wire;
    this.before = before;
    this.root.classList.toggle("compared", before !== null);
    const { phases, segments } = wire;
    this.about.replaceChildren(
      element(
        "p",
        { class: "detail" },
        `${wire.title}: ${plural(phases.length, "phase")} in ${plural(segments.length, "segment")}, ` +
          `${plural(exact(wire.branches), "branch", "branches")}, ` +
          `${plural(exact(wire.instructions), "instruction")}. ` +
          `Windows of ${plural(exact(wire.window), "branch", "branches")} were compared; ` +
          `the mean silhouette is ${wire.silhouette.toFixed(2)}.`,
      ),
      before ? element("p", { class: "detail baseline" }, comparison(wire, before)) : "",
    );
    this.drawOrder(this.order, wire, "The phases in order");
    this.orderBefore.hidden = before === null;
    if (before) this.drawOrder(this.orderBefore, before, "The phases of the baseline in order");
    this.drawDetectors(wire);
    this.rows.show(phases.length + wire.hot_spots.length, 0);
    this.choose(0);
  }

  private drawOrder(order: HTMLElement, { segments, branches }: PhasesWire, words: string): void {
    const all = Math.max(1, Number(branches));
    order.setAttribute(
      "aria-label",
      `${words}: ` +
        segments
          .slice(0, 200)
          .map(([phase]) => phase)
          .join(" "),
    );
    // Segments that are too narrow to see are left out.
    const visible = segments.filter(([, from, to]) => Number(to) - Number(from) > all / 3000);
    order.replaceChildren(
      ...visible.map(([phase, from, to]) => {
        const [left, width] = [Number(from) / all, (Number(to) - Number(from)) / all];
        return element(
          "span",
          {
            class: "phase-segment",
            title: `Phase ${phase}: branches ${grouped(exact(from))} to ${grouped(exact(to))}`,
            style:
              `left:${(100 * left).toFixed(3)}%;width:${(100 * width).toFixed(3)}%;` +
              `--phase:${(phase.charCodeAt(0) - 65) % 6}`,
          },
          width > 0.012 ? phase : "",
        );
      }),
    );
  }

  private drawDetectors({ detectors, hot_spots_left_out }: PhasesWire): void {
    const rows = detectors.map((each) =>
      element(
        "tr",
        {},
        element("th", { scope: "row" }, each.name),
        ...[each.signals, each.found, each.missed, each.false_alarms].map((count) =>
          element("td", {}, grouped(count)),
        ),
        element("td", {}, each.median_latency === null ? "–" : grouped(exact(each.median_latency))),
      ),
    );
    const heads = ["detector", "signals", "found", "missed", "false alarms", "median latency"];
    this.detectors.replaceChildren(
      element(
        "table",
        {},
        element(
          "thead",
          {},
          element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head))),
        ),
        element("tbody", {}, ...rows),
      ),
      hot_spots_left_out > 0
        ? element(
            "p",
            { class: "detail" },
            `${plural(hot_spots_left_out, "more hot spot")}: holloway phases --top 1000 lists all.`,
          )
        : "",
    );
  }

  private item(row: number): { phase: PhaseWire } | { hot: HotSpotWire; index: number } {
    const { phases, hot_spots } = this.wire!;
    const index = row - phases.length;
    return index < 0 ? { phase: phases[row]! } : { hot: hot_spots[index]!, index };
  }

  private row(row: number): (Node | string)[] {
    const item = this.item(row);
    const { instructions, segments } = this.wire!;
    if ("phase" in item) {
      const { phase } = item;
      const own = segments.filter(([each]) => each === phase.phase).length;
      const first = phase.functions[0];
      return [
        bar(exact(phase.instructions), exact(instructions)),
        number(brief(exact(phase.branches)), grouped(exact(phase.branches))),
        number(grouped(own)),
        name(
          `phase ${phase.phase}`,
          [this.compared(phase), first && `mostly ${first.name}`].filter(Boolean).join(" · "),
        ),
      ];
    }
    const { hot, index } = item;
    return [
      bar(exact(hot.instructions), exact(instructions)),
      number(grouped(hot.branches), "hot branches of the hot spot"),
      number(""),
      name(
        `hot spot ${index + 1}`,
        `${plural(hot.size, "instruction")} of code, detected at branch ${grouped(exact(hot.detected_at))}`,
      ),
    ];
  }

  /** How a phase differs from the phase of the baseline that is most like it. */
  private compared(phase: PhaseWire): string {
    if (!this.before) return "";
    const alike = mostAlike(phase, this.before.phases);
    if (!alike) return "new";
    const { text } = change(exact(phase.instructions), exact(alike.phase.instructions));
    return `${text} · baseline phase ${alike.phase.phase}, ${percent(alike.share, 1)} alike`;
  }

  private choose(row: number): void {
    this.rows.mark(row);
    const item = this.item(row);
    if ("phase" in item) {
      const { phase } = item;
      this.alike = this.before && mostAlike(phase, this.before.phases);
      this.listed = phase.functions;
      this.whole = phase.instructions;
      const left =
        phase.functions_left_out > 0 ? `, and ${grouped(phase.functions_left_out)} more` : "";
      this.title.textContent = `Functions of phase ${phase.phase}${left}, by instructions`;
    } else {
      this.alike = null;
      this.listed = item.hot.functions;
      const sum = this.listed.reduce((total, { amount }) => total + exact(amount), 0n);
      this.whole = sum.toString();
      this.title.textContent = `Functions of hot spot ${item.index + 1}, by executed hot branches`;
    }
    const [, baseline, changed] = this.heads.children;
    baseline!.textContent = this.alike ? `baseline ${this.alike.phase.phase}` : "";
    changed!.textContent = this.alike ? "change" : "";
    this.functions.show(this.listed.length);
  }

  private functionRow(fn: PhaseFunctionWire): (Node | string)[] {
    return [
      bar(exact(fn.amount), exact(this.whole), `${grouped(exact(fn.amount))}`),
      ...this.comparedCells(fn),
      name(fn.name, fn.lines.join("; ")),
    ];
  }

  /** The instructions of a function in the compared phase of the baseline. */
  private comparedCells(fn: PhaseFunctionWire): HTMLElement[] {
    if (!this.alike) return [number(""), number("")];
    const other = sameFunction(fn, this.alike.phase.functions);
    const [now, before] = [exact(fn.amount), exact(other?.amount ?? 0)];
    const title = `${grouped(now)} instructions, ${grouped(before)} in the baseline`;
    return [number(brief(before), title), changeCell(now, before, title)];
  }

  private openFunction(fn: PhaseFunctionWire): void {
    this.open(fn.function, fn.path < 0 ? null : fn.path);
  }
}

/** The totals of two runs. */
function comparison(now: PhasesWire, before: PhasesWire): string {
  const changed = (part: "branches" | "instructions"): string =>
    change(exact(now[part]), exact(before[part])).text;
  return (
    `In the baseline (${before.title}): ${plural(before.phases.length, "phase")} in ` +
    `${plural(before.segments.length, "segment")}, ` +
    `${plural(exact(before.branches), "branch", "branches")} (${changed("branches")}), ` +
    `${plural(exact(before.instructions), "instruction")} (${changed("instructions")}).`
  );
}
