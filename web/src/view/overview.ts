// The overview: what ran, how much of the time is explained, how few paths make up most of the run,
// and the hottest functions and paths.

import { brief, exact, grouped, percent, plural, type Wire } from "../data/numbers";
import type { Profile } from "../data/profile";
import type { Store } from "../state";
import { bar, columns, name } from "./cells";
import { classNames, element } from "./dom";
import { Rows } from "./rows";

const ROW = 30;
const MISSED = "The share of the path executions that the edge counts alone predict wrong";

export class Overview {
  readonly root: HTMLElement;
  private readonly functions: Rows;
  private readonly paths: Rows;
  private readonly functionCount = element("span", { class: "count" });
  private readonly pathCount = element("span", { class: "count" });
  private listedFunctions: number[] = [];
  private listedPaths: number[] = [];
  private neverRan: number[] = [];

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
      height: ROW,
      render: (row) => this.pathRow(row),
      select: (row) => this.choosePath(row),
      empty: profile.functionCount === 0 ? "No path ran." : "No path matches.",
    });
    const hasPaths = profile.head.unit === "paths";
    const names = hasPaths
      ? ["share", "calls", "paths", "missed", "function"]
      : ["share", "calls", "function"];
    this.root = element(
      "main",
      { class: classNames("overview", !hasPaths && "no-paths"), id: "overview" },
      this.summary(),
      element(
        "section",
        { class: "panel", "aria-labelledby": "functions-title" },
        element("h2", { id: "functions-title" }, "Hottest functions ", this.functionCount),
        columns(...names),
        this.functions.root,
      ),
      hasPaths &&
        element(
          "section",
          { class: "panel", "aria-labelledby": "paths-title" },
          element("h2", { id: "paths-title" }, "Hottest paths ", this.pathCount),
          columns("share", "count", "length", "path"),
          this.paths.root,
        ),
    );
    this.filter("");
  }

  /** Lists the functions and paths whose function or file contains a text. */
  filter(text: string): void {
    const { functions, hot, files, never_ran } = this.profile.head;
    const wanted = text.trim().toLowerCase();
    const matches = (name: string, file: number): boolean =>
      wanted === "" ||
      name.toLowerCase().includes(wanted) ||
      (files.names[file] ?? "").toLowerCase().includes(wanted);
    const all = (list: unknown[]): number[] => list.map((_, index) => index);
    this.listedFunctions = all(functions.names).filter((index) =>
      matches(functions.names[index]!, functions.files[index]!),
    );
    const shown = new Set(this.listedFunctions);
    this.listedPaths = all(hot.functions).filter((index) => shown.has(hot.functions[index]!));
    this.neverRan =
      wanted === ""
        ? []
        : all(never_ran.names).filter((index) =>
            matches(never_ran.names[index]!, never_ran.files[index]!),
          );
    const [ran, never] = [this.listedFunctions.length, this.neverRan.length];
    this.functionCount.textContent =
      never > 0 ? `${grouped(ran)} ran, ${grouped(never)} never ran` : grouped(ran);
    const [listed, hottest] = [this.listedPaths.length, hot.functions.length];
    this.pathCount.textContent =
      listed < hottest
        ? `${grouped(listed)} of the ${grouped(hottest)} hottest`
        : `the ${grouped(hottest)} hottest`;
    this.functions.show(this.listedFunctions.length + this.neverRan.length);
    this.paths.show(this.listedPaths.length);
  }

  /** Opens the first function of the list. */
  openFirst(): void {
    this.chooseFunction(0);
  }

  private summary(): HTMLElement {
    const { head } = this.profile;
    const { totals, cpu_time, images } = head;
    const estimated = head.basis === null ? "" : " (estimated)";
    const cards = [
      card(brief(exact(totals.instructions)), `instructions in woven code${estimated}`),
      head.unit === "paths"
        ? card(
            grouped(exact(totals.distinct_paths)),
            `paths ran, of ${brief(exact(totals.possible_paths))} possible${estimated}`,
          )
        : card(
            grouped(exact(totals.distinct_edges)),
            `edges taken, of ${brief(exact(totals.possible_edges))} possible${estimated}`,
          ),
      card(
        grouped(totals.functions_run),
        `functions ran, of ${grouped(totals.functions)} woven${estimated}`,
      ),
    ];
    if (head.unit === "paths") cards.push(this.mispredicted());
    if (cpu_time) {
      const seconds = cpu_time.user_seconds + cpu_time.system_seconds;
      cards.push(card(`${seconds.toFixed(seconds < 10 ? 2 : 1)} s`, "CPU time"));
      if (Number(cpu_time.samples) > 0)
        cards.push(
          card(
            percent(exact(cpu_time.woven_samples), exact(cpu_time.samples)),
            "of the user time is in woven code: the counts explain it",
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
    const { functions, files, never_ran, totals, unit } = this.profile.head;
    const index = this.listedFunctions[row];
    if (index === undefined) {
      const quiet = this.neverRan[row - this.listedFunctions.length]!;
      return [
        element("span", { class: "share-cell" }, "never ran"),
        element("span", {}),
        ...(unit === "edges" ? [] : [element("span", {}), element("span", {})]),
        name(
          never_ran.names[quiet]!,
          place(files.names[never_ran.files[quiet]!], never_ran.lines[quiet]!),
        ),
      ];
    }
    const part = exact(functions.instructions[index]!);
    return [
      bar(part, exact(totals.instructions)),
      element("span", { class: "number" }, brief(exact(functions.calls[index]!))),
      ...(unit === "edges" ? [] : this.pathCells(index)),
      name(
        functions.names[index]!,
        place(files.names[functions.files[index]!], functions.lines[index]!),
      ),
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
    const { functions, hot, totals } = this.profile.head;
    const index = this.listedPaths[row]!;
    const [count, instructions] = [exact(hot.counts[index]!), exact(hot.instructions[index]!)];
    return [
      bar(count * instructions, exact(totals.instructions)),
      element("span", { class: "number" }, brief(count)),
      element(
        "span",
        { class: "number", title: "instructions of one execution" },
        `${grouped(instructions)} ins`,
      ),
      name(functions.names[hot.functions[index]!]!, `p${hot.numbers[index]} ${hot.routes[index]}`),
    ];
  }

  private chooseFunction(row: number): void {
    const fn = this.listedFunctions[row];
    if (fn !== undefined) this.store.set({ view: "function", fn, path: null, step: null });
  }

  private choosePath(row: number): void {
    const { hot } = this.profile.head;
    const index = this.listedPaths[row]!;
    this.store.set({
      view: "function",
      fn: hot.functions[index]!,
      path: exact(hot.numbers[index]!),
      step: null,
    });
  }
}

function card(figure: string, text: string): HTMLElement {
  return element(
    "div",
    { class: "card" },
    element("strong", {}, figure),
    element("span", {}, text),
  );
}

function place(file: string | undefined, line: number): string {
  return file ? `${file}:${line}` : "";
}
