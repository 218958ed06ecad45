//! `holloway phases` and its options.

use clap::{Args, ValueEnum};

use super::trace::AnswerArgs;

/// Examples below `holloway phases --help`.
pub(crate) const EXAMPLES: &str = "\
The run is recorded by a program built with --collect trace.

Examples:
  holloway cc --collect trace -O2 a.c -o app && holloway run -- ./app
  holloway phases
  holloway phases runs/first --thread 4711 --top 3
  holloway phases --trigger
  holloway phases --by-direction --entries 4096
  holloway phases --format json > phases.json";

/// `holloway phases`.
#[derive(Debug, Args)]
pub(crate) struct PhasesArgs {
    /// The choice of the trace.
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
    /// The branches to observe
    #[arg(long, value_enum, default_value_t = BranchesKey::Conditional)]
    pub(crate) branches: BranchesKey,
    /// Branches of a window; the phases are found by comparing windows [default: a thousandth of
    /// the branches, more if such windows differ by chance]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) window: Option<u64>,
    /// Also run a trigger counter over the edges, and compare its signals with the hot spot
    /// detector's
    #[arg(long)]
    pub(crate) trigger: bool,
    /// The hot spot detector.
    #[command(flatten)]
    pub(crate) detector: DetectorArgs,
    /// The timeline.
    #[command(flatten)]
    pub(crate) timeline: TimelineArgs,
}

/// `--branches`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BranchesKey {
    /// Conditions, switches, and computed jumps (enhancement 1 of the hot spot detector)
    Conditional,
    /// Also jumps, calls, and returns
    All,
}

/// The parameters of the hot spot detector.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = "Hot spot detector (Merten et al. 1999)")]
pub(crate) struct DetectorArgs {
    /// Entries of the branch behavior buffer
    #[arg(long, value_name = "N", default_value_t = 2048)]
    pub(crate) entries: u32,
    /// Ways of each set of the buffer
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) ways: u32,
    /// Bits of the counters for executed and taken
    #[arg(long, value_name = "BITS", default_value_t = 9)]
    pub(crate) counter_bits: u32,
    /// Executions that make a branch a candidate
    #[arg(long, value_name = "N", default_value_t = 16)]
    pub(crate) candidate_threshold: u32,
    /// Branches between two refreshes, which clear entries that are not candidates
    #[arg(long, value_name = "N", default_value_t = 4096)]
    pub(crate) refresh_interval: u32,
    /// Branches between two clears of all entries
    #[arg(long, value_name = "N", default_value_t = 65_535)]
    pub(crate) clear_interval: u32,
    /// Bits of the hot spot detection counter
    #[arg(long, value_name = "BITS", default_value_t = 13)]
    pub(crate) detection_bits: u32,
    /// What other branches add to the detection counter
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) detection_increment: u32,
    /// What candidates subtract from the detection counter
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) detection_decrement: u32,
    /// Bits of the monitor counter
    #[arg(long, value_name = "BITS", default_value_t = 12)]
    pub(crate) monitor_bits: u32,
    /// What branches outside known hot spots add to the monitor counter
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) monitor_increment: u32,
    /// What branches of known hot spots subtract from the monitor counter
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) monitor_decrement: u32,
    /// Give each direction of a branch an entry of its own (enhancement 2)
    #[arg(long)]
    pub(crate) by_direction: bool,
    /// Count the targets of indirect branches (enhancement 3)
    #[arg(long)]
    pub(crate) targets: bool,
    /// Monitor the ranges of addresses between the hot branches of a function, too (enhancement 4)
    #[arg(long)]
    pub(crate) ranges: bool,
}

/// The samples of the timeline.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = "Timeline")]
pub(crate) struct TimelineArgs {
    /// Branches from one sample to the next [default: 2000000; less for short runs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) sample_period: Option<u64>,
    /// Branches of a sample
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) sample_length: u64,
    /// Executions within a sample that mark a branch
    #[arg(long, value_name = "N", default_value_t = 40)]
    pub(crate) sample_threshold: u32,
}

/// Parses the letter of a phase, as in `C`.
pub(super) fn parse_phase(text: &str) -> Result<char, String> {
    let mut letters = text.chars();
    match (letters.next(), letters.next()) {
        (Some(letter), None) if letter.is_ascii_alphabetic() => Ok(letter.to_ascii_uppercase()),
        (Some(_) | None, _) => Err("give the letter of a phase, as in C".to_owned()),
    }
}
