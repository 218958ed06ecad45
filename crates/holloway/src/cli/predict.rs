//! `holloway predict` and its options.

use clap::Args;

use super::trace::AnswerArgs;

/// Examples below `holloway predict --help`.
pub(crate) const EXAMPLES: &str = "\
The run must be recorded by a program built with --collect trace.

Examples:
  holloway cc --collect trace -O2 a.c -o app && holloway run -- ./app
  holloway predict
  holloway predict runs/first --thread 4711 --top 20
  holloway predict --estimates --sweep --dump-interval 100000
  holloway predict --format json > predict.json";

/// `holloway predict`.
#[derive(Debug, Args)]
pub(crate) struct PredictArgs {
    /// The choice of the trace.
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
    /// Also show how good profiles from predictor tables would be (research)
    #[arg(long)]
    pub(crate) estimates: bool,
    /// Instructions after which --estimates reads the predictor tables
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1_000_000,
        value_parser = clap::value_parser!(u64).range(1..),
        requires = "estimates"
    )]
    pub(crate) dump_interval: u64,
    /// Read them 4, 8, and 16 times as often, too
    #[arg(long, requires = "estimates")]
    pub(crate) sweep: bool,
}
