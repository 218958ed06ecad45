//! A landing pad for each invoke.
//!
//! Several invokes may unwind to one landing pad; such an edge has no place for a probe: neither
//! end of it is its own, and no block may stand between. So each invoke gets a pad block of its
//! own: a copy of the `landingpad`, then a jump to the old block, where a phi takes the place of
//! the old `landingpad`. The unwinder's tables have an entry a call anyhow; the code grows by a
//! jump an invoke, off the way that doesn't unwind: 1 % on regex-syntax. Without it 58 of its 391
//! functions have edges that can't be counted.

use std::collections::HashMap;

use super::function::{Choice, INVOKE, Incoming, PHI, Reshape};
use crate::module::Module;
use crate::sys::{LBlock, LValue};

/// LLVM's number of `landingpad`.
const LANDING_PAD: i32 = 59;

impl Module<'_> {
    /// Gives each invoke a landing pad block that only it leads to; pads with one invoke stay as
    /// they are. Returns the number of new blocks.
    pub fn split_landing_pads(&mut self, choice: Choice<'_>) -> usize {
        let functions = self.chosen(choice);
        functions
            .into_iter()
            .map(|function| Reshape::new(self, function).split_landing_pads())
            .sum()
    }
}

impl Reshape<'_> {
    fn split_landing_pads(&self) -> usize {
        let blocks = self.blocks();
        let mut sources: HashMap<*mut LBlock, Vec<*mut LBlock>> = HashMap::new();
        for &block in &blocks {
            let (_, opcode, successors) = self.exits(block);
            if opcode == INVOKE {
                sources.entry(successors[1]).or_default().push(block);
            }
        }
        let mut added = 0;
        for &pad in &blocks {
            let invokes = sources.get(&pad).map_or(&[][..], Vec::as_slice);
            if invokes.len() > 1
                && let Some(landing) = self.landing(pad)
            {
                self.split_pad(pad, landing, invokes);
                added += invokes.len();
            }
        }
        added
    }

    /// The `landingpad` of a block; `None` where a funclet begins.
    fn landing(&self, block: *mut LBlock) -> Option<*mut LValue> {
        // SAFETY: first and next of a live list, which a terminator ends.
        unsafe {
            let mut instruction = (self.api.LLVMGetFirstInstruction)(block);
            while (self.api.LLVMGetInstructionOpcode)(instruction) == PHI {
                instruction = (self.api.LLVMGetNextInstruction)(instruction);
            }
            ((self.api.LLVMGetInstructionOpcode)(instruction) == LANDING_PAD).then_some(instruction)
        }
    }

    fn split_pad(&self, pad: *mut LBlock, landing: *mut LValue, invokes: &[*mut LBlock]) {
        let mut new: HashMap<*mut LBlock, *mut LBlock> = HashMap::new();
        let (mut values, mut blocks) = (Vec::new(), Vec::new());
        for &invoke in invokes {
            let block = self.new_block(pad, pad, landing);
            let (terminator, ..) = self.exits(invoke);
            // SAFETY: a copy of a live landingpad, put in front of the new block's jump; the
            // invoke's second successor is where it unwinds to.
            unsafe {
                let copy = (self.api.LLVMInstructionClone)(landing);
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
            new.insert(invoke, block);
        }
        self.rebuild_phis(pad, |block| match new.get(&block) {
            Some(new) => Incoming::From(*new),
            None => Incoming::Keep,
        });
        // SAFETY: the phi stands where the landingpad stood, behind the other phis, with a value
        // from each of the block's predecessors, and takes over all uses before the landingpad is
        // erased.
        unsafe {
            let builder = (self.api.LLVMCreateBuilderInContext)(self.context);
            (self.api.LLVMPositionBuilderBeforeInstrAndDbgRecords)(builder, landing);
            let phi =
                (self.api.LLVMBuildPhi)(builder, (self.api.LLVMTypeOf)(landing), c"".as_ptr());
            (self.api.LLVMDisposeBuilder)(builder);
            (self.api.LLVMInstructionSetDebugLoc)(
                phi,
                (self.api.LLVMInstructionGetDebugLoc)(landing),
            );
            (self.api.LLVMAddIncoming)(
                phi,
                values.as_mut_ptr(),
                blocks.as_mut_ptr(),
                values.len() as u32,
            );
            (self.api.LLVMReplaceAllUsesWith)(landing, phi);
            (self.api.LLVMInstructionEraseFromParent)(landing);
        }
    }
}
