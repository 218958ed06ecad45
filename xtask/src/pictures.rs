//! Takes the pictures of docs/tour.md: builds the program of docs/guide.md, records it, writes its
//! pages, and opens them in headless Chromium (`web/tour.mjs`).
//!
//! The program is the first block of Rust in the guide. It converts pages of docs/. The counts are
//! exact, so the pictures change only if the program, its compiler, the pages, or the page's
//! program change.

use anyhow::{Context, Result, ensure};
use holloway_tests::tool::clean;
use std::path::Path;
use std::process::Command;

use crate::workspace::{BuildProfile, build_holloway, root};

/// The version of the crate that the program converts Markdown with.
const CONVERTER: &str = "0.13.6";

/// Takes the pictures.
///
/// # Errors
/// If a program cannot be built or run, or a picture cannot be taken.
pub(crate) fn run() -> Result<()> {
    let holloway = build_holloway(BuildProfile::Dev)?;
    // A short path, because the pictures show it.
    let folder = std::env::temp_dir().join("md2html");
    make_program(&folder)?;
    let cargo_holloway = holloway.with_file_name("cargo-holloway");
    let record = |run: &str, kind: &str, text: &str| {
        let mut command = Command::new(&cargo_holloway);
        command.args(["holloway", "run", "--release", "--collect", kind]);
        command.args(["--no-report", "-o", run, "--", text]);
        succeed(command.current_dir(&folder))
    };
    record("text", "paths", "text.md")?;
    record("tables", "paths", "tables.md")?;
    record("trace", "trace", "text.md")?;
    let page = |run: &str, page: &str, options: &[&str]| {
        let mut command = Command::new(&holloway);
        command.args(["report", run, "--html", page]).args(options);
        succeed(command.current_dir(&folder))
    };
    page("text", "text.html", &[])?;
    page("tables", "tables.html", &["--baseline", "text"])?;
    page("trace", "trace.html", &[])?;
    let mut node = Command::new("node");
    node.args(["tour.mjs".as_ref(), folder.as_os_str()]);
    succeed(
        node.arg(root().join("docs/pictures"))
            .current_dir(root().join("web")),
    )?;
    std::fs::remove_dir_all(&folder).context("cannot remove the program")
}

/// Makes the guide's program, and the texts that it converts.
///
/// # Errors
/// If the guide has no program, or a file cannot be written.
pub(crate) fn make_program(folder: &Path) -> Result<()> {
    let guide = std::fs::read_to_string(root().join("docs/guide.md"))?;
    let program = guide
        .split_once("```rust\n")
        .and_then(|(_, rest)| rest.split_once("```"))
        .map(|(program, _)| program)
        .context("docs/guide.md has no block of Rust")?;
    if folder.exists() {
        std::fs::remove_dir_all(folder)
            .with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    std::fs::create_dir_all(folder.join("src"))?;
    let manifest = format!(
        "[package]\nname = \"md2html\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [dependencies]\npulldown-cmark = \"={CONVERTER}\"\n\n[workspace]\n"
    );
    std::fs::write(folder.join("Cargo.toml"), manifest)?;
    std::fs::write(folder.join("src/main.rs"), program)?;
    for (page, text) in [("paths.md", "text.md"), ("reference.md", "tables.md")] {
        std::fs::copy(root().join("docs").join(page), folder.join(text))?;
    }
    Ok(())
}

/// Runs a command.
///
/// # Errors
/// If it cannot be started, or fails.
pub(crate) fn succeed(command: &mut Command) -> Result<()> {
    clean(command);
    let status = command
        .status()
        .with_context(|| format!("cannot start {}", command.get_program().display()))?;
    ensure!(status.success(), "{command:?} failed");
    Ok(())
}
