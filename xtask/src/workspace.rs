//! Locates the workspace and its target directory, and builds `holloway`.

use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The workspace's root.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask lies in the workspace")
}

/// Returns a command that starts the same cargo that runs this program.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// Returns the folder of benchmark programs and results, `bench` in the target directory. Makes the
/// folder if it is missing.
///
/// # Errors
/// If the folder cannot be made.
pub(crate) fn bench_folder() -> Result<PathBuf> {
    target_folder("bench")
}

/// Returns a folder in the target directory. Makes the folder if it is missing.
///
/// # Errors
/// If the folder cannot be made.
pub(crate) fn target_folder(name: &str) -> Result<PathBuf> {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let folder = std::path::absolute(target)?.join(name);
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

/// The Cargo profile that `holloway` is built with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BuildProfile {
    /// Unoptimized: compiles fastest.
    Dev,
    /// For tests: optimized, but without inlining between codegen units.
    Tested,
    /// For users: fully optimized.
    Release,
}

impl BuildProfile {
    fn name(self) -> &'static str {
        match self {
            Self::Dev => "dev",
            Self::Tested => "tested",
            Self::Release => "release",
        }
    }
}

/// Builds `holloway` and `cargo-holloway`, and returns the path of `holloway`.
///
/// # Errors
/// If the build fails.
pub(crate) fn build_holloway(profile: BuildProfile) -> Result<PathBuf> {
    let output = cargo()
        .args([
            "build",
            "--profile",
            profile.name(),
            "--package",
            "holloway",
        ])
        .args(["--bins", "--message-format=json-render-diagnostics"])
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    ensure!(
        output.status.success(),
        "the build of holloway, profile {}, failed",
        profile.name()
    );
    let messages = String::from_utf8(output.stdout)?;
    for line in messages.lines() {
        let message: serde_json::Value = serde_json::from_str(line)?;
        if message["target"]["name"] == "holloway"
            && let Some(exe) = message["executable"].as_str()
        {
            return Ok(PathBuf::from(exe));
        }
    }
    bail!("cargo built no executable called holloway")
}
