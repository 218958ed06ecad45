//! Changes blocks and instructions in place, so that the weaver can add a second copy of a
//! function's code.
//!
//! Nothing is deleted, so every handle stays valid.

use crate::builder::Builder;
use crate::instruction::Opcode;
use crate::sys::Api;
use crate::types::TypeKind;
use crate::value::{Block, Instruction, Value};

impl<'m> Block<'m> {
    fn api_of(self) -> &'m Api {
        self.module().api()
    }

    /// Moves the instructions before `instruction` into a new block. The new block stands before
    /// this block, and takes over its address and all edges into it. It has no terminator yet: the
    /// caller adds one.
    ///
    /// # Panics
    /// If the instruction is not in the block, or is a phi or landing pad.
    /// If the instruction isn't in the block, or a phi or landing pad.
    #[must_use = "the new block needs an end"]
    pub fn split_before(self, instruction: Instruction<'m>) -> Block<'m> {
        assert!(
            instruction.block() == self
                && !matches!(instruction.opcode(), Opcode::Phi | Opcode::LandingPad),
            "a block is split where code may stand"
        );
        let head = self.insert_before("");
        let before: Vec<_> = self
            .instructions()
            .take_while(|&other| other != instruction)
            .collect();
        let builder = Builder::at_end(head);
        for moved in before {
            builder.take(moved);
        }
        let terminator = self.terminator().expect("a whole block is split");
        // SAFETY: two blocks of one function. Without its terminator the block has no successors,
        // so that phis which name it stay as they are; the terminator is put back at once.
        unsafe {
            let api = self.api_of();
            (api.LLVMInstructionRemoveFromParent)(terminator.raw());
            (api.LLVMReplaceAllUsesWith)(
                (api.LLVMBasicBlockAsValue)(self.raw()),
                (api.LLVMBasicBlockAsValue)(head.raw()),
            );
            Builder::at_end(self).insert(terminator);
        }
        head
    }

    /// The address of the block, as a constant.
    pub fn address(self) -> Value<'m> {
        let api = self.api_of();
        // SAFETY: a block in a function.
        let raw = unsafe {
            (api.LLVMBlockAddress)((api.LLVMGetBasicBlockParent)(self.raw()), self.raw())
        };
        Value::new(raw, self.module()).expect("LLVMBlockAddress returns a value")
    }
}

impl<'m> Instruction<'m> {
    /// Sets an operand that is a value.
    ///
    /// # Panics
    /// If the instruction has no operand of this number, or the operand has another type than the
    /// value.
    pub fn set_operand(self, index: u32, value: Value<'m>) {
        assert!(
            self.value().operand(index).kind() == value.kind()
                && value.kind().kind() != TypeKind::Void,
            "an operand keeps its type"
        );
        // SAFETY: the operand exists and is of this type.
        unsafe { (self.module().api().LLVMSetOperand)(self.raw(), index, value.raw()) }
    }

    /// Changes a successor of a terminator.
    ///
    /// # Panics
    /// If the terminator has no successor of this number.
    pub fn set_successor(self, index: u32, block: Block<'m>) {
        assert!(
            (index as usize) < self.successors().len(),
            "the successor exists"
        );
        // SAFETY: a terminator's successor, and a block of its function.
        unsafe { (self.module().api().LLVMSetSuccessor)(self.raw(), index, block.raw()) }
    }
}
