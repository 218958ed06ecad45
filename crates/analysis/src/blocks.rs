//! Ranks the blocks of functions by their counts, no matter whether paths or edges were counted.
//!
//! Cost: linear in blocks, after each function's [`Flow`](crate::flow::Flow).

use std::cmp::Reverse;

use holloway_format::{BlockMap, Count};

use crate::bounds::Bound;
use crate::glue::is_glue;
use crate::paths::Sort;
use crate::run::{FunctionId, RunProfile};

/// A block that ran.
#[derive(Clone, Copy, Debug)]
pub struct HotBlock<'a> {
    /// The function that contains the block.
    pub function: FunctionId,
    /// The block number in that function.
    pub block: u32,
    /// Instructions and places of the block.
    pub map: &'a BlockMap,
    /// Times that control reached the block.
    pub count: Count,
    /// How the count may differ from the real number of executions.
    pub bound: Bound,
    /// Instructions that did not run because the frame was left in a call before them.
    pub not_run: Count,
}

impl HotBlock<'_> {
    /// Instructions of all executions.
    pub fn total_instructions(&self) -> Count {
        let all = self.count.saturating_mul(self.map.instructions.into());
        all.saturating_sub(self.not_run)
    }

    /// The weight that ranks the block.
    pub fn weight(&self, sort: Sort) -> Count {
        match sort {
            Sort::Count => self.count,
            Sort::Instructions => self.total_instructions(),
        }
    }
}

/// The blocks that control reached most often, with the total that their shares refer to.
#[derive(Clone, Debug)]
pub struct Ranking<'a> {
    /// Hottest first, but blocks of [glue](crate::glue) after all others. Blocks of equal weight
    /// are in the order of functions and numbers.
    pub blocks: Vec<HotBlock<'a>>,
    /// Number of blocks that control reached, in the functions that `keep` accepts.
    pub ranked: u64,
    /// Weight of all blocks of the run.
    pub total: Count,
}

/// Ranks the blocks of the functions that `keep` accepts. Returns at most `top` of them, or all if
/// `top` is `None`. The exit and blocks without instructions are not ranked.
pub fn hottest<'a>(
    run: &'a RunProfile,
    sort: Sort,
    top: Option<usize>,
    keep: &dyn Fn(FunctionId) -> bool,
) -> Ranking<'a> {
    let mut total = Count::ZERO;
    let mut blocks: Vec<HotBlock<'a>> = Vec::new();
    for (id, function) in run.ids().filter(|(_, function)| function.ran()) {
        let is_accepted = keep(id);
        let flow = function.flow();
        let counted = function.map.blocks.iter().zip(&flow.blocks);
        let counted = counted.zip(&flow.not_run);
        for (block, ((map, &count), &not_run)) in (0u32..).zip(counted) {
            if count == Count::ZERO || map.instructions == 0 || block == function.map.exit {
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
            if is_accepted {
                blocks.push(hot);
            }
        }
    }
    let ranked = blocks.len() as u64;
    // The sort is stable: blocks of equal weight stay in the order of functions and blocks.
    blocks.sort_by_cached_key(|block| {
        let is_glue = is_glue(&run.function(block.function).map);
        (is_glue, Reverse(block.weight(sort)))
    });
    blocks.truncate(top.unwrap_or(usize::MAX));
    Ranking {
        blocks,
        ranked,
        total,
    }
}
