// Takes the pictures of docs/tour.md: node tour.mjs PAGES PICTURES. `cargo xtask pictures` makes the
// pages.

import { chromium } from "playwright-core";
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [pages, pictures] = process.argv.slice(2);
if (!pages || !pictures) throw new Error("usage: node tour.mjs PAGES PICTURES");
mkdirSync(pictures, { recursive: true });

/** Pictures are small enough for a repository. */
const MAX_BYTES = 210_000;

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});

async function open(page, height) {
  const context = await browser.newContext({
    viewport: { width: 1200, height },
    colorScheme: "light",
  });
  const tab = await context.newPage();
  await tab.goto(pathToFileURL(join(pages, page)).href);
  await tab.waitForSelector("[data-ready]");
  return tab;
}

async function take(tab, name, part = null) {
  await tab.waitForTimeout(200);
  const path = join(pictures, `${name}.png`);
  await (part === null ? tab.screenshot({ path }) : tab.locator(part).screenshot({ path }));
  const { size } = statSync(path);
  if (size > MAX_BYTES) throw new Error(`${path} has ${size} bytes, more than ${MAX_BYTES}`);
}

const text = await open("text.html", 740);
await take(text, "overview");
await text.setViewportSize({ width: 1200, height: 670 });
// The hottest path opens at the branch that decides it.
await text.locator("#overview .panel:nth-of-type(3) [role=option]").first().click();
await take(text, "hottest-path");
await take(text, "deciding-branch", ".source-pane");
// The path that the edge counts miss most.
await text.locator("nav .tab").first().click();
await text.setViewportSize({ width: 1200, height: 620 });
await text.locator("#overview .panel:nth-of-type(4) [role=option]").first().click();
await take(text, "missed-path");
await text.context().close();

const trace = await open("trace.html", 620);
await trace.locator("nav .tab", { hasText: "Trace" }).click();
// A window in which the program converts its text once or twice.
await trace.focus(".timeline-track");
for (const key of ["+", "+", "+"]) await trace.keyboard.press(key);
await take(trace, "trace");
await trace.context().close();

const tables = await open("tables.html", 600);
await take(tables, "two-runs");
await tables.context().close();
await browser.close();
