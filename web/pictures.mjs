// Takes pictures of a page in light, dark, and narrow layouts:
// node pictures.mjs report.html FOLDER [ADDRESS]

import { chromium } from "playwright-core";
import { mkdirSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [page, folder, address = ""] = process.argv.slice(2);
if (!page || !folder) throw new Error("usage: node pictures.mjs report.html FOLDER [ADDRESS]");
mkdirSync(folder, { recursive: true });
const looks = [
  ["light", { width: 1500, height: 900 }, "light"],
  ["dark", { width: 1500, height: 900 }, "dark"],
  ["narrow", { width: 560, height: 1000 }, "light"],
];

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
for (const [name, viewport, colorScheme] of looks) {
  const context = await browser.newContext({ viewport, colorScheme });
  const tab = await context.newPage();
  tab.on("console", (message) => message.type() === "error" && console.error(message.text()));
  tab.on("pageerror", (error) => console.error(error.stack));
  await tab.goto(pathToFileURL(resolve(page)).href);
  await tab.waitForSelector("[data-ready]");
  await tab.screenshot({ path: `${folder}/overview-${name}.png` });
  if (address) await tab.evaluate((hash) => (location.hash = hash), address);
  else await tab.locator("#overview [role=option]").first().click();
  await tab.waitForSelector("#function:not([hidden])");
  await tab.waitForTimeout(200);
  await tab.screenshot({ path: `${folder}/function-${name}.png` });
  await context.close();
}
await browser.close();
