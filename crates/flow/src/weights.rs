//! Estimates how often each edge runs, for functions without a profile. The spanning tree and the
//! order of successors use these weights.
//!
//! The estimate is the flow of one call: it enters with a fixed weight and is distributed down the
//! graph, except along back edges. These are the rules:
//!
//! - A loop head runs eight times as often as control enters its loop.
//! - A branch splits the flow evenly among its edges, with two exceptions. An edge that leaves the
//!   innermost loop gets an eighth of the share of an edge that stays. An edge to a cold block gets
//!   almost nothing.
//! - A block is cold if the caller lists it, or if all its successors are cold.
//! - An edge to the exit weighs one less than its flow. So if the flow of another edge is equal,
//!   the spanning tree takes the other edge.
//! - Exit edges weigh 0 and take no flow from other edges: calls come back.
//!
//! Cost: linear.

use crate::cfg::{Cfg, EdgeKind};
use crate::dominators::Dominators;
use crate::ids::{BlockId, EdgeId};
use crate::loops::Loops;
use crate::search::reverse_postorder;
use alloc::vec;
use alloc::vec::Vec;

/// The flow of a call. It leaves room for splits among 2^24 edges, and for eight nested loops.
const CALL_FLOW: u64 = 1 << 32;
/// The maximum flow through a block. Computing a share of it cannot overflow.
const MAX_FLOW: u64 = 1 << 56;
/// How many times a loop head is estimated to run for each entry of its loop.
const LOOP_FACTOR: u64 = 8;
/// The share of an edge that stays in the innermost loop. The shares of a branch's edges are
/// relative to each other.
const STAY_SHARE: u64 = 64;
/// The share of an edge that leaves the innermost loop.
const LEAVE_SHARE: u64 = STAY_SHARE / LOOP_FACTOR;
/// The share of an edge to a cold block.
const COLD_SHARE: u64 = 0;

/// Estimates weights, indexed by [`EdgeId`]. `cold` lists blocks that almost never run: for
/// example, blocks that end in a panic or in a call that does not return.
///
/// A reachable edge weighs at least 1, unless it leads to the exit. An unreachable edge and an exit
/// edge weigh 0.
#[must_use]
pub fn estimate_weights(cfg: &Cfg, cold: &[BlockId]) -> Vec<u64> {
    let order = reverse_postorder(cfg);
    let mut position = vec![usize::MAX; cfg.block_count() as usize];
    for (index, block) in order.iter().enumerate() {
        position[block.index()] = index;
    }
    let retreats = |id: EdgeId| {
        let edge = cfg.edge(id);
        position[edge.to.index()] <= position[edge.from.index()]
    };
    let mut is_head = vec![false; position.len()];
    for &block in &order {
        for &id in cfg.successors(block) {
            is_head[cfg.edge(id).to.index()] |= retreats(id);
        }
    }
    let loops = Loops::new(cfg, &Dominators::new(cfg));
    let cold = cold_blocks(cfg, &order, cold);
    let mut flow = vec![0u64; position.len()];
    let mut weights = vec![0u64; cfg.edges().len()];
    flow[cfg.entry().index()] = CALL_FLOW;
    for &block in order.iter().filter(|&&block| block != cfg.exit()) {
        let inflow = &mut flow[block.index()];
        if is_head[block.index()] {
            *inflow = inflow.saturating_mul(LOOP_FACTOR);
        }
        let inflow = (*inflow).clamp(1, MAX_FLOW);
        let share = |id: EdgeId| share(cfg, &loops, &cold, id);
        let total_share: u64 = jumps(cfg, block).map(share).sum();
        let jump_count = jumps(cfg, block).count() as u64;
        for id in jumps(cfg, block) {
            let weight = match total_share {
                0 => inflow / jump_count,
                _ => u64::try_from(
                    u128::from(inflow) * u128::from(share(id)) / u128::from(total_share),
                )
                .expect("a share is at most the inflow"),
            };
            let to = cfg.edge(id).to;
            weights[id.index()] = if to == cfg.exit() {
                weight.saturating_sub(1)
            } else {
                weight.max(1)
            };
            if !retreats(id) {
                let target_flow = &mut flow[to.index()];
                *target_flow = target_flow.saturating_add(weight.max(1));
            }
        }
    }
    weights
}

/// The edges that leave a block by a jump: all except the exit edge.
fn jumps(cfg: &Cfg, block: BlockId) -> impl Iterator<Item = EdgeId> {
    let successors = cfg.successors(block).iter().copied();
    successors.filter(|&id| cfg.edge(id).kind != EdgeKind::Exit)
}

fn share(cfg: &Cfg, loops: &Loops, cold: &[bool], id: EdgeId) -> u64 {
    let edge = cfg.edge(id);
    if cold[edge.to.index()] {
        COLD_SHARE
    } else if loops.leaves(edge.from, edge.to) {
        LEAVE_SHARE
    } else {
        STAY_SHARE
    }
}

/// The listed cold blocks, and the blocks that lead to cold blocks only.
fn cold_blocks(cfg: &Cfg, order: &[BlockId], listed: &[BlockId]) -> Vec<bool> {
    let mut cold = vec![false; cfg.block_count() as usize];
    for block in listed {
        if let Some(is_cold) = cold.get_mut(block.index()) {
            *is_cold = true;
        }
    }
    for &block in order.iter().rev() {
        let mut targets = jumps(cfg, block).map(|id| cfg.edge(id).to).peekable();
        let has_target = targets.peek().is_some();
        cold[block.index()] |= has_target && targets.all(|to| cold[to.index()]);
    }
    cold
}
