// What the page shows: the view, the function, the path, and the step. The address after `#` says
// the same, so every state has a link: `#search::find/p12/3`, `#!traces/0/1000-2000`.

import type { Profile } from "./data/profile";
import type { Parts } from "./data/wire";

export type View =
  "overview" | "function" | "loops" | "variation" | "samples" | "traces" | "phases";

export interface State {
  view: View;
  /** The index of the function. */
  fn: number;
  /** The number of the path, or null. */
  path: bigint | null;
  /** The index of the step on the path. Null for the step with the first decision to look at. */
  step: number | null;
  /** The part of the view of traces: the trace, and a window of its events. */
  detail: string;
}

/** The views of the parts of a run besides the counts. */
const VIEWS: (keyof Parts)[] = ["loops", "variation", "samples", "traces", "phases"];

export class Store {
  state: State = { view: "overview", fn: 0, path: null, step: null, detail: "" };
  private readonly listeners: ((state: State, before: State) => void)[] = [];

  constructor(private readonly profile: Profile) {
    window.addEventListener("hashchange", () => this.readAddress());
  }

  listen(listener: (state: State, before: State) => void): void {
    this.listeners.push(listener);
  }

  set(change: Partial<State>): void {
    const before = this.state;
    this.state = { ...before, ...change };
    const address = "#" + this.address(this.state);
    if (address !== location.hash) {
      const isNewPlace = before.view !== this.state.view || before.fn !== this.state.fn;
      history[isNewPlace ? "pushState" : "replaceState"](null, "", address);
    }
    for (const listener of this.listeners) listener(this.state, before);
  }

  readAddress(): void {
    const [place = "", path, step, ...rest] = location.hash.slice(1).split("/");
    const view = VIEWS.find((each) => place === `!${each}`);
    if (view && this.profile.head.parts.includes(view)) {
      const detail = [path, step, ...rest].filter((each) => each !== undefined).join("/");
      return this.set({ view, detail });
    }
    const fn = this.functionOf(place);
    if (fn === -1) return this.set({ view: "overview" });
    this.set({
      view: "function",
      fn,
      path: path && /^p\d+$/.test(path) ? BigInt(path.slice(1)) : null,
      step: step === undefined ? null : Number(step) || 0,
    });
  }

  /** The address of a path. Functions with equal names have a number: `main~2`. */
  address({ view, fn, path, step, detail }: State): string {
    if (view === "traces") return detail === "" ? "!traces" : `!traces/${detail}`;
    if (view !== "function") return view === "overview" ? "" : `!${view}`;
    const { names } = this.profile.head.functions;
    const name = names[fn]!;
    const number = names.slice(0, fn).filter((each) => each === name).length;
    const suffix = number > 0 ? `~${number + 1}` : "";
    const end = path === null ? "" : `/p${path}${step === null ? "" : `/${step}`}`;
    return encodeURIComponent(name) + suffix + end;
  }

  private functionOf(place: string): number {
    const match = /^(.*?)(?:~(\d+))?$/.exec(place);
    const { names } = this.profile.head.functions;
    const name = decode(match?.[1] ?? "");
    let at = -1;
    for (let number = Number(match?.[2] ?? 1); number > 0; number--) {
      at = names.indexOf(name, at + 1);
      if (at === -1) return names.indexOf(decode(place));
    }
    return at;
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
