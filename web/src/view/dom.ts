// Makes elements.

type Child = Node | string | null | false;
type Value = string | number | boolean | null | undefined | ((event: never) => void);

/** An element with attributes (`onclick` and the like: listeners) and children. */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, Value> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  set(made, attributes);
  append(made, children);
  return made;
}

/** An element of a drawing. */
export function shape(
  tag: string,
  attributes: Record<string, Value> = {},
  ...children: Child[]
): SVGElement {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  set(made, attributes);
  append(made, children);
  return made;
}

function set(made: Element, attributes: Record<string, Value>): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") made.addEventListener(name.slice(2), value as EventListener);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
}

function append(made: Element, children: Child[]): void {
  for (const child of children) if (child) made.append(child);
}

/** A button that says what it does. */
export function button(
  text: string,
  hint: string,
  press: () => void,
  attributes: Record<string, Value> = {},
): HTMLButtonElement {
  return element("button", { type: "button", title: hint, onclick: press, ...attributes }, text);
}

/** The color of a count, from cold (0) to hot (1), on a logarithmic scale. */
export function heat(count: bigint | number, highest: bigint | number): number {
  const [value, top] = [Number(count), Number(highest)];
  return value <= 0 || top <= 1
    ? value > 0
      ? 1
      : 0
    : Math.max(0.05, Math.log1p(value) / Math.log1p(top));
}

/** A color of the style, as a canvas takes it. */
export function colorOf(root: HTMLElement, name: string): string {
  const probe = element("span", { style: `color:var(${name});display:none` });
  root.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** The names that are not false, as the value of `class`. */
export function classNames(...names: (string | false)[]): string {
  return names.filter(Boolean).join(" ");
}
