//! Removes empty blocks.
//!
//! The weaver splits edges, so that a probe can be inserted on each edge. Most of the new blocks
//! get no probe and stay empty. The code generator removes empty blocks, but only after it has
//! optimized loops. If the block before a loop's back edge is empty, the loop optimizer would move
//! the loop's additions into it. Then the block stays, and costs a jump in each iteration.

use std::collections::HashMap;

use super::function::{BR, Choice, Incoming, Reshape, SWITCH, distinct};
use crate::module::Module;
use crate::sys::LBlock;

impl Module<'_> {
    /// Removes the blocks that [`Module::split_critical_edges`] inserted and that still only jump:
    /// their predecessor has several successors, and their successor has several predecessors.
    /// Blocks that join several cases of a switch stay. Returns the number of removed blocks.
    pub fn remove_empty_blocks(&mut self, choice: Choice<'_>) -> usize {
        let functions = self.chosen_functions(choice);
        functions
            .into_iter()
            .map(|function| Reshape::new(self, function).remove_empty_blocks())
            .sum()
    }
}

impl Reshape<'_> {
    fn remove_empty_blocks(&self) -> usize {
        let blocks = self.blocks();
        // The predecessors of each block, with one entry for each edge.
        let mut predecessors: HashMap<*mut LBlock, Vec<*mut LBlock>> = HashMap::new();
        for &block in &blocks {
            for target in self.terminator(block).2 {
                predecessors.entry(target).or_default().push(block);
            }
        }
        // The empty blocks before each target block, each with its predecessor.
        let mut empty: Vec<(*mut LBlock, Vec<(*mut LBlock, *mut LBlock)>)> = Vec::new();
        let mut index_of_target: HashMap<*mut LBlock, usize> = HashMap::new();
        for &block in &blocks {
            let Some((source, target)) = self.removable_edge(block, &predecessors) else {
                continue;
            };
            let index = *index_of_target.entry(target).or_insert_with(|| {
                empty.push((target, Vec::new()));
                empty.len() - 1
            });
            // A phi cannot distinguish two edges from the same block.
            if !empty[index].1.iter().any(|(_, other)| *other == source) {
                empty[index].1.push((block, source));
            }
        }
        for (target, edges) in &empty {
            for &(block, source) in edges {
                self.redirect(source, block, *target);
            }
            let predecessor_of: HashMap<_, _> = edges.iter().copied().collect();
            self.rebuild_phis(*target, |block| match predecessor_of.get(&block) {
                Some(source) => Incoming::From(*source),
                None => Incoming::Keep,
            });
            for (block, _) in edges {
                // SAFETY: no edge leads to the block, no phi names it, and it defines no value.
                unsafe { (self.api.LLVMDeleteBasicBlock)(*block) };
            }
        }
        empty.iter().map(|(_, edges)| edges.len()).sum()
    }

    /// Returns the predecessor and the successor of a block that only jumps, if the block may be
    /// removed.
    fn removable_edge(
        &self,
        block: *mut LBlock,
        predecessors: &HashMap<*mut LBlock, Vec<*mut LBlock>>,
    ) -> Option<(*mut LBlock, *mut LBlock)> {
        let (terminator, opcode, targets) = self.terminator(block);
        let [target] = targets[..] else { return None };
        let [source] = predecessors.get(&block)?[..] else {
            return None;
        };
        let (_, before_opcode, siblings) = self.terminator(source);
        // SAFETY: a block has a first instruction.
        let is_only_jump = unsafe { (self.api.LLVMGetFirstInstruction)(block) } == terminator;
        let must_stay = opcode != BR
            || !is_only_jump
            || target == block
            || !matches!(before_opcode, BR | SWITCH)
            || distinct(&siblings).len() < 2
            || siblings.contains(&target)
            || distinct(&predecessors[&target]).len() < 2
            || self.address_is_taken(block);
        (!must_stay).then_some((source, target))
    }

    /// Redirects the edge from `source` to `block` so that it leads to `target`.
    fn redirect(&self, source: *mut LBlock, block: *mut LBlock, target: *mut LBlock) {
        let (terminator, _, successors) = self.terminator(source);
        for (index, successor) in (0u32..).zip(successors) {
            if successor == block {
                // SAFETY: a successor of the terminator by that index.
                unsafe { (self.api.LLVMSetSuccessor)(terminator, index, target) };
            }
        }
    }
}
