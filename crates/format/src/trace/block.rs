//! The events of a thread's trace, and the blocks that they are stored in.

use super::hash::StringHash;
use super::token::Token;

/// The event that a terminal of a trace stands for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Terminal {
    /// A path ended.
    Path {
        /// The path's function: an index into the functions of all modules of the image's map.
        function: u32,
        /// The path number.
        path: u32,
    },
    /// A number of frames that an exception or a `longjmp` left, without a path to their exit.
    Left(u32),
    /// Events are missing: words were dropped, or paths belong to a function whose map is damaged.
    Gap,
}

/// A part of a thread's trace. The blocks of a trace follow each other without gaps.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Block {
    /// Whether the block uses no rules of earlier blocks. Its rules are then numbered from 0 again.
    /// The first block of a stream is fresh.
    pub is_fresh: bool,
    /// Terminals that occur for the first time. Their numbers continue those of earlier blocks,
    /// fresh or not.
    pub terminals: Vec<Terminal>,
    /// The tokens of the block's grammar: a right side that includes the right sides of its new
    /// rules.
    pub tokens: Vec<Token>,
    /// Number of events that the tokens expand to.
    pub length: u64,
    /// Hash of the terminal numbers of these events.
    pub hash: StringHash,
    /// Number of activations that these events open, minus the number that they close.
    pub change: i64,
}
