// The theme: as the system has it, light, or dark. The choice is kept where the browser allows it.

const THEMES = ["auto", "light", "dark"] as const;
type Theme = (typeof THEMES)[number];
const NAMES: Record<Theme, string> = { auto: "◐ Auto", light: "☀ Light", dark: "☾ Dark" };
const KEY = "holloway-theme";

let theme: Theme = "auto";

/** The event after a change. */
const CHANGE = "holloway-theme";

/** Calls `redraw` when the colors change. Elements follow by themselves, and canvases do not. */
export function onTheme(redraw: () => void): void {
  document.addEventListener(CHANGE, redraw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
}

export function startTheme(): void {
  const kept = keptTheme();
  apply(THEMES.find((each) => each === kept) ?? "auto");
}

export function themeName(): string {
  return NAMES[theme];
}

/** Changes to the next theme and returns its name. */
export function nextTheme(): string {
  apply(THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]!);
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // Files may have no storage. The choice then holds until the page is closed.
  }
  return themeName();
}

function keptTheme(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function apply(next: Theme): void {
  theme = next;
  document.documentElement.dataset.theme = next;
  document.dispatchEvent(new Event(CHANGE));
}
