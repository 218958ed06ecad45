//! The questions that traces can be asked, and why there may be no answer.

use std::io;

use holloway_analysis::trace::diff::Unit;
use holloway_analysis::trace::grams::TooMany;
use holloway_analysis::trace::hot::Bounds;
use holloway_analysis::trace::pattern::PatternError;

use super::excerpt::excerpt;

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
    /// By the paper's Fig. 7, corrected: for long sequences. It misses sequences that are spread
    /// over several rules.
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
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// It can't be written.
    #[error(transparent)]
    Write(#[from] io::Error),
    /// A text is no pattern, or names nothing.
    #[error("pattern `{}`, {error}", excerpt(text, error.at))]
    Pattern {
        /// The text.
        text: String,
        /// What is wrong with it.
        error: PatternError,
    },
    /// Too much would have to be counted.
    #[error(transparent)]
    TooMany(#[from] TooMany),
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
