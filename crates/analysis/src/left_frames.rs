//! How many frames of a function were left early: by a call that did not come back.
//!
//! - With exit edges (`--exits on`), the number is counted. So it is in traces.
//! - Without them, the path on which a frame was left is missing. A path that starts at a loop head
//!   follows a path that ended there. So if more paths ended at a head than started there, the rest
//!   was left. Paths that start at the entry have no such trace, so the number is a lower bound.
//! - If edges were counted without exit edges, propagation assumes that every call came back. The
//!   number is unknown.
//!
//! Example: a loop head is reached 1 time from the entry and 3 times by the back edge, and 3 paths
//! that start there were counted. One frame was left in its last iteration.

use holloway_abi::Unit;
use holloway_format::{Count, EdgeKind};

use crate::flow::BlockFlow;
use crate::run::Function;

/// The frames of a function that were left early.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LeftFrames {
    /// Their number.
    Counted(Count),
    /// They were not counted, but there are at least so many.
    AtLeast(Count),
    /// They were not counted, and nothing shows how many there are.
    Unknown,
}

impl LeftFrames {
    /// The frames of a function that ran.
    pub fn of(function: &Function) -> LeftFrames {
        let (map, flow) = (&function.map, function.flow());
        if function.has_exits() {
            let edges = map.edges.iter().zip(&flow.edges);
            let exits = edges.filter(|(edge, _)| edge.kind == EdgeKind::Exit);
            let left = exits.map(|(_, &count)| Count(u64::try_from(count).unwrap_or(0)));
            return LeftFrames::Counted(left.fold(Count::ZERO, Count::saturating_add));
        }
        if map.leaks.is_empty() {
            let left = flow.left.iter().copied();
            return LeftFrames::Counted(left.fold(Count::ZERO, Count::saturating_add));
        }
        if function.unit() == Unit::Edges {
            return LeftFrames::Unknown;
        }
        let block_flow = BlockFlow::new(map, &flow.edges, flow.calls);
        let blocks = (0..map.blocks.len()).filter(|&block| block != map.exit as usize);
        let lost = blocks.map(|block| u64::try_from(block_flow.net_left(block)).unwrap_or(0));
        LeftFrames::AtLeast(Count(lost.fold(0, u64::saturating_add)))
    }

    /// Whether frames are known to have been left.
    pub fn is_known(self) -> bool {
        match self {
            LeftFrames::Counted(left) | LeftFrames::AtLeast(left) => left > Count::ZERO,
            LeftFrames::Unknown => false,
        }
    }
}
