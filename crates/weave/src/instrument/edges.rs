//! Which edges are counted (Burger, Dybvig 1998, 2.1-2.3).
//!
//! A maximum spanning tree leaves the lightest edges to count. Among edges of equal weight, the
//! cost of a counter decides, as in LLVM's own edge profiling (`CFGMST.h`):
//! - An edge that was critical stays on the tree. A counter would keep its block, and with it a
//!   jump.
//! - An edge to the exit stays on the tree, so that calls are counted at the entry. A function that
//!   never returns (an event loop, a process that is killed) has been called all the same.
//!
//! LLVM multiplies the weight of critical edges by 1,000. Here that executes 25 % more increments
//! on bzip2 and 44 % more on Lua; a factor of 2 executes 5 and 17 % more. As a tiebreak it changes
//! no number of increments. Instructions of bzip2, Lua and SQLite (`callgrind`, clang 22, `-O2`)
//! against no order at all: factor 1,000 +0.5, +0.7, +0.1 %; tiebreak 0, 0, -1.5 %.

use holloway_flow::{BlockId, EdgeCounters};

use crate::lower::LoweredFunction;

/// The edges to count. `None` if edges without a place for a counter close a cycle.
///
/// Where an exit edge is counted, its block's counter stands for the executions of the block.
/// After a call that returns twice it would be too high. But the only edge into such a block is a
/// cut, which can be counted, so the exit edge never is.
pub(super) fn counters(lowered: &LoweredFunction<'_>, weights: &[u64]) -> Option<EdgeCounters> {
    EdgeCounters::new(&lowered.cfg, &ordered(lowered, weights)).ok()
}

/// The weights, with ties broken.
fn ordered(lowered: &LoweredFunction<'_>, weights: &[u64]) -> Vec<u64> {
    let exit = lowered.cfg.exit();
    let edges = lowered.cfg.edges().iter().zip(weights);
    let weights = edges.map(|(edge, weight)| {
        let order = match () {
            () if edge.to == exit => EXIT,
            () if is_split(lowered, edge.from) || is_split(lowered, edge.to) => SPLIT,
            () => 0,
        };
        weight.saturating_mul(PLACES).saturating_add(order)
    });
    weights.collect()
}

/// Tiebreaks: edges with a higher number are kept on the tree first; all are below [`PLACES`],
/// except an exit's. An estimate gives an edge to the exit 1 less than an equal edge, so an exit's
/// tiebreak is above those of the next weight.
const PLACES: u64 = 4;
const SPLIT: u64 = 1;
const EXIT: u64 = PLACES + 2;

/// Whether a node is only the jump that splitting a critical edge has left.
fn is_split(lowered: &LoweredFunction<'_>, node: BlockId) -> bool {
    let Some(node) = lowered.nodes.get(node.index()) else {
        return false;
    };
    let block = &lowered.parts.blocks[node.block];
    block.instructions.len() == 1 && block.targets.len() == 1 && block.sources.len() == 1
}
