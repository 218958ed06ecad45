//! The questions about traces, and the reasons why a question has no answer.

use std::io;

use holloway_analysis::trace::diff::Unit;
use holloway_analysis::trace::grams::TooMany;
use holloway_analysis::trace::hot::Bounds;
use holloway_analysis::trace::pattern::PatternError;

use super::excerpt::excerpt;

/// A question. Each stream has its own answer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Question<'a> {
    /// The length of the stream and the size of its grammar (the paper's Table 1).
    Stats,
    /// The events from a position on.
    Cat {
        /// The first event; positions count from 0.
        from: u64,
        /// Number of events, or `None` for all events from `from` on.
        count: Option<u64>,
    },
    /// Whether the grammar generates exactly the events that were recorded.
    Verify,
    /// The hot sequences.
    Hot(HotQuestion),
    /// How often a pattern runs.
    Freq(&'a str),
    /// Whether and how often the first pattern runs before the second.
    Before(&'a str, &'a str),
    /// Which events run right before and after an event, and which functions call its function.
    Context(&'a str),
    /// Sequences of paths within one activation, up to this length.
    Loops(u32),
    /// How often and where a pattern matches.
    Query(&'a str),
}

/// The bounds of hot sequences, and how they are counted.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct HotQuestion {
    /// Length of the shortest sequences, in events.
    pub min_len: usize,
    /// Length of the longest sequences, in events.
    pub max_len: usize,
    /// Minimum cost of a sequence.
    pub min_cost: MinCost,
    /// The cost of an event.
    pub cost: Cost,
    /// How sequences are counted.
    pub method: Method,
    /// Whether to also list sequences that begin with a hot sequence.
    pub all: bool,
}

/// A minimum cost: a number, or a share of the cost of all events.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum MinCost {
    /// An absolute cost.
    Cost(u64),
    /// A share in percent.
    Percent(f64),
}

/// The unit of cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Cost {
    /// An event costs the instructions on its path.
    #[default]
    Instructions,
    /// Each path costs 1.
    Paths,
}

/// How sequences are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Method {
    /// Counts each sequence exactly as often as it runs.
    #[default]
    Exact,
    /// Counts with the algorithm of the paper's Fig. 7, corrected. This method can count long
    /// sequences, but it misses sequences that are spread over several rules.
    Figure7,
}

/// How two streams are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Comparison {
    /// The unit of sequences: events or functions.
    pub unit: Unit,
    /// Length of the longest sequences that are searched for in only one of the streams.
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

/// Maximum number of different sequences that are counted. They take a few hundred megabytes.
pub(crate) const MAX_SEQUENCES: usize = 1 << 23;

/// The reason why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The output for the answer failed.
    #[error(transparent)]
    Write(#[from] io::Error),
    /// A text is not a pattern, or it names no function.
    #[error("pattern `{}`, {error}", excerpt(text, error.position))]
    Pattern {
        /// The text that should be a pattern.
        text: String,
        /// The mistake in the text.
        error: PatternError,
    },
    /// There are too many different sequences to count.
    #[error(transparent)]
    TooMany(#[from] TooMany),
}

impl HotQuestion {
    /// Converts the bounds to numbers, for a stream whose events cost `total` altogether.
    pub(crate) fn bounds(&self, total: u64) -> Bounds {
        Bounds {
            min_len: self.min_len.max(1),
            max_len: self.max_len.max(1),
            min_cost: match self.min_cost {
                MinCost::Cost(cost) => cost,
                MinCost::Percent(percent) => (total as f64 * percent / 100.0).ceil() as u64,
            },
        }
    }
}
