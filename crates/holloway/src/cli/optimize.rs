//! `holloway optimize`, `holloway plan`, and their options.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::view::OutputFormat;

/// Examples below `holloway optimize --help`.
pub(crate) const EXAMPLES: &str = "\
Examples:
  holloway cc --embed -O2 a.c b.c -o app
  holloway optimize -o app.fast ./app -- input.txt
  holloway optimize -o app.fast --plan small.plan --plan large.plan ./app -- input.txt
  holloway optimize -o app.fast --profile watched ./app -- input.txt
  holloway optimize -o app.fast --paths ./app -- input.txt
  cargo holloway optimize --release -- input.txt

The command after `--` is run about 58 times, and more often if a branch is unpredictable, if
loads wait for memory, or if the code is large. It must print the same text each time.";

/// Examples below `cargo holloway optimize --help`.
pub(crate) const CARGO_EXAMPLES: &str = "\
Examples:
  cargo holloway optimize --release -- input.txt
  cargo holloway optimize --release --bin app -o app.fast -- input.txt

The command is run about 58 times, and more often if a branch is unpredictable, if loads wait
for memory, or if the code is large. It must print the same text each time.";

/// Examples below `holloway plan --help`.
pub(crate) const PLAN_EXAMPLES: &str = "\
Examples:
  holloway plan train -o small.plan ./app -- small.txt
  holloway plan from -o watched.plan ./app watched
  holloway plan show small.plan
  holloway plan diff small.plan large.plan
  holloway plan apply -o app.fast --plan small.plan --plan large.plan ./app";

/// Options that `holloway optimize` and `cargo holloway optimize` share.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Optimize")]
pub(crate) struct OptimizeOptions {
    /// Use the counts of this plan instead of training; given several times, their sums
    #[arg(long, value_name = "PLAN", value_hint = ValueHint::FilePath)]
    pub(crate) plan: Vec<PathBuf>,
    /// Use a profile of PROGRAM instead of training: a run of `holloway monitor`, a file of
    /// `perf record`, or a run of the program of `holloway plan instrument`; repeatable
    #[arg(long, value_name = "PROFILE", value_hint = ValueHint::AnyPath)]
    pub(crate) profile: Vec<PathBuf>,
    /// Write the plan that was used
    #[arg(long, value_name = "PLAN", value_hint = ValueHint::FilePath)]
    pub(crate) write_plan: Option<PathBuf>,
    /// Look for branches that are decided by the path before them, and copy the blocks of such
    /// paths. A plan has such paths if `holloway plan train --paths` made it
    #[arg(long, conflicts_with_all = ["plan", "profile"])]
    pub(crate) paths: bool,
    /// Rounds in which each build runs once, and as many pairs of the plain program with itself
    #[arg(long, value_name = "N", default_value = "10")]
    pub(crate) pairs: NonZeroUsize,
    /// Orders of functions in which each build is linked: the linker's own, and random ones
    #[arg(long, value_name = "N", default_value = "3")]
    pub(crate) orders: NonZeroUsize,
    /// Text for people, JSON (schema 1) for programs
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub(crate) format: OutputFormat,
}

/// `holloway optimize`.
#[derive(Debug, Args)]
pub(crate) struct OptimizeArgs {
    /// The file to write: the optimized program, or a copy of the program if nothing helps
    #[arg(short = 'o', long = "output", value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// The plan, the measurement, and the report.
    #[command(flatten)]
    pub(crate) options: OptimizeOptions,
    /// A program that was built with `holloway cc --embed`
    #[arg(value_name = "PROGRAM", value_hint = ValueHint::ExecutablePath)]
    pub(crate) program: PathBuf,
    /// The arguments of the program, for training and measuring
    #[arg(last = true, value_name = "ARGS")]
    pub(crate) args: Vec<OsString>,
}

/// `cargo holloway optimize`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CargoOptimizeArgs {
    /// The file to write: the optimized program, or a copy of the plain one if nothing helps
    /// [default: target/holloway/optimized/NAME]
    #[arg(short = 'o', long = "output", value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// Build the program that carries its bitcode, and stop; `holloway optimize` takes it later
    #[arg(long)]
    pub(crate) no_run: bool,
    /// The plan, the measurement, and the report.
    #[command(flatten)]
    pub(crate) options: OptimizeOptions,
}

/// `holloway plan`.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// The command.
    #[command(subcommand)]
    pub(crate) command: PlanCommand,
}

/// `holloway plan COMMAND`.
#[derive(Debug, Subcommand)]
pub(crate) enum PlanCommand {
    /// Run a program, twice if branches may be unpredictable, and write the plan of these runs
    Train(TrainArgs),
    /// Build the program with counters; its runs are exact profiles for `plan from`
    Instrument(InstrumentArgs),
    /// Make a plan of profiles of a program, without running it
    From(FromProfileArgs),
    /// Show the functions of a plan, most executions first
    Show(ShowPlanArgs),
    /// Show the functions whose counts differ in two plans, largest difference first
    Diff(DiffPlanArgs),
    /// Build a program with a plan, without measuring it
    Apply(ApplyPlanArgs),
}

/// `holloway plan train`.
#[derive(Debug, Args)]
pub(crate) struct TrainArgs {
    /// The plan to write
    #[arg(short = 'o', long = "output", value_name = "PLAN", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// Look for branches that are decided by the path before them, and copy the blocks of such
    /// paths
    #[arg(long)]
    pub(crate) paths: bool,
    /// A program that was built with `holloway cc --embed`
    #[arg(value_name = "PROGRAM", value_hint = ValueHint::ExecutablePath)]
    pub(crate) program: PathBuf,
    /// The arguments of the program
    #[arg(last = true, value_name = "ARGS")]
    pub(crate) args: Vec<OsString>,
}

/// `holloway plan instrument`.
#[derive(Debug, Args)]
pub(crate) struct InstrumentArgs {
    /// The program to write
    #[arg(short = 'o', long = "output", value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// A program that was built with `holloway cc --embed`
    #[arg(value_name = "PROGRAM", value_hint = ValueHint::ExecutablePath)]
    pub(crate) program: PathBuf,
}

/// `holloway plan from`.
#[derive(Debug, Args)]
pub(crate) struct FromProfileArgs {
    /// The plan to write
    #[arg(short = 'o', long = "output", value_name = "PLAN", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// A program that was built with `holloway cc --embed`
    #[arg(value_name = "PROGRAM", value_hint = ValueHint::ExecutablePath)]
    pub(crate) program: PathBuf,
    /// A run of `holloway monitor`, a file of `perf record`, BOLT's text, or a run of the program
    /// of `holloway plan instrument`; given several times, their sums
    #[arg(required = true, value_name = "PROFILE", value_hint = ValueHint::AnyPath)]
    pub(crate) profiles: Vec<PathBuf>,
}

/// `holloway plan show`.
#[derive(Debug, Args)]
pub(crate) struct ShowPlanArgs {
    /// The plan
    #[arg(value_name = "PLAN", value_hint = ValueHint::FilePath)]
    pub(crate) plan: PathBuf,
    /// Number of functions
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) top: usize,
}

/// `holloway plan diff`.
#[derive(Debug, Args)]
pub(crate) struct DiffPlanArgs {
    /// The first plan
    #[arg(value_name = "A", value_hint = ValueHint::FilePath)]
    pub(crate) first: PathBuf,
    /// The second plan
    #[arg(value_name = "B", value_hint = ValueHint::FilePath)]
    pub(crate) second: PathBuf,
    /// Number of functions
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) top: usize,
}

/// `holloway plan apply`.
#[derive(Debug, Args)]
pub(crate) struct ApplyPlanArgs {
    /// The plan, perhaps of an older version of the program; given several times, their sums
    #[arg(long, required = true, value_name = "PLAN", value_hint = ValueHint::FilePath)]
    pub(crate) plan: Vec<PathBuf>,
    /// A program that was built with `holloway cc --embed`
    #[arg(value_name = "PROGRAM", value_hint = ValueHint::ExecutablePath)]
    pub(crate) program: PathBuf,
    /// The program to write
    #[arg(short = 'o', long = "output", value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
}
