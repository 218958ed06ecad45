// The view of samples: where a watched program spent its time, by function, block, and line.

import { grouped, percent, plural } from "../data/numbers";
import type { SampledFunction, SamplesDocument } from "../data/streams";
import type { StreamWire } from "../data/wire";
import { bar, columns, name, number } from "./cells";
import { button, element } from "./dom";
import { Rows } from "./rows";

const ROW = 30;
const CLOCKS: Record<string, string> = {
  cycles: "processor cycles",
  "cpu-time": "CPU time, by the kernel's timer",
  tick: "CPU time, by the kernel's tick",
  other: "another event than time",
};
const BLOCKS: Record<string, string> = {
  known: "blocks are known",
  "not-woven": "not profiled, so only functions are known",
  "no-probes": "built without marks of blocks: build with --collect none",
  "no-symbols": "stripped: strip with --strip-debug, which keeps symbols",
  damaged: "its path map is damaged",
  unread: "the file was gone or changed",
  "copy-unreadable": "the copy of its path map cannot be read",
};

export class SamplesView {
  readonly root: HTMLElement;
  private readonly about = element("div", { class: "detail-body", role: "status" });
  private readonly functions: Rows;
  private readonly blocks: Rows;
  private readonly title = element("h2", {}, "Blocks");
  private readonly detail = element("div", { class: "detail-body" });
  private document: SamplesDocument | null = null;
  private indices: number[] = [];
  private before: SamplesDocument | null = null;
  /** The functions of the baseline by their linkage names. */
  private readonly known = new Map<string, SampledFunction>();
  private fn: SampledFunction | null = null;

  constructor(private readonly open: (fn: number) => void) {
    this.functions = new Rows({
      name: "Functions with samples",
      height: ROW,
      render: (row) => this.functionRow(this.document!.functions[row]!),
      select: (row) => this.choose(row),
      empty: "No sample hit a function.",
    });
    this.blocks = new Rows({
      name: "Blocks with samples",
      height: ROW,
      render: (row) => this.blockRow(row),
      select: (row) => this.blocks.mark(row),
      empty: "The blocks of this function are not known.",
    });
    this.root = element(
      "main",
      { class: "streams samples", id: "samples" },
      element(
        "section",
        { class: "panel samples-head", "aria-label": "The samples" },
        element("h2", {}, "Samples"),
        this.about,
      ),
      element(
        "section",
        { class: "panel", "aria-label": "Functions" },
        element("h2", {}, "Functions"),
        columns("of samples", "samples", "found by", "function"),
        this.functions.root,
      ),
      element(
        "section",
        { class: "panel", "aria-label": "Blocks" },
        this.title,
        this.detail,
        columns("of function", "samples", "length", "block"),
        this.blocks.root,
      ),
    );
  }

  show({ now, before }: StreamWire<SamplesDocument>): void {
    const { document, functions } = now;
    if (this.document === document) return;
    this.document = document;
    this.before = before?.document ?? null;
    for (const fn of this.before?.functions ?? []) this.known.set(fn.linkage_name, fn);
    this.indices = functions;
    const seconds = (document.duration_ns / 1e9).toFixed(1);
    const facts = [
      `${plural(document.samples, "sample")} of ${CLOCKS[document.clock] ?? document.clock}, ` +
        `${grouped(document.frequency)} a second, in ${seconds} s` +
        `${document.state === "watching" ? "; the monitor still watches" : ""}.`,
      this.before ? `The baseline has ${plural(this.before.samples, "sample")}.` : "",
      document.lost > 0 ? `${plural(document.lost, "sample")} were lost.` : "",
      document.without_file > 0
        ? `${plural(document.without_file, "sample")} hit no file, such as code made at run time.`
        : "",
      ...document.programs.map(
        ({ path, samples }) => `${path || "unknown program"}: ${plural(samples, "sample")}.`,
      ),
      ...document.files.map(
        ({ path, blocks, samples, without_function }) =>
          `${path}: ${plural(samples, "sample")}, ${BLOCKS[blocks] ?? blocks}` +
          `${without_function > 0 ? `, ${grouped(without_function)} in no function` : ""}.`,
      ),
    ];
    this.about.replaceChildren(
      element("ul", {}, ...facts.filter(Boolean).map((fact) => element("li", {}, fact))),
    );
    this.functions.show(document.functions.length, 0);
    if (document.functions.length > 0) this.choose(0);
    else this.blocks.show(0);
  }

  private functionRow(fn: SampledFunction): (Node | string)[] {
    const place = fn.file ? `${fn.file.split("/").pop()}:${fn.line}` : "";
    return [
      bar(fn.samples, this.document!.samples),
      number(grouped(fn.samples)),
      number(fn.found_by),
      name(fn.name, this.before ? `${this.shareBefore(fn)} · ${place}` : place),
    ];
  }

  /** The function's share of the samples in the baseline. */
  private shareBefore(fn: SampledFunction): string {
    const { samples } = this.known.get(fn.linkage_name) ?? { samples: 0 };
    return `${percent(samples, this.before!.samples)} in the baseline`;
  }

  private choose(row: number): void {
    this.functions.mark(row);
    const fn = this.document!.functions[row]!;
    const index = this.indices[row]!;
    this.fn = fn;
    this.title.textContent = "Blocks with samples";
    this.detail.replaceChildren(
      element(
        "p",
        { class: "detail" },
        `${fn.name}: ${plural(fn.samples, "sample")} in ${fn.image}` +
          `${this.before ? `; ${this.shareBefore(fn)}` : ""}.`,
      ),
      index < 0
        ? element("p", { class: "detail" }, "Its graph and source are not in the page.")
        : button("Show the function", "Show the graph and the source", () => this.open(index)),
    );
    this.blocks.show(fn.blocks.length);
  }

  private blockRow(row: number): (Node | string)[] {
    const { block, file, line, instructions, samples } = this.fn!.blocks[row]!;
    const place = file ? `${file.split("/").pop()}:${line}` : "";
    return [
      bar(samples, this.fn!.samples),
      number(grouped(samples)),
      number(`${grouped(instructions)} ins`),
      name(`b${block}`, place),
    ];
  }
}
