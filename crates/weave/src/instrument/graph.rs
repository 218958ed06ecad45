//! The blocks of a function as a graph: successors and predecessors by position.

use std::collections::HashMap;

use holloway_llvm::Block;

use crate::lower::{BlockIndex, FunctionParts};

/// The graph of a function's blocks, by their positions.
pub(crate) struct BlockGraph {
    /// The distinct successors of each block. Successors after calls that don't return are
    /// included: phis need them.
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

    /// The graph of a parts's blocks.
    pub(super) fn of_parts<'m>(
        parts: &FunctionParts<'m>,
        positions: &HashMap<Block<'m>, BlockIndex>,
    ) -> Self {
        Self::new(successors(parts, positions))
    }
}

/// The position of each block in the parts.
pub(super) fn positions<'m>(parts: &FunctionParts<'m>) -> HashMap<Block<'m>, BlockIndex> {
    let blocks = BlockIndex::enumerate(&parts.blocks);
    blocks.map(|(index, info)| (info.block, index)).collect()
}

/// The distinct successors of each block. Successors after calls that don't return are included:
/// phis need them.
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

/// The blocks that control can reach from block 0, each before those it leads to, back edges apart.
pub(crate) fn reverse_postorder(successors: &[Vec<BlockIndex>]) -> Vec<BlockIndex> {
    let mut order = Vec::with_capacity(successors.len());
    let mut seen = vec![false; successors.len()];
    let mut stack = vec![(BlockIndex::ENTRY, 0)];
    seen[0] = true;
    while let Some((block, next)) = stack.last_mut() {
        match successors[*block].get(*next) {
            Some(&target) => {
                *next += 1;
                if !std::mem::replace(&mut seen[target], true) {
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

/// An edge between two blocks, by their positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockEdge {
    pub(super) from: BlockIndex,
    pub(super) to: BlockIndex,
}

/// A place before an instruction: the positions of the block and of the instruction in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InstructionPlace {
    pub(super) block: BlockIndex,
    pub(super) index: usize,
}
