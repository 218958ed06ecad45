//! The graph of a function's LLVM blocks: the successors and predecessors of each.

use std::collections::HashMap;

use holloway_llvm::Block;

use crate::lower::{BlockIndex, FunctionParts};

/// The graph of a function's LLVM blocks.
pub(crate) struct BlockGraph {
    /// The distinct successors of each block. This includes the successors of blocks that end early
    /// with a call that does not return, because the phis of these successors need a value.
    pub(crate) successors: Vec<Vec<BlockIndex>>,
    /// The predecessors of each block.
    pub(crate) sources: Vec<Vec<BlockIndex>>,
}

impl BlockGraph {
    pub(crate) fn new(successors: Vec<Vec<BlockIndex>>) -> Self {
        let mut sources = vec![Vec::new(); successors.len()];
        for (source, targets) in BlockIndex::enumerate(&successors) {
            for &target in targets {
                sources[target].push(source);
            }
        }
        Self {
            successors,
            sources,
        }
    }

    /// The graph of a function's blocks.
    pub(super) fn of_parts<'m>(
        parts: &FunctionParts<'m>,
        positions: &HashMap<Block<'m>, BlockIndex>,
    ) -> Self {
        Self::new(successors(parts, positions))
    }
}

/// The index of each LLVM block.
pub(crate) fn positions<'m>(parts: &FunctionParts<'m>) -> HashMap<Block<'m>, BlockIndex> {
    let blocks = BlockIndex::enumerate(&parts.blocks);
    blocks.map(|(index, info)| (info.block, index)).collect()
}

/// The distinct successors of each block ([`BlockGraph::successors`]).
fn successors<'m>(
    parts: &FunctionParts<'m>,
    position: &HashMap<Block<'m>, BlockIndex>,
) -> Vec<Vec<BlockIndex>> {
    parts
        .blocks
        .iter()
        .map(|info| {
            let mut targets: Vec<BlockIndex> = info
                .terminator()
                .successors()
                .iter()
                .map(|block| position[block])
                .collect();
            targets.sort_unstable();
            targets.dedup();
            targets
        })
        .collect()
}

/// The blocks that control can reach from block 0. Each block comes before its successors, unless a
/// back edge leads there.
pub(crate) fn reverse_postorder(successors: &[Vec<BlockIndex>]) -> Vec<BlockIndex> {
    let mut order = Vec::with_capacity(successors.len());
    let mut visited = vec![false; successors.len()];
    let mut stack = vec![(BlockIndex::ENTRY, 0)];
    visited[0] = true;
    while let Some((block, next)) = stack.last_mut() {
        match successors[*block].get(*next) {
            Some(&target) => {
                *next += 1;
                if !std::mem::replace(&mut visited[target], true) {
                    stack.push((target, 0));
                }
            }
            None => {
                order.push(*block);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}

/// An edge between two LLVM blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockEdge {
    pub(super) from: BlockIndex,
    pub(super) to: BlockIndex,
}

/// A position before an instruction: the block, and the instruction's index in the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InstructionPosition {
    pub(super) block: BlockIndex,
    pub(super) index: usize,
}
