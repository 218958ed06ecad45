//! Questions on traces (Larus 1999): what can be asked, and of what. The answers are written by [`terminal::trace`](crate::terminal::trace) and
//! [`json::trace`](crate::json::trace), which have the same two functions:
//!
//! - `write(question, run, options, out)`: each stream's answer, in the order given, and what is missing in the run;
//! - `diff(pairs, how, options, out)`: streams of two runs against each other, pair by pair.
//!
//! Of [`Options`](crate::Options), `top`, `color`, `width`, `cwd` and `source` count here. Patterns and names in questions are read by
//! [`Pattern`](holloway_analysis::trace::pattern::Pattern): a name is a function's as shown, its end behind a `::`, either without arguments and generic parameters,
//! or its linkage name.

pub(crate) mod answer;
pub(crate) mod compare;
mod names;
mod sight;
pub(crate) mod sums;

use std::cmp::Reverse;
use std::{fmt, io};

use holloway_analysis::trace::code::Code;
use holloway_analysis::trace::diff::Unit;
use holloway_analysis::trace::grams::TooMany;
use holloway_analysis::trace::hot::Bounds;
use holloway_analysis::trace::pattern::PatternError;
use holloway_analysis::trace::{Checked, Trace};
use holloway_format::trace::TracePosition;

use crate::numbers::{grouped, plural};

pub(crate) use sight::Sight;

/// Streams of a run.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// Those that are asked.
    pub streams: &'a [Stream<'a>],
    /// What could not be read of the run, or was not recorded, a sentence each.
    pub damage: &'a [String],
    /// The processes of the run whose traces were held against their profiles: for [`Question::Verify`].
    pub accounts: &'a [Account],
}

/// The traces of an image in a process, held against what its profile counted there. In runs of paths.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Account {
    /// File name of the program or shared object.
    pub image: String,
    /// Process id.
    pub process: u32,
    /// Of the profile.
    pub counted: u64,
    /// Of the profile and in none of the traces.
    pub missing: u64,
    /// In the traces and not of the profile.
    pub surplus: u64,
}

impl Account {
    /// What is wrong, if anything is.
    pub fn damage(&self) -> Option<String> {
        let are = if self.missing == 1 { "is" } else { "are" };
        let which = if self.missing > 1 && self.missing == self.counted {
            format!("all {}", plural(self.missing, "path"))
        } else {
            let counted = grouped(self.counted);
            format!("{} of the {counted}", plural(self.missing, "path"))
        };
        let missing = format!("{which} that its profile counted {are} missing from its trace");
        let what = match (self.missing, self.surplus) {
            (0, 0) => return None,
            (_, 0) => missing,
            (0, surplus) => format!(
                "its trace has {} that its profile did not count: it is of another run, or was changed",
                plural(surplus, "path")
            ),
            (_, surplus) => format!(
                "{missing}, which has {} that were not counted: it is of another run, or was changed",
                plural(surplus, "path")
            ),
        };
        let Account { image, process, .. } = self;
        Some(format!(
            "{image}, process {process}: {what}; record it again"
        ))
    }
}

/// Which events of a thread were read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// What stands before the first.
    pub before: TracePosition,
    /// Number of all events of the thread.
    pub events: u64,
}

/// What one thread did in one image of one process.
#[derive(Clone, Copy)]
pub struct Stream<'a> {
    /// File name of the program or shared object.
    pub image: &'a str,
    /// Process id.
    pub process: u32,
    /// Thread id.
    pub thread: u32,
    /// Which it is, from 1, where several threads had this id one after the other.
    pub nth: Option<u32>,
    /// The functions of the image.
    pub code: &'a Code<'a>,
    /// The events. Where they were only checked, the grammar is empty.
    pub trace: &'a Trace,
    /// Which ones, where not all were read: then only [`Question::Cat`] may be asked, for some of them.
    pub part: Option<Part>,
    /// Bytes of the trace's blocks in its file, if it comes from one.
    pub file_bytes: Option<u64>,
    /// Whether the file's blocks stand for the events that came, if that was looked at: then only [`Question::Verify`] may be asked.
    pub checked: Option<&'a Checked>,
    /// What could not be read and is missing here, a sentence each.
    pub damage: &'a [String],
}

impl Stream<'_> {
    /// Number of events.
    pub(crate) fn events(&self) -> u64 {
        self.part().events
    }

    /// What was read.
    pub(crate) fn part(&self) -> Part {
        self.part.unwrap_or_else(|| Part {
            before: TracePosition::default(),
            events: match self.checked {
                Some(checked) => checked.events,
                None => self.trace.grammar.len(),
            },
        })
    }

    /// The terminals from an event that was read on.
    pub(crate) fn terminals_from(&self, position: u64) -> impl Iterator<Item = u32> + '_ {
        let start = self.part().before.events;
        self.trace
            .grammar
            .expand_from(position.saturating_sub(start))
    }

    /// The thread as options name it: `32173`, `32173#2`.
    pub(crate) fn thread_name(&self) -> String {
        match self.nth {
            Some(nth) => format!("{}#{nth}", self.thread),
            None => self.thread.to_string(),
        }
    }

    /// Image, process and thread, in words.
    pub(crate) fn title(&self) -> String {
        let Stream { image, process, .. } = self;
        format!("{image}, process {process}, thread {}", self.thread_name())
    }
}

/// A question to streams, one by one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Question<'a> {
    /// How long it is, how small its grammar (the paper's Table 1).
    Stats,
    /// The events from a position on.
    Cat {
        /// The first, from 0.
        from: u64,
        /// How many; nothing: all that follow.
        count: Option<u64>,
    },
    /// Whether the grammar stands for just the events that came.
    Verify,
    /// The hot sequences.
    Hot(Hot),
    /// How often a sequence of events runs.
    Freq(&'a str),
    /// Whether P runs before Q.
    Before(&'a str, &'a str),
    /// What runs right before and after an event, and who calls its function.
    Context(&'a str),
    /// Which paths follow one another in one activation, up to so many.
    Loops(u32),
    /// Where a pattern matches.
    Query(&'a str),
}

/// Which sequences are hot.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Hot {
    /// Events of the shortest.
    pub min_len: usize,
    /// Events of the longest.
    pub max_len: usize,
    /// Least cost.
    pub min_cost: Least,
    /// What costs.
    pub cost: Cost,
    /// How they are counted.
    pub method: Method,
    /// Those that begin with a hot one too.
    pub all: bool,
}

/// A cost, or a share of the cost of all events.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Least {
    /// This much.
    Cost(u64),
    /// So many of a hundred.
    Percent(f64),
}

/// What an event costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Cost {
    /// The instructions on its path.
    #[default]
    Instructions,
    /// 1.
    Paths,
}

/// How sequences are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Method {
    /// Each as often as it runs.
    #[default]
    Exact,
    /// As the paper's Fig. 7 does it, put right: for long sequences; those that are spread over rules are missed.
    Figure7,
}

/// How two streams are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Comparison {
    /// What sequences are made of.
    pub unit: Unit,
    /// The longest sequence that is looked for in one and not in the other.
    pub max_len: usize,
}

impl Default for Comparison {
    fn default() -> Self {
        Comparison {
            unit: Unit::Events,
            max_len: 3,
        }
    }
}

/// Different sequences that are counted at most: some hundreds of megabytes.
pub(crate) const LIMIT: usize = 1 << 23;

/// Why there is no answer.
#[derive(Debug)]
pub enum AskError {
    /// It can't be written.
    Write(io::Error),
    /// A pattern is none: which, where, and the way out.
    Pattern {
        /// The pattern.
        text: String,
        /// What is wrong with it.
        error: PatternError,
    },
    /// Too much would have to be counted.
    TooMany(TooMany),
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AskError::Write(error) => error.fmt(f),
            AskError::Pattern { text, error } => {
                write!(f, "pattern `{}`, {error}", excerpt(text, error.at))
            }
            AskError::TooMany(error) => error.fmt(f),
        }
    }
}

/// A text, of a long one what is around a character of it.
pub(crate) fn excerpt(text: &str, at: usize) -> String {
    const SHOWN: usize = 60;
    let length = text.chars().count();
    if length <= SHOWN {
        return text.to_owned();
    }
    let from = at.saturating_sub(SHOWN / 2).min(length - SHOWN);
    let shown: String = text.chars().skip(from).take(SHOWN).collect();
    let before = if from > 0 { "…" } else { "" };
    let behind = if from + SHOWN < length { "…" } else { "" };
    format!("{before}{shown}{behind}")
}

/// The places of the longest streams, longest first; of all in the order given, where they are not more than `most`.
pub(crate) fn longest(streams: &[Stream<'_>], most: usize) -> Vec<usize> {
    let mut places: Vec<usize> = (0..streams.len()).collect();
    if streams.len() > most {
        places.sort_by_key(|&place| Reverse(streams[place].trace.grammar.len()));
        places.truncate(most);
    }
    places
}

impl std::error::Error for AskError {}

impl From<io::Error> for AskError {
    fn from(error: io::Error) -> AskError {
        AskError::Write(error)
    }
}

impl From<TooMany> for AskError {
    fn from(error: TooMany) -> AskError {
        AskError::TooMany(error)
    }
}

impl Hot {
    /// The same in numbers, of a stream whose events cost so much in all.
    pub(crate) fn bounds(&self, total: u64) -> Bounds {
        Bounds {
            min_len: self.min_len.max(1),
            max_len: self.max_len.max(1),
            min_cost: match self.min_cost {
                Least::Cost(cost) => cost,
                Least::Percent(percent) => (total as f64 * percent / 100.0).ceil() as u64,
            },
        }
    }
}
