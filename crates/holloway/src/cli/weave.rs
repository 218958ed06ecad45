//! Options that choose the code to weave and the kind of profile to collect.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Args, ValueEnum, ValueHint};
use holloway_abi::Kind;
use holloway_weave::Pattern;

use holloway_link::collect_options::{self, CollectOptions, Collection, parse_collection};

/// Options of the cargo verbs that choose the code to weave.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Weaving")]
pub(crate) struct WeaveArgs {
    /// The kind of profile.
    #[command(flatten)]
    pub(crate) count: CountArgs,
    /// Use the counts of an earlier run (its directory, one profile, or `latest`) to place probes:
    /// costs less and counts the same calls, edges and lines; paths of some functions are cut
    /// elsewhere [env: HOLLOWAY_GUIDE]
    ///
    /// For functions that changed since that run, the probes are placed by estimates. The build
    /// says how many functions did not change.
    #[arg(long, value_name = "RUN", value_hint = ValueHint::AnyPath)]
    pub(crate) guide: Option<PathBuf>,
    /// Weave the standard library's functions too
    #[arg(long)]
    pub(crate) std: bool,
    /// Weave only these: a crate's name, a function's name, or a regular expression over function
    /// names
    #[arg(long, value_name = "PAT", value_parser = parse_pattern)]
    pub(crate) only: Vec<String>,
    /// Leave these out: a crate's name, a function's name, or a regular expression over function
    /// names
    #[arg(long, value_name = "PAT", value_parser = parse_pattern)]
    pub(crate) skip: Vec<String>,
}

/// Options that choose the kind of profile.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Weaving")]
pub(crate) struct CountArgs {
    /// Kind of profile to collect [env: HOLLOWAY_COLLECT] [default: paths]
    ///
    /// Paths: how often each acyclic path of each function ran; gives edges, blocks and lines too.
    /// Edges: how often each branch went each way; cheaper, but does not show which branches were
    /// taken together. Loops, or loops=K: which paths follow one another over up to K iterations
    /// (default: 8); gives paths too. Trace: all paths in the order in which they ran, across
    /// calls. Variation: the times of about 1 path in 10,000 (--burst); shows paths that are
    /// usually fast but sometimes slow. Times: the times of all paths; for small runs.
    #[arg(long, value_name = "KIND", value_parser = CollectParser)]
    pub(crate) collect: Option<Collection>,
    /// Count frames that are left early: by longjmp, unwinding, or the end of the process [env:
    /// HOLLOWAY_EXITS] [default: on]
    #[arg(long, value_name = "WHEN", value_enum)]
    pub(crate) exits: Option<Switch>,
    /// Code whose graph is profiled [env: HOLLOWAY_GRAPH] [default: optimized]
    #[arg(long, value_name = "CODE", value_enum)]
    pub(crate) graph: Option<Graph>,
}

impl CountArgs {
    /// The options without the guide.
    pub(crate) fn options(&self) -> CollectOptions {
        CollectOptions {
            collect: self.collect,
            exits: self.exits.map(Into::into),
            graph: self.graph.map(Into::into),
            guide: None,
            embed: false,
        }
    }
}

/// `on` or `off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    /// The code up to the call that did not come back counts, and so does the early exit. Costs an
    /// addition at calls that may not come back; almost nothing with edges
    On,
    /// Paths that are left in the middle are missing from the counts, and so are the lines that
    /// they ran
    Off,
}

impl From<Switch> for collect_options::Switch {
    fn from(switch: Switch) -> Self {
        match switch {
            Switch::On => Self::On,
            Switch::Off => Self::Off,
        }
    }
}

/// `--graph`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Graph {
    /// The code as the compiler's front end made it, before the optimizer: each branch and each
    /// condition of the source. For coverage
    Source,
    /// The code that runs
    Optimized,
}

impl From<Graph> for collect_options::GraphStage {
    fn from(graph: Graph) -> Self {
        match graph {
            Graph::Source => Self::Source,
            Graph::Optimized => Self::Optimized,
        }
    }
}

/// Parser of `--collect` that lists the kinds for help and completions.
#[derive(Debug, Clone)]
struct CollectParser;

impl TypedValueParser for CollectParser {
    type Value = Collection;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Collection, clap::Error> {
        TypedValueParser::parse_ref(&parse_collection, command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(
            Kind::ALL
                .into_iter()
                .map(|kind| PossibleValue::new(kind.to_string())),
        ))
    }
}

fn parse_pattern(text: &str) -> Result<String, String> {
    if text.contains('\n') {
        return Err("a pattern is one line".to_owned());
    }
    if text.trim().is_empty() {
        return Err("an empty pattern chooses nothing".to_owned());
    }
    let pattern = Pattern::parse(text).map_err(|error| error.to_string())?;
    Ok(pattern.text().to_owned())
}
