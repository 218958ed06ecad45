//! Tries the extension for Visual Studio Code in VS Code's own window: `tests/editor/window.mjs`
//! drives it in headless Chromium and compares it with the report.
//!
//! VS Code comes with code-server, which runs its window in a browser, and with a Node of its own.
//! They take 800 MB. That is why the tests use a stand-in for VS Code, and why this is a command of
//! its own. VS Code's native modules are not built, because nothing here needs them.

use anyhow::{Context, Result};
use std::process::Command;

use crate::packages::install_node_packages;
use crate::pictures::{make_program, succeed};
use crate::workspace::{BuildProfile, build_holloway, root, target_folder};

/// Tries the extension.
///
/// # Errors
/// If a program cannot be installed, built, or run, or the window shows something else than the
/// report.
pub(crate) fn run() -> Result<()> {
    let holloway = build_holloway(BuildProfile::Dev)?;
    install_code()?;
    let folder = target_folder("editor")?;
    let package = folder.join("holloway.vsix");
    let extension = root().join("editors/vscode");
    succeed(
        Command::new("npm")
            .args(["run", "package", "--silent", "--", "-o"])
            .arg(&package)
            .current_dir(&extension),
    )?;
    let project = folder.join("md2html");
    make_program(&project)?;
    succeed(
        Command::new(holloway.with_file_name("cargo-holloway"))
            .args([
                "holloway",
                "run",
                "--release",
                "--no-report",
                "--",
                "text.md",
            ])
            .current_dir(&project),
    )?;
    succeed(
        Command::new("node")
            .arg(root().join("tests/editor/window.mjs"))
            .args([&project, &holloway, &package, &folder]),
    )?;
    std::fs::remove_dir_all(folder.join("data")).context("cannot remove VS Code's data")
}

/// Installs code-server, and the packages of the VS Code in it, which it pins itself.
fn install_code() -> Result<()> {
    install_node_packages("editors/vscode")?;
    install_node_packages("tests/editor")?;
    let code = root().join("tests/editor/node_modules/code-server/lib/vscode");
    if code.join("node_modules/.package-lock.json").is_file() {
        return Ok(());
    }
    succeed(
        Command::new("npm")
            .args(["install", "--omit=dev", "--ignore-scripts"])
            .args(["--no-audit", "--no-fund"])
            .current_dir(code),
    )
}
