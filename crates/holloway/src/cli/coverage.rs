//! `holloway coverage` and its options.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::view::{CodeArgs, ListArgs};

/// Examples below `holloway coverage --help`.
pub(crate) const EXAMPLES: &str = "\
Examples:
  holloway coverage                                the latest run
  holloway coverage runs/unit runs/end-to-end      several runs, merged
  holloway coverage --function parse --top 20      all about a function
  holloway coverage --format json > coverage.json

Build with --graph source for branches and conditions as they are in the source:
  cargo holloway test --graph source --no-report && holloway coverage
  holloway cc --graph source -O2 a.c -o app && holloway run --no-report -- ./app && holloway coverage

`holloway check` keeps coverage above a limit, and `holloway export` writes it for other programs.";

/// `holloway coverage`.
#[derive(Debug, Args)]
pub(crate) struct CoverageArgs {
    /// Directories of runs, profiles, or `latest`; several are merged [default: as of `holloway
    /// report`]
    #[arg(value_name = "RUN", value_hint = ValueHint::AnyPath)]
    pub(crate) runs: Vec<PathBuf>,
    /// Show only code of the workspace: hide the standard library, system headers, and crates that
    /// cargo downloaded [default, unless other options choose the code]
    #[arg(long, help_heading = "Report", conflicts_with = "all_code")]
    pub(crate) workspace: bool,
    /// The code to show.
    #[command(flatten)]
    pub(crate) code: CodeArgs,
    /// The list.
    #[command(flatten)]
    pub(crate) list: ListArgs,
}
