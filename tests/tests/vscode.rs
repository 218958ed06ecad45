//! Tests the extension for Visual Studio Code (editors/vscode): its types and format, what it does
//! with a recorded run, and its package.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::Command;

use holloway_tests::tool::{holloway, holloway_command, run_ok, scratch};

/// A loop with two decisions, and a function that never runs.
const SOURCE: &str = r#"
#include <stdio.h>
static __attribute__((noinline)) int odd(int x) { __asm__ volatile("" : "+r"(x)); return x + 1; }
static __attribute__((noinline)) int even(int x) { __asm__ volatile("" : "+r"(x)); return x + 2; }
__attribute__((noinline)) int search(const char *kinds, int n) {
    int sum = 0;
#pragma clang loop unroll(disable)
    for (int i = 0; i < n; i++) {
        if (kinds[i] & 1)
            sum = odd(sum);
        else
            sum = even(sum);
        if (kinds[i] & 2)
            sum = odd(sum);
        else
            sum = even(sum);
    }
    return sum;
}
__attribute__((noinline, used)) int never(int x) { return x > 3 ? odd(x) : even(x); }
int main(void) {
    static char kinds[100000];
    for (int i = 0; i < 100000; i++)
        kinds[i] = i % 10 < 3 ? 3 : i % 10 < 6 ? 1 : 2;
    printf("%d\n", search(kinds, 100000));
    return 0;
}
"#;

/// The folder of the extension.
fn extension() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../editors/vscode")
}

/// A command in the folder of the extension, whose packages `cargo xtask test` installs.
fn node(words: &[&str]) -> Command {
    let folder = extension();
    assert!(
        folder.join("node_modules").is_dir(),
        "no packages in {}: run `npm ci` there, or `cargo xtask test`",
        folder.display()
    );
    let mut command = Command::new("node");
    command.args(words).current_dir(folder);
    command
}

#[test]
fn the_extension_shows_a_run() {
    run_ok(&mut node(&["build.mjs"])).unwrap();
    run_ok(&mut node(&["node_modules/typescript/bin/tsc", "--noEmit"])).unwrap();
    let prettier = [
        "node_modules/prettier/bin/prettier.cjs",
        "--check",
        "src",
        "test",
    ];
    run_ok(&mut node(&prettier)).unwrap();
    let scratch = scratch("vscode").unwrap();
    let workspace = scratch.path();
    std::fs::write(workspace.join("app.c"), SOURCE).unwrap();
    let command = |words: &[&str]| {
        let mut command = holloway_command(words);
        run_ok(command.current_dir(workspace)).unwrap()
    };
    let source = workspace.join("app.c");
    command(&["cc", "-O2", "-g", source.to_str().unwrap(), "-o", "app"]);
    command(&["run", "--no-report", "--", "./app"]);
    let mut tests = node(&["--test", "test/extension.mjs"]);
    tests
        .env("WORKSPACE", workspace)
        .env("HOLLOWAY", holloway());
    run_ok(&mut tests).unwrap();
    let package = workspace.join("holloway.vsix");
    let mut vsce = node(&[
        "node_modules/@vscode/vsce/vsce",
        "package",
        "--no-dependencies",
        "--skip-license",
        "--allow-missing-repository",
    ]);
    run_ok(vsce.arg("-o").arg(&package)).unwrap();
    assert!(package.is_file());
    let list = ["node_modules/@vscode/vsce/vsce", "ls", "--no-dependencies"];
    let listed = run_ok(&mut node(&list)).unwrap().text();
    let mut files: Vec<&str> = listed.lines().collect();
    files.sort_unstable();
    assert_eq!(files, ["README.md", "dist/extension.js", "package.json"]);
}
