//! The questions of `holloway trace` and their options.

use std::fmt;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use holloway_report::trace::MinCost;

use super::view::StyleArgs;

/// `holloway trace`.
#[derive(Debug, Args)]
pub(crate) struct TraceArgs {
    /// The question.
    #[command(subcommand)]
    pub(crate) question: Question,
}

/// Examples below `holloway trace --help`.
pub(crate) const EXAMPLES: &str = "\
A trace is recorded by a program built with --collect trace. A path is named function:NUMBER, as reports print it; a function alone
stands for all its paths. RUN is a run's directory, a trace in it (.hwt), or `latest`, which is the default.

Examples:
  holloway cc --collect trace -O2 a.c -o app && holloway run -- ./app
  holloway trace stats
  holloway trace cat --from 1000 --count 20
  holloway trace hot --min-len 2 --max-len 12 --cost instructions
  holloway trace freq 'parse:3 parse:3 emit:0'
  holloway trace before lock:0 unlock:0
  holloway trace context read_block
  holloway trace diff runs/good runs/bad
  holloway trace query 'open:0 (read:1|read:2)+ !close:0'";

/// `holloway trace QUESTION`.
#[derive(Debug, Subcommand)]
pub(crate) enum Question {
    /// Show the size of the trace and of its grammar, and its numbers of paths and events
    Stats(StatsArgs),
    /// Print events in order, from any position on
    Cat(CatArgs),
    /// Check that the trace is complete: checksums, losses, counts of the profile (exit status 1
    /// if it is not). Also check whether enters and leaves balance
    Verify(VerifyArgs),
    /// Find hot subpaths: short sequences of paths, across calls, that cost most
    Hot(HotArgs),
    /// Count how often a sequence of paths ran
    Freq(FreqArgs),
    /// Check whether one path always runs before another, and show the first exception
    Before(BeforeArgs),
    /// Show what runs right before and after a path or a function, and its callers
    Context(ContextArgs),
    /// Show which paths follow one another over up to K iterations
    Loops(LoopsArgs),
    /// Compare two traces: their first difference, and the sequences that only one of them has
    Diff(DiffArgs),
    /// Find where a pattern of paths matches, and how often
    Query(QueryArgs),
}

/// The choice of traces, and how the answer is shown.
#[derive(Debug, Clone, Args)]
pub(crate) struct AnswerArgs {
    /// Directory of a run, one trace in it, or `latest` [default: the latest run]
    #[arg(value_name = "RUN", value_hint = ValueHint::AnyPath)]
    pub(crate) run: Option<PathBuf>,
    /// Choice among streams.
    #[command(flatten)]
    pub(crate) choice: ChoiceArgs,
    /// How the answer is shown.
    #[command(flatten)]
    pub(crate) display: DisplayArgs,
}

/// Choice among the streams of a run. A stream holds the events of one thread in one image of one
/// process.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ChoiceArgs {
    /// Only the thread with this id; ID#2 is the second thread that had the id
    #[arg(long, value_name = "ID", value_parser = parse_thread)]
    pub(crate) thread: Option<ThreadName>,
    /// Only the process with this id
    #[arg(long, value_name = "PID")]
    pub(crate) process: Option<u32>,
    /// Only the program or shared object with this name
    #[arg(long, value_name = "NAME")]
    pub(crate) image: Option<String>,
}

/// A thread: `32173`, or `32173#2` for the second thread with this id in its process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ThreadName {
    /// The thread's id.
    pub(crate) id: u32,
    /// The thread's number, from 1, among the threads that had this id.
    pub(crate) nth: Option<u32>,
}

impl fmt::Display for ThreadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.nth {
            Some(nth) => write!(f, "{}#{nth}", self.id),
            None => self.id.fmt(f),
        }
    }
}

/// How an answer is shown.
#[derive(Debug, Clone, Args)]
pub(crate) struct DisplayArgs {
    /// Number of rows to show, also in lists of traces [default: 10; JSON: all]
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,
    /// The output.
    #[command(flatten)]
    pub(crate) style: StyleArgs,
}

/// `holloway trace stats`.
#[derive(Debug, Args)]
pub(crate) struct StatsArgs {
    /// The choice of traces.
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}

/// `holloway trace verify`.
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// The choice of traces.
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}

/// `holloway trace cat`.
#[derive(Debug, Args)]
pub(crate) struct CatArgs {
    /// The choice of traces.
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
    /// First event to print, counted from 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) from: u64,
    /// Number of events to print [default: all that follow]
    #[arg(long, value_name = "M")]
    pub(crate) count: Option<u64>,
}

/// `--cost`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CostKey {
    /// Instructions on the paths
    Instructions,
    /// Paths: each costs 1
    Paths,
}

/// `holloway trace hot`.
#[derive(Debug, Args)]
pub(crate) struct HotArgs {
    /// The choice of traces.
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
    /// Length of the shortest sequences, in paths
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) min_len: u32,
    /// Length of the longest sequences, in paths
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) max_len: u32,
    /// MinCost cost of a sequence (executions × cost of its paths), as a number or a share of the
    /// whole trace's cost
    #[arg(long, value_name = "COST", default_value = "1%", value_parser = parse_least)]
    pub(crate) min_cost: MinCost,
    /// Unit of cost
    #[arg(long, value_enum, default_value_t = CostKey::Instructions)]
    pub(crate) cost: CostKey,
    /// How sequences are counted
    #[arg(long, value_enum, default_value_t = MethodKey::Exact)]
    pub(crate) method: MethodKey,
    /// Also list sequences that begin with a shorter hot sequence
    #[arg(long)]
    pub(crate) all: bool,
}

/// `--method`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MethodKey {
    /// Each sequence as often as it runs
    Exact,
    /// By the algorithm of Larus's paper (Fig. 7, corrected): for very long sequences; misses
    /// sequences that are spread over several rules
    Figure7,
}

/// `holloway trace freq`.
#[derive(Debug, Args)]
pub(crate) struct FreqArgs {
    /// Paths, one after the other: 'f:1 g:0 f:2'
    #[arg(value_name = "SEQUENCE")]
    pub(crate) sequence: String,
    /// The choice of traces.
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}

/// `holloway trace before`.
#[derive(Debug, Args)]
pub(crate) struct BeforeArgs {
    /// The path (or function) that should come first
    #[arg(value_name = "P")]
    pub(crate) first: String,
    /// The path (or function) that should come second
    #[arg(value_name = "Q")]
    pub(crate) second: String,
    /// The choice of traces.
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}

/// `holloway trace context`.
#[derive(Debug, Args)]
pub(crate) struct ContextArgs {
    /// The path (or function)
    #[arg(value_name = "P")]
    pub(crate) path: String,
    /// The choice of traces.
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}

/// `holloway trace loops`.
#[derive(Debug, Args)]
pub(crate) struct LoopsArgs {
    /// Longest sequence of iterations, 1 to 1024; 1 counts how often each path ran
    #[arg(value_name = "K", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) k: u32,
    /// The choice of traces.
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}

/// `holloway trace diff`.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The first run: its directory, one trace in it, or `latest`
    #[arg(value_name = "A", value_hint = ValueHint::AnyPath)]
    pub(crate) first: PathBuf,
    /// The second run
    #[arg(value_name = "B", value_hint = ValueHint::AnyPath)]
    pub(crate) second: PathBuf,
    /// Unit of sequences
    #[arg(long, value_enum, default_value_t = UnitKey::Paths)]
    pub(crate) unit: UnitKey,
    /// The thread of the first run [default: all threads, in the order in which they began]
    #[arg(long, value_name = "ID", value_parser = parse_thread)]
    pub(crate) thread_a: Option<ThreadName>,
    /// The thread of the second run
    #[arg(long, value_name = "ID", value_parser = parse_thread)]
    pub(crate) thread_b: Option<ThreadName>,
    /// Length of the longest sequences that are searched for in only one of the traces
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) max_len: u32,
    /// Choice among streams.
    #[command(flatten)]
    pub(crate) choice: ChoiceArgs,
    /// How the answer is shown.
    #[command(flatten)]
    pub(crate) display: DisplayArgs,
}

/// `--unit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum UnitKey {
    /// Paths
    Paths,
    /// Functions in the order in which they are entered: for different builds
    Functions,
}

/// `holloway trace query`.
#[derive(Debug, Args)]
pub(crate) struct QueryArgs {
    /// A regular expression over paths: 'open:0 (read:1|read:2)+ close:0'; a match ends as early as
    /// possible, and the next match begins after it
    #[arg(value_name = "PATTERN")]
    pub(crate) pattern: String,
    /// The choice of traces.
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}

/// Parses `32173` or `32173#2`.
fn parse_thread(text: &str) -> Result<ThreadName, String> {
    let number = |text: &str| text.parse().ok();
    let name = match text.split_once('#') {
        Some((id, nth)) => number(id)
            .zip(number(nth))
            .map(|(id, nth)| ThreadName { id, nth: Some(nth) }),
        None => number(text).map(|id| ThreadName { id, nth: None }),
    };
    name.ok_or_else(|| {
        "give a thread's id, as in 32173, or 32173#2 for the second that had it".to_owned()
    })
}

/// Parses `1000` or `2.5%`.
fn parse_least(text: &str) -> Result<MinCost, String> {
    let message = || "give a number, as in 1000, or a share, as in 1%".to_owned();
    match text.strip_suffix('%') {
        Some(percent) => {
            let percent: f64 = percent.parse().map_err(|_| message())?;
            let fits = (0.0..=100.0).contains(&percent);
            fits.then_some(MinCost::Percent(percent))
                .ok_or_else(message)
        }
        None => text.parse().map(MinCost::Cost).map_err(|_| message()),
    }
}
