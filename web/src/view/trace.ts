// The view of traces: what a thread did, in order. The timeline shows a window of the events; below
// are the sequences that cost most, the events of the window, and the grammar.

import { brief, exact, grouped, plural } from "../data/numbers";
import type { Profile } from "../data/profile";
import type { StatsWire, TraceBeforeWire, TracesWire } from "../data/traces";
import { both, change, type Change } from "../model/change";
import type { Reader } from "../model/function";
import type { Occurrences } from "../model/occurrences";
import { routeParts, words } from "../model/route";
import { Trace, type Event, type HotSequence, type Window } from "../model/trace";
import { bar, columns, number } from "./cells";
import { button, element } from "./dom";
import { nameElement } from "./name";
import { Rows } from "./rows";
import { RulesPane } from "./rules";
import { shades, shareOf, Timeline, type Band, type TimelineRow } from "./timeline";

const ROW = 28;
/** Events of the list. */
const LISTED = 5000;
/** Hot sequences with a row of their own in the timeline. */
const MARKED = 3;
/** Events around an occurrence that is shown. */
const AROUND = 60;

export class TraceView {
  readonly root: HTMLElement;
  private readonly choice = element("select", { "aria-label": "Trace" });
  private readonly about = element("p", { class: "detail trace-about" });
  private readonly range = element("span", { class: "trace-range", role: "status" });
  private readonly timeline: Timeline;
  private readonly hot: Rows;
  private readonly hotCount = element("span", { class: "count" });
  private readonly hotDetail = element("div", { class: "detail-body hot-detail" });
  private readonly events: Rows;
  private readonly eventCount = element("span", { class: "count" });
  private readonly rules: RulesPane;
  private wire: TracesWire | null = null;
  private readonly traces = new Map<number, Trace>();
  private number = 0;
  private trace: Trace | null = null;
  private window: Window = { from: 0, to: 1 };
  private listed: { terminal: number; position: number; events: number }[] = [];
  private sequence: HotSequence | null = null;
  private readonly occurrences = new Map<HotSequence, Occurrences | null>();
  private rule: number | null = null;

  /** `go` changes the address to a part of this view, and `open` shows a path. */
  constructor(
    private readonly profile: Profile,
    private readonly reader: Reader,
    private readonly go: (detail: string) => void,
    private readonly openPath: (fn: number, path: number) => void,
  ) {
    this.timeline = new Timeline(
      {
        zoom: (window) => this.zoomTo(window),
        choose: (position) => this.chooseEvent(position),
        describe: (position) => this.describe(position),
      },
      () => this.drawTimeline(),
    );
    this.choice.addEventListener("change", () => this.go(this.choice.value));
    this.hot = new Rows({
      name: "Hot subpaths",
      height: ROW,
      render: (row) => this.hotRow(this.trace!.hot[row]!),
      select: (row) => this.chooseSequence(row),
      empty: "No sequence costs as much as 1 % of the instructions.",
    });
    this.events = new Rows({
      name: "Events",
      height: ROW,
      render: (row) => this.eventRow(row),
      select: (row) => this.chooseRow(row),
      empty: "No event ran.",
    });
    this.rules = new RulesPane({
      nameOf: (terminal) => this.nameOf(terminal),
      choose: (rule) => {
        this.rule = rule;
        this.drawTimeline();
      },
      open: (terminal) => this.openTerminal(terminal),
    });
    this.root = element(
      "main",
      { class: "trace", id: "traces" },
      element(
        "section",
        { class: "panel timeline-panel", "aria-label": "Timeline" },
        element(
          "div",
          { class: "pane-head" },
          element("h2", {}, "Trace"),
          this.choice,
          this.range,
          button("−", "Zoom out (−)", () => this.timeline.zoomBy(4), { class: "quiet" }),
          button("+", "Zoom in (+)", () => this.timeline.zoomBy(1 / 4), { class: "quiet" }),
          button("All", "Show all events (0)", () => this.zoomTo({ from: 0, to: Infinity }), {
            class: "quiet",
          }),
        ),
        this.about,
        this.timeline.root,
      ),
      element(
        "section",
        { class: "panel hot", "aria-label": "Hot subpaths" },
        element("h2", {}, "Hot subpaths ", this.hotCount),
        columns("cost", "runs", "events", "from and to"),
        this.hot.root,
        this.hotDetail,
      ),
      element(
        "section",
        { class: "panel events", "aria-label": "Events" },
        element("h2", {}, "Events ", this.eventCount),
        columns("position", "", "path"),
        this.events.root,
      ),
      this.rules.root,
    );
  }

  show(wire: TracesWire, detail: string): void {
    if (this.wire !== wire) {
      this.wire = wire;
      this.choice.replaceChildren(
        ...wire.traces.map(({ title, stats }, index) =>
          element("option", { value: index }, `${title} · ${plural(exact(stats.events), "event")}`),
        ),
      );
    }
    const match = /^(\d+)(?:\/(\d+)-(\d+))?$/.exec(detail);
    const number = Math.min(Number(match?.[1] ?? 0), wire.traces.length - 1);
    if (this.trace === null || number !== this.number) this.open(number);
    const length = this.trace!.length;
    const from = Math.max(0, Math.min(Number(match?.[2] ?? 0), length - 1));
    const to = Math.max(from + 1, Math.min(Number(match?.[3] ?? length), length));
    this.window = { from, to: length === 0 ? 0 : to };
    this.draw();
  }

  private open(number: number): void {
    const { wire } = this;
    this.number = number;
    this.choice.value = String(number);
    this.trace = this.traces.get(number) ?? new Trace(wire!.traces[number]!);
    this.traces.set(number, this.trace);
    this.rule = null;
    this.sequence = null;
    const { hot, stats, damage } = this.trace.wire;
    const left = this.leftOut();
    this.about.replaceChildren(
      `${plural(exact(stats.events), "event")}, ${plural(exact(stats.paths), "path execution")} of ` +
        `${plural(stats.distinct_paths, "path")} in ${plural(stats.functions, "function")}, ` +
        `${plural(exact(stats.instructions), "instruction")}; the grammar has ` +
        `${plural(stats.rules, "rule")} with ${plural(stats.symbols, "symbol")}.`,
      this.trace.wire.before
        ? element("p", { class: "baseline" }, comparison(stats, this.trace.wire.before))
        : "",
      ...left.map((sentence) => element("span", { class: "unexpected-note" }, sentence)),
      ...damage.map((sentence) => element("span", { class: "unexpected-note" }, sentence)),
    );
    const listed = this.trace.hot.length;
    this.hotCount.textContent =
      listed < hot.found ? `${listed} of ${grouped(hot.found)}` : grouped(hot.found);
    this.hot.root.parentElement!.querySelector("h2")!.title =
      `Sequences of 2 to 10 events that cost at least ${grouped(exact(hot.min_cost))} of ` +
      `${grouped(exact(hot.total))} instructions. ` +
      (hot.method === "exact"
        ? "Each is counted as often as it runs, so shares overlap."
        : "Counted by the algorithm of Larus's figure 7, which misses some.");
    this.hot.show(listed);
    this.hotDetail.replaceChildren();
    this.rules.open(this.trace);
  }

  /** What the page does not have of this trace. */
  private leftOut(): string[] {
    const { grammar } = this.trace!;
    const sentences = [];
    if (grammar.leaves.length > 0) {
      const longest = grammar.leaves.reduce((most, { events }) => Math.max(most, events), 0);
      sentences.push(
        "The grammar is too large for the page. Recurring sequences of up to " +
          `${plural(longest, "event")} are shown as a whole, and hot subpaths have no rows: ` +
          "holloway trace cat lists all events.",
      );
    }
    const left = this.wire!.left_out;
    if (left > 0)
      sentences.push(`${plural(left, "shorter trace is", "shorter traces are")} not in the page.`);
    return sentences;
  }

  private zoomTo({ from, to }: Window): void {
    const length = this.trace!.length;
    const isWhole = from <= 0 && to >= length;
    this.go(isWhole ? String(this.number) : `${this.number}/${from}-${Math.min(to, length)}`);
  }

  private draw(): void {
    const { from, to } = this.window;
    this.range.textContent = `events ${grouped(from)} to ${grouped(Math.max(from, to - 1))}`;
    this.listEvents();
    this.drawTimeline();
  }

  private drawTimeline(): void {
    const { trace, window } = this;
    if (!trace || window.to <= window.from) return;
    const bounds = trace.bounds(window, this.timeline.columns);
    const sums = trace.columns(bounds);
    const whole = sums.totals.reduce((sum, each) => sum + each, 0);
    const about = sums.isEstimated ? "≈ " : "";
    const parts = shades(sums, trace.wire.rows.length);
    const rows: TimelineRow[] = trace.wire.rows.map((fn, row) => ({
      name: this.functionName(fn),
      title: this.functionName(fn) + this.comparedTitle(fn),
      ...(trace.wire.before && { change: this.functionChange(fn, trace.wire.before) }),
      figure: about + shareOf(sums.totals[row]!, whole),
      shades: parts[row]!,
      sort: "function",
    }));
    const others = trace.wire.rows.length;
    if (trace.wire.functions.length > others)
      rows.push({
        name: "other functions",
        title: plural(trace.wire.functions.length - others, "other function"),
        figure: about + shareOf(sums.totals[others]!, whole),
        shades: parts[others]!,
        sort: "function",
      });
    rows.push(...this.marks(bounds));
    this.timeline.show(window, trace.length, bounds, rows, this.bands());
  }

  /** How the instructions of a function in the whole trace differ from the baseline. */
  private functionChange(fn: number, before: TraceBeforeWire): Change {
    return change(exact(this.trace!.wire.instructions[fn]!), exact(before.instructions[fn]!));
  }

  private comparedTitle(fn: number): string {
    const { instructions, before } = this.trace!.wire;
    if (!before) return "";
    const [now, then] = [exact(instructions[fn]!), exact(before.instructions[fn]!)];
    return `: ${grouped(now)} instructions in the trace, ${grouped(then)} in the baseline`;
  }

  /** The rows of hot sequences and of the chosen rule. */
  private marks(bounds: number[]): TimelineRow[] {
    const trace = this.trace!;
    const rows: TimelineRow[] = [];
    const shown = trace.hot.slice(0, MARKED);
    if (this.sequence && !shown.includes(this.sequence)) shown.push(this.sequence);
    for (const sequence of shown) {
      const counts = this.occurrencesOf(sequence)?.columns(bounds);
      if (!counts) continue;
      const inWindow = counts.reduce((sum, count) => sum + count, 0);
      const name = `hot subpath ${trace.hot.indexOf(sequence) + 1}`;
      const shade = (count: number, column: number): number =>
        (count * sequence.terminals.length) / Math.max(1, bounds[column + 1]! - bounds[column]!);
      rows.push({
        name: `${trace.hot.indexOf(sequence) + 1}: hot subpath`,
        title: `${name}: ends ${plural(inWindow, "time")} in this window`,
        figure: brief(inWindow),
        shades: counts.map(shade),
        sort: "mark",
      });
    }
    if (this.rule !== null) {
      const name = `R${trace.grammar.numberOf(this.rule)}`;
      rows.push({
        name,
        title: `The events of rule ${name}`,
        figure: "",
        shades: trace.covered(this.rule, bounds),
        sort: "mark",
      });
    }
    return rows;
  }

  private bands(): Band[] {
    const { phases } = this.trace!.wire;
    return phases.map(([name, from], index) => ({
      name,
      from,
      to: phases[index + 1]?.[1] ?? this.trace!.length,
    }));
  }

  private occurrencesOf(sequence: HotSequence): Occurrences | null {
    const known = this.occurrences.get(sequence);
    if (known !== undefined) return known;
    const found = this.trace!.occurrences(sequence.terminals);
    this.occurrences.set(sequence, found);
    return found;
  }

  private hotRow({ terminals, count, cost, before }: HotSequence): (Node | string)[] {
    const total = exact(this.trace!.wire.hot.total);
    const ends = [terminals[0]!, terminals[terminals.length - 1]!].map((id) => this.nameOf(id));
    const names = ends[0] === ends[1] ? ends[0]! : ends.join(" … ");
    return [
      bar(cost, total, `${grouped(cost)} of ${grouped(total)} instructions`),
      number(brief(count), before === null ? `ran ${grouped(count)} times` : both(count, before)),
      number(String(terminals.length)),
      element(
        "span",
        { class: "name" },
        nameElement(names),
        before !== null && changeDetail(change(count, before)),
      ),
    ];
  }

  private chooseSequence(row: number): void {
    const sequence = this.trace!.hot[row]!;
    this.sequence = sequence;
    this.hot.mark(row);
    const once = Number(sequence.count) === 0 ? 0n : sequence.cost / sequence.count;
    const found = this.occurrencesOf(sequence);
    const next = (position: number): void => {
      const at = found!.after(position);
      if (at === -1) return position > 0 ? next(0) : undefined;
      const to = at + sequence.terminals.length;
      this.shown = at;
      this.zoomTo({ from: Math.max(0, at - AROUND), to: to + AROUND });
      this.chooseEvent(at);
    };
    this.shown = -1;
    this.hotDetail.replaceChildren(
      element(
        "p",
        { class: "detail" },
        `Ran ${plural(sequence.count, "time")} with ${plural(once, "instruction")} each` +
          (sequence.before === null ? "." : `, and ${times(sequence)} in the baseline.`),
      ),
      found === null
        ? element("p", { class: "detail" }, "Its places are not in the page.")
        : button("Show the next place", "Zoom to the next place where this sequence ran", () =>
            next(this.shown + 1),
          ),
      element(
        "ol",
        { class: "sequence" },
        ...sequence.terminals.map((terminal) => element("li", {}, this.pathLink(terminal))),
      ),
    );
    this.drawTimeline();
  }

  /** The position of the occurrence that was shown last, or −1. */
  private shown = -1;

  private pathLink(terminal: number): HTMLElement {
    const title = this.routeOf(terminal);
    const link = button("", title || "This is no path", () => this.openTerminal(terminal), {
      class: "path-link",
    });
    link.append(nameElement(this.nameOf(terminal)), element("span", { class: "detail" }, title));
    return link;
  }

  private listEvents(): void {
    const { from, to } = this.window;
    let position = from;
    this.listed = [];
    for (const { part, events } of this.trace!.grammar.from(from, Math.min(LISTED, to - from))) {
      if (position >= to) break;
      this.listed.push({ terminal: part.sort === "terminal" ? part.id : -1, position, events });
      position += events;
    }
    this.eventCount.textContent =
      position < to ? `the first ${grouped(position - from)} of the window` : "of the window";
    this.events.show(this.listed.length);
  }

  private eventRow(row: number): (Node | string)[] {
    const { terminal, position, events } = this.listed[row]!;
    const event = terminal === -1 ? undefined : this.trace!.events[terminal];
    const marks =
      event?.sort === "path" ? (event.leaves ? "<" : " ") + (event.enters ? ">" : " ") : "";
    const name = event ? this.nameOf(terminal) : `${plural(events, "event")} not in the page`;
    const way = event ? this.routeOf(terminal) : "";
    return [
      number(grouped(position)),
      element("span", { class: "marks", title: meaning(event) }, marks),
      element(
        "span",
        { class: "name", title: `${name} ${way}` },
        nameElement(name),
        element("span", { class: "detail" }, way),
      ),
    ];
  }

  /** Marks the event at a position in the list. */
  private chooseEvent(position: number): void {
    const row = this.listed.findIndex((each) => each.position + each.events > position);
    if (row !== -1) this.events.mark(row);
  }

  private chooseRow(row: number): void {
    const before = this.events.current;
    this.events.mark(row);
    if (before === row) this.openTerminal(this.listed[row]!.terminal);
  }

  private describe(position: number): string {
    const found = this.trace!.grammar.from(position, 1)[0];
    if (!found) return "";
    const at = `event ${grouped(position)}`;
    return found.part.sort === "terminal" ? `${at}: ${this.nameOf(found.part.id)}` : at;
  }

  private openTerminal(terminal: number): void {
    const event = this.trace!.events[terminal];
    if (event?.sort !== "path") return;
    this.openPath(this.trace!.wire.functions[event.fn]!, event.path);
  }

  private functionName(fn: number): string {
    const { functions, names } = this.trace!.wire;
    return names[fn] || this.profile.head.functions.names[functions[fn]!] || "?";
  }

  private nameOf(terminal: number): string {
    const event = this.trace!.events[terminal];
    switch (event?.sort) {
      case "path":
        return `${this.functionName(event.fn)} p${event.path}`;
      case "left":
        return `left ${plural(event.frames, "frame")}`;
      case "gap":
        return "missing events";
      default:
        return "?";
    }
  }

  /** The decisions of a path, if the page has its function. */
  private routeOf(terminal: number): string {
    const event = this.trace!.events[terminal];
    if (event?.sort !== "path") return "";
    const fn = this.trace!.wire.functions[event.fn]!;
    return fn < 0 ? "" : words(routeParts(this.reader.function(fn), BigInt(event.path)));
  }
}

function meaning(event: Event | undefined): string {
  if (event?.sort !== "path") return "";
  return [event.enters && "enters its function", event.leaves && "leaves its function"]
    .filter(Boolean)
    .join(", ");
}

/** The executions of a sequence in the baseline, in words. */
function times({ count, before }: HotSequence): string {
  return `${plural(before ?? 0n, "time")} (${change(count, before ?? 0n).text})`;
}

function changeDetail({ sort, text }: Change): HTMLElement {
  return element("span", { class: `detail change ${sort}` }, text);
}

/** The totals of the baseline's trace. */
function comparison(now: StatsWire, { title, stats }: TraceBeforeWire): string {
  const part = (field: "events" | "paths" | "instructions", noun: string): string => {
    const [count, before] = [exact(now[field]), exact(stats[field])];
    return `${plural(before, noun)} (${change(count, before).text})`;
  };
  return (
    `In the baseline (${title}): ${part("events", "event")}, ${part("paths", "path execution")}, ` +
    `${part("instructions", "instruction")}.`
  );
}
