//! How a report looks.

use clap::{Args, ValueEnum};

/// How a report looks.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Report")]
pub(crate) struct ViewArgs {
    /// Order of paths, functions and blocks [default: count]
    #[arg(long, value_enum)]
    pub(crate) sort: Option<SortKey>,
    /// What to list [default: what was collected; of a trace its numbers and hot subpaths]
    #[arg(long, value_enum)]
    pub(crate) view: Option<View>,
    /// Least share of a sequence in the loops view: of the times that the path it begins with ran
    /// [default: 10%]
    #[arg(long, value_name = "PERCENT", value_parser = parse_share)]
    pub(crate) min_share: Option<u64>,
    /// Show in the loops view what the sequences cost too: nodes, degrees, look-ups
    #[arg(long)]
    pub(crate) stats: bool,
    /// How times are taken.
    #[command(flatten)]
    pub(crate) times: TimesArgs,
    /// What is shown of it.
    #[command(flatten)]
    pub(crate) list: ListArgs,
}

impl ViewArgs {
    /// What is usual, of this list.
    pub(crate) fn plain(list: ListArgs) -> Self {
        Self {
            sort: None,
            view: None,
            min_share: None,
            stats: false,
            times: TimesArgs::default(),
            list,
        }
    }
}

/// Which times of paths count.
#[derive(Debug, Clone, Copy, Default, Args)]
#[command(next_help_heading = "Report (variation)")]
pub(crate) struct TimesArgs {
    /// Whether what a path calls is part of its time [default: inclusive]
    #[arg(long, value_name = "WHICH", value_enum)]
    pub(crate) time: Option<TimeOf>,
    /// Count times in which the thread was preempted or moved to another processor too: they say
    /// nothing of the code
    #[arg(long)]
    pub(crate) include_preempted: bool,
}

/// `--time`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum TimeOf {
    /// All from the path's begin to its end
    #[default]
    Inclusive,
    /// Without instrumented code that it called, where that was timed too (--collect times: always)
    Exclusive,
}

/// How a list looks.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Report")]
pub(crate) struct ListArgs {
    /// How many to show [default: 10; JSON: all]
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,
    /// Show only functions whose name matches; a report says where each of them went
    #[arg(long, value_name = "REGEX", value_parser = parse_regex)]
    pub(crate) function: Option<regex::Regex>,
    /// Text for people, JSON (schema 1) for programs
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub(crate) format: OutputFormat,
    /// Colours and styles
    #[arg(long, value_enum, default_value_t = ColorWhen::Auto)]
    pub(crate) color: ColorWhen,
}

/// `--sort`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SortKey {
    /// Times the path ran
    Count,
    /// Times it ran × its instructions
    Instructions,
}

/// `--view`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum View {
    /// The hottest paths
    Paths,
    /// The hottest functions
    Functions,
    /// The hottest branches, each way
    Edges,
    /// The hottest blocks of code
    Blocks,
    /// The hottest source lines
    Lines,
    /// Which paths follow one another over iterations of loops, and how often (--collect loops)
    Loops,
    /// Which paths are fast mostly and sometimes not, and what that costs (--collect variation,
    /// times)
    Variation,
    /// The paths that an edge profile would predict, against those that ran
    PathsFromEdges,
}

/// `--format` of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// For people
    Text,
    /// For programs
    Json,
}

/// `--color`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    /// When stdout is a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// A share in per cent, as thousandths.
fn parse_share(text: &str) -> Result<u64, String> {
    let percent: Option<f64> = text.strip_suffix('%').unwrap_or(text).parse().ok();
    let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
    percent
        .map(|percent| (percent * 10.0).round() as u64)
        .ok_or_else(|| "give a share from 0% to 100%, as in 10%".to_owned())
}

fn parse_regex(text: &str) -> Result<regex::Regex, String> {
    regex::Regex::new(text).map_err(|error| last_line(&error))
}

/// The regex crate draws a picture above its message: the message is the last line.
fn last_line(error: &regex::Error) -> String {
    let text = error.to_string();
    text.lines()
        .last()
        .unwrap_or(&text)
        .trim_start_matches("error: ")
        .to_owned()
}
