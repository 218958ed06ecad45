//! Reasons why a function's counts do not fit its map.

use holloway_flow::{CfgError, NumberingError, TreeError};

/// Why no counts can be derived from a function's counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    /// The map refers to a block that it does not have.
    #[error("no block b{block} in its map")]
    NoBlock {
        /// The block's number.
        block: u32,
    },
    /// An exit edge of the map does not lead to the exit.
    #[error("exit edge e{edge} of its map leads elsewhere")]
    ExitElsewhere {
        /// The edge's number.
        edge: usize,
    },
    /// An edge of the numbered graph does not join the blocks of the edge that it represents.
    #[error("edge d{edge} of its map does not join the blocks of the edge it represents")]
    MisplacedDagEdge {
        /// The edge's number.
        edge: usize,
    },
    /// The map's blocks and edges do not form a valid control-flow graph.
    #[error("its map's graph is invalid: {0}")]
    NoGraph(CfgError),
    /// The map's numbered graph does not number its paths.
    #[error("its map's numbering is invalid: {0}")]
    NoNumbering(NumberingError),
    /// The number of paths in the map differs from the number of paths of its numbered graph.
    #[error("its map states {stated} paths, but numbers {numbered}")]
    PathCount {
        /// Paths of the numbered graph.
        numbered: u64,
        /// Paths according to the map.
        stated: u64,
    },
    /// The counts of the other edges do not follow from the counts of the counted edges.
    #[error("the counts of its edges do not follow from its counters: {0}")]
    NoFlow(TreeError),
    /// The profile counts paths or edge counters that the function does not have.
    #[error("counts beyond its last {counted}: {numbers}, from number {first} on (it has {limit})")]
    CountsBeyond {
        /// The counted unit: `path` or `counter`.
        counted: &'static str,
        /// How many numbers beyond the limit have counts.
        numbers: usize,
        /// The first such number.
        first: u64,
        /// How many paths or counters the function has.
        limit: u64,
    },
}
