// The timeline of a trace: a row for each function, as dark as its share of the instructions in each
// column. Zoomed in, a column is one path.

import { grouped, percent } from "../data/numbers";
import { shortened } from "./name";
import type { Change } from "../model/change";
import type { Sums, Window } from "../model/trace";
import { classNames, colorOf, element } from "./dom";
import { onTheme } from "./theme";

const ROW = 20;
/** Pixels of a column. */
const COLUMN = 2;
/** Events of the smallest window. */
const MIN_WINDOW = 4;

type Colors = Record<"hot" | "accent" | "line" | "ink", string>;

export interface TimelineRow {
  name: string;
  title: string;
  /** What the row has of the window, in a few characters. */
  figure: string;
  /** How the row differs from the baseline. */
  change?: Change;
  /** By column: 0 to 1. */
  shades: number[];
  sort: "function" | "mark";
}

export interface Band {
  name: string;
  from: number;
  to: number;
}

export interface TimelineContext {
  zoom: (window: Window) => void;
  /** The user chose an event. */
  choose: (position: number) => void;
  describe: (position: number) => string;
}

export class Timeline {
  readonly root: HTMLElement;
  private readonly names = element("div", { class: "timeline-names" });
  private readonly canvas = element("canvas", { role: "img" });
  private readonly track: HTMLElement;
  private readonly selection = element("div", { class: "timeline-selection", hidden: true });
  private readonly hint = element("div", { class: "timeline-hint detail", "aria-hidden": "true" });
  private window: Window = { from: 0, to: 1 };
  private length = 1;
  private drawn: { bounds: number[]; rows: TimelineRow[]; bands: Band[] } | null = null;
  private dragged: { from: number; to: number } | null = null;

  constructor(
    private readonly context: TimelineContext,
    redraw: () => void,
  ) {
    this.track = element(
      "div",
      {
        class: "timeline-track",
        tabindex: 0,
        role: "group",
        "aria-label": "Timeline. Plus and minus zoom, the arrow keys move, and 0 shows all events.",
      },
      this.canvas,
      this.selection,
    );
    this.track.addEventListener("keydown", (event) => this.press(event));
    this.track.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.track.addEventListener("pointerdown", (event) => this.begin(event));
    this.track.addEventListener("pointermove", (event) => this.move(event));
    this.track.addEventListener("pointerup", (event) => this.end(event));
    this.track.addEventListener("pointerleave", () => (this.hint.textContent = ""));
    new ResizeObserver(redraw).observe(this.track);
    onTheme(() => this.draw());
    this.root = element(
      "div",
      { class: "timeline" },
      this.names,
      this.track,
      element("div"),
      this.hint,
    );
  }

  /** The number of columns that fit. */
  get columns(): number {
    return Math.max(1, Math.floor(this.track.clientWidth / COLUMN));
  }

  show(window: Window, length: number, bounds: number[], rows: TimelineRow[], bands: Band[]): void {
    this.window = window;
    this.length = length;
    this.drawn = { bounds, rows, bands };
    this.names.replaceChildren(
      ...(bands.length > 0 ? [element("div", { class: "timeline-name" }, "phase")] : []),
      ...rows.map(({ name, title, figure, sort, change }) =>
        element(
          "div",
          { class: classNames("timeline-name", sort === "mark" && "mark-row"), title },
          element("span", {}, shortened(name, 30)),
          change ? element("span", { class: `change ${change.sort}` }, change.text) : "",
          element("span", { class: "number" }, figure),
        ),
      ),
    );
    this.canvas.setAttribute(
      "aria-label",
      `Events ${grouped(window.from)} to ${grouped(window.to - 1)}: ` +
        rows.map(({ title, figure }) => `${title} ${figure}`).join(", "),
    );
    this.draw();
  }

  /** Zooms by a factor, around a position. */
  zoomBy(factor: number, around?: number): void {
    const { from, to } = this.window;
    const middle = around ?? (from + to) / 2;
    const size = Math.max(MIN_WINDOW, Math.round((to - from) * factor));
    const begin = Math.round(middle - (size * (middle - from)) / (to - from));
    this.context.zoom(this.clamped(begin, size));
  }

  private moveBy(share: number): void {
    const { from, to } = this.window;
    const step = Math.max(1, Math.round((to - from) * Math.abs(share))) * Math.sign(share);
    this.context.zoom(this.clamped(from + step, to - from));
  }

  private clamped(from: number, size: number): Window {
    const length = Math.min(size, this.length);
    const begin = Math.max(0, Math.min(from, this.length - length));
    return { from: begin, to: begin + length };
  }

  private draw(): void {
    const { drawn, canvas } = this;
    const width = this.track.clientWidth;
    if (!drawn || width === 0) return;
    const { bounds, rows, bands } = drawn;
    const height = ROW * (rows.length + (bands.length > 0 ? 1 : 0));
    const scale = devicePixelRatio || 1;
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.style.height = `${height}px`;
    const context = canvas.getContext("2d");
    if (!context) return;
    const colors: Colors = {
      hot: colorOf(this.root, "--hot"),
      accent: colorOf(this.root, "--accent"),
      line: colorOf(this.root, "--line"),
      ink: colorOf(this.root, "--ink"),
    };
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    const columns = bounds.length - 1;
    const x = (column: number): number => (column * width) / columns;
    const gap = width / columns > 6 ? 1 : 0;
    let top = 0;
    if (bands.length > 0) {
      this.drawBands(context, bands, width, colors);
      top = ROW;
    }
    rows.forEach(({ shades, sort }, row) => {
      context.fillStyle = sort === "mark" ? colors.accent : colors.hot;
      shades.forEach((shade, column) => {
        if (shade <= 0) return;
        context.globalAlpha = 0.12 + 0.88 * Math.min(1, shade);
        context.fillRect(x(column), top + row * ROW + 2, x(column + 1) - x(column) - gap, ROW - 4);
      });
      context.globalAlpha = 1;
      context.fillStyle = colors.line;
      context.fillRect(0, top + (row + 1) * ROW - 1, width, 1);
    });
  }

  private drawBands(
    context: CanvasRenderingContext2D,
    bands: Band[],
    width: number,
    colors: Colors,
  ): void {
    const { from, to } = this.window;
    const x = (position: number): number =>
      (Math.max(0, Math.min(to - from, position - from)) * width) / (to - from);
    context.font = "600 11px system-ui, sans-serif";
    context.textBaseline = "middle";
    bands.forEach((band) => {
      const [left, right] = [x(band.from), x(band.to)];
      if (right - left < 0.5) return;
      context.globalAlpha = 0.16 + 0.1 * ((band.name.charCodeAt(0) - 65) % 4);
      context.fillStyle = colors.accent;
      context.fillRect(left, 1, Math.max(1, right - left - 1), ROW - 3);
      context.globalAlpha = 1;
      context.fillStyle = colors.ink;
      if (right - left > 14) context.fillText(band.name, left + 4, ROW / 2);
    });
  }

  private press(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const actions: Record<string, () => void> = {
      "+": () => this.zoomBy(1 / 4),
      "=": () => this.zoomBy(1 / 4),
      "-": () => this.zoomBy(4),
      "0": () => this.context.zoom({ from: 0, to: this.length }),
      ArrowLeft: () => this.moveBy(-0.25),
      ArrowRight: () => this.moveBy(0.25),
      Home: () => this.context.zoom(this.clamped(0, this.window.to - this.window.from)),
      End: () => this.context.zoom(this.clamped(this.length, this.window.to - this.window.from)),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }

  private wheel(event: WheelEvent): void {
    if (!event.ctrlKey && !event.shiftKey) return;
    event.preventDefault();
    this.zoomBy(event.deltaY > 0 ? 1.5 : 1 / 1.5, this.positionAt(event));
  }

  private positionAt(event: MouseEvent): number {
    const { left, width } = this.track.getBoundingClientRect();
    const share = Math.max(0, Math.min(1, (event.clientX - left) / Math.max(1, width)));
    return this.window.from + share * (this.window.to - this.window.from);
  }

  private begin(event: PointerEvent): void {
    if (event.button !== 0) return;
    const at = this.positionAt(event);
    this.dragged = { from: at, to: at };
    this.track.setPointerCapture(event.pointerId);
  }

  private move(event: PointerEvent): void {
    const at = this.positionAt(event);
    this.hint.textContent = this.context.describe(Math.min(this.window.to - 1, Math.floor(at)));
    if (!this.dragged) return;
    this.dragged.to = at;
    const { from, to } = this.window;
    const [low, high] = [this.dragged.from, at].sort((a, b) => a - b) as [number, number];
    const left = (100 * (low - from)) / (to - from);
    const width = (100 * (high - low)) / (to - from);
    this.selection.hidden = false;
    this.selection.style.cssText = `left:${left}%;width:${width}%`;
  }

  private end(event: PointerEvent): void {
    const { dragged } = this;
    this.dragged = null;
    this.selection.hidden = true;
    if (!dragged) return;
    dragged.to = this.positionAt(event);
    const [low, high] = [dragged.from, dragged.to].sort((a, b) => a - b) as [number, number];
    const { from, to } = this.window;
    const isDrag = (high - low) / (to - from) > 0.006;
    if (!isDrag) return this.context.choose(Math.min(to - 1, Math.floor(low)));
    const [begin, end] = [Math.floor(low), Math.max(Math.ceil(high), Math.floor(low) + MIN_WINDOW)];
    this.context.zoom(this.clamped(begin, end - begin));
  }
}

/** The rows of functions: how much of each column they have. */
export function shades(sums: Sums, rows: number): number[][] {
  const width = rows + 1;
  const columns = sums.cells.length / width;
  const result = Array.from({ length: width }, () => Array.from({ length: columns }, () => 0));
  for (let column = 0; column < columns; column++) {
    const cells = sums.cells.subarray(width * column, width * (column + 1));
    const whole = cells.reduce((sum, each) => sum + each, 0);
    if (whole > 0) cells.forEach((cell, row) => (result[row]![column] = cell / whole));
  }
  return result;
}

export function shareOf(part: number, whole: number): string {
  return part === 0 ? "" : percent(part, whole);
}
