// Opens the page: inflates the document and joins the views.

import { openDocument, type Profile } from "./data/profile";
import type { Parts } from "./data/wire";
import { Reader } from "./model/function";
import { Store, type State } from "./state";
import { element } from "./view/dom";
import { FunctionView } from "./view/function";
import { Header } from "./view/header";
import { helpDialog } from "./view/help";
import { LoopsView } from "./view/loops";
import { Overview } from "./view/overview";
import { PhasesView } from "./view/phases";
import { SamplesView } from "./view/samples";
import { nextTheme, startTheme } from "./view/theme";
import { TraceView } from "./view/trace";
import { VariationView } from "./view/variation";

function show(profile: Profile, page: HTMLElement): void {
  const store = new Store(profile);
  const reader = new Reader(profile);
  const overview = new Overview(profile, store);
  const fn = new FunctionView(reader, store);
  const help = helpDialog();
  const header = new Header(
    profile,
    store,
    (text) => overview.filter(text),
    () => overview.openFirst(),
    () => help.showModal(),
  );
  const views = partViews(profile, reader, store);
  const shown = views.map(({ root }) => root);
  page.replaceChildren(header.root, overview.root, fn.root, ...shown, help);
  store.listen((state, before) => draw(state, before));
  document.addEventListener("keydown", (event) => press(event));
  store.readAddress();
  page.dataset.ready = "true";

  function draw(state: State, before: State): void {
    overview.root.hidden = state.view !== "overview";
    fn.root.hidden = state.view !== "function";
    if (before.view !== state.view || before.fn !== state.fn) fn.root.scrollTop = 0;
    for (const { name, root } of views) root.hidden = state.view !== name;
    if (state.view === "function") fn.show(state);
    if (state.view === "function" && before.view !== "function") openFunction();
    views.find(({ name }) => name === state.view)?.show(state.detail);
  }

  /** The search ends, and the arrow keys choose a path. */
  function openFunction(): void {
    header.clearSearch();
    fn.focus();
  }

  function press(event: KeyboardEvent): void {
    const isTyping =
      (event.target instanceof HTMLInputElement && event.target.type !== "checkbox") ||
      event.target instanceof HTMLSelectElement ||
      event.target instanceof HTMLTextAreaElement;
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    if (isTyping) {
      if (event.key === "Escape") (event.target as HTMLElement).blur();
      return;
    }
    if (!isHandled(event.key)) return;
    event.preventDefault();
  }

  function isHandled(key: string): boolean {
    switch (key) {
      case "/":
        header.search.focus();
        return true;
      case "o":
        store.set({ view: "overview" });
        return true;
      case "t":
        document.getElementById("theme")!.textContent = nextTheme();
        return true;
      case "?":
        help.showModal();
        return true;
      default:
        return store.state.view === "function" && fn.move(key);
    }
  }
}

/** The view of a part of the run. */
interface PartView {
  name: keyof Parts;
  root: HTMLElement;
  show: (detail: string) => void;
}

/** The views of the parts that the run has. A part is read when it is shown. */
function partViews(profile: Profile, reader: Reader, store: Store): PartView[] {
  const openPath = (fn: number, path: number | null): void => {
    if (fn < 0) return;
    store.set({ view: "function", fn, path: path === null ? null : BigInt(path), step: null });
  };
  const go = (detail: string): void => store.set({ view: "traces", detail });
  const loops = new LoopsView(openPath);
  const variation = new VariationView(openPath);
  const samples = new SamplesView((fn) => openPath(fn, null));
  const traces = new TraceView(profile, reader, go, openPath);
  const phases = new PhasesView(openPath);
  const view = <Name extends keyof Parts>(
    name: Name,
    root: HTMLElement,
    show: (part: Parts[Name], detail: string) => void,
  ): PartView => {
    let part: Parts[Name] | null = null;
    return { name, root, show: (detail) => show((part ??= profile.part(name)!), detail) };
  };
  const views = [
    view("loops", loops.root, (part) => loops.show(part)),
    view("variation", variation.root, (part) => variation.show(part)),
    view("samples", samples.root, (part) => samples.show(part)),
    view("traces", traces.root, (part, detail) => traces.show(part, detail)),
    view("phases", phases.root, (part) => phases.show(part)),
  ];
  return views.filter(({ name }) => profile.head.parts.includes(name));
}

startTheme();
const page = document.getElementById("page")!;
openDocument(document.getElementById("document")!).then(
  (profile) => show(profile, page),
  (error: unknown) =>
    page.replaceChildren(
      element(
        "p",
        { role: "alert", class: "opening" },
        `This page cannot show its profile: ${error instanceof Error ? error.message : error}; ` +
          "write it again with `holloway report --html`",
      ),
    ),
);
