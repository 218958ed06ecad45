//! The events of a thread's trace, and the blocks that they are stored in.

use super::hash::StringHash;
use super::token::Token;

/// One event of a trace.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Terminal {
    /// A path ended.
    Path {
        /// Its function, as an index of all functions in the image's map.
        function: u32,
        /// Its number in the function.
        path: u32,
    },
    /// This many frames were left without a path to their exit, by an exception or a `longjmp`.
    Left(u32),
    /// Events are missing: words were dropped, or paths belong to a function whose map is damaged.
    Gap,
}

/// The part of a thread's trace that follows the block before.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Block {
    /// Whether the block uses no rules of earlier blocks. Its rules are then numbered from 0 again.
    /// The first block of a stream is fresh.
    pub is_fresh: bool,
    /// Terminals that occur for the first time. Their numbers continue those of earlier blocks,
    /// fresh or not.
    pub terminals: Vec<Terminal>,
    /// A right side, which includes the right sides of its new rules.
    pub tokens: Vec<Token>,
    /// Number of terminals that it expands to.
    pub length: u64,
    /// Hash of their numbers.
    pub hash: StringHash,
    /// The change that these events make to the number of open activations.
    pub change: i64,
}
