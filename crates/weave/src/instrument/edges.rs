//! Chooses the edges that are counted (Burger, Dybvig 1998, sections 2.1-2.3).
//!
//! Edges on a maximum spanning tree need no counter, so only light edges are counted. Among edges
//! of equal weight, two preferences reduce the cost of counters, as in LLVM's edge profiling
//! (`CFGMST.h`):
//! - An edge that was critical stays on the tree. A critical edge has been split, and a counter
//!   would keep the new block and its jump.
//! - An edge to the exit stays on the tree, so that calls are counted at the entry. So the calls of
//!   a function that never returns (an event loop, a process that is killed) are counted too.
//!
//! LLVM multiplies the weight of critical edges by 1,000. Here that executes 25 % more increments
//! on bzip2 and 44 % more on Lua. A factor of 2 executes 5 and 17 % more. A tiebreak executes no
//! more. Executed instructions of bzip2, Lua, and SQLite (`callgrind`, clang 22, `-O2`), compared
//! with no preference: factor 1,000 +0.5, +0.7, and +0.1 %; tiebreak 0, 0, and -1.5 %.

use holloway_flow::{BlockId, EdgeCounters};

use crate::lower::LoweredFunction;

/// The edges to count. `None` if edges that can carry no probe close a cycle.
///
/// The counter of an exit edge counts the executions of its block. After a call that returns twice
/// this count would be too high. That never happens: the only edge into such a block is a cut edge,
/// which is counted instead.
pub(super) fn counters(lowered: &LoweredFunction<'_>, weights: &[u64]) -> Option<EdgeCounters> {
    EdgeCounters::new(&lowered.cfg, &break_ties(lowered, weights)).ok()
}

/// Weights in the order of `weights` in which edges of equal weight differ by their tiebreak.
fn break_ties(lowered: &LoweredFunction<'_>, weights: &[u64]) -> Vec<u64> {
    let exit = lowered.cfg.exit();
    let edges = lowered.cfg.edges().iter().zip(weights);
    let weights = edges.map(|(edge, weight)| {
        let tiebreak = match () {
            () if edge.to == exit => EXIT_TIEBREAK,
            () if is_split(lowered, edge.from) || is_split(lowered, edge.to) => SPLIT_TIEBREAK,
            () => 0,
        };
        weight
            .saturating_mul(WEIGHT_FACTOR)
            .saturating_add(tiebreak)
    });
    weights.collect()
}

/// Weights are multiplied by this factor, which leaves room for tiebreaks below it. An edge with a
/// higher tiebreak is more likely to be on the tree.
const WEIGHT_FACTOR: u64 = 4;
/// The tiebreak of both halves of an edge that was critical.
const SPLIT_TIEBREAK: u64 = 1;
/// The tiebreak of an edge to the exit. The estimate makes the weight of such an edge smaller by 1.
/// So this tiebreak exceeds the factor: it also beats edges whose weight is larger by 1.
const EXIT_TIEBREAK: u64 = WEIGHT_FACTOR + 2;

/// Whether a node is only a jump, which splitting a critical edge has made.
fn is_split(lowered: &LoweredFunction<'_>, node: BlockId) -> bool {
    let Some(node) = lowered.nodes.get(node.index()) else {
        return false;
    };
    let block = &lowered.parts.blocks[node.block];
    block.instructions.len() == 1 && block.targets.len() == 1 && block.sources.len() == 1
}
