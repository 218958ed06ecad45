//! Taking empty blocks out again.
//!
//! Edges are split so that each has a place for a probe; most then hold none. The code generator
//! drops empty blocks, but only after it has worked on loops: there an empty latch of its own gets
//! the loop's additions, and costs a jump a turn.

use std::collections::HashMap;

use super::function::{BR, Choice, Incoming, Reshape, SWITCH, distinct};
use crate::module::Module;
use crate::sys::LBlock;

impl Module<'_> {
    /// Takes out the blocks that only jump, on an edge from a block with several ways on to one
    /// with several ways in: what [`Module::split_critical_edges`] puts in, but for those of
    /// several cases at once. Returns how many.
    pub fn remove_empty_blocks(&mut self, choice: Choice<'_>) -> usize {
        let functions = self.chosen(choice);
        functions
            .into_iter()
            .map(|function| Reshape::new(self, function).remove_empty_blocks())
            .sum()
    }
}

impl Reshape<'_> {
    fn remove_empty_blocks(&self) -> usize {
        let blocks = self.blocks();
        // Sources of each block, one an edge.
        let mut sources: HashMap<*mut LBlock, Vec<*mut LBlock>> = HashMap::new();
        for &block in &blocks {
            for target in self.exits(block).2 {
                sources.entry(target).or_default().push(block);
            }
        }
        // Empty blocks with the block before them, by the block behind them.
        let mut empty: Vec<(*mut LBlock, Vec<(*mut LBlock, *mut LBlock)>)> = Vec::new();
        let mut place: HashMap<*mut LBlock, usize> = HashMap::new();
        for &block in &blocks {
            let Some((before, behind)) = self.is_empty_edge(block, &sources) else {
                continue;
            };
            let index = *place.entry(behind).or_insert_with(|| {
                empty.push((behind, Vec::new()));
                empty.len() - 1
            });
            // A phi can't tell two edges from one block apart.
            if !empty[index].1.iter().any(|(_, other)| *other == before) {
                empty[index].1.push((block, before));
            }
        }
        for (behind, edges) in &empty {
            for &(block, before) in edges {
                self.lead(before, block, *behind);
            }
            let moved: HashMap<_, _> = edges.iter().copied().collect();
            self.rebuild_phis(*behind, |block| match moved.get(&block) {
                Some(before) => Incoming::From(*before),
                None => Incoming::Keep,
            });
            for (block, _) in edges {
                // SAFETY: nothing leads to it or names it any more, and it defines nothing.
                unsafe { (self.api.LLVMDeleteBasicBlock)(*block) };
            }
        }
        empty.iter().map(|(_, edges)| edges.len()).sum()
    }

    /// The blocks before and behind a block that only jumps, where they need not be kept apart.
    fn is_empty_edge(
        &self,
        block: *mut LBlock,
        sources: &HashMap<*mut LBlock, Vec<*mut LBlock>>,
    ) -> Option<(*mut LBlock, *mut LBlock)> {
        let (terminator, opcode, targets) = self.exits(block);
        let [behind] = targets[..] else { return None };
        let [before] = sources.get(&block)?[..] else {
            return None;
        };
        let (_, way, others) = self.exits(before);
        // SAFETY: a block has a first instruction.
        let bare = unsafe { (self.api.LLVMGetFirstInstruction)(block) } == terminator;
        let apart = opcode != BR
            || !bare
            || behind == block
            || !matches!(way, BR | SWITCH)
            || distinct(&others).len() < 2
            || others.contains(&behind)
            || distinct(&sources[&behind]).len() < 2
            || self.address_is_taken(block);
        (!apart).then_some((before, behind))
    }

    /// Makes the edge from `before` to `block` lead to `behind`.
    fn lead(&self, before: *mut LBlock, block: *mut LBlock, behind: *mut LBlock) {
        let (terminator, _, targets) = self.exits(before);
        for (index, target) in (0u32..).zip(targets) {
            if target == block {
                // SAFETY: a successor of the terminator by that index.
                unsafe { (self.api.LLVMSetSuccessor)(terminator, index, behind) };
            }
        }
    }
}
