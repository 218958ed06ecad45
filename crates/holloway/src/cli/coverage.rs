//! `holloway coverage` and its options.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use holloway_report::test_coverage::LineChoice;

use super::view::{CodeArgs, ListArgs};

/// Examples below `holloway coverage --help`.
pub(crate) const EXAMPLES: &str = "\
Examples:
  holloway coverage                                the latest run
  holloway coverage runs/unit runs/end-to-end      several runs, merged
  holloway coverage --function parse --top 20      all about a function
  holloway coverage --format json > coverage.json
  cargo holloway test --graph source --per-test --no-report && holloway coverage --tests
  holloway coverage --tests --line src/parse.rs:40

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
    /// Show what each test covers, and the smallest set of tests that covers the same. Each run is
    /// a test; a run of `cargo holloway test --per-test` has many
    #[arg(long)]
    pub(crate) tests: bool,
    /// With --tests: show the tests that run this line. `--function 'parse#3fa2'` shows those that
    /// run a path
    #[arg(long, value_name = "FILE:LINE", requires = "tests", value_parser = parse_line)]
    pub(crate) line: Option<LineChoice>,
    /// With --tests: what the smallest set must keep
    #[arg(
        long,
        value_name = "WHAT",
        requires = "tests",
        value_enum,
        default_value_t
    )]
    pub(crate) keep: Keep,
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

/// `--keep`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Keep {
    /// All paths (or edges), and so all lines and branches
    #[default]
    Paths,
    /// All lines
    Lines,
}

fn parse_line(text: &str) -> Result<LineChoice, String> {
    LineChoice::parse(text).ok_or_else(|| "give a file and a line, as in src/main.rs:12".to_owned())
}
