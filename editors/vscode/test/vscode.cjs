// The parts of VS Code that the extension uses, without a window. src/ is checked against the types of
// the real ones.

const { stat } = require("node:fs/promises");

class Position {
  constructor(line, character) {
    Object.assign(this, { line, character });
  }
}
class Range {
  constructor(start, end) {
    Object.assign(this, { start, end });
  }
}
class EventEmitter {
  listeners = [];
  event = (listener) => this.listeners.push(listener);
  fire() {
    this.listeners.forEach((listener) => listener());
  }
  dispose() {}
}
class CodeLens {
  constructor(range, command) {
    Object.assign(this, { range, command });
  }
}
class TreeItem {
  constructor(label) {
    this.label = label;
  }
}
class ThemeColor {
  constructor(id) {
    this.id = id;
  }
}
class TestRunRequest {}
class TestCoverageCount {
  constructor(covered, total) {
    Object.assign(this, { covered, total });
  }
}
class FileCoverage {
  constructor(uri, statementCoverage, branchCoverage, declarationCoverage) {
    Object.assign(this, {
      uri,
      statementCoverage,
      branchCoverage,
      declarationCoverage,
    });
  }
}
class StatementCoverage {
  constructor(executed, location, branches) {
    Object.assign(this, { executed, location, branches });
  }
}
class BranchCoverage {
  constructor(executed, location, label) {
    Object.assign(this, { executed, location, label });
  }
}
class DeclarationCoverage {
  constructor(name, executed, location) {
    Object.assign(this, { name, executed, location });
  }
}

/** What the extension did: the tests read it. */
const state = {
  commands: new Map(),
  coverage: [],
  configuration: {},
  context: {},
  editors: [],
  errors: [],
  executed: [],
  hasBrowser: true,
  opened: [],
  profile: undefined,
  remoteName: undefined,
  lenses: undefined,
  tree: undefined,
};

const file = (path) => ({ fsPath: path, scheme: "file" });

module.exports = {
  state,
  Position,
  Range,
  EventEmitter,
  CodeLens,
  TreeItem,
  ThemeColor,
  TestRunRequest,
  TestCoverageCount,
  FileCoverage,
  StatementCoverage,
  BranchCoverage,
  DeclarationCoverage,
  TestRunProfileKind: { Coverage: 3 },
  Uri: { file, parse: (address) => ({ address }) },
  env: {
    get remoteName() {
      return state.remoteName;
    },
    async openExternal(uri) {
      state.opened.push(uri.address ?? uri.fsPath);
      return state.hasBrowser;
    },
  },
  commands: {
    registerCommand: (name, action) => state.commands.set(name, action),
    executeCommand: async (name, key, value) => {
      state.executed.push(name);
      state.context[key] = value;
    },
  },
  languages: {
    registerCodeLensProvider: (_where, provider) => (state.lenses = provider),
  },
  tests: {
    createTestController: () => ({
      createRunProfile: (_name, _kind, run) => (state.profile = { run }),
      createTestRun: () => ({
        addCoverage: (coverage) => state.coverage.push(coverage),
        end() {},
      }),
      dispose() {},
    }),
  },
  window: {
    get visibleTextEditors() {
      return state.editors;
    },
    createTextEditorDecorationType: () => ({ dispose() {} }),
    onDidChangeVisibleTextEditors: () => ({ dispose() {} }),
    registerTreeDataProvider: (_name, tree) => (state.tree = tree),
    showErrorMessage: async (message, ...buttons) => {
      state.errors.push(message);
      return buttons[0];
    },
    showWarningMessage: (message) => state.errors.push(message),
    async showTextDocument(uri, { selection }) {
      const editor = {
        document: { uri },
        selection,
        setDecorations(_type, marks) {
          editor.marks = marks;
        },
      };
      state.editors = [editor];
    },
  },
  workspace: {
    workspaceFolders: [{ uri: file(process.env.WORKSPACE) }],
    getConfiguration: () => ({
      get: (key, value) => state.configuration[key] ?? value,
    }),
    fs: { stat: (uri) => stat(uri.fsPath) },
  },
};
