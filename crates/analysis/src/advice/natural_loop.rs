//! A natural loop of a function, with its counts.

use holloway_flow::{BlockId, Dominators, Loops};
use holloway_format::Count;

use crate::flow::uncut_graph_of;
use crate::run::Function;

/// The loops of a function that ran.
pub(super) struct NaturalLoops<'a> {
    function: &'a Function,
    loops: Loops,
}

/// The counts of a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LoopCounts {
    /// The head.
    pub(super) head: u32,
    /// How often the head ran.
    pub(super) turns: Count,
    /// How often control entered the loop from outside.
    pub(super) executions: Count,
}

impl<'a> NaturalLoops<'a> {
    /// `None` if the map has no valid graph.
    pub(super) fn new(function: &'a Function) -> Option<NaturalLoops<'a>> {
        let cfg = uncut_graph_of(&function.map).ok()?;
        let loops = Loops::new(&cfg, &Dominators::new(&cfg));
        Some(NaturalLoops { function, loops })
    }

    /// The innermost loop around a block, as an index.
    pub(super) fn around(&self, block: u32) -> Option<usize> {
        self.loops.innermost(BlockId(block))
    }

    /// Whether the loop with this head contains the block, itself or in an inner loop.
    pub(super) fn contains(&self, head: u32, block: u32) -> bool {
        self.heads_around(block).any(|around| around == head)
    }

    /// The heads of the loops around a block, the innermost first.
    pub(super) fn heads_around(&self, block: u32) -> impl Iterator<Item = u32> {
        let around =
            std::iter::successors(self.around(block), |&index| self.loops.all()[index].parent);
        around.map(|index| self.loops.all()[index].head.0)
    }

    /// The counts of a loop.
    pub(super) fn counts(&self, index: usize) -> LoopCounts {
        let natural = &self.loops.all()[index];
        let flow = self.function.flow();
        let turns = flow.blocks[natural.head.index()];
        let back = natural.back_edges.iter();
        let back = back.map(|edge| u64::try_from(flow.edges[edge.index()]).unwrap_or(0));
        let back = back.fold(0u64, u64::saturating_add);
        LoopCounts {
            head: natural.head.0,
            turns,
            executions: turns.saturating_sub(Count(back)),
        }
    }

    /// Executed instructions of the blocks whose innermost loop this is.
    pub(super) fn instructions(&self, index: usize) -> Count {
        let flow = self.function.flow();
        let blocks = (0u32..).zip(&self.function.map.blocks);
        let inside = blocks.filter(|(block, _)| self.around(*block) == Some(index));
        let instructions = inside.map(|(block, map)| {
            flow.blocks[block as usize].saturating_mul(u64::from(map.instructions))
        });
        instructions.fold(Count::ZERO, Count::saturating_add)
    }
}
