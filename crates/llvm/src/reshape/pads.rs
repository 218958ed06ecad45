//! Gives each invoke a separate landing pad.
//!
//! Several invokes may unwind to the same landing pad. Then no probe can be inserted on the edge
//! from an invoke to the landing pad: other edges leave the same block and enter the same block,
//! and LLVM allows no block between an invoke and its landing pad. So each invoke gets a separate
//! pad block, which contains a copy of the `landingpad` and a jump to the old block. In the old
//! block, a phi replaces the old `landingpad`.
//!
//! The unwinder's tables do not grow, because they have an entry for each call anyway. The code
//! grows by a jump for each invoke, which runs only during unwinding: 1 % on regex-syntax. Without
//! this step, 58 of its 391 functions have edges that cannot be counted.

use std::collections::HashMap;

use super::function::{Choice, INVOKE, Incoming, PHI, Reshape};
use crate::module::Module;
use crate::sys::{LBlock, LValue};

/// LLVM's opcode number for `landingpad`.
const LANDING_PAD: i32 = 59;

impl Module<'_> {
    /// Gives each invoke a landing pad block with no other predecessor. Does not change pads with a
    /// single invoke. Returns the number of new blocks.
    pub fn split_landing_pads(&mut self, choice: Choice<'_>) -> usize {
        let functions = self.chosen_functions(choice);
        functions
            .into_iter()
            .map(|function| Reshape::new(self, function).split_landing_pads())
            .sum()
    }
}

impl Reshape<'_> {
    fn split_landing_pads(&self) -> usize {
        let blocks = self.blocks();
        let mut invokes_by_pad: HashMap<*mut LBlock, Vec<*mut LBlock>> = HashMap::new();
        for &block in &blocks {
            let (_, opcode, successors) = self.terminator(block);
            if opcode == INVOKE {
                invokes_by_pad.entry(successors[1]).or_default().push(block);
            }
        }
        let mut added = 0;
        for &pad in &blocks {
            let invokes = invokes_by_pad.get(&pad).map_or(&[][..], Vec::as_slice);
            if invokes.len() > 1
                && let Some(landing_pad) = self.landing_pad(pad)
            {
                self.split_pad(pad, landing_pad, invokes);
                added += invokes.len();
            }
        }
        added
    }

    /// Returns the `landingpad` of a block. Returns `None` if the block begins a funclet instead.
    fn landing_pad(&self, block: *mut LBlock) -> Option<*mut LValue> {
        // SAFETY: first and next of a live list, which a terminator ends.
        unsafe {
            let mut instruction = (self.api.LLVMGetFirstInstruction)(block);
            while (self.api.LLVMGetInstructionOpcode)(instruction) == PHI {
                instruction = (self.api.LLVMGetNextInstruction)(instruction);
            }
            ((self.api.LLVMGetInstructionOpcode)(instruction) == LANDING_PAD).then_some(instruction)
        }
    }

    fn split_pad(&self, pad: *mut LBlock, landing_pad: *mut LValue, invokes: &[*mut LBlock]) {
        let mut pad_of_invoke: HashMap<*mut LBlock, *mut LBlock> = HashMap::new();
        let (mut values, mut blocks) = (Vec::new(), Vec::new());
        for &invoke in invokes {
            let block = self.new_block(pad, pad, landing_pad);
            let (terminator, ..) = self.terminator(invoke);
            // SAFETY: a copy of a live landingpad, inserted before the new block's jump; the
            // invoke's second successor is its landing pad.
            unsafe {
                let copy = (self.api.LLVMInstructionClone)(landing_pad);
                let builder = (self.api.LLVMCreateBuilderInContext)(self.context);
                (self.api.LLVMPositionBuilderBefore)(
                    builder,
                    (self.api.LLVMGetFirstInstruction)(block),
                );
                (self.api.LLVMInsertIntoBuilder)(builder, copy);
                (self.api.LLVMDisposeBuilder)(builder);
                (self.api.LLVMSetSuccessor)(terminator, 1, block);
                values.push(copy);
            }
            blocks.push(block);
            pad_of_invoke.insert(invoke, block);
        }
        self.rebuild_phis(pad, |block| match pad_of_invoke.get(&block) {
            Some(new) => Incoming::From(*new),
            None => Incoming::Keep,
        });
        // SAFETY: the phi is inserted before the landingpad, after the other phis. It has a value
        // for each of the block's predecessors. It takes over all uses before the landingpad is
        // erased.
        unsafe {
            let builder = (self.api.LLVMCreateBuilderInContext)(self.context);
            (self.api.LLVMPositionBuilderBeforeInstrAndDbgRecords)(builder, landing_pad);
            let phi =
                (self.api.LLVMBuildPhi)(builder, (self.api.LLVMTypeOf)(landing_pad), c"".as_ptr());
            (self.api.LLVMDisposeBuilder)(builder);
            (self.api.LLVMInstructionSetDebugLoc)(
                phi,
                (self.api.LLVMInstructionGetDebugLoc)(landing_pad),
            );
            (self.api.LLVMAddIncoming)(
                phi,
                values.as_mut_ptr(),
                blocks.as_mut_ptr(),
                values.len() as u32,
            );
            (self.api.LLVMReplaceAllUsesWith)(landing_pad, phi);
            (self.api.LLVMInstructionEraseFromParent)(landing_pad);
        }
    }
}
