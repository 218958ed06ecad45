//! The events of a thread's trace, and the blocks that they are stored in.

use super::hash::StringHash;
use super::token::Token;

/// One event of a trace.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Terminal {
    /// A path ended.
    Path {
        /// Its function, by its place among all functions of the image's map.
        function: u32,
        /// Its number in the function.
        path: u32,
    },
    /// So many frames were left without a path to their exit (an exception, a `longjmp`).
    Left(u32),
    /// Something is missing here: words that were dropped, or paths of a function whose map is damaged.
    Gap,
}

/// What was added to a thread's trace since the block before.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Block {
    /// Rules of earlier blocks are not used from here on, and numbers begin at 0 again. So in the first block of a stream.
    pub is_fresh: bool,
    /// Terminals that appear for the first time; their numbers go on from those of earlier blocks, fresh or not.
    pub terminals: Vec<Terminal>,
    /// A right side, with those of its new rules.
    pub tokens: Vec<Token>,
    /// Number of terminals that it stands for.
    pub length: u64,
    /// Hash of their numbers.
    pub hash: StringHash,
    /// By how much they change the number of open activations.
    pub change: i64,
}
