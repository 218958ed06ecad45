//! A guess at how often each edge runs, where no profile is at hand: for the tree and for the order
//! of successors.
//!
//! One call is a fixed number, which flows down the graph with its back edges taken away. A loop
//! head runs eight times as often as its loop is entered. At a branch the flow is split evenly,
//! except that an edge that leaves the innermost loop gets an eighth of what one that stays gets,
//! and an edge to a cold block next to nothing. A block is cold if the caller says so or if all it
//! leads to is cold. Edges to the exit weigh one less than what flows, so that of two equal choices
//! the entry is preferred (an event loop never exits; LLVM's PGO does the same). Exit edges weigh
//! nothing and take nothing away: calls come back. Cost: linear.

use crate::cfg::{Cfg, EdgeKind};
use crate::dominators::Dominators;
use crate::ids::{BlockId, EdgeId};
use crate::loops::Loops;
use crate::search::reverse_postorder;
use alloc::vec;
use alloc::vec::Vec;

/// What a call weighs: leaves room for splitting 2^24 ways and for eight loops inside one another.
const CALL: u64 = 1 << 32;
/// No block weighs more: far enough from overflow that a share of it can be computed.
const MOST: u64 = 1 << 56;
/// How often a loop is guessed to run.
const LOOP: u64 = 8;
/// Shares of a branch: staying, leaving the loop, going to a cold block.
const STAY: u64 = 64;
const LEAVE: u64 = STAY / LOOP;
const COLD: u64 = 0;

/// Estimated weights by [`EdgeId`]. `cold` are blocks known to run next to never: those that end in
/// a panic, say, or in a call that does not return.
///
/// An edge that can be reached weighs at least 1, except to the exit; one that cannot weighs 0, and
/// so does an exit edge.
#[must_use]
pub fn estimate_weights(cfg: &Cfg, cold: &[BlockId]) -> Vec<u64> {
    let order = reverse_postorder(cfg);
    let mut position = vec![usize::MAX; cfg.block_count() as usize];
    for (place, block) in order.iter().enumerate() {
        position[block.index()] = place;
    }
    let retreats = |id: EdgeId| {
        let edge = cfg.edge(id);
        position[edge.to.index()] <= position[edge.from.index()]
    };
    let mut head = vec![false; position.len()];
    for &block in &order {
        for &id in cfg.successors(block) {
            head[cfg.edge(id).to.index()] |= retreats(id);
        }
    }
    let loops = Loops::new(cfg, &Dominators::new(cfg));
    let cold = cold_blocks(cfg, &order, cold);
    let mut flow = vec![0u64; position.len()];
    let mut weights = vec![0u64; cfg.edges().len()];
    flow[cfg.entry().index()] = CALL;
    for &block in order.iter().filter(|&&block| block != cfg.exit()) {
        let here = &mut flow[block.index()];
        if head[block.index()] {
            *here = here.saturating_mul(LOOP);
        }
        let here = (*here).clamp(1, MOST);
        let share = |id: EdgeId| share(cfg, &loops, &cold, id);
        let all: u64 = going_on(cfg, block).map(share).sum();
        let ways = going_on(cfg, block).count() as u64;
        for id in going_on(cfg, block) {
            let part = match all {
                0 => here / ways,
                _ => u64::try_from(u128::from(here) * u128::from(share(id)) / u128::from(all))
                    .expect("a share is no more than the whole"),
            };
            let to = cfg.edge(id).to;
            weights[id.index()] = if to == cfg.exit() {
                part.saturating_sub(1)
            } else {
                part.max(1)
            };
            if !retreats(id) {
                let there = &mut flow[to.index()];
                *there = there.saturating_add(part.max(1));
            }
        }
    }
    weights
}

/// The edges that leave a block by a jump.
fn going_on(cfg: &Cfg, block: BlockId) -> impl Iterator<Item = EdgeId> {
    let successors = cfg.successors(block).iter().copied();
    successors.filter(|&id| cfg.edge(id).kind != EdgeKind::Exit)
}

fn share(cfg: &Cfg, loops: &Loops, cold: &[bool], id: EdgeId) -> u64 {
    let edge = cfg.edge(id);
    if cold[edge.to.index()] {
        COLD
    } else if loops.leaves(edge.from, edge.to) {
        LEAVE
    } else {
        STAY
    }
}

/// The blocks given, and those that lead to cold ones only.
fn cold_blocks(cfg: &Cfg, order: &[BlockId], given: &[BlockId]) -> Vec<bool> {
    let mut cold = vec![false; cfg.block_count() as usize];
    for block in given {
        if let Some(slot) = cold.get_mut(block.index()) {
            *slot = true;
        }
    }
    for &block in order.iter().rev() {
        let mut targets = going_on(cfg, block).map(|id| cfg.edge(id).to).peekable();
        let goes_on = targets.peek().is_some();
        cold[block.index()] |= goes_on && targets.all(|to| cold[to.index()]);
    }
    cold
}
