//! Anchors: the instructions before which probes are inserted.
//!
//! The frame's slots (static allocas) move from the old entry block to a new one
//! ([`super::entry`]). A probe that was planned before such an instruction is inserted before the
//! next instruction that stays.

use holloway_llvm::Instruction;

use crate::lower::{BlockIndex, FunctionParts};

/// Finds the anchors of a function.
pub(super) struct Anchors {
    /// By instruction of the old entry block: whether it moves to the new entry block.
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

    /// Whether this instruction of the old entry block moves to the new entry block.
    pub(super) fn is_moved(&self, index: usize) -> bool {
        self.moved[index]
    }

    /// The anchor of a probe that was planned before the instruction `index` of a block.
    pub(super) fn anchor<'m>(
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
