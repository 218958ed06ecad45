//! `holloway check` and its options.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

/// Examples below `holloway check --help`.
pub(crate) const EXAMPLES: &str = "\
Examples:
  holloway check budget.toml                       the latest run
  holloway check budget.toml runs/now --baseline runs/main
  holloway check budget.toml --junit check.xml --format github

A budget has one table for each limit:

  [[limit]]
  measure = \"instructions\"
  function = \"parse_line\"     # a regex; also: crate, file
  max = 2_000_000

The exit status is 3 if a limit is broken. Measures: calls, instructions, instruction-share,
path-executions, paths, functions-covered, lines-covered, branches-covered, paths-covered,
variation, and with --baseline: overlap, instruction-change, new-paths.";

/// `holloway check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The file with the limits
    #[arg(value_name = "BUDGET", value_hint = ValueHint::FilePath)]
    pub(crate) budget: PathBuf,
    /// Directory of a run, one profile of it, or `latest` [default: as of `holloway report`]
    #[arg(value_name = "RUN", value_hint = ValueHint::AnyPath)]
    pub(crate) run: Option<PathBuf>,
    /// The earlier run with which limits compare
    #[arg(long, value_name = "RUN", value_hint = ValueHint::AnyPath)]
    pub(crate) baseline: Option<PathBuf>,
    /// Also write the results to FILE in the format of JUnit
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) junit: Option<PathBuf>,
    /// The format of the results on stdout
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: CheckFormat,
}

/// The format of the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckFormat {
    /// A row for each limit.
    Text,
    /// One object.
    Json,
    /// Annotations of the lines whose limits are broken, for GitHub workflows.
    Github,
}
