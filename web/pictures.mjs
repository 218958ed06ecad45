// Takes pictures of all views of a page in light, dark, and narrow layouts:
// node pictures.mjs report.html FOLDER

import { chromium } from "playwright-core";
import { mkdirSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [page, folder] = process.argv.slice(2);
if (!page || !folder) throw new Error("usage: node pictures.mjs report.html FOLDER");
mkdirSync(folder, { recursive: true });
const looks = [
  ["light", { width: 1500, height: 900 }, "light"],
  ["dark", { width: 1500, height: 900 }, "dark"],
  ["narrow", { width: 420, height: 900 }, "light"],
];

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
for (const [look, viewport, colorScheme] of looks) {
  const context = await browser.newContext({ viewport, colorScheme });
  const tab = await context.newPage();
  tab.on("console", (message) => message.type() === "error" && console.error(message.text()));
  tab.on("pageerror", (error) => console.error(error.stack));
  await tab.goto(pathToFileURL(resolve(page)).href);
  await tab.waitForSelector("[data-ready]");
  for (const view of await tab.locator("nav .tab").all()) {
    await view.click();
    await tab.waitForTimeout(200);
    const name = (await view.textContent()).toLowerCase();
    await tab.screenshot({ path: `${folder}/${name}-${look}.png` });
  }
  await context.close();
}
await browser.close();
