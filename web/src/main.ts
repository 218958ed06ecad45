// Opens the page: inflates the document and joins the views.

import { openDocument, type Profile } from "./data/profile";
import type { StreamsWire } from "./data/wire";
import { Reader } from "./model/function";
import { Store, type State } from "./state";
import { element } from "./view/dom";
import { FunctionView } from "./view/function";
import { Header } from "./view/header";
import { helpDialog } from "./view/help";
import { LoopsView } from "./view/loops";
import { Overview } from "./view/overview";
import { nextTheme, startTheme } from "./view/theme";
import { VariationView } from "./view/variation";

function show(profile: Profile, page: HTMLElement): void {
  const store = new Store(profile);
  const overview = new Overview(profile, store);
  const fn = new FunctionView(new Reader(profile), store);
  const help = helpDialog();
  let streams: StreamsWire | null = null;
  const header = new Header(
    profile,
    store,
    (text) => overview.filter(text),
    () => overview.openFirst(),
    () => help.showModal(),
  );
  const loops = new LoopsView(openPath);
  const variation = new VariationView(openPath);
  page.replaceChildren(header.root, overview.root, fn.root, loops.root, variation.root, help);
  store.listen((state) => draw(state));
  document.addEventListener("keydown", (event) => press(event));
  store.readAddress();
  page.dataset.ready = "true";

  function draw(state: State): void {
    overview.root.hidden = state.view !== "overview";
    fn.root.hidden = state.view !== "function";
    loops.root.hidden = state.view !== "loops";
    variation.root.hidden = state.view !== "variation";
    if (state.view === "function") fn.show(state);
    if (state.view === "loops" || state.view === "variation") streams ??= profile.streams();
    if (state.view === "loops" && streams?.loops) loops.show(streams.loops);
    if (state.view === "variation" && streams?.variation) variation.show(streams.variation);
  }

  function openPath(fn: number, path: number): void {
    if (fn >= 0) store.set({ view: "function", fn, path: BigInt(path), step: null });
  }

  function press(event: KeyboardEvent): void {
    const isTyping =
      event.target instanceof HTMLInputElement ||
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
