// Opens pages in headless Chromium and compares them with the JSON reports of the same runs:
// node test/page.mjs FOLDER. tests/tests/page.rs makes the files in FOLDER.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const folder = process.argv[2];
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const report = JSON.parse(readFileSync(join(folder, "report.json"), "utf8"));
const lines = JSON.parse(readFileSync(join(folder, "lines.json"), "utf8")).lines;
const grouped = (number) => String(number).replace(/\B(?=(\d{3})+(?!\d))/g, ",");

const times = (number) => `${grouped(number)} ${number === 1 ? "time" : "times"}`;

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
const faults = [];

async function open(file, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1500, height: 900 }, ...options });
  const tab = await context.newPage();
  tab.on("console", (message) => message.type() === "error" && faults.push(message.text()));
  tab.on("pageerror", (error) => faults.push(error.stack));
  tab.on(
    "request",
    (request) =>
      !/^(file|data|blob):/.test(request.url()) && faults.push(`request to ${request.url()}`),
  );
  await tab.goto(pathToFileURL(join(folder, file)).href);
  await tab.waitForSelector("[data-ready]");
  return tab;
}

async function checkAccessibility(tab, view) {
  await tab.evaluate(axe);
  const { violations } = await tab.evaluate(() => globalThis.axe.run());
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  const found = serious.map(
    ({ id, nodes }) =>
      `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join(" | ")}`,
  );
  assert.deepEqual(found, [], `accessibility of ${view}`);
}

async function show(tab, address) {
  await tab.evaluate((hash) => (location.hash = hash), address);
  await tab.waitForFunction(() => !document.querySelector("#function").hidden);
}

/** The lines of the source pane with a class. */
const litLines = (tab, name) =>
  tab.$$eval(`.source-pane .row.${name}:not(.note) .line-number`, (cells) =>
    cells.map((cell) => Number(cell.textContent)),
  );

async function checkOverview(tab) {
  const text = await tab.textContent(".summary");
  assert.ok(text.includes(`${grouped(report.totals.distinct_paths)}paths ran`), text);
  assert.ok(text.includes(`${grouped(report.totals.functions_run)}functions ran`), text);
  const names = await tab.$$eval("#overview .panel:nth-of-type(2) .name bdi", (cells) =>
    cells.map((cell) => cell.textContent),
  );
  assert.deepEqual(
    names,
    report.functions.map(({ name }) => name),
  );
  await tab.keyboard.press("/");
  await tab.keyboard.type(report.functions[1].name);
  assert.equal(await tab.locator("#overview .panel:nth-of-type(2) [role=option]").count(), 1);
  await tab.keyboard.press("Enter");
  assert.ok((await tab.textContent(".function-title")).startsWith(report.functions[1].name));
  // The search is over, and the keys choose a path at once.
  assert.equal(await tab.inputValue("#search"), "");
  const selected = () => tab.locator(".paths-pane .row.selected").getAttribute("data-row");
  assert.equal(await selected(), "0");
  await tab.keyboard.press("ArrowDown");
  assert.equal(await selected(), report.functions[1].paths.length > 1 ? "1" : "0");
}

/** Every path of a function: its numbers, its steps, and its lines are those of the report. */
async function checkPaths(tab, fn) {
  for (const path of fn.paths) {
    await show(tab, `${encodeURIComponent(fn.name)}/p${path.id}`);
    const title = await tab.textContent(".path-title");
    assert.ok(
      title.startsWith(
        `p${path.id} ran ${times(path.count)}, ` +
          `${grouped(path.instructions)} instructions each`,
      ),
      title,
    );
    const selected = await tab.textContent(".paths-pane .row.selected .name b");
    assert.equal(selected, `p${path.id}`);
    const expected = [...new Set(path.places.map((place) => Number(place.split(":").at(-2))))].sort(
      (a, b) => a - b,
    );
    assert.deepEqual(await litLines(tab, "lit"), expected, `lines of p${path.id}`);
    const drawn = await tab.$$eval(".block.on-path .block-name", (names) =>
      names.map((name) => Number(name.textContent.slice(1))),
    );
    assert.deepEqual(
      drawn.sort((a, b) => a - b),
      [...path.blocks].sort((a, b) => a - b),
      `blocks of p${path.id}`,
    );
  }
}

async function checkSteps(tab, fn) {
  await show(tab, `${encodeURIComponent(fn.name)}/p${fn.paths[0].id}/0`);
  const count = Number(/of (\d+)/.exec(await tab.textContent(".frames"))[1]);
  const passed = [];
  for (let step = 1; step <= count; step++) {
    assert.ok((await tab.textContent(".frames")).startsWith(`step ${step} of ${count} `));
    passed.push(...(await litLines(tab, "lit.current")));
    await tab.keyboard.press("ArrowRight");
  }
  const expected = new Set(fn.paths[0].places.map((place) => Number(place.split(":").at(-2))));
  assert.deepEqual(new Set(passed), expected);
}

/** Addresses of paths and steps that do not exist. */
async function checkBounds(tab, fn) {
  const name = encodeURIComponent(fn.name);
  for (const number of ["999999", "99999999999999999999999"]) {
    await show(tab, `${name}/p${number}`);
    assert.equal(await tab.textContent(".path-title"), "There is no such path.");
  }
  for (const [step, expected] of [
    ["-5", "step 1 "],
    ["1.5", "step 2 "],
    ["x", "step 1 "],
  ]) {
    await show(tab, `${name}/p${fn.paths[0].id}/${step}`);
    assert.ok((await tab.textContent(".frames")).startsWith(expected), step);
  }
  await show(tab, `${name}/p${fn.paths[0].id}/99999`);
  const [, step, count] = /step (\d+) of (\d+)/.exec(await tab.textContent(".frames"));
  assert.equal(step, count);
  await tab.keyboard.press("ArrowLeft");
  assert.ok((await tab.textContent(".frames")).startsWith(`step ${step - 1} of`));
}

async function checkMargin(tab) {
  const shown = await tab.$$eval(".source-pane .row", (rows) =>
    rows
      .map((row) => [
        Number(row.querySelector(".line-number")?.textContent),
        row.querySelector(".margin")?.title,
      ])
      .filter(([, title]) => title),
  );
  const expected = lines.map(({ line, count }) => [line, `${grouped(count)} times`]);
  assert.ok(shown.length > 5);
  for (const row of shown)
    assert.ok(
      expected.some(([line, title]) => line === row[0] && title === row[1]),
      `${row}`,
    );
}

/** Each path that the edge counts miss has a marked decision, and no other path has. */
async function checkMarks(tab, fn) {
  await show(tab, encodeURIComponent(fn.name));
  const titles = await tab.$$eval(".node.unexpected", (nodes) => nodes.map((node) => node.title));
  assert.ok(
    titles.length > 0 && titles.every((title) => title.includes("Edge counts alone would predict")),
    titles.join(),
  );
  const rows = await tab.$$eval(".paths-pane .row", (all) =>
    all.map((row) => [
      row.querySelector(".name b").textContent,
      row.querySelector(".missed")?.textContent ?? "",
      row.querySelector(".number").title,
    ]),
  );
  const phantoms = await tab.$$eval(".paths-pane .row", (all) =>
    all
      .filter((row) => row.querySelector(".share-cell").textContent === "never ran")
      .map((row) => row.querySelector(".name b").textContent),
  );
  assert.equal(phantoms.length, rows.length - fn.paths.length);
  assert.ok(phantoms.length > 0);
  for (const path of phantoms) {
    assert.ok(!fn.paths.some(({ id }) => path === `p${id}`), path);
    await show(tab, `${encodeURIComponent(fn.name)}/${path}`);
    const title = await tab.textContent(".path-title");
    assert.ok(
      title.startsWith(`${path} never ran: `) && title.includes("edge counts predict"),
      title,
    );
  }
  const missed = rows.filter(([, mark]) => mark.startsWith("◆"));
  assert.ok(missed.length >= 2 && missed.length < rows.length, rows.join());
  for (const [path, mark, count] of rows) {
    await show(tab, `${encodeURIComponent(fn.name)}/${path}`);
    const isMarked = (await tab.locator(".unexpected-note").count()) === 1;
    assert.equal(await tab.locator(".edge.expected").count(), isMarked ? 1 : 0, path);
    if (isMarked) {
      await checkExplanation(tab, fn, path);
      const arms = await tab.$$eval(".source-pane .row.expected .edges-predict", (all) =>
        all.map((each) => each.textContent),
      );
      assert.deepEqual(arms, ["◆ edge counts predict this way too often"], path);
      // The line is the one that the words name.
      const named = / they predict → .*line (\d+)/.exec(await tab.textContent(".unexpected-note"));
      assert.deepEqual(
        await litLines(tab, "expected"),
        named ? [Number(named[1])] : await litLines(tab, "expected"),
        path,
      );
      const line = /on line (\d+)/.exec(await tab.textContent(".unexpected-note"))[1];
      const outcome = await tab.textContent(".source-pane .row.current .outcome");
      assert.match(outcome, /◆ mispredicted→ .* \(\d+ %\), not .* \(\d+ %\)/);
      assert.deepEqual(await litLines(tab, "current"), [Number(line)], path);
    }
    assert.equal(isMarked, mark !== "", path);
    // Boxes of rare paths are too narrow to be drawn.
    if (isMarked && Number(count.replaceAll(",", "")) > 1000)
      assert.equal(await tab.locator(".node.unexpected.on-path").count(), 1, path);
  }
}

/** The numbers of an explanation are sums of the report's paths: those that begin alike, and those
 * that take the same way. The predicted executions of a way are those of the named paths, and the
 * losses are the executions that are not predicted. */
async function checkExplanation(tab, fn, name) {
  const path = fn.paths.find(({ id }) => `p${id}` === name);
  const number = (digits) => Number(digits.replaceAll(",", ""));
  const rows = await tab.$$eval(".why tbody tr", (all) =>
    all.map((row) => [...row.querySelectorAll("td")].map((cell) => cell.firstChild.textContent)),
  );
  const [[arrived, took, tookOther, followed], predicted] = rows.map((row) => row.map(number));
  const sum = (list) => list.reduce((all, each) => all + each, 0);
  const beginsAlike = (other, length) =>
    path.blocks.slice(0, length).every((block, index) => other.blocks[index] === block);
  const alike = (length) =>
    sum(fn.paths.filter((other) => beginsAlike(other, length)).map(({ count }) => count));
  const isExplained = path.blocks.some(
    (_, at) => at > 0 && took === alike(at + 1) && arrived === alike(at),
  );
  const [why, where = ""] = await tab.$$eval(".why p", (all) =>
    all.map((each) => each.textContent),
  );
  assert.ok(isExplained && took + tookOther <= arrived, `${rows} ${why}`);
  assert.equal(followed, path.count);
  assert.ok(2 * predicted[1] < took && 2 * predicted[3] < followed, `${rows}`);
  const total = number(/In all, ([\d,]+) execution/.exec(why)[1]);
  const [given, instead = ""] = why.split(" Of those predicted ");
  const parts = (text) =>
    [...text.matchAll(/([\d,]+) to (?:p\d+|\d+ other path)/g)].map(([, part]) => number(part));
  assert.equal(sum(parts(given)) + predicted[1], total, why);
  assert.equal(sum(parts(instead)), predicted[2], why);
  const named = [...why.matchAll(/to p(\d+) \((?:ran ([\d,]+) time|never ran)/g)];
  for (const [, other, ran = "0"] of named)
    assert.equal(fn.paths.find(({ id }) => `${id}` === other)?.count ?? 0, number(ran), why);
  const losses = [...where.matchAll(/([\d,]+) (?:on|→) /g)].map(([, part]) => number(part));
  if (where !== "") assert.ok(sum(losses) >= 0.8 * (followed - predicted[3]), where);
}

/** A path opens at the decision with the largest split: by the definition, on the report's paths. */
async function checkDeciding(tab, fn) {
  const weight = ({ count, instructions }) => count * instructions;
  const splits = fn.paths[0].blocks.slice(1).map((_, index) => {
    const blocks = fn.paths[0].blocks.slice(0, index + 1);
    const alike = fn.paths.filter((path) => blocks.every((each, at) => path.blocks[at] === each));
    const ways = new Map();
    for (const path of alike) {
      const next = path.blocks[index + 1];
      ways.set(next, (ways.get(next) ?? 0) + weight(path));
    }
    const whole = [...ways.values()].reduce((a, b) => a + b, 0);
    return [...ways.values()].reduce((sum, each) => sum + each * Math.log2(whole / each), 0);
  });
  const largest = splits.indexOf(Math.max(...splits));
  await show(tab, `${encodeURIComponent(fn.name)}/p${fn.paths[0].id}`);
  const note = tab.locator(".deciding-note");
  assert.match(await note.textContent(), /^Decided on line \d+ → .* \(\d+ %\)$/);
  await note.click();
  assert.equal(
    await tab.textContent(".block.current .block-name"),
    `b${fn.paths[0].blocks[largest]}`,
    splits.join(),
  );
  assert.equal(await tab.textContent(".source-pane .row.current .decides"), "decides");
  const line = /line (\d+)/.exec(await note.textContent())[1];
  assert.deepEqual(await litLines(tab, "current"), [Number(line)]);
}

/** The paths of the overview that the edge counts miss: each leads to its mark. */
async function checkMissedPaths(tab) {
  await tab.keyboard.press("o");
  const rows = await tab.$$eval("#overview .panel:nth-of-type(4) [role=option]", (all) =>
    all.map((row) => [
      row.querySelector("bdi").textContent,
      row.querySelector(".detail").textContent.split(" ")[0],
      row.querySelector(".missed").title,
    ]),
  );
  assert.ok(rows.length > 1);
  const weights = [];
  for (const [row, [name, path, title]] of rows.entries()) {
    const fn = report.functions.find((each) => each.name === name);
    const { count, instructions } = fn.paths.find(({ id }) => `p${id}` === path);
    const words = /^ran (.*), edge counts predict (none|[\d,]+)/.exec(title);
    assert.equal(words[1], times(count));
    const predicted = words[2] === "none" ? 0 : Number(words[2].replaceAll(",", ""));
    assert.ok(2 * predicted < count, title);
    weights.push((count - predicted) * instructions);
    await tab.locator("#overview .panel:nth-of-type(4) [role=option]").nth(row).click();
    assert.ok((await tab.textContent(".path-title")).startsWith(`${path} `));
    assert.equal(await tab.locator(".unexpected-note").count(), 1);
    await tab.keyboard.press("o");
  }
  assert.deepEqual(
    weights,
    [...weights].sort((a, b) => b - a),
  );
  await tab.selectOption(".overview-order", "missed");
  const first = await tab.textContent("#overview .panel:nth-of-type(2) [role=option] bdi");
  assert.equal(first, rows[0][0]);
  await tab.selectOption(".overview-order", "share");
}

/** A box of the icicle leads to its decision: in the icicle, in the graph, and in the source. */
async function checkIcicle(tab, fn) {
  await show(tab, `${encodeURIComponent(fn.name)}/p${fn.paths[0].id}/0`);
  const title = await tab.textContent(".path-title");
  const boxes = tab.locator(".node.on-path:not(.narrow)");
  const texts = await boxes.evaluateAll((all) => all.map((node) => node.textContent));
  const decisions = texts
    .map((text, index) => [/^◆?(\d+) → /.exec(text)?.[1], index])
    .filter(([line]) => line);
  assert.ok(decisions.length > 1, texts.join());
  for (const [line, index] of decisions) {
    await boxes.nth(index).click();
    assert.equal(await tab.textContent(".path-title"), title);
    assert.deepEqual(await litLines(tab, "current"), [Number(line)], texts[index]);
    assert.equal(await tab.locator(".block.current").count(), 1);
    const current = await tab.$$eval(".node.current", (all) => all.map((each) => each.textContent));
    assert.ok(current.includes(texts[index]), `${texts[index]} in ${current.join()}`);
  }
  // A box that is not on the path shows another path, at the decision of the box.
  const other = tab.locator(".node:not(.on-path):not(.narrow)").last();
  const [, line] = /^◆?(\d+) → /.exec(await other.textContent());
  await other.click();
  assert.notEqual(await tab.textContent(".path-title"), title);
  assert.deepEqual(await litLines(tab, "current"), [Number(line)]);
}

/** The rows of paths stay where they are, show their numbers, and do not repeat what they share. */
async function checkRows(fn) {
  const tab = await open("report.html", { viewport: { width: 1500, height: 620 } });
  await show(tab, encodeURIComponent(fn.name));
  const rows = tab.locator(".paths-pane [role=option]");
  const top = () => tab.$eval(".paths-pane .rows", (list) => list.getBoundingClientRect().top);
  const before = await top();
  for (let row = 0; row < 4; row++) {
    const scrolled = await tab.$eval(".paths-pane .rows", (list) => {
      list.scrollTop = 11;
      return list.scrollTop;
    });
    // A row that is not whole stays where it is, too.
    await rows.nth(row).dispatchEvent("click");
    assert.equal(await tab.getAttribute(".paths-pane .row.selected", "data-row"), String(row));
    const now = await tab.$eval(".paths-pane .rows", (list) => list.scrollTop);
    assert.deepEqual([now, await top()], [scrolled, before], `row ${row}`);
  }
  const cells = await tab.$$eval(".paths-pane .row", (all) =>
    all.map((row) => ({
      byEdges: row.children[2].textContent,
      count: Number(row.children[1].title.replaceAll(",", "")),
      sort: row.children[2].className,
      title: row.children[2].title,
      words: row.querySelector(".detail").textContent,
      unseen: row.querySelector(".unseen")?.textContent ?? "",
      whole: row.querySelector(".name").title,
    })),
  );
  for (const { byEdges, count, sort, title, words, unseen, whole } of cells) {
    assert.match(byEdges, /\d/);
    const [, number] = /^Edge counts predict (none|[\d,]+)/.exec(title);
    const predicted = number === "none" ? 0 : Number(number.replaceAll(",", ""));
    checkPredictionError({ byEdges, count, predicted, sort, title });
    assert.ok(whole.includes(words.replace("… ", "").split(", ").at(-1)), `${whole}: ${words}`);
    assert.equal(words.startsWith("… "), unseen !== "", words);
  }
  assert.ok(cells.some(({ unseen }) => unseen !== ""));
  // The step in view is in the middle of the source.
  const [middle, step] = await tab.evaluate(() => {
    const center = (name) => {
      const { top, height } = document.querySelector(name).getBoundingClientRect();
      return top + height / 2;
    };
    return [center(".source-pane .rows"), center(".source-pane .row.current")];
  });
  assert.ok(Math.abs(middle - step) < 60, `${middle}, ${step}`);
  // The strip shows hot and cold places.
  const shades = await tab.$eval(".strip canvas", (strip) => {
    const { data } = strip.getContext("2d").getImageData(2, 0, 1, strip.height);
    return new Set(data.filter((_, index) => index % 4 === 3)).size;
  });
  assert.ok(shades > 2, `${shades}`);
  await tab.context().close();
}

/** The marks ◆ and ▲ mean a factor of two, and the cell says how large the error is. */
function checkPredictionError({ byEdges, count, predicted, sort, title }) {
  assert.equal(sort.includes("missed"), 2 * predicted < count, title);
  assert.equal(sort.includes("excess"), predicted > 2 * count, title);
  assert.equal(byEdges.startsWith("◆"), 2 * predicted < count, byEdges);
  assert.equal(byEdges.startsWith("▲"), predicted > 2 * count, byEdges);
  if (predicted === 0 || count === 0) return;
  if (predicted === count) assert.ok(title.endsWith("as many as ran"), title);
  else if (predicted < 2 * count) {
    const points = (100 * Math.abs(predicted - count)) / count;
    const sign = points < 1 ? "< " : predicted > count ? "+" : "−";
    assert.ok(
      byEdges.endsWith(`${sign}${Math.max(1, points).toFixed(0)} %`),
      `${byEdges}: ${predicted} of ${count}`,
    );
    const missing = grouped(Math.abs(predicted - count));
    assert.ok(title.endsWith(`(${missing}) too ${predicted > count ? "many" : "few"}`), title);
  } else assert.ok(byEdges.endsWith(`× ${(predicted / count).toFixed(1)}`), byEdges);
}

/** The list of steps has the lines of each path in order, with the decisions on them. It goes along
 * with the keys, and the copied text has the same. */
async function checkStepList(tab, fn) {
  const source = readFileSync(join(folder, "app.c"), "utf8").split("\n");
  await tab.evaluate(() => {
    const writeText = async (text) => void (globalThis.copied = text);
    Object.defineProperty(navigator, "clipboard", { value: { writeText }, configurable: true });
  });
  for (const path of fn.paths) {
    await show(tab, `${encodeURIComponent(fn.name)}/p${path.id}/0`);
    const rows = await tab.$$eval(".steps-pane .row", (all) =>
      all.map((row) => ({
        place: row.querySelector(".step-place")?.textContent,
        code: row.querySelector("code")?.textContent,
        words: row.querySelector(".outcome")?.textContent,
        text: row.textContent,
      })),
    );
    const steps = rows.filter(({ place }) => place);
    const count = Number(/of (\d+)/.exec(await tab.textContent(".frames"))[1]);
    assert.equal(steps.length, count);
    const lines = steps.map(({ place }) => Number(place));
    const expected = new Set(path.places.map((place) => Number(place.split(":").at(-2))));
    assert.deepEqual(new Set(lines), expected, `p${path.id}`);
    for (const [index, { code }] of steps.entries())
      assert.equal(code, source[lines[index] - 1].trim());
    assert.match(rows[0].text, /^starts from /);
    assert.match(rows.at(-1).text, /^ends: /);
    const decisions = rows.filter(({ words }) => words).map(({ words }) => words);
    assert.ok(decisions.length > 1, rows.map(({ text }) => text).join("\n"));
    for (const words of decisions) assert.match(words, /→ .*\(.*%\)/);

    await tab.keyboard.press("c");
    const copied = await tab.evaluate(() => globalThis.copied);
    const words = decisions.map((each) => /→ [^◆]*/.exec(each)[0]);
    const found = copied.split("\n").slice(2);
    assert.deepEqual(
      found.map((line) => line.trim().split("  ").at(-1)).filter(Boolean),
      rows.map(({ code, words, text }) => code ?? (words ? /→ [^◆]*/.exec(words)[0] : text)),
      copied,
    );
    assert.ok(words.every((each) => copied.includes(each)));
  }
  // The keys of the list choose steps, and skip the decisions below them.
  await show(tab, `${encodeURIComponent(fn.name)}/p${fn.paths[0].id}/0`);
  await tab.focus(".steps-pane [role=listbox]");
  const options = tab.locator(".steps-pane [role=option]");
  for (let step = 1; step < (await options.count()); step++) {
    await tab.keyboard.press("ArrowDown");
    assert.ok((await tab.textContent(".frames")).startsWith(`step ${step + 1} of `));
    const [current] = await tab.$$eval(".steps-pane .row.selected", (all) =>
      all.map((row) => row.querySelector(".step-number").textContent),
    );
    assert.equal(current, String(step + 1));
    assert.equal(await tab.locator(".block.current").count(), 1);
  }
  await tab.keyboard.press("Home");
  assert.ok((await tab.textContent(".frames")).startsWith("step 1 of "));
  await options.nth(1).click();
  assert.ok((await tab.textContent(".frames")).startsWith("step 2 of "));
}

/** Zooming keeps the current step in view, and the graph fits on request. */
async function checkZoom(fn) {
  const tab = await open("report.html", { viewport: { width: 1100, height: 700 } });
  await show(tab, `${encodeURIComponent(fn.name)}/p${fn.paths[0].id}`);
  /** Waits until all blocks with a class are in view, and returns their number. */
  const visible = async (name) => {
    const count = await tab.waitForFunction((name) => {
      const view = document.querySelector(".graph-scroller").getBoundingClientRect();
      const isInside = (low, high, start, end) => low >= start - 1 && high <= end + 1;
      const isVisible = (block) => {
        const { left, right, top, bottom } = block.getBoundingClientRect();
        return (
          isInside(left, right, view.left, view.right) &&
          isInside(top, bottom, view.top, view.bottom)
        );
      };
      const blocks = [...document.querySelectorAll(name)];
      return blocks.every(isVisible) && blocks.length;
    }, name);
    return count.jsonValue();
  };
  const press = (name) => tab.locator(".graph-pane button", { hasText: name }).click();
  const tops = await tab.$$eval(".graph-pane button", (all) =>
    all.map((each) => each.getBoundingClientRect().top),
  );
  assert.equal(new Set(tops).size, 1, "the buttons of the graph are in one row");
  for (const name of ["+", "+", "−", "−", "−"]) {
    await press(name);
    assert.equal(await visible(".block.current"), 1, name);
  }
  await press("Fit path");
  assert.equal(await visible(".block.on-path"), fn.paths[0].blocks.length);
  await press("Fit all");
  assert.ok((await visible(".block")) > fn.paths[0].blocks.length);
  await tab.context().close();
}

/** The filter of missed paths keeps those with ◆, and explains itself. */
async function checkMissedFilter(tab, fn) {
  await show(tab, encodeURIComponent(fn.name));
  const filter = tab.locator(".missed-filter input");
  assert.ok(!(await tab.isVisible("#missed-hint")));
  await filter.focus();
  assert.ok(await tab.isVisible("#missed-hint"));
  const names = () =>
    tab.$$eval(".paths-pane .row", (all) =>
      all.map((row) => [row.querySelector("b").textContent, row.querySelector(".missed") !== null]),
    );
  const missed = (await names()).filter(([, isMissed]) => isMissed);
  await filter.press("Space");
  assert.deepEqual(await names(), missed);
  assert.ok(missed.length > 0);
  await filter.press("Space");
}

/** The page says how often the blocks of a line ran, next to the count of the line. */
async function checkLineCounts(tab, fn) {
  await show(tab, `${encodeURIComponent(fn.name)}/p${fn.paths[0].id}/0`);
  const counts = new Map();
  const blocks = await tab.$$eval(".block title", (all) => all.map((each) => each.textContent));
  for (const title of blocks) {
    const [, block, count] = /^b(\d+): ([\d,]+) executions/.exec(title);
    counts.set(block, Number(count.replaceAll(",", "")));
  }
  const brief = (number) =>
    number < 10_000 ? grouped(number) : `${(number / 1000).toFixed(number < 100_000 ? 1 : 0)} k`;
  const texts = [];
  for (let step = Number(/of (\d+)/.exec(await tab.textContent(".frames"))[1]); step > 0; step--) {
    texts.push(await tab.textContent(".line-counts"));
    await tab.keyboard.press("ArrowRight");
  }
  for (const text of texts) {
    const [, list] = /^line: .*; its blocks here: (.*)$/.exec(text);
    for (const part of list.split(", ").filter((each) => each !== "…")) {
      const [, block, count] = /^b(\d+) (.*)$/.exec(part);
      assert.equal(count, brief(counts.get(block)), text);
    }
  }
  assert.match(await tab.getAttribute(".line-counts", "title"), /copies and moves code/);
}

/** Decisions are below their lines, and no text is cut in the lists of the overview. */
async function checkNotes(tab, fn) {
  await show(tab, `${encodeURIComponent(fn.name)}/p${fn.paths[0].id}`);
  const boxes = await tab.$$eval(".source-pane .row", (all) =>
    all.map((row) => ({
      isNote: row.classList.contains("note"),
      isLit: row.classList.contains("lit") || row.classList.contains("expected"),
      hasOutcome: row.querySelector(".outcome") !== null,
    })),
  );
  assert.ok(boxes.filter(({ isNote }) => isNote).length > 1);
  for (const [index, { isNote, hasOutcome }] of boxes.entries()) {
    assert.equal(hasOutcome, isNote);
    if (isNote) assert.ok(!boxes[index - 1].isNote && boxes[index - 1].isLit);
  }
  await tab.keyboard.press("o");
  const cut = await tab.$$eval(".path-name .detail", (all) =>
    all.filter((each) => each.scrollWidth > each.clientWidth).map((each) => each.textContent),
  );
  assert.deepEqual(cut, []);
}

/** A page says that a source file has changed since the program was built. */
async function checkChangedSource() {
  const tab = await open("changed.html");
  await tab.locator("#overview [role=option]", { hasText: "work" }).first().click();
  const warnings = [];
  for (const file of await tab.$$eval(".source-pane select option", (all) =>
    all.map((each) => each.value),
  )) {
    await tab.selectOption(".source-pane select", file);
    if (await tab.isVisible(".source-warning"))
      warnings.push(await tab.textContent(".source-warning"));
  }
  assert.equal(warnings.length, 1, warnings.join());
  assert.ok(warnings[0].startsWith("near/limit.h has changed since"), warnings[0]);
  await tab.context().close();
}

/** Two files of one name have names that differ. Lines of other files than the function's own have
 * the names of their files. */
async function checkNames() {
  const tab = await open("names.html");
  await tab.locator("#overview [role=option]", { hasText: "work" }).first().click();
  const count = Number(/of (\d+)/.exec(await tab.textContent(".frames"))[1]);
  const names = new Set();
  for (let step = 0; step < count; step++) {
    await tab.evaluate(
      (step) => (location.hash = location.hash.replace(/\/p.*/, "") + `/p0/${step}`),
      step,
    );
    await tab.waitForFunction(
      (step) => document.querySelector(".frames").textContent.startsWith(`step ${step} `),
      step + 1,
    );
    for (const [, name] of (await tab.textContent(".frames")).matchAll(/ at (\S+):\d+/g))
      names.add(name);
  }
  assert.deepEqual([...names].sort(), ["far/limit.h", "names.c", "near/limit.h"]);
  const places = await tab.$$eval(".step-place", (all) => all.map((each) => each.textContent));
  for (const file of ["far/limit.h", "near/limit.h"])
    assert.ok(
      places.some((place) => place.startsWith(`${file}:`)),
      places.join(),
    );
  assert.ok(places.includes("4"), places.join());
  const routes = await tab.$$eval(".paths-pane .row .name, .node", (all) =>
    all.map((each) => each.title),
  );
  for (const route of routes)
    for (const [, line] of route.matchAll(/(?<![\w.:/p])(\d+) → /g)) assert.equal(line, "4", route);
  await tab.context().close();
}

/** Names and source lines that look like HTML are text. */
async function checkText(tab) {
  const text = "</script><img src=x onerror=document.title='hostile'>";
  const fn = report.functions.find(({ linkage_name }) => linkage_name === text);
  await show(tab, encodeURIComponent(fn.name));
  assert.ok((await tab.textContent(".function-title")).startsWith(fn.name));
  assert.ok((await tab.textContent(".source-pane .rows")).includes(`// ${text}`));
  assert.equal(await tab.locator("img").count(), 0);
  assert.ok(!(await tab.title()).startsWith("hostile"));
  const policy = await tab.getAttribute("meta[http-equiv=Content-Security-Policy]", "content");
  assert.ok(policy.startsWith("default-src 'none'"));
}

/** The chords of the graph have increments on request. */
async function checkChords(tab, fn) {
  await show(tab, encodeURIComponent(fn.name));
  await tab.locator("label", { hasText: "chords" }).click();
  await tab.locator("label", { hasText: "values" }).click();
  const [chords, increments, values] = await Promise.all(
    [".edge.chord", ".edge-increment", ".edge-value"].map((name) => tab.locator(name).count()),
  );
  assert.ok(increments > 0 && chords === increments, `${chords} chords, ${increments} increments`);
  assert.ok(values > 0);
  await checkAccessibility(tab, "chords");
  await tab.locator("label", { hasText: "chords" }).click();
  assert.equal(await tab.locator(".edge.chord").count(), 0);
}

async function checkKeys(tab) {
  await tab.focus(".paths-pane [role=listbox]");
  await tab.keyboard.press("Home");
  const first = await tab.textContent(".path-title b");
  await tab.keyboard.press("ArrowDown");
  assert.notEqual(await tab.textContent(".path-title b"), first);
  await tab.keyboard.press("[");
  assert.equal(await tab.textContent(".path-title b"), first);
  for (const order of ["number", "instructions"]) {
    await tab.selectOption(".paths-pane select", order);
    assert.equal(await tab.textContent(".paths-pane .row.selected .name b"), first.trim());
  }
  await tab.keyboard.press("?");
  assert.ok(await tab.isVisible("dialog"));
  await tab.keyboard.press("Escape");
  for (const theme of ["light", "dark", "auto"]) {
    await tab.keyboard.press("t");
    assert.equal(await tab.evaluate(() => document.documentElement.dataset.theme), theme);
  }
  await tab.keyboard.press("o");
  assert.ok(await tab.isVisible("#overview"));
}

async function checkPage(colorScheme) {
  // The panes draw only what is visible. All lines and blocks of the program fit into this window.
  const tab = await open("report.html", { colorScheme, viewport: { width: 1500, height: 2600 } });
  const [fn] = report.functions;
  await checkAccessibility(tab, `the overview, ${colorScheme}`);
  await checkOverview(tab);
  await checkPaths(tab, fn);
  await checkAccessibility(tab, `the function, ${colorScheme}`);
  await checkSteps(tab, fn);
  await checkStepList(tab, fn);
  await checkNotes(tab, fn);
  await checkMissedFilter(tab, fn);
  await checkLineCounts(tab, fn);
  await checkBounds(tab, fn);
  await checkMargin(tab);
  await checkMarks(tab, fn);
  await checkDeciding(tab, fn);
  await checkMissedPaths(tab);
  await checkIcicle(tab, fn);
  await checkText(tab);
  await checkChords(tab, fn);
  await show(tab, encodeURIComponent(fn.name));
  await checkKeys(tab);
  await tab.context().close();
}

/** The views of loops and of variation have the rows of their JSON reports. */
async function checkStreams(view, list, figure) {
  const tab = await open(`${view}.html`);
  const records = JSON.parse(readFileSync(join(folder, `${view}.json`), "utf8"))[list];
  await tab.evaluate((hash) => (location.hash = hash), `!${view}`);
  const rows = tab.locator(`#${view} [role=option]`);
  assert.equal(await rows.count(), records.length);
  assert.ok(records.length > 0);
  assert.equal(await rows.first().locator("bdi").textContent(), records[0].function);
  const detail = await tab.textContent(`#${view} .detail-body`);
  assert.ok(detail.includes(figure(records[0])), detail);
  await checkAccessibility(tab, view);
  await tab.locator(`#${view} .detail-body button`).first().click();
  assert.ok((await tab.textContent(".function-title")).startsWith(records[0].function));
  await tab.context().close();
}

const json = (file) => JSON.parse(readFileSync(join(folder, file), "utf8"));

/** The name of a terminal of a JSON answer, as the page has it. */
const nameOf = ({ path, left, missing }) =>
  path
    ? `${path.name} p${path.id}`
    : missing
      ? "missing events"
      : `left ${left} ${left === 1 ? "frame" : "frames"}`;

/** The view of traces: its numbers, a window of events, hot subpaths, and the grammar. */
async function checkTrace() {
  const tab = await open("trace.html");
  const [stats] = json("trace-stats.json").streams;
  const [hot] = json("trace-hot.json").streams;
  const [cat] = json("trace-cat.json").streams;
  await tab.evaluate(() => (location.hash = "!traces"));
  await tab.waitForSelector("#traces:not([hidden])");
  const about = await tab.textContent(".trace-about");
  for (const [number, noun] of [
    [stats.events, "events"],
    [stats.answer.paths, "path executions"],
    [stats.answer.instructions, "instructions"],
    [stats.answer.rules, "rules"],
    [stats.answer.symbols, "symbols"],
  ])
    assert.ok(about.includes(`${grouped(number)} ${noun}`), `${noun}: ${about}`);

  // The shares of the rows are those of the functions in the report of counts.
  const label = await tab.getAttribute(".timeline-track canvas", "aria-label");
  assert.match(label, new RegExp(`^Events 0 to ${grouped(stats.events - 1)}: .*sort \\d+\\.\\d %`));
  await checkAccessibility(tab, "the trace");

  // Hot subpaths: counts, and as many occurrences in the timeline.
  const rows = tab.locator(".hot [role=option]");
  const [first] = hot.answer.sequences;
  assert.equal(await tab.textContent(".hot h2 .count"), grouped(hot.answer.found));
  await rows.first().click();
  const detail = await tab.textContent(".hot-detail");
  assert.ok(detail.includes(`Ran ${grouped(first.count)} times`), detail);
  const listed = await tab.$$eval(".sequence bdi", (all) => all.map((each) => each.textContent));
  assert.deepEqual(
    listed,
    first.terminals.map((id) => nameOf(hot.terminals[id])),
  );
  const marks = await tab.$$eval(".mark-row", (all) => all.map((each) => each.title));
  hot.answer.sequences
    .slice(0, 3)
    .forEach(({ count }, index) =>
      assert.equal(
        marks[index],
        `hot subpath ${index + 1}: ends ${grouped(count)} times in this window`,
      ),
    );

  // The events of a window are those of `trace cat`.
  await tab.evaluate(() => (location.hash = "!traces/0/1000-1200"));
  await tab.waitForFunction(() =>
    /^events 1,000/.test(document.querySelector(".trace-range").textContent),
  );
  const events = [];
  for (let row = 0; row < 200; row += 5) {
    await tab.$eval(".events .rows", (list, top) => (list.scrollTop = top), row * 28);
    await tab.waitForFunction((row) => document.querySelector(`.events [data-row="${row}"]`), row);
    const found = await tab.$$eval(".events [role=option]", (all) =>
      all.map((each) => [Number(each.dataset.row), each.querySelector("bdi").textContent]),
    );
    for (const [index, name] of found) events[index] = name;
  }
  const expected = cat.answer.sequence.map((id) => nameOf(cat.terminals[id]));
  assert.deepEqual(events.slice(0, 200), expected);

  // Zoom with keys, and go to an occurrence of the hot subpath.
  await tab.focus(".timeline-track");
  await tab.keyboard.press("+");
  assert.match(await tab.textContent(".trace-range"), /^events 1,075 to 1,124$/);
  await tab.keyboard.press("ArrowRight");
  assert.match(await tab.textContent(".trace-range"), /^events 1,08[78] to /);
  await tab.keyboard.press("0");
  assert.match(await tab.textContent(".trace-range"), /^events 0 to /);
  await tab.locator(".hot-detail button", { hasText: "Show the next place" }).click();
  const selected = Number(
    (await tab.textContent(".events .row.selected .number")).replaceAll(",", ""),
  );
  const around = await tab.$$eval(".events [role=option]", (all) =>
    all.map((each) => [
      Number(each.querySelector(".number").textContent.replaceAll(",", "")),
      each.querySelector("bdi").textContent,
    ]),
  );
  const place = around.filter(([at]) => at >= selected && at < selected + first.terminals.length);
  assert.deepEqual(
    place.map(([, name]) => name).slice(0, place.length),
    listed.slice(0, place.length),
  );
  assert.ok(place.length > 0);

  // The grammar: the start rule stands for all events, and a rule has a row in the timeline.
  assert.ok(
    (await tab.textContent(".rules-about")).startsWith(
      `S stands for ${grouped(stats.events)} events and occurs 1 time.`,
    ),
  );
  await tab.locator(".rules [role=option]").first().click();
  assert.match(await tab.textContent(".rules-about"), /^R\d+ stands for/);
  assert.ok((await tab.locator(".rule-node").count()) > 2);
  assert.ok((await tab.$$eval(".mark-row", (all) => all.at(-1).textContent)).startsWith("R"));
  await checkAccessibility(tab, "the trace, zoomed");
  await tab.locator(".path-link").first().click();
  assert.ok(await tab.isVisible("#function"));
  assert.ok(
    (await tab.textContent(".function-title")).startsWith(
      nameOf(hot.terminals[first.terminals[0]]).split(" ")[0],
    ),
  );
  await tab.context().close();
}

async function checkPhases() {
  const tab = await open("trace.html");
  const report = json("phases.json");
  await tab.evaluate(() => (location.hash = "!phases"));
  const rows = tab.locator(".phases [role=option] .name .long-name");
  await rows.first().waitFor();
  assert.ok(report.phases.length > 1);
  const segments = await tab.getAttribute(".phase-order", "aria-label");
  const order = report.phases
    .flatMap(({ phase, segments }) => segments.map(({ from }) => [from, phase]))
    .sort(([a], [b]) => a - b)
    .map(([, phase]) => phase);
  assert.equal(segments, `The phases in order: ${order.join(" ")}`);
  for (const [index, { phase, functions }] of report.phases.entries()) {
    await tab.locator(".phases [role=option]").nth(index).click();
    assert.equal(
      await tab.locator(".phases .panel h2").nth(2).textContent(),
      `Functions of phase ${phase}, by instructions`,
    );
    const listed = await tab.$$eval(".phases .panel:nth-of-type(3) [role=option]", (all) =>
      all.map((each) => [
        each.querySelector("bdi").textContent,
        each.querySelector(".share-cell").title,
      ]),
    );
    assert.deepEqual(
      listed,
      functions.map(({ function: name, instructions }) => [name, grouped(instructions)]),
    );
  }
  const signals = await tab.$$eval(".phases tbody tr", (all) =>
    all.map((row) => [...row.querySelectorAll("td")].slice(0, 4).map((cell) => cell.textContent)),
  );
  assert.deepEqual(
    signals,
    report.detectors.map((each) =>
      [each.signals, each.found, each.missed, each.false_alarms].map(grouped),
    ),
  );
  await checkAccessibility(tab, "phases");
  await tab.locator(".phases .panel:nth-of-type(3) [role=option]").first().click();
  assert.ok(await tab.isVisible("#function"));
  await tab.context().close();
}

async function checkSamples() {
  const tab = await open("samples.html");
  const report = json("samples.json");
  await tab.evaluate(() => (location.hash = "!samples"));
  const rows = tab.locator(".samples .panel:nth-of-type(2) [role=option]");
  await rows.first().waitFor();
  const facts = await tab.textContent(".samples-head");
  assert.ok(facts.includes(`${grouped(report.samples)} samples`), facts);
  const listed = await tab.$$eval(".samples .panel:nth-of-type(2) [role=option]", (all) =>
    all.map((each) => [
      each.querySelector("bdi").textContent,
      each.querySelector(".number").textContent,
    ]),
  );
  assert.ok(listed.length > 0);
  assert.deepEqual(
    listed,
    report.functions.slice(0, listed.length).map(({ name, samples }) => [name, grouped(samples)]),
  );
  const known = report.functions.findIndex(({ blocks }) => blocks.length > 0);
  await rows.nth(known).click();
  const blocks = await tab.$$eval(".samples .panel:nth-of-type(3) .row", (all) =>
    all.map((each) => [
      each.querySelector("bdi").textContent,
      each.querySelector(".number").textContent,
    ]),
  );
  assert.deepEqual(
    blocks,
    report.functions[known].blocks.map(({ block, samples }) => [`b${block}`, grouped(samples)]),
  );
  await checkAccessibility(tab, "samples");
  await tab.locator(".samples .detail-body button").click();
  assert.ok((await tab.textContent(".function-title")).startsWith(report.functions[known].name));
  assert.ok((await tab.textContent(".function-title")).includes("≈"));
  await tab.context().close();
}

/** A page with a baseline: functions, paths, edges, and lines have the counts of both runs. */
async function checkComparison() {
  const tab = await open("compared.html", { viewport: { width: 1500, height: 2600 } });
  const overlap = json("overlap.json");
  const both = (now, before) => `${grouped(now)} times, ${grouped(before)} in the baseline`;
  await checkAccessibility(tab, "the overview of a comparison");
  const functions = await tab.$$eval("#overview .panel:nth-of-type(2) [role=option]", (all) =>
    all.map((row) => [
      row.querySelector("bdi").textContent,
      row.querySelector(".change").title,
      row.querySelector(".share-cell").textContent,
    ]),
  );
  for (const { name, a, b } of overlap.functions) {
    const [, title] = functions.find(([each]) => each === name);
    assert.equal(
      title,
      `${grouped(b.instructions)} instructions, ${grouped(a.instructions)} in the baseline`,
    );
  }
  assert.deepEqual(
    functions.filter(([, , share]) => share === "gone").map(([name]) => name),
    overlap.a.alone.map(({ name }) => name),
  );
  assert.equal(functions.length, overlap.functions.length + overlap.a.alone.length);
  const paths = await tab.$$eval("#overview .panel:nth-of-type(3) [role=option]", (all) =>
    all.map((row) => [
      row.querySelector("bdi").textContent,
      row.querySelector(".detail").textContent.split(" ")[0],
      row.querySelector(".change").title,
    ]),
  );
  const changed = overlap.differences.filter(({ a, b }) => a !== b);
  for (const { name, path, a, b } of changed) {
    const row = paths.find(([fn, number]) => fn === name && number === `p${path}`);
    assert.equal(row?.[2], both(b, a), `${name} p${path}`);
  }
  assert.equal(paths.length, changed.length);
  await tab.selectOption(".overview-order", "share");
  const first = await tab.textContent("#overview .panel:nth-of-type(2) [role=option] bdi");
  assert.equal(first, report.functions[0].name);
  const missed = "#overview .panel:nth-of-type(4)";
  assert.ok((await tab.textContent(`${missed} h2`)).startsWith("Paths that edge counts miss most"));
  assert.ok((await tab.locator(`${missed} [role=option] .missed`).count()) > 1);

  const [fn] = report.functions;
  const before = json("before.json").functions.find(({ name }) => name === fn.name);
  await show(tab, encodeURIComponent(fn.name));
  const countOf = (list, id) => list.find((each) => each.id === id)?.count ?? 0;
  const rows = await tab.$$eval(".paths-pane .row", (all) =>
    all.map((row) => [row.querySelector("b").textContent, row.querySelector(".change").title]),
  );
  for (const [path, title] of rows) {
    const id = Number(path.slice(1));
    assert.equal(title, both(countOf(fn.paths, id), countOf(before.paths, id)), path);
  }
  const edges = await tab.$$eval(".graph .edge title", (all) =>
    all.map((each) => each.textContent),
  );
  assert.ok(edges.length > 8);
  const sum = (list, from, to) =>
    list.edges
      .filter((edge) => edge.from === from && edge.to === to)
      .reduce((total, { count }) => total + count, 0);
  for (const title of edges) {
    const [, from, to] = /^b(\d+) to b(\d+): /.exec(title).map(Number);
    const counts = both(sum(fn, from, to), sum(before, from, to));
    assert.ok(title.endsWith(`taken ${counts}`), `${title}; ${counts}`);
  }
  const known = new Map(json("before-lines.json").lines.map(({ line, count }) => [line, count]));
  const margin = await tab.$$eval(".source-pane .row", (all) =>
    all.map((row) => [
      Number(row.querySelector(".line-number")?.textContent),
      row.querySelector(".margin")?.title,
    ]),
  );
  const now = new Map(lines.map(({ line, count }) => [line, count]));
  // The lines of `search` are the same in both versions.
  const own = margin.filter(([line, title]) => line >= 10 && line < 26 && title);
  assert.ok(own.length > 5);
  for (const [line, title] of own) assert.equal(title, both(now.get(line), known.get(line)), line);
  await checkAccessibility(tab, "a function of a comparison");
  await tab.context().close();

  // Edges are compared if only one of the runs has paths.
  const mixed = await open("mixed.html");
  assert.equal(await mixed.locator("#overview .panel").count(), 1);
  const same = await mixed.$$eval("#overview .change", (all) =>
    all.map((each) => each.textContent),
  );
  assert.ok(same.length > 3 && same.every((text) => text === "same"), same.join());
  await mixed.context().close();
}

/** The views of loops and of variation have the figures of the baseline. */
async function checkComparedStreams() {
  const loops = json("before-loops.json").loops;
  let tab = await open("loops-compared.html");
  await tab.evaluate(() => (location.hash = "!loops"));
  for (const [row, { function: name, head }] of json("loops.json").loops.entries()) {
    await tab.locator("#loops [role=option]").nth(row).click();
    const before = loops.find((each) => each.function === name && each.head.block === head.block);
    const detail = await tab.textContent("#loops .baseline");
    const iterations = `${grouped(before.iterations)} iteration${before.iterations === 1 ? "" : "s"}`;
    assert.ok(detail.startsWith(`In the baseline: ${iterations}`), detail);
    assert.ok(detail.includes(`entered ${times(before.executions)}`), detail);
  }
  await checkAccessibility(tab, "loops of two runs");
  await tab.context().close();

  const paths = json("before-variation.json").variation;
  tab = await open("variation-compared.html");
  await tab.evaluate(() => (location.hash = "!variation"));
  let found = 0;
  for (const [row, now] of json("variation.json").variation.entries()) {
    await tab.locator("#variation [role=option]").nth(row).click();
    const before = paths.find(
      ({ path_name, function: name }) => path_name === now.path_name && name === now.function,
    );
    const detail = await tab.textContent("#variation .figures");
    const samples = `samples${grouped(now.samples)} (${before ? grouped(before.samples) : "not"} in`;
    assert.ok(detail.includes(samples), detail);
    found += before ? 1 : 0;
  }
  assert.ok(found > 0);
  await checkAccessibility(tab, "variation of two runs");
  await tab.context().close();
}

/** The views of traces and phases have the figures of the baseline. */
async function checkComparedTraces() {
  let tab = await open("trace-compared.html");
  const [now] = json("trace-stats.json").streams;
  const [before] = json("before-stats.json").streams;
  await tab.evaluate(() => (location.hash = "!traces"));
  await tab.waitForSelector("#traces:not([hidden])");
  const about = await tab.textContent(".trace-about .baseline");
  for (const [number, noun] of [
    [before.events, "events"],
    [before.answer.paths, "path executions"],
    [before.answer.instructions, "instructions"],
  ])
    assert.ok(about.includes(`${grouped(number)} ${noun} (`), `${noun}: ${about}`);
  assert.ok(now.events > before.events);
  // The sums of functions are those of the reports of counts.
  const sums = (file) =>
    new Map(
      json(file).functions.map(({ name, paths }) => [
        name,
        paths.reduce((sum, { count, instructions }) => sum + count * instructions, 0),
      ]),
    );
  const [own, others] = [sums("traced-report.json"), sums("before-report.json")];
  const titles = await tab.$$eval(".timeline-name:not(.mark-row)", (all) =>
    all.map((each) => each.title).filter((title) => title.includes("baseline")),
  );
  assert.ok(titles.length >= 4, titles.join());
  for (const title of titles) {
    const name = title.split(":")[0];
    assert.equal(
      title,
      `${name}: ${grouped(own.get(name))} instructions in the trace, ` +
        `${grouped(others.get(name))} in the baseline`,
    );
  }
  await checkAccessibility(tab, "the trace of two runs");

  const report = json("phases.json");
  const phases = json("before-phases.json");
  await tab.evaluate(() => (location.hash = "!phases"));
  await tab.waitForSelector("#phases:not([hidden])");
  const totals = await tab.textContent(".phase-head .baseline");
  assert.ok(totals.includes(`${grouped(phases.phases.length)} phase`), totals);
  const order = phases.phases
    .flatMap(({ phase, segments }) => segments.map(({ from }) => [from, phase]))
    .sort(([a], [b]) => a - b)
    .map(([, phase]) => phase);
  assert.equal(
    await tab.getAttribute(".phase-order.before", "aria-label"),
    `The phases of the baseline in order: ${order.join(" ")}`,
  );
  for (const [index, { functions }] of report.phases.entries()) {
    await tab.locator(".phases [role=option]").nth(index).click();
    const detail = await tab.locator(".phases [role=option] .detail").nth(index).textContent();
    const letter = / · baseline phase (\w), /.exec(detail)[1];
    const other = phases.phases.find(({ phase }) => phase === letter);
    const titles = await tab.$$eval(".phases .panel:nth-of-type(3) .change", (all) =>
      all.map((each) => each.title),
    );
    const count = (list, name) => list.find((each) => each.function === name)?.instructions ?? 0;
    assert.deepEqual(
      titles,
      functions.map(
        ({ function: name, instructions }) =>
          `${grouped(instructions)} instructions, ` +
          `${grouped(count(other.functions, name))} in the baseline`,
      ),
    );
  }
  await checkAccessibility(tab, "the phases of two runs");
  await tab.context().close();

  // A run is the same as itself.
  tab = await open("trace-same.html");
  await tab.evaluate(() => (location.hash = "!traces"));
  await tab.waitForSelector("#traces:not([hidden])");
  const changes = await tab.$$eval("#traces .change", (all) => all.map((each) => each.textContent));
  assert.ok(changes.length > 5 && changes.every((text) => text === "same"), changes.join());
  const hot = await tab.$$eval(".hot [role=option] .number", (all) =>
    all.map((each) => each.title),
  );
  assert.ok(hot.some((title) => title.endsWith("in the baseline")));
  await tab.evaluate(() => (location.hash = "!phases"));
  const alike = await tab.$$eval(".phases .panel:nth-of-type(2) .detail", (all) =>
    all.map((each) => each.textContent).filter((text) => text.includes("baseline")),
  );
  assert.equal(alike.length, report.phases.length);
  for (const [index, text] of alike.entries()) {
    const { phase } = report.phases[index];
    assert.ok(text.startsWith(`same · baseline phase ${phase}, 100.0 % alike`), text);
  }
  await tab.context().close();
}

/** A page without functions that ran has an overview and no view of a function. */
async function checkNothingRan() {
  const tab = await open("never.html");
  const tabs = await tab.$$eval("nav .tab", (buttons) => buttons.map((each) => each.textContent));
  assert.deepEqual(tabs, ["Overview"]);
  assert.ok((await tab.textContent("#overview")).includes("No function ran."));
  await tab.fill("#search", "never");
  assert.equal(await tab.locator("#overview [role=option] bdi").textContent(), "never");
  const count = await tab.textContent("#functions-title .count");
  assert.equal(count, "0 ran, 1 never ran");
  await tab.evaluate(() => (location.hash = "never/p0"));
  assert.ok(await tab.isVisible("#overview"));
  await tab.context().close();
}

/** A page of edge counts has no columns and panes of paths. */
async function checkEdges() {
  const tab = await open("edges.html");
  assert.equal(await tab.locator("#overview .panel").count(), 1);
  const names = await tab.$$eval("#overview .columns span", (all) =>
    all.map((each) => each.textContent),
  );
  assert.deepEqual(names, ["of the run", "calls", "function"]);
  await tab.locator("#overview [role=option]").first().click();
  assert.equal(await tab.textContent(".path-title"), "Edges were counted, so no path is shown.");
  assert.ok(!(await tab.isVisible(".paths-pane")));
  assert.ok(await tab.isVisible(".block"));
  await checkAccessibility(tab, "edges");
  await tab.context().close();
}

async function checkNarrow() {
  const tab = await open("report.html", { viewport: { width: 420, height: 800 } });
  await tab.locator("#overview [role=option]").first().click();
  const isTooWide = await tab.evaluate(() => document.documentElement.scrollWidth > innerWidth);
  assert.ok(!isTooWide, "the narrow page does not scroll sideways");
  await tab.context().close();
}

try {
  await checkPage("light");
  await checkPage("dark");
  await checkRows(report.functions[0]);
  await checkZoom(report.functions[0]);
  await checkNames();
  await checkChangedSource();
  await checkNarrow();
  await checkNothingRan();
  await checkEdges();
  await checkStreams("loops", "loops", ({ starts }) => `${grouped(starts)} turns`);
  await checkStreams("variation", "variation", ({ samples }) => `samples${grouped(samples)}`);
  await checkTrace();
  await checkPhases();
  await checkSamples();
  await checkComparison();
  await checkComparedStreams();
  await checkComparedTraces();
  assert.deepEqual(faults, []);
} finally {
  await browser.close();
}
