//! Block counts: how often execution came to each block, whatever was counted.
//!
//! Cost: linear in blocks, after each function's [`Flow`](crate::flow::Flow).

use std::cmp::Reverse;

use holloway_format::BlockMap;

use crate::bounds::Bound;
use crate::paths::Sort;
use crate::run::{FunctionId, RunProfile};

/// A block that ran.
#[derive(Clone, Copy, Debug)]
pub struct HotBlock<'a> {
    /// The function it is in.
    pub function: FunctionId,
    /// Its number there.
    pub block: u32,
    /// Its instructions and places.
    pub map: &'a BlockMap,
    /// Times it was reached.
    pub count: u64,
    /// How that may differ from what ran.
    pub bound: Bound,
    /// Instructions that did not run, since it was left in a call before them.
    pub not_run: u64,
}

impl HotBlock<'_> {
    /// Instructions of all its runs.
    pub fn total_instructions(&self) -> u64 {
        let all = u64::from(self.map.instructions).saturating_mul(self.count);
        all.saturating_sub(self.not_run)
    }

    /// What it is ranked by.
    pub fn weight(&self, sort: Sort) -> u64 {
        match sort {
            Sort::Count => self.count,
            Sort::Instructions => self.total_instructions(),
        }
    }
}

/// The blocks reached most, and what they are a share of.
#[derive(Clone, Debug)]
pub struct Ranking<'a> {
    /// Hottest first; equal ones by function and number.
    pub blocks: Vec<HotBlock<'a>>,
    /// Blocks that were reached, of the functions kept.
    pub ranked: u64,
    /// Weight of all blocks of the run.
    pub total: u64,
}

/// Ranks the blocks of the functions that `keep` holds for; at most `top`, all without. The exit is none of them, nor
/// are blocks without instructions.
pub fn hottest<'a>(
    run: &'a RunProfile,
    sort: Sort,
    top: Option<usize>,
    keep: &dyn Fn(FunctionId) -> bool,
) -> Ranking<'a> {
    let mut total = 0u64;
    let mut blocks: Vec<HotBlock<'a>> = Vec::new();
    for (id, function) in run.ids().filter(|(_, function)| function.ran()) {
        let kept = keep(id);
        let flow = function.flow();
        let counted = function.map.blocks.iter().zip(&flow.blocks);
        let counted = counted.zip(&flow.not_run);
        for (block, ((map, &count), &not_run)) in (0u32..).zip(counted) {
            if count == 0 || map.instructions == 0 || block == function.map.exit {
                continue;
            }
            let hot = HotBlock {
                function: id,
                block,
                map,
                count,
                bound: function.bounds().blocks[block as usize],
                not_run,
            };
            total = total.saturating_add(hot.weight(sort));
            if kept {
                blocks.push(hot);
            }
        }
    }
    let ranked = blocks.len() as u64;
    // Stable: equal ones stay by function and block.
    blocks.sort_by_key(|block| Reverse(block.weight(sort)));
    blocks.truncate(top.unwrap_or(usize::MAX));
    Ranking {
        blocks,
        ranked,
        total,
    }
}
