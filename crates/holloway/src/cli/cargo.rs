//! The commands of `cargo holloway …` and their options: cargo's verbs with holloway's options, and
//! commands that `holloway` has, too.

use clap::{Args, Parser, Subcommand};

use super::holloway::{CLEAN_EXAMPLES, CleanArgs, PagerArgs, RunsCommand};
use super::optimize::{CARGO_EXAMPLES as CARGO_OPTIMIZE_EXAMPLES, CargoOptimizeArgs};
use super::stream::{OutputArgs, StreamArgs};
use super::view::ViewArgs;
use super::weave::WeaveArgs;

/// Build, test, bench or run a cargo project with path probes woven in
#[derive(Debug, Parser)]
#[command(name = "cargo holloway", bin_name = "cargo holloway", version, arg_required_else_help = true, after_help = CARGO_EXAMPLES)]
pub(crate) struct CargoHolloway {
    /// The command.
    #[command(subcommand)]
    pub(crate) command: CargoCommand,
    /// The pager.
    #[command(flatten)]
    pub(crate) pager: PagerArgs,
}

const CARGO_EXAMPLES: &str = "\
All other options go to cargo unchanged:
-p, --bin, --example, --test, --features, --profile, --release, --target, --manifest-path, …

Examples:
  cargo holloway run --release -- ARGS
  cargo holloway run --release --only my_crate --top 20 -- ARGS
  cargo holloway test -p my_crate --no-report
  cargo +nightly holloway bench --bench parse
  cargo holloway report --view lines";

/// `cargo holloway COMMAND`.
#[derive(Debug, Subcommand)]
pub(crate) enum CargoCommand {
    /// Run a binary or example and report its hottest paths: `cargo run` with probes
    #[command(after_help = CARGO_EXAMPLES, override_usage = "cargo holloway run [CARGO OPTIONS] [OPTIONS] [-- ARGS]")]
    Run(CargoArgs),
    /// Build only: `cargo build` with probes
    #[command(after_help = CARGO_EXAMPLES, override_usage = "cargo holloway build [CARGO OPTIONS] [OPTIONS]")]
    Build(CargoArgs),
    /// Run the tests, doctests too, and report: `cargo test` with probes
    #[command(after_help = CARGO_EXAMPLES, override_usage = "cargo holloway test [CARGO OPTIONS] [OPTIONS] [TESTNAME] [-- ARGS]")]
    Test(CargoArgs),
    /// Run the benches and report: `cargo bench` with probes
    #[command(after_help = CARGO_EXAMPLES, override_usage = "cargo holloway bench [CARGO OPTIONS] [OPTIONS] [BENCHNAME] [-- ARGS]")]
    Bench(CargoArgs),
    /// Build a program, train it on a command, build it again with the counts, and keep what
    /// measurably helps
    #[command(after_help = CARGO_OPTIMIZE_EXAMPLES, override_usage = "cargo holloway optimize [CARGO OPTIONS] [OPTIONS] [-- ARGS]")]
    Optimize(CargoOptimizeArgs),
    /// A command that reads recorded runs.
    #[command(flatten)]
    Runs(RunsCommand),
    /// Check this machine for all that holloway needs, and say how to add missing parts
    Doctor,
    /// Delete holloway's builds and caches; recorded runs only with --runs or --all
    #[command(after_help = CLEAN_EXAMPLES)]
    Clean(CleanArgs),
}

/// Holloway's options of a cargo verb. All other options belong to cargo.
#[derive(Debug, Clone, Args)]
pub(crate) struct CargoArgs {
    /// The code to weave.
    #[command(flatten)]
    pub(crate) weave: WeaveArgs,
    /// Run each test in a process of its own, so that `holloway coverage --tests` says which tests
    /// run a line or path, and which tests suffice (`test` only)
    #[arg(long, help_heading = "Run")]
    pub(crate) per_test: bool,
    /// The directory for the run's data.
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// How streams are collected.
    #[command(flatten)]
    pub(crate) stream: StreamArgs,
    /// The report.
    #[command(flatten)]
    pub(crate) view: ViewArgs,
}
