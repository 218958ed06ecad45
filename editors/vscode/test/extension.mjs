// Tests the bundled extension on a recorded run: `WORKSPACE` has app.c and the run
// target/holloway/runs/*. `HOLLOWAY` is the program. tests/tests/vscode.rs starts the tests.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import Module, { createRequire } from "node:module";
import * as path from "node:path";
import { beforeEach, test } from "node:test";
import { fileURLToPath } from "node:url";

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const { HOLLOWAY, WORKSPACE } = process.env;
const SOURCE = path.join(WORKSPACE, "app.c");

const resolve = Module._resolveFilename;
Module._resolveFilename = (name, ...rest) =>
  name === "vscode" ? here("vscode.cjs") : resolve(name, ...rest);
const require = createRequire(import.meta.url);
const { state } = require("./vscode.cjs");
const subscriptions = [];
require("../dist/extension.js").activate({ subscriptions });

const report = (...words) =>
  JSON.parse(
    execFileSync(HOLLOWAY, ["report", ...words, "--format", "json"], {
      cwd: WORKSPACE,
    }),
  );
const documentOf = (file) => ({ uri: { fsPath: file } });
/** The number of the line of app.c that has a text. */
const lineOf = (text) =>
  readFileSync(SOURCE, "utf8")
    .split("\n")
    .findIndex((line) => line.includes(text)) + 1;
const search = () =>
  report("--function", "^search$", "latest").functions.find(
    ({ name }) => name === "search",
  );

beforeEach(async () => {
  Object.assign(state, { coverage: [], errors: [], editors: [], opened: [] });
  state.configuration.executable = HOLLOWAY;
  await state.profile.run();
  assert.deepEqual(state.errors, []);
});

test("the coverage is that of the report", async () => {
  const lines = report("--view", "lines", "latest").lines.filter(
    ({ file }) => file === SOURCE,
  );
  const coverage = state.coverage.find(({ uri }) => uri.fsPath === SOURCE);
  assert.equal(coverage.statementCoverage.total, lines.length);
  assert.equal(
    coverage.statementCoverage.covered,
    lines.filter(({ count }) => count > 0).length,
  );
  const details = await state.profile.loadDetailedCoverage(undefined, coverage);
  const statements = details.filter((detail) => !("name" in detail));
  assert.deepEqual(
    statements.map(({ executed, location }) => ({
      line: location.line + 1,
      count: executed,
    })),
    lines.map(({ line, count }) => ({ line, count })),
  );
  const never = details.find(({ name }) => name === "never");
  assert.equal(never.executed, 0);
  const decision = statements.find(
    ({ location }) => location.line + 1 === lineOf("& 1"),
  );
  const ways = decision.branches.map(({ executed }) => executed).sort();
  assert.deepEqual(ways, [40000, 60000]);
});

test("the line above a function names its hottest path", () => {
  const lenses = state.lenses.provideCodeLenses(documentOf(SOURCE));
  const of = (line) =>
    lenses.find(({ range }) => range.start.line + 1 === line);
  const lens = of(lineOf("int search("));
  const { paths, possible_paths } = search();
  assert.match(lens.command.title, /^1 call · /);
  assert.ok(
    lens.command.title.includes(`${paths.length} of ${possible_paths} paths`),
  );
  const [, shown] = lens.command.arguments;
  const weight = ({ count, instructions }) => count * instructions;
  assert.equal(weight(shown), Math.max(...paths.map(weight)));
  assert.equal(of(lineOf("int never(")), undefined, "it never ran");
  state.configuration.codeLens = false;
  assert.deepEqual(state.lenses.provideCodeLenses(documentOf(SOURCE)), []);
  delete state.configuration.codeLens;
  assert.deepEqual(
    state.lenses.provideCodeLenses(documentOf("/elsewhere/app.c")),
    [],
  );
});

test("a path's lines are marked in its order", async () => {
  const [first] = state.tree.getChildren();
  const item = state.tree.getTreeItem(first);
  assert.match(item.label, /^\d+\.\d %  \w+/);
  await state.commands.get("holloway.showPath")(...item.command.arguments);
  const [editor] = state.editors;
  assert.equal(editor.document.uri.fsPath, SOURCE);
  // Each line of the path is marked once, with its steps.
  const lines = first.path.places.map((place) =>
    Number(place.split(":").at(-2)),
  );
  const marked = editor.marks.map(({ range }) => range.start.line + 1);
  assert.deepEqual(new Set(marked), new Set(lines));
  assert.equal(marked.length, new Set(lines).size);
  const steps = editor.marks.flatMap(({ renderOptions }) =>
    renderOptions.after.contentText
      .replace(/^steps? /, "")
      .split(", ")
      .map(Number),
  );
  assert.deepEqual(
    steps.sort((a, b) => a - b),
    steps.map((_, index) => index + 1),
  );
  assert.equal(editor.selection.start.line + 1, lines[0]);
});

test("the list has the paths with the most instructions first", () => {
  const listed = state.tree.getChildren();
  const total = report("latest").totals.instructions;
  const shares = listed.map(({ share }) => share);
  assert.deepEqual(
    shares,
    [...shares].sort((a, b) => b - a),
  );
  for (const { path: shown, share } of listed) {
    assert.equal(share, (shown.count * shown.instructions) / total);
  }
});

test("the page opens in the browser", async () => {
  await state.commands.get("holloway.openPage")();
  assert.deepEqual(state.errors, []);
  assert.ok(
    readFileSync(state.opened[0], "utf8").startsWith("<!doctype html>"),
  );
});

test("the page of a run on another machine comes from a server", async () => {
  state.remoteName = "ssh-remote";
  await state.commands.get("holloway.openPage")();
  delete state.remoteName;
  assert.deepEqual(state.errors, []);
  const [address] = state.opened;
  const answer = await fetch(address);
  assert.ok((await answer.text()).startsWith("<!doctype html>"));
  assert.equal((await fetch(new URL("/", address))).status, 404);
  subscriptions.forEach((subscription) => subscription.dispose?.());
});

test("a page that no browser opens is named", async () => {
  state.hasBrowser = false;
  await state.commands.get("holloway.openPage")();
  state.hasBrowser = true;
  assert.match(
    state.errors.at(-1),
    /no browser opened the page: open \/.*html$/,
  );
});

test("a run can be hidden", async () => {
  await state.commands.get("holloway.hideRun")();
  assert.equal(state.context["holloway.hasRun"], false);
  assert.deepEqual(state.tree.getChildren(), []);
  assert.deepEqual(state.lenses.provideCodeLenses(documentOf(SOURCE)), []);
});

test("errors are shown", async () => {
  await state.commands.get("holloway.showRun")(path.join(WORKSPACE, "gone"));
  assert.match(
    state.errors.at(-1),
    /^Holloway: holloway: cannot read the run /,
  );
  state.configuration.executable = "no-such-program";
  await state.commands.get("holloway.showRun")("latest");
  assert.match(state.errors.at(-1), /set holloway.executable/);
  // The button opens the setting.
  assert.equal(state.executed.at(-1), "workbench.action.openSettings");
});
