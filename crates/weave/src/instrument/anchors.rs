//! The instructions that probes are inserted before.

use holloway_llvm::Instruction;

use crate::lower::{BlockIndex, FunctionParts};

/// The instructions to insert before: those that stay in their block.
pub(super) struct Anchors {
    /// By instruction of the entry block: whether it moves to the new entry block.
    pub(super) moved: Vec<bool>,
}

impl Anchors {
    pub(super) fn new(parts: &FunctionParts<'_>) -> Self {
        Self {
            moved: parts.blocks[0]
                .instructions
                .iter()
                .map(|instruction| instruction.is_static_alloca())
                .collect(),
        }
    }

    /// Whether this instruction of the entry block moves to the new one.
    pub(super) fn is_moved(&self, index: usize) -> bool {
        self.moved[index]
    }

    pub(super) fn at<'m>(
        &self,
        parts: &FunctionParts<'m>,
        block: BlockIndex,
        index: usize,
    ) -> Instruction<'m> {
        let index = if block == BlockIndex::ENTRY {
            (index..self.moved.len())
                .find(|&index| !self.moved[index])
                .expect("a terminator stays")
        } else {
            index
        };
        parts.blocks[block].instructions[index]
    }
}
