// A list of which only the visible rows are in the page. It is a list box: the arrow keys move the
// selection.

import { element } from "./dom";

export interface RowsOptions {
  /** The name for screen readers. */
  name: string;
  height: number;
  render: (index: number) => (Node | string | false)[];
  /** The class of a row. */
  rowClass?: (index: number) => string;
  select?: (index: number) => void;
  /** Whether the keys select a row. Without this, they select each. */
  isOption?: (index: number) => boolean;
  empty?: string;
}

const EXTRA = 6;
let lists = 0;

export class Rows {
  readonly root: HTMLElement;
  private readonly inner: HTMLElement;
  private readonly id = `list${lists++}`;
  private count = 0;
  private selected = -1;
  private shown: [number, number] = [0, 0];
  /** Whether the user is choosing a row with the pointer, which must not move it. */
  private isClicked = false;

  constructor(private readonly options: RowsOptions) {
    this.inner = element("div", { class: "rows-inner", role: "presentation" });
    const isList = options.select !== undefined;
    this.root = element(
      "div",
      {
        class: "rows",
        role: isList ? "listbox" : "region",
        "aria-label": options.name,
        tabindex: 0,
      },
      this.inner,
    );
    this.root.addEventListener("scroll", () => this.draw());
    this.root.addEventListener("keydown", (event) => this.press(event));
    new ResizeObserver(() => this.draw()).observe(this.root);
  }

  /** Shows a number of rows, from the top. */
  show(count: number, selected = -1): void {
    this.count = count;
    this.selected = selected;
    this.inner.style.height = `${count * this.options.height}px`;
    this.redraw();
    if (selected >= 0) this.reveal(selected);
    else this.root.scrollTop = 0;
  }

  /** Shows another number of rows where the list is scrolled to. */
  resize(count: number): void {
    this.count = count;
    this.inner.style.height = `${count * this.options.height}px`;
    this.redraw();
  }

  /** Draws the visible rows again. */
  redraw(): void {
    this.shown = [0, 0];
    this.inner.replaceChildren();
    this.draw();
  }

  /** The selected row, or -1. */
  get current(): number {
    return this.selected;
  }

  mark(index: number): void {
    this.selected = index;
    this.redraw();
    if (index >= 0 && !this.isClicked) this.reveal(index);
  }

  /** Scrolls until a row is in the middle. */
  center(index: number): void {
    const { height } = this.options;
    this.root.scrollTop = (index + 0.5) * height - this.root.clientHeight / 2;
    this.draw();
  }

  /** Scrolls to a row, if it is not visible. */
  reveal(index: number, middle = false): void {
    const { height } = this.options;
    const [top, size] = [index * height, this.root.clientHeight];
    const isVisible = top >= this.root.scrollTop && top + height <= this.root.scrollTop + size;
    if (!isVisible)
      this.root.scrollTop =
        middle || size === 0
          ? top - size / 3
          : top < this.root.scrollTop
            ? top
            : top + height - size;
    this.draw();
  }

  private draw(): void {
    const { height } = this.options;
    const first = Math.max(0, Math.floor(this.root.scrollTop / height) - EXTRA);
    const last = Math.min(
      this.count,
      Math.ceil((this.root.scrollTop + this.root.clientHeight) / height) + EXTRA,
    );
    if (first === this.shown[0] && last === this.shown[1] && this.inner.childElementCount > 0)
      return;
    this.shown = [first, last];
    const rows = [];
    for (let index = first; index < last; index++) rows.push(this.row(index));
    if (this.count === 0 && this.options.empty)
      rows.push(element("p", { class: "empty" }, this.options.empty));
    this.inner.replaceChildren(...rows);
    if (this.options.select)
      this.root.setAttribute(
        "aria-activedescendant",
        this.selected >= first && this.selected < last ? this.rowId(this.selected) : "",
      );
  }

  private row(index: number): HTMLElement {
    const { height, render, rowClass, select } = this.options;
    const isSelected = index === this.selected;
    const row = element(
      "div",
      {
        class: `row ${rowClass?.(index) ?? ""} ${isSelected ? "selected" : ""}`,
        style: `top:${index * height}px;height:${height}px`,
        "data-row": index,
      },
      ...render(index),
    );
    if (select && this.isOption(index)) {
      row.id = this.rowId(index);
      row.setAttribute("role", "option");
      row.setAttribute("aria-selected", String(isSelected));
    } else if (select) {
      row.setAttribute("role", "presentation");
    }
    if (select) {
      row.addEventListener("click", () => {
        this.isClicked = true;
        select(index);
        this.isClicked = false;
      });
    }
    return row;
  }

  private rowId(index: number): string {
    return `${this.id}-${index}`;
  }

  private press(event: KeyboardEvent): void {
    const { select, height } = this.options;
    const page = Math.max(1, Math.floor(this.root.clientHeight / height) - 1);
    const moves: Record<string, number> = {
      ArrowDown: this.selected + 1,
      ArrowUp: this.selected - 1,
      PageDown: this.selected + page,
      PageUp: this.selected - page,
      Home: 0,
      End: this.count - 1,
    };
    const target = moves[event.key];
    if (!select || target === undefined || this.count === 0) return;
    event.preventDefault();
    event.stopPropagation();
    const row = this.nextOption(target, event.key === "Home" || target > this.selected ? 1 : -1);
    if (row >= 0) select(row);
  }

  private isOption(index: number): boolean {
    return this.options.isOption?.(index) ?? true;
  }

  /** The first row from `target` on that the keys select, or else the last one before it. -1: none. */
  private nextOption(target: number, direction: 1 | -1): number {
    const first = Math.min(this.count - 1, Math.max(0, target));
    for (const step of [direction, -direction])
      for (let row = first; row >= 0 && row < this.count; row += step)
        if (this.isOption(row)) return row;
    return -1;
  }
}
