// The overview: what ran, how much of the time is explained, how few paths make up most of the run,
// and the hottest functions and paths.

import { brief, exact, grouped, percent, plural, type Wire } from "../data/numbers";
import type { Profile } from "../data/profile";
import type { BaselineHead } from "../data/wire";
import { both, change } from "../model/change";
import { predictionError } from "../model/prediction";
import type { Store } from "../state";
import { bar, BY_EDGES, changeCell, columns, name, number } from "./cells";
import { classNames, element } from "./dom";
import { nameElement } from "./name";
import { Rows } from "./rows";

const ROW = 30;
/** A path has a line for its function, and one for its decision. */
const PATH_ROW = 46;
const SHARE = "of the run";
const MISSED = "The share of the path executions that the edge counts alone predict wrong";

export class Overview {
  readonly root: HTMLElement;
  private readonly functions: Rows;
  private readonly paths: Rows;
  /** The paths that the edge counts miss most. */
  private readonly missedPaths: Rows;
  private readonly functionCount = element("span", { class: "count" });
  private readonly pathCount = element("span", { class: "count" });
  private readonly missedCount = element("span", { class: "count" });
  /** Which functions come first, and in the page of a comparison also which paths. */
  private readonly order: HTMLSelectElement;
  private text = "";
  private listedFunctions: number[] = [];
  /** The listed paths: of the hottest paths, or of those that changed most. */
  private listedPaths: ListedPath[] = [];
  private neverRan: number[] = [];
  /** The listed functions that ran only in the baseline. */
  private gone: number[] = [];
  /** The listed missed paths, as indices. */
  private listedMissed: number[] = [];

  constructor(
    private readonly profile: Profile,
    private readonly store: Store,
  ) {
    this.functions = new Rows({
      name: "Hottest functions",
      height: ROW,
      render: (row) => this.functionRow(row),
      select: (row) => this.chooseFunction(row),
      empty: profile.functionCount === 0 ? "No function ran." : "No function matches.",
    });
    this.paths = new Rows({
      name: "Hottest paths",
      height: PATH_ROW,
      render: (row) => this.pathRow(row),
      select: (row) => this.choosePath(row),
      empty: profile.functionCount === 0 ? "No path ran." : "No path matches.",
    });
    this.missedPaths = new Rows({
      name: "Paths that edge counts miss most",
      height: PATH_ROW,
      render: (row) => this.missedRow(row),
      select: (row) => this.chooseMissed(row),
      empty: "The edge counts predict the executions of each path, or most of them.",
    });
    const hasPaths = profile.head.unit === "paths";
    const { baseline } = profile.head;
    const orders = baseline
      ? [
          ["change", "largest changes first"],
          ["share", "hottest first"],
        ]
      : [
          ["share", "hottest first"],
          ["missed", "most missed by edge counts first"],
        ];
    this.order = element(
      "select",
      {
        class: "overview-order",
        "aria-label": baseline ? "Order of the functions and paths" : "Order of the functions",
        onchange: () => this.filter(this.text),
      },
      ...orders.map(([value, text]) => element("option", { value }, text!)),
    );
    const names: (string | [string, string])[] = baseline
      ? [SHARE, "instructions", "baseline", "change", "function"]
      : hasPaths
        ? [SHARE, "calls", "paths", ["missed", MISSED], "function"]
        : [SHARE, "calls", "function"];
    const showsPaths = hasPaths && (baseline === null || baseline.has_paths);
    const showsMissed = showsPaths;
    const pathNames = baseline
      ? [SHARE, "ran", "baseline", "change", "path"]
      : [SHARE, "ran", "length", "path, and the decision that decides it"];
    this.root = element(
      "main",
      {
        class: classNames(
          "overview",
          !showsPaths && "no-paths",
          showsMissed && "has-missed",
          baseline !== null && "compared",
        ),
        id: "overview",
      },
      this.summary(),
      element(
        "section",
        { class: "panel", "aria-labelledby": "functions-title" },
        element(
          "h2",
          { id: "functions-title" },
          baseline ? "Functions " : "Hottest functions ",
          this.functionCount,
        ),
        (baseline !== null || hasPaths) && this.order,
        columns(...names),
        this.functions.root,
      ),
      showsPaths &&
        element(
          "section",
          { class: "panel", "aria-labelledby": "paths-title" },
          element(
            "h2",
            { id: "paths-title" },
            baseline ? "Paths " : "Hottest paths ",
            this.pathCount,
          ),
          columns(...pathNames),
          this.paths.root,
        ),
      showsMissed &&
        element(
          "section",
          { class: "panel", "aria-labelledby": "missed-title" },
          element(
            "h2",
            { id: "missed-title" },
            "Paths that edge counts miss most ",
            this.missedCount,
          ),
          columns(SHARE, "ran", ["by edges", BY_EDGES], "path, and the decision that decides it"),
          this.missedPaths.root,
        ),
    );
    this.filter("");
  }

  /** Lists the functions and paths whose function or file contains a text. */
  filter(text: string): void {
    this.text = text;
    const { functions, files, never_ran, baseline } = this.profile.head;
    const wanted = text.trim().toLowerCase();
    const matches = (name: string, file: number): boolean =>
      wanted === "" ||
      name.toLowerCase().includes(wanted) ||
      (files.names[file] ?? "").toLowerCase().includes(wanted);
    const matching = (table: { names: string[]; files: number[] }): number[] =>
      table.names.flatMap((name, index) => (matches(name, table.files[index]!) ? [index] : []));
    this.listedFunctions = matching(functions);
    const shown = new Set(this.listedFunctions);
    const paths = this.allPaths();
    this.listedPaths = paths.filter(({ fn }) => shown.has(fn));
    this.gone = baseline ? matching(baseline.gone) : [];
    const gone = new Set(baseline?.gone.names);
    this.neverRan =
      wanted === ""
        ? []
        : matching(never_ran).filter((index) => !gone.has(never_ran.names[index]!));
    if (baseline && this.order.value === "change") this.sortByChange(baseline);
    if (this.order.value === "missed") this.sortByMissed();
    const { missed } = this.profile.head;
    this.listedMissed = missed.functions.flatMap((fn, index) => (shown.has(fn) ? [index] : []));
    this.missedCount.textContent = counted(this.listedMissed.length, missed.all);
    this.missedPaths.show(this.listedMissed.length);
    const [ran, never] = [this.listedFunctions.length, this.neverRan.length];
    this.functionCount.textContent = [
      never > 0 || this.gone.length > 0 ? `${grouped(ran)} ran` : grouped(ran),
      this.gone.length > 0 && `${grouped(this.gone.length)} ran only in the baseline`,
      never > 0 && `${grouped(never)} never ran`,
    ]
      .filter(Boolean)
      .join(", ");
    const [listed, all] = [this.listedPaths.length, paths.length];
    const which = baseline && this.order.value === "change" ? "that changed most" : "hottest";
    this.pathCount.textContent =
      listed < all
        ? `${grouped(listed)} of the ${grouped(all)} ${which}`
        : `the ${grouped(all)} ${which}`;
    this.functions.show(this.listedFunctions.length + this.gone.length + this.neverRan.length);
    this.paths.show(this.listedPaths.length);
  }

  /** Opens the first function of the list. */
  openFirst(): void {
    this.chooseFunction(0);
  }

  private summary(): HTMLElement {
    const { head } = this.profile;
    const { totals, cpu_time, images, baseline } = head;
    const estimated = head.basis === null ? "" : " (estimated)";
    const cards = [
      card(
        brief(exact(totals.instructions)),
        `instructions in profiled functions${estimated}${was(totals.instructions, baseline?.instructions)}`,
      ),
      head.unit === "paths"
        ? card(
            grouped(exact(totals.distinct_paths)),
            `paths ran, of ${brief(exact(totals.possible_paths))} possible${estimated}${was(totals.distinct_paths, baseline?.distinct_paths)}`,
          )
        : card(
            grouped(exact(totals.distinct_edges)),
            `edges taken, of ${brief(exact(totals.possible_edges))} possible${estimated}${was(totals.distinct_edges, baseline?.distinct_edges)}`,
          ),
      card(
        grouped(totals.functions_run),
        `functions ran, of ${grouped(totals.functions)} profiled${estimated}${was(totals.functions_run, baseline?.functions_run)}`,
      ),
    ];
    if (head.unit === "paths") cards.push(this.mispredicted());
    if (cpu_time) {
      const seconds = cpu_time.user_seconds + cpu_time.system_seconds;
      const system = kernelShare(cpu_time.system_seconds, seconds);
      cards.push(card(`${seconds.toFixed(seconds < 10 ? 2 : 1)} s`, `CPU time${system}`));
      if (Number(cpu_time.samples) > 0)
        cards.push(
          card(
            percent(exact(cpu_time.woven_samples), exact(cpu_time.samples)),
            "of the user time is in profiled functions; the rest has no counts",
          ),
        );
    }
    const command = images.map((image) =>
      [
        image.path || image.name,
        plural(image.processes, "process", "processes"),
        plural(image.threads, "thread"),
      ].join(" · "),
    );
    if (baseline) command.push(`compared with the baseline ${baseline.title}`);
    const notes = head.basis === null ? head.notes : [head.basis, ...head.notes];
    return element(
      "section",
      { class: "summary", "aria-label": "Summary" },
      element("div", { class: "cards" }, ...cards),
      this.shares(),
      element("p", { class: "command" }, command.join("; ")),
      notes.length > 0 &&
        element(
          "ul",
          { class: "notes", "aria-label": "Notes on this run" },
          ...notes.map((note) => element("li", {}, note)),
        ),
    );
  }

  private mispredicted(): HTMLElement {
    const { executions, predicted } = this.profile.head.functions;
    const sum = (list: Wire[]): bigint => list.reduce((total, each) => total + exact(each), 0n);
    const [ran, right] = [sum(executions), sum(predicted)];
    return card(percent(ran - right, ran), "of path executions mispredicted by edge counts");
  }

  private shares(): HTMLElement | null {
    const { head } = this.profile;
    const all = Number(head.totals.distinct_paths);
    if (head.unit !== "paths" || all === 0) return null;
    const bars = head.shares.map(({ percent: share, paths }) =>
      element(
        "div",
        { class: "share" },
        element("span", { class: "share-count" }, plural(paths, "path")),
        element(
          "span",
          { class: "track" },
          element("span", { class: "fill", style: `width:${share}%` }),
        ),
        element("span", {}, `make up ${share} % of the instructions`),
      ),
    );
    return element("div", { class: "shares" }, ...bars);
  }

  private functionRow(row: number): (Node | string)[] {
    const { functions, files, never_ran, totals, unit, baseline } = this.profile.head;
    const index = this.listedFunctions[row];
    const later = row - this.listedFunctions.length;
    if (index === undefined && later < this.gone.length) return this.goneRow(this.gone[later]!);
    if (index === undefined) {
      const quiet = this.neverRan[later - this.gone.length]!;
      const cells = baseline ? 3 : unit === "edges" ? 1 : 3;
      return [
        element("span", { class: "share-cell" }, "never ran"),
        ...Array.from({ length: cells }, () => element("span", {})),
        named(
          never_ran.names[quiet]!,
          files.names[never_ran.files[quiet]!],
          never_ran.lines[quiet]!,
        ),
      ];
    }
    const part = exact(functions.instructions[index]!);
    const cells = baseline
      ? this.comparedCells(part, exact(baseline.functions.instructions[index]!))
      : [
          number(this.profile.about + brief(exact(functions.calls[index]!))),
          ...(unit === "edges" ? [] : this.pathCells(index)),
        ];
    return [
      bar(part, exact(totals.instructions)),
      ...cells,
      named(functions.names[index]!, files.names[functions.files[index]!], functions.lines[index]!),
    ];
  }

  /** A function that ran only in the baseline. */
  private goneRow(index: number): (Node | string)[] {
    const { baseline, files } = this.profile.head;
    const { names, files: places, lines, instructions, is_known } = baseline!.gone;
    const why = is_known[index] ? "" : ", not in this build";
    return [
      element("span", { class: "share-cell" }, "gone"),
      ...this.comparedCells(0n, exact(instructions[index]!)),
      named(names[index]!, files.names[places[index]!], lines[index]!, why),
    ];
  }

  /** Instructions of the run and of the baseline. */
  private comparedCells(now: bigint, before: bigint): HTMLElement[] {
    const title = `${grouped(now)} instructions, ${grouped(before)} in the baseline`;
    return [
      number(brief(now), title),
      number(brief(before), title),
      changeCell(now, before, title),
    ];
  }

  /** The cells of a function with its paths. */
  private pathCells(index: number): HTMLElement[] {
    const distinct = exact(this.profile.head.functions.distinct[index]!);
    return [element("span", { class: "number" }, brief(distinct)), this.missed(index)];
  }

  /** The share of a function's path executions that the edge counts alone predict wrong. */
  private missed(index: number): HTMLElement {
    const { executions, predicted } = this.profile.head.functions;
    const [ran, right] = [exact(executions[index]!), exact(predicted[index]!)];
    const text = ran === 0n ? "" : ran === right ? "0" : percent(ran - right, ran);
    const classes = classNames("number", ran > right && "missed");
    return element("span", { class: classes, title: MISSED }, text);
  }

  private pathRow(row: number): (Node | string)[] {
    const { functions, totals, baseline } = this.profile.head;
    const { fn, path, route, count, before, instructions } = this.listedPaths[row]!;
    const title = both(count, before);
    const cells = baseline
      ? [
          number(brief(count), title),
          number(brief(before), title),
          changeCell(count, before, title),
        ]
      : [
          number(this.profile.about + brief(count)),
          number(`${grouped(instructions)} ins`, "instructions of one execution"),
        ];
    return [
      bar(count * instructions, exact(totals.instructions)),
      ...cells,
      pathName(functions.names[fn]!, path, route),
    ];
  }

  private missedRow(row: number): (Node | string)[] {
    const { functions, missed, totals } = this.profile.head;
    const index = this.listedMissed[row]!;
    const [count, predicted] = [exact(missed.counts[index]!), exact(missed.predicted[index]!)];
    const { text, words } = predictionError(count, predicted);
    const title = `ran ${plural(count, "time")}, ${words}`;
    return [
      bar(count * exact(missed.instructions[index]!), exact(totals.instructions)),
      number(brief(count), title),
      element(
        "span",
        { class: "number by-edges missed", title },
        `◆ ${brief(predicted)}`,
        element("small", {}, text),
      ),
      pathName(
        functions.names[missed.functions[index]!]!,
        exact(missed.numbers[index]!),
        missed.routes[index]!,
      ),
    ];
  }

  /** All paths of the list: the hottest, or those that changed most. */
  private allPaths(): ListedPath[] {
    const { hot, baseline } = this.profile.head;
    if (baseline && this.order.value === "change") {
      const { functions, numbers, routes, counts, before, instructions } = baseline.changed;
      return functions.map((fn, index) => ({
        fn,
        path: exact(numbers[index]!),
        route: routes[index]!,
        count: exact(counts[index]!),
        before: exact(before[index]!),
        instructions: exact(instructions[index]!),
      }));
    }
    return hot.functions.map((fn, index) => ({
      fn,
      path: exact(hot.numbers[index]!),
      route: hot.routes[index]!,
      count: exact(hot.counts[index]!),
      before: exact(hot.before?.[index] ?? 0),
      instructions: exact(hot.instructions[index]!),
    }));
  }

  private sortByChange(baseline: BaselineHead): void {
    const { instructions } = this.profile.head.functions;
    const size = (index: number): number =>
      Math.abs(
        Number(exact(instructions[index]!) - exact(baseline.functions.instructions[index]!)),
      );
    this.listedFunctions.sort((a, b) => size(b) - size(a));
  }

  private sortByMissed(): void {
    const missed = this.profile.head.functions.missed_instructions.map(Number);
    this.listedFunctions.sort((a, b) => missed[b]! - missed[a]! || a - b);
  }

  private chooseFunction(row: number): void {
    const fn = this.listedFunctions[row];
    if (fn !== undefined) this.store.set({ view: "function", fn, path: null, step: null });
  }

  private choosePath(row: number): void {
    const { fn, path } = this.listedPaths[row]!;
    this.store.set({ view: "function", fn, path, step: null });
  }

  private chooseMissed(row: number): void {
    const { missed } = this.profile.head;
    const index = this.listedMissed[row]!;
    const [fn, path] = [missed.functions[index]!, exact(missed.numbers[index]!)];
    this.store.set({ view: "function", fn, path, step: null });
  }
}

/** A number of listed things: `7`, or `7 of 12`. */
function counted(listed: number, all: number): string {
  return listed < all ? `${grouped(listed)} of ${grouped(all)}` : grouped(all);
}

/** A path of a list. */
interface ListedPath {
  fn: number;
  path: bigint;
  route: string;
  count: bigint;
  /** Executions in the baseline. */
  before: bigint;
  /** Instructions of one execution. */
  instructions: bigint;
}

function card(figure: string, text: string): HTMLElement {
  return element(
    "div",
    { class: "card" },
    element("strong", {}, figure),
    element("span", {}, text),
  );
}

/** A total of the baseline, in words. Empty without a baseline. */
function was(now: Wire, before: Wire | undefined): string {
  if (before === undefined) return "";
  const { text } = change(exact(now), exact(before));
  return `; baseline ${brief(exact(before))} (${text})`;
}

/** A path below the name of its function: its number, its decision, and its lines. */
function pathName(fn: string, path: bigint, route: string): HTMLElement {
  return element(
    "span",
    { class: "name path-name", title: `${fn}\np${path} ${route}` },
    nameElement(fn),
    element("span", { class: "detail" }, element("b", {}, `p${path}`), ` ${route}`),
  );
}

/** A function, and the last part of its file's name. The title has the whole name. */
function named(text: string, file: string | undefined, line: number, after = ""): HTMLElement {
  if (!file) return name(text, after);
  const short = file.slice(file.lastIndexOf("/") + 1);
  return name(text, `${short}:${line}${after}`, `${file}:${line}${after}`);
}

/** The part of the CPU time that went to the kernel, in words. Empty if it is small: each program
 * needs some to start. */
function kernelShare(system: number, all: number): string {
  if (system <= 0.02 || system <= all / 10) return "";
  return `, ${((100 * system) / all).toFixed(1)} % of it in system calls and page faults, which have no counts`;
}
