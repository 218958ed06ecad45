//! Splits blocks and redirects terminators and operands. The weaver needs these changes to give a
//! function a second copy of its code.
//!
//! Nothing is deleted, so every handle stays valid.

use crate::builder::Builder;
use crate::instruction::Opcode;
use crate::types::TypeKind;
use crate::value::{Block, Instruction, Value};

impl<'m> Block<'m> {
    /// Moves the instructions before `instruction` into a new block, which is inserted before this
    /// block. The address of this block and all edges into this block change to the new block. The
    /// new block has no terminator. The caller must add one.
    ///
    /// # Panics
    /// If the instruction is not in the block, or is a phi or landing pad.
    #[must_use = "the new block needs a terminator"]
    pub fn split_before(self, instruction: Instruction<'m>) -> Block<'m> {
        assert!(
            instruction.block() == self
                && !matches!(instruction.opcode(), Opcode::Phi | Opcode::LandingPad),
            "a block is split at an ordinary instruction"
        );
        let new_block = self.insert_before("");
        let moved: Vec<_> = self
            .instructions()
            .take_while(|&other| other != instruction)
            .collect();
        let builder = Builder::at_end(new_block);
        for instruction in moved {
            builder.take(instruction);
        }
        let terminator = self.terminator().expect("the block has a terminator");
        // SAFETY: two blocks of one function. While the terminator is removed, the block has no
        // successors, so their phis still name the block. The terminator is inserted again at once.
        unsafe {
            let api = self.api();
            (api.LLVMInstructionRemoveFromParent)(terminator.raw());
            (api.LLVMReplaceAllUsesWith)(
                (api.LLVMBasicBlockAsValue)(self.raw()),
                (api.LLVMBasicBlockAsValue)(new_block.raw()),
            );
            Builder::at_end(self).insert(terminator);
        }
        new_block
    }

    /// Returns the address of the block, as a constant.
    pub fn address(self) -> Value<'m> {
        let api = self.api();
        // SAFETY: a block in a function.
        let raw = unsafe {
            (api.LLVMBlockAddress)((api.LLVMGetBasicBlockParent)(self.raw()), self.raw())
        };
        Value::new(raw, self.module()).expect("LLVMBlockAddress returns a value")
    }
}

impl<'m> Instruction<'m> {
    /// Sets the operand with this index.
    ///
    /// # Panics
    /// If the instruction has no operand with this index, or the operand's type is not the type of
    /// `value`.
    pub fn set_operand(self, index: u32, value: Value<'m>) {
        assert!(
            self.value().operand(index).kind() == value.kind()
                && value.kind().kind() != TypeKind::Void,
            "the new operand has the type of the old operand"
        );
        // SAFETY: the operand exists and is of this type.
        unsafe { (self.module().api().LLVMSetOperand)(self.raw(), index, value.raw()) }
    }

    /// Sets the successor of a terminator with this index.
    ///
    /// # Panics
    /// If the terminator has no successor with this index.
    pub fn set_successor(self, index: u32, block: Block<'m>) {
        assert!(
            (index as usize) < self.successors().len(),
            "the successor exists"
        );
        // SAFETY: a terminator's successor, and a block of its function.
        unsafe { (self.module().api().LLVMSetSuccessor)(self.raw(), index, block.raw()) }
    }
}
