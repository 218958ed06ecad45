//! Why a function's paths have no numbering: there are too many paths, or the parts do not form a
//! numbering.

use crate::ids::{BlockId, DagEdgeId, EdgeId};
use core::fmt;

/// The paths of a function could not be reduced to the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyPaths {
    /// The smallest number of paths that any attempt reached. `u64::MAX` stands for that number or
    /// more.
    pub least: u64,
    /// The limit that the caller asked for.
    pub limit: u64,
}

impl fmt::Display for TooManyPaths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} paths are left after cutting, the limit is {}",
            self.least, self.limit
        )
    }
}

impl core::error::Error for TooManyPaths {}

/// Why parts do not form a numbering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberingError {
    /// There are more edges than ids.
    TooManyEdges,
    /// Entry and exit are the same block.
    EntryIsExit(BlockId),
    /// The edges form a cycle.
    Cycle,
    /// An edge leaves the exit, enters the entry, or is a dummy between the wrong blocks.
    Misplaced(DagEdgeId),
    /// A real edge appears twice.
    RepeatedEdge(EdgeId),
    /// A loop head has two start edges.
    RepeatedStart(BlockId),
    /// Paths that reach this block never end.
    DeadEnd(BlockId),
    /// The values of the edges that leave this block do not number its paths one after the other.
    NotBijective(BlockId),
    /// More than 2^64 - 1 paths.
    TooManyPaths(BlockId),
}

impl fmt::Display for NumberingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyEdges => write!(f, "more edges than ids can name"),
            Self::EntryIsExit(block) => write!(f, "{block} is both entry and exit"),
            Self::Cycle => write!(f, "the edges that paths run along form a cycle"),
            Self::Misplaced(edge) => {
                write!(f, "{edge} is not between blocks where its kind can be")
            }
            Self::RepeatedEdge(edge) => write!(f, "{edge} appears twice"),
            Self::RepeatedStart(block) => write!(f, "{block} has two start edges"),
            Self::DeadEnd(block) => write!(f, "no path from {block} ends"),
            Self::NotBijective(block) => write!(f, "the values at {block} do not number its paths"),
            Self::TooManyPaths(block) => write!(f, "{block} has more paths than can be numbered"),
        }
    }
}

impl core::error::Error for NumberingError {}
