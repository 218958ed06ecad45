// The bar at the top: the name of the run, the views, search, and the theme.

import type { Profile } from "../data/profile";
import type { Parts } from "../data/wire";
import type { Store, View } from "../state";
import { button, element, shape } from "./dom";
import { nextTheme, themeName } from "./theme";

const NAMES: Record<keyof Parts, string> = {
  loops: "Loops",
  variation: "Variation",
  samples: "Samples",
  traces: "Trace",
  phases: "Phases",
};

export class Header {
  readonly root: HTMLElement;
  readonly search: HTMLInputElement;
  private readonly tabs = new Map<View, HTMLElement>();

  /** `onSearch` filters the overview, and `onEnter` opens its first match. */
  constructor(
    profile: Profile,
    store: Store,
    private readonly onSearch: (text: string) => void,
    onEnter: () => void,
    help: () => void,
  ) {
    this.search = element("input", {
      type: "search",
      id: "search",
      placeholder: "Search functions and files  /",
      "aria-label": "Search functions and files",
      autocomplete: "off",
      spellcheck: "false",
    });
    this.search.addEventListener("input", () => {
      if (store.state.view !== "overview") store.set({ view: "overview" });
      onSearch(this.search.value);
      this.search.focus();
    });
    this.search.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || store.state.view !== "overview") return;
      this.search.blur();
      onEnter();
    });
    const views: [View, string][] = [["overview", "Overview"]];
    if (profile.functionCount > 0) views.push(["function", "Function"]);
    for (const part of profile.head.parts) views.push([part, NAMES[part]]);
    for (const [view, name] of views) {
      this.tabs.set(
        view,
        button(name, `Show ${name.toLowerCase()}`, () => store.set({ view }), { class: "tab" }),
      );
    }
    const theme = button(
      themeName(),
      "Change between the themes: automatic, light, and dark (t)",
      () => (theme.textContent = nextTheme()),
      { class: "quiet", id: "theme" },
    );
    this.root = element(
      "header",
      { class: "bar" },
      element("h1", {}, logo(), element("span", {}, profile.head.title)),
      element("nav", { "aria-label": "Views" }, ...this.tabs.values()),
      this.search,
      theme,
      button("?", "Show the keys (?)", help, { class: "quiet" }),
    );
    store.listen((state) => this.show(state.view));
  }

  /** Ends the search, so that the overview lists everything again. */
  clearSearch(): void {
    if (this.search.value === "") return;
    this.search.value = "";
    this.onSearch("");
  }

  private show(view: View): void {
    for (const [each, tab] of this.tabs) {
      if (each === view) tab.setAttribute("aria-current", "page");
      else tab.removeAttribute("aria-current");
    }
  }
}

/** A path that takes one of two ways. */
function logo(): SVGElement {
  const way = (d: string, name: string): SVGElement => shape("path", { d, class: name });
  return shape(
    "svg",
    { class: "logo", viewBox: "0 0 20 20", width: 20, height: 20, "aria-hidden": "true" },
    way("M10 2C10 8 4 8 4 17", "other"),
    way("M10 2C10 8 16 8 16 17", "taken"),
  );
}
