//! `cargo xtask test`: set-up, an optimised build of `holloway`, every test.
//!
//! The end-to-end tests drive an optimised build, as users do: a debug build would take most of its time in linking. It is of the profile
//! `tested`, a release but for inlining between its parts: compiling all of a release took a tenth of the whole.
//! One `cargo test --workspace` runs the fast and the slow tier, so that cargo's own summary lines tell all.

use crate::{packages, root};
use anyhow::{Context, Result, bail, ensure};
use holloway_tests::tool::{Cache, installed};
use std::path::PathBuf;
use std::process::Command;

/// How many tests of one executable run at a time.
const THREADS: &str = "RUST_TEST_THREADS";

/// Runs every test; `arguments` go to `cargo test`.
///
/// # Errors
/// Something the tests need is missing, holloway doesn't build, or a test fails.
pub(crate) fn run(install: bool, arguments: &[&str]) -> Result<()> {
    if install {
        packages::install()?;
    }
    for tool in [
        "clang-19",
        "clang-22",
        "clang++-22",
        "ld.lld-22",
        "llvm-profdata-22",
        "llvm-cov-22",
        "gcc",
        "gcov",
        "qemu-aarch64-static",
        "aarch64-linux-gnu-g++",
        "cmake",
        "autoconf",
        "musl-gcc",
    ] {
        installed(tool)?;
    }
    let exe = build("tested")?;
    let cache = Cache::new()?;
    let mut tests = cargo();
    tests
        .args(["test", "--workspace", "--no-fail-fast"])
        .args(arguments)
        .env("HOLLOWAY_EXE", &exe)
        .env("HOLLOWAY_TEST_CACHE", cache.path())
        .current_dir(root());
    if std::env::var_os(THREADS).is_none() {
        // Tests wait for programs, for locks, for each other's last: one more than there are cores keeps these busy.
        let cores = std::thread::available_parallelism().map_or(1, Into::into);
        tests.env(THREADS, (cores + 1).to_string());
    }
    let status = tests.status().context("cannot start cargo")?;
    if !status.success() {
        bail!("tests failed");
    }
    Ok(())
}

/// Builds `holloway` and `cargo-holloway` for release; the path of `holloway`.
///
/// # Errors
/// The build fails.
pub(crate) fn release_build() -> Result<PathBuf> {
    build("release")
}

fn build(profile: &str) -> Result<PathBuf> {
    let mut command = cargo();
    command.args([
        "build",
        "--profile",
        profile,
        "--package",
        "holloway",
        "--bins",
        "--message-format=json-render-diagnostics",
    ]);
    let output = command
        .current_dir(root())
        .stderr(std::process::Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    ensure!(
        output.status.success(),
        "the build of holloway, profile {profile}, failed"
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

pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}
