// Shows a recorded run in the source: coverage, the hottest paths, and the lines of a path.

import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import * as path from "node:path";

import type { SectionSummary } from "@friedemannsommer/lcov-parser";
import * as vscode from "vscode";

import { PageOpener } from "./page.js";
import {
  type FunctionRecord,
  type PathRecord,
  type Place,
  type RankedPath,
  type StepLine,
  count,
  hottestPath,
  hottestPaths,
  lensText,
  lineList,
  percent,
  shortName,
  stepLines,
  stepText,
} from "./report.js";
import { MissingProgram, type Run, holloway, readRun, runsOf } from "./runs.js";

/** How many paths the list of hottest paths has. */
const LISTED = 50;

/** Called by VS Code. */
export function activate(context: vscode.ExtensionContext): void {
  const shown = new ShownRun();
  const command = (name: string, action: (...words: never[]) => unknown) =>
    vscode.commands.registerCommand(
      `holloway.${name}`,
      async (...words: never[]) => {
        try {
          await action(...words);
        } catch (error) {
          await showError(error as Error);
        }
      },
    );
  context.subscriptions.push(
    shown,
    command("showRun", (directory?: string) => shown.choose(directory)),
    command("hideRun", () => shown.hide()),
    command("openPage", () => shown.openPage()),
    command("showPath", (record: FunctionRecord, path: PathRecord) =>
      shown.showPath(record, path),
    ),
    vscode.languages.registerCodeLensProvider({ scheme: "file" }, shown),
    vscode.window.registerTreeDataProvider("holloway.paths", shown.tree),
    vscode.window.onDidChangeVisibleTextEditors(() => shown.decorate()),
  );
}

/** Shows an error. If the program is missing, a button opens its setting. */
async function showError(error: Error): Promise<void> {
  const open = "Open the Setting";
  const buttons = error instanceof MissingProgram ? [open] : [];
  const pressed = await vscode.window.showErrorMessage(
    `Holloway: ${error.message}`,
    ...buttons,
  );
  if (pressed === open) {
    await vscode.commands.executeCommand(
      "workbench.action.openSettings",
      "holloway.executable",
    );
  }
}

/** The folder of the workspace. */
function workspaceFolder(): string {
  const folder = vscode.workspace.workspaceFolders?.[0];
  if (!folder) {
    throw new Error("open a folder first");
  }
  return folder.uri.fsPath;
}

function executable(): string {
  return vscode.workspace
    .getConfiguration("holloway")
    .get("executable", "holloway");
}

/** The file of a place. Relative names are relative to the workspace. */
function fileUri(file: string): vscode.Uri {
  return vscode.Uri.file(path.resolve(workspaceFolder(), file));
}

/** The run that is shown, and the path whose lines are marked. */
class ShownRun implements vscode.CodeLensProvider, vscode.Disposable {
  readonly tree = new PathTree();
  private readonly pages = new PageOpener();
  private run: Run | undefined;
  /** The lines of the path that is marked. */
  private lines: StepLine[] = [];
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeCodeLenses = this.changed.event;
  private readonly controller = vscode.tests.createTestController(
    "holloway",
    "Holloway",
  );
  private readonly profile = this.controller.createRunProfile(
    "Latest run",
    vscode.TestRunProfileKind.Coverage,
    () => this.showLatest(),
  );
  private readonly mark = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor(
      "editor.findMatchHighlightBackground",
    ),
    overviewRulerColor: new vscode.ThemeColor(
      "editorOverviewRuler.findMatchForeground",
    ),
    after: {
      margin: "0 0 0 2em",
      fontStyle: "italic",
      color: new vscode.ThemeColor("editorCodeLens.foreground"),
    },
  });

  constructor() {
    this.profile.loadDetailedCoverage = async (_run, file) =>
      file instanceof RunCoverage ? file.details() : [];
  }

  dispose(): void {
    this.controller.dispose();
    this.pages.dispose();
    this.mark.dispose();
    this.changed.dispose();
  }

  /** Shows a run that the user chooses. */
  async choose(directory?: string): Promise<void> {
    const folder = workspaceFolder();
    const chosen = directory ?? (await this.ask(folder));
    if (chosen) {
      await this.show(chosen);
      // The view is collapsed at first.
      await vscode.commands.executeCommand("holloway.paths.focus");
    }
  }

  private async ask(folder: string): Promise<string | undefined> {
    const other = "Another directory…";
    const runs = await runsOf(folder);
    const names = runs.map((run) => ({
      label: path.basename(run),
      directory: run,
    }));
    const items = [...names, { label: other, directory: "" }];
    const item = await vscode.window.showQuickPick(items, {
      placeHolder: "A recorded run",
    });
    if (item?.label !== other) {
      return item?.directory;
    }
    const dialog = {
      canSelectFolders: true,
      canSelectFiles: false,
      openLabel: "Show the run",
    };
    const opened = await vscode.window.showOpenDialog(dialog);
    return opened?.[0]?.fsPath;
  }

  private async showLatest(): Promise<void> {
    const [latest] = await runsOf(workspaceFolder());
    if (!latest) {
      throw new Error(
        "no run is recorded: `cargo holloway run --release -- ARGS` records one",
      );
    }
    await this.show(latest);
  }

  private async show(directory: string): Promise<void> {
    this.run = await readRun(executable(), directory, workspaceFolder());
    this.lines = [];
    const [damage] = this.run.report.damage;
    if (damage) {
      vscode.window.showWarningMessage(`Holloway: ${damage}`);
    }
    this.showCoverage(this.run);
    await this.update();
  }

  private showCoverage(run: Run): void {
    const request = new vscode.TestRunRequest(
      undefined,
      undefined,
      this.profile,
    );
    const name = `Holloway: ${path.basename(run.directory)}`;
    const testRun = this.controller.createTestRun(request, name, false);
    for (const file of run.coverage) {
      testRun.addCoverage(new RunCoverage(file));
    }
    testRun.end();
  }

  /** Hides the paths. VS Code has its own command that closes the coverage. */
  async hide(): Promise<void> {
    this.run = undefined;
    this.lines = [];
    await this.update();
  }

  private async update(): Promise<void> {
    this.tree.show(this.run ? hottestPaths(this.run.report, LISTED) : []);
    this.changed.fire();
    this.decorate();
    await vscode.commands.executeCommand(
      "setContext",
      "holloway.hasRun",
      this.run !== undefined,
    );
  }

  /** Writes the page of the run, and opens it in the browser. */
  async openPage(): Promise<void> {
    if (!this.run) {
      throw new Error("show a run first");
    }
    const page = path.join(
      await mkdtemp(path.join(tmpdir(), "holloway-")),
      "report.html",
    );
    const words = ["report", this.run.directory, "--html", page];
    await holloway(executable(), words, workspaceFolder());
    await this.pages.open(page);
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    const enabled = vscode.workspace
      .getConfiguration("holloway")
      .get("codeLens", true);
    if (!this.run || !enabled) {
      return [];
    }
    const inFile = this.run.report.functions.filter(
      (record) =>
        record.line > 0 && fileUri(record.file).fsPath === document.uri.fsPath,
    );
    return inFile.map((record) => {
      const start = new vscode.Position(record.line - 1, 0);
      const hottest = hottestPath(record);
      const command: vscode.Command = hottest
        ? {
            title: lensText(record),
            command: "holloway.showPath",
            arguments: [record, hottest],
          }
        : { title: lensText(record), command: "" };
      return new vscode.CodeLens(new vscode.Range(start, start), command);
    });
  }

  /** Marks the lines of a path, and jumps to its first line with a source. */
  async showPath(record: FunctionRecord, shown: PathRecord): Promise<void> {
    this.lines = stepLines(record, shown);
    const { uri, line } = await firstSource([...this.lines, record]);
    const start = new vscode.Position(Math.max(line - 1, 0), 0);
    const selection = new vscode.Range(start, start);
    await vscode.window.showTextDocument(uri, {
      selection,
      preserveFocus: false,
    });
    this.decorate();
  }

  /** Marks the lines of the path in all visible editors. */
  decorate(): void {
    for (const editor of vscode.window.visibleTextEditors) {
      const inFile = this.lines.filter(
        ({ file }) => fileUri(file).fsPath === editor.document.uri.fsPath,
      );
      const marks = inFile.map(({ line, steps }) => {
        const start = new vscode.Position(line - 1, 0);
        const contentText = stepText(steps);
        return {
          range: new vscode.Range(start, start),
          renderOptions: { after: { contentText } },
        };
      });
      editor.setDecorations(this.mark, marks);
    }
  }
}

/** The first place whose file is on this machine. */
async function firstSource(
  places: Place[],
): Promise<{ uri: vscode.Uri; line: number }> {
  const missing = new Set<string>();
  for (const { file, line } of places) {
    if (missing.has(file)) {
      continue;
    }
    try {
      const uri = fileUri(file);
      await vscode.workspace.fs.stat(uri);
      return { uri, line };
    } catch {
      missing.add(file);
    }
  }
  throw new Error(
    `the source of this path is not on this machine: ${[...missing].join(", ")}`,
  );
}

/** The coverage of a file. Its details are made when VS Code asks for them. */
class RunCoverage extends vscode.FileCoverage {
  constructor(private readonly file: SectionSummary) {
    const part = ({
      hit,
      instrumented,
    }: {
      hit: number;
      instrumented: number;
    }) => new vscode.TestCoverageCount(hit, instrumented);
    super(
      fileUri(file.path),
      part(file.lines),
      file.branches.instrumented > 0 ? part(file.branches) : undefined,
      part(file.functions),
    );
  }

  details(): vscode.FileCoverageDetail[] {
    const ways = new Map<number, vscode.BranchCoverage[]>();
    for (const { line, branch, hit } of this.file.branches.details) {
      const of = ways.get(line) ?? [];
      of.push(new vscode.BranchCoverage(hit, start(line), `way ${branch}`));
      ways.set(line, of);
    }
    const lines = this.file.lines.details.map(
      ({ line, hit }) =>
        new vscode.StatementCoverage(hit, start(line), ways.get(line) ?? []),
    );
    const functions = this.file.functions.details.map(
      ({ name, line, hit }) =>
        new vscode.DeclarationCoverage(name, hit, start(line)),
    );
    return [...lines, ...functions];
  }
}

/** The beginning of a line that counts from 1. */
function start(line: number): vscode.Position {
  return new vscode.Position(Math.max(line - 1, 0), 0);
}

/** The list of the hottest paths. */
class PathTree implements vscode.TreeDataProvider<RankedPath> {
  private paths: RankedPath[] = [];
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changed.event;

  show(paths: RankedPath[]): void {
    this.paths = paths;
    this.changed.fire();
  }

  getChildren(parent?: RankedPath): RankedPath[] {
    return parent ? [] : this.paths;
  }

  getTreeItem(ranked: RankedPath): vscode.TreeItem {
    const { function: record, path: shown, share } = ranked;
    const item = new vscode.TreeItem(
      `${percent(share)}  ${shortName(record.name)}`,
    );
    item.description = lineList(record, shown);
    item.tooltip = `${record.name}\n${count(shown.count)} executions of ${count(shown.instructions)} instructions\n${item.description}`;
    item.command = {
      title: "Show the Path",
      command: "holloway.showPath",
      arguments: [record, shown],
    };
    return item;
  }
}
