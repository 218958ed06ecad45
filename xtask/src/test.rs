//! `cargo xtask test` and `cargo xtask campaign`: setup, a build of `holloway`, and the tests.
//!
//! | command | unit and integration tests | end-to-end tests | `holloway` |
//! |---|---|---|---|
//! | `test --quick` | of crates that changed and of their dependents, without [`SLOW`] | [`QUICK`] | unoptimized |
//! | `test` | all | all, with a fixed sample of the matrix of programs | profile `tested` |
//! | `campaign` | all | all, with the whole matrix | profile `tested` |
//!
//! The programs of the matrix, and the sample of it, are in `tests/src/program/matrix.rs`.
//!
//! `test` and `campaign` use an optimized `holloway`, as users do, because an unoptimized build
//! spends most of its time in linking. The profile `tested` is a release without inlining between
//! its parts, because compiling a full release took a tenth of the whole run. One `cargo test
//! --workspace` runs all tests, so that cargo's summary lines are complete.

use crate::changes::{Changes, merge_base};
use crate::packages;
use crate::workspace::{BuildProfile, build_holloway, cargo};
use anyhow::{Context, Result, ensure};
use holloway_tests::program::Matrix;
use holloway_tests::tool::{Cache, installed};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// The options of `cargo xtask test`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Test only what changed, in less than four minutes
    ///
    /// Runs the unit and integration tests of the crates that changed, those of the crates that
    /// depend on them except slow ones, and a few end-to-end programs. The end of the output lists
    /// what was left out.
    #[arg(long)]
    quick: bool,
    /// With --quick: a crate changed if its files differ from this commit [default: where this
    /// branch left main]
    #[arg(long, value_name = "COMMIT", requires = "quick")]
    since: Option<String>,
    #[command(flatten)]
    common: CampaignOptions,
}

/// The options of `test` and of `campaign`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct CampaignOptions {
    /// Do not install missing Debian packages and Rust targets
    #[arg(long)]
    skip_install: bool,
    /// Arguments for `cargo test`
    #[arg(last = true, value_name = "CARGO TEST ARGUMENTS")]
    arguments: Vec<String>,
}

/// The environment variable that sets how many tests of one executable run at a time.
const THREADS: &str = "RUST_TEST_THREADS";

/// The package of the end-to-end tests.
const END_TO_END: &str = "holloway-tests";

/// The end-to-end tests that `--quick` always runs, in addition to the unit tests of their harness.
/// `programs` runs the programs of [`Matrix::Quick`].
const QUICK: [&str; 2] = ["architecture", "programs"];

/// Integration tests that build or run programs for a minute or more. `--quick` runs them only if
/// their crate changed.
const SLOW: [(&str, &str); 5] = [
    ("holloway", "cli"),
    ("holloway", "link"),
    ("holloway-runtime", "musl"),
    ("holloway-runtime", "runtime"),
    ("holloway-weave", "weave"),
];

/// Runs the tests.
///
/// # Errors
/// If something that the tests need is missing, if holloway does not build, or if a test fails.
pub(crate) fn run(options: &Options) -> Result<()> {
    match options.quick {
        true => run_quick(options),
        false => run_all(&options.common, Matrix::Sample),
    }
}

/// Runs the tests with the whole matrix.
///
/// # Errors
/// If [`run`] would fail.
pub(crate) fn campaign(options: &CampaignOptions) -> Result<()> {
    run_all(options, Matrix::Whole)
}

fn run_all(options: &CampaignOptions, matrix: Matrix) -> Result<()> {
    set_up(options)?;
    let exe = build_holloway(BuildProfile::Tested)?;
    let cache = Cache::new()?;
    let mut tests = test_command(&exe, &cache, matrix);
    tests.args(["--workspace", "--no-fail-fast"]);
    succeed(tests.args(&options.arguments))
}

fn run_quick(options: &Options) -> Result<()> {
    let start = Instant::now();
    set_up(&options.common)?;
    let since = options.since.clone().map_or_else(merge_base, Ok)?;
    let changes = Changes::since(&since)?;
    println!("xtask: changed crates: {}", list(&changes.changed));
    println!(
        "xtask: crates that depend on them: {}",
        list(&changes.dependents)
    );
    let exe = build_holloway(BuildProfile::Dev)?;
    let cache = Cache::new()?;
    let mut left_out = BTreeSet::new();
    let tested = changes.changed.union(&changes.dependents);
    let tested: Vec<&String> = tested.filter(|name| *name != END_TO_END).collect();
    if !tested.is_empty() {
        let is_chosen = |package: &str, test: &str| {
            package != END_TO_END
                && (changes.changed.contains(package) || !SLOW.contains(&(package, test)))
        };
        // cargo chooses tests by name, no matter which package contains them.
        let tests = changes.integration_tests.iter();
        let names = tests.filter(|(package, test)| is_chosen(package, test));
        let names: BTreeSet<&String> = names.map(|(_, test)| test).collect();
        let mut tests = test_command(&exe, &cache, Matrix::Quick);
        tests.arg("--bins");
        // xtask has no library, and `cargo test --lib` fails if there is no library at all.
        if tested.iter().any(|name| *name != "xtask") {
            tests.arg("--lib");
        }
        for package in &tested {
            tests.args(["--package", package]);
        }
        for name in &names {
            tests.args(["--test", name]);
        }
        succeed(tests.args(&options.common.arguments))?;
        let skipped = changes.integration_tests.iter();
        let skipped = skipped.filter(|(p, test)| p != END_TO_END && !names.contains(test));
        left_out.extend(skipped.map(|(package, test)| format!("{test} of {package}")));
    }
    let mut end_to_end = test_command(&exe, &cache, Matrix::Quick);
    end_to_end.args(["--package", END_TO_END, "--lib"]);
    for test in QUICK {
        end_to_end.args(["--test", test]);
    }
    succeed(end_to_end.args(&options.common.arguments))?;
    println!(
        "\nxtask: passed in {} s. Left out:\n\
         - the tests of the other crates, and all doc tests;\n\
         - slow integration tests: {};\n\
         - the end-to-end tests except architecture and {} of the {} programs and variants;\n\
         - an optimized holloway: these tests drove an unoptimized one;\n\
         - formatting, clippy, and documentation.\n\
         `cargo xtask test` runs all of the tests, `.ci/run` runs everything.",
        start.elapsed().as_secs(),
        list(&left_out),
        Matrix::Quick.trials()?,
        Matrix::Whole.trials()?
    );
    Ok(())
}

/// Formats names in one line.
fn list(names: &BTreeSet<String>) -> String {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(", "),
    }
}

/// Installs the tools that the tests need, and checks that they are present.
fn set_up(options: &CampaignOptions) -> Result<()> {
    if !options.skip_install {
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
        "csmith",
        "autoconf",
        "musl-gcc",
    ] {
        installed(tool)?;
    }
    Ok(())
}

/// Returns the command `cargo test` with the environment for this build of `holloway`.
fn test_command(exe: &Path, cache: &Cache, matrix: Matrix) -> Command {
    let mut tests = cargo();
    tests
        .arg("test")
        .env("HOLLOWAY_EXE", exe)
        .env("HOLLOWAY_TEST_CACHE", cache.path())
        .env(Matrix::VARIABLE, matrix.name());
    if std::env::var_os(THREADS).is_none() {
        // Tests wait for programs, for locks, and for each other. One thread more than there are
        // cores keeps the cores busy.
        let cores = std::thread::available_parallelism().map_or(1, Into::into);
        tests.env(THREADS, (cores + 1).to_string());
    }
    tests
}

fn succeed(tests: &mut Command) -> Result<()> {
    let status = tests.status().context("cannot start cargo")?;
    ensure!(status.success(), "tests failed");
    Ok(())
}
