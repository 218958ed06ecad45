//! Splits critical edges, so that a probe can be inserted on every edge, and duplicates returns
//! after tail calls.
//!
//! LLVM's pass `break-crit-edges` creates a block for *each case* of a switch, even for cases that
//! lead to the same block. To the profiler, these cases are a single edge. With the pass, a switch
//! over a character class would have dozens of paths, and LLVM could no longer compile it to a bit
//! test. So this module splits edges itself, and treats all cases between two blocks as one edge.
//!
//! The C API cannot change the operands of a phi, so a new phi replaces the old phi. Edges to
//! landing pads cannot be split; `pads.rs` gives each of them a separate pad.

use std::collections::{HashMap, HashSet};

use crate::context::copy_text;
use crate::intrinsics::is_marker;
use crate::module::Module;
use crate::sys::{Api, LBlock, LContext, LValue};
use crate::value::Function;

/// Selects the functions to reshape. It is called with each defined function.
pub type Choice<'a> = &'a dyn Fn(Function<'_>) -> bool;

impl Module<'_> {
    /// Splits critical edges (the source has several successors, and the target has several
    /// predecessors). All parallel edges between two blocks share one new block. Three kinds of
    /// edges are not split: edges to landing pads (see [`Module::split_landing_pads`]), edges of
    /// `indirectbr`, and indirect edges of `callbr`. Returns the number of new blocks.
    pub fn split_critical_edges(&mut self, choice: Choice<'_>) -> usize {
        let functions = self.chosen_functions(choice);
        functions
            .into_iter()
            .map(|function| Reshape::new(self, function).split_critical_edges())
            .sum()
    }

    /// Duplicates a `ret` into blocks that end with a tail call. Such a block jumps to a block that
    /// only returns the call's result. The code generator makes the same change, but only if the
    /// block has no other code before the `ret`, and probes would be such code. Without the change,
    /// a woven program that relies on tail calls (mutual recursion at `-O2`) would overflow its
    /// stack. Returns the number of changed blocks.
    pub fn duplicate_tail_returns(&mut self, choice: Choice<'_>) -> usize {
        let functions = self.chosen_functions(choice);
        functions
            .into_iter()
            .map(|function| Reshape::new(self, function).duplicate_tail_returns())
            .sum()
    }

    pub(super) fn chosen_functions(&self, choice: Choice<'_>) -> Vec<*mut LValue> {
        self.functions()
            .filter(|function| !function.is_declaration() && choice(*function))
            .map(Function::raw)
            .collect()
    }
}

/// LLVM's opcode numbers (`llvm-c/Core.h`).
const RET: i32 = 1;
pub(super) const BR: i32 = 2;
pub(super) const SWITCH: i32 = 3;
pub(super) const INVOKE: i32 = 5;
const CALL: i32 = 45;
pub(super) const PHI: i32 = 44;
const CALLBR: i32 = 67;

/// A function during reshaping. The raw pointers are valid: the module is borrowed mutably, and
/// deleted objects are not used again.
pub(super) struct Reshape<'a> {
    pub(super) api: &'a Api,
    pub(super) context: *mut LContext,
    function: *mut LValue,
}

impl<'a> Reshape<'a> {
    pub(super) fn new(module: &'a Module<'_>, function: *mut LValue) -> Self {
        Self {
            api: module.api(),
            context: module.context().raw(),
            function,
        }
    }

    pub(super) fn blocks(&self) -> Vec<*mut LBlock> {
        let mut blocks = Vec::new();
        // SAFETY: first and next of a live list; null at the end.
        unsafe {
            let mut block = (self.api.LLVMGetFirstBasicBlock)(self.function);
            while !block.is_null() {
                blocks.push(block);
                block = (self.api.LLVMGetNextBasicBlock)(block);
            }
        }
        blocks
    }

    /// Returns the terminator of a block, its opcode, and its successors in order.
    pub(super) fn terminator(&self, block: *mut LBlock) -> (*mut LValue, i32, Vec<*mut LBlock>) {
        // SAFETY: a complete block has a terminator; indices below the count.
        unsafe {
            let terminator = (self.api.LLVMGetBasicBlockTerminator)(block);
            assert!(
                !terminator.is_null(),
                "every block of a parsed function ends with a terminator"
            );
            let count = (self.api.LLVMGetNumSuccessors)(terminator);
            let successors = (0..count)
                .map(|index| (self.api.LLVMGetSuccessor)(terminator, index))
                .collect();
            (
                terminator,
                (self.api.LLVMGetInstructionOpcode)(terminator),
                successors,
            )
        }
    }

    fn split_critical_edges(&self) -> usize {
        let blocks = self.blocks();
        let mut predecessors: HashMap<*mut LBlock, usize> = HashMap::new();
        for &block in &blocks {
            for target in distinct(&self.terminator(block).2) {
                *predecessors.entry(target).or_default() += 1;
            }
        }
        // The new blocks, as (source, new block) pairs, grouped by target so that each target's
        // phis are rebuilt once.
        let mut splits: Vec<(*mut LBlock, Vec<(*mut LBlock, *mut LBlock)>)> = Vec::new();
        let mut split_index: HashMap<*mut LBlock, usize> = HashMap::new();
        for &block in &blocks {
            let (terminator, opcode, successors) = self.terminator(block);
            let targets = distinct(&successors);
            if targets.len() < 2 {
                continue;
            }
            // New blocks are inserted before the next block, in the order of the edges. SAFETY: a
            // live block; null at the end.
            let next_block = unsafe { (self.api.LLVMGetNextBasicBlock)(block) };
            for target in targets {
                let indices = movable(opcode, &successors, target);
                if indices.is_empty() || predecessors[&target] < 2 {
                    continue;
                }
                let new = self.new_block(next_block, target, terminator);
                for index in indices {
                    // SAFETY: a successor of the terminator by that index.
                    unsafe { (self.api.LLVMSetSuccessor)(terminator, index, new) };
                }
                let index = *split_index.entry(target).or_insert_with(|| {
                    splits.push((target, Vec::new()));
                    splits.len() - 1
                });
                splits[index].1.push((block, new));
            }
        }
        for (target, new_blocks) in &splits {
            let new_blocks: HashMap<_, _> = new_blocks.iter().copied().collect();
            self.rebuild_phis(*target, |block| match new_blocks.get(&block) {
                Some(new) => Incoming::From(*new),
                None => Incoming::Keep,
            });
        }
        splits.iter().map(|(_, new_blocks)| new_blocks.len()).sum()
    }

    /// Creates a block that jumps to `target`, with the debug location of `terminator`. The block
    /// is inserted before `next_block`, or at the end of the function if `next_block` is null.
    pub(super) fn new_block(
        &self,
        next_block: *mut LBlock,
        target: *mut LBlock,
        terminator: *mut LValue,
    ) -> *mut LBlock {
        // SAFETY: blocks of this function; the builder is freed; the location is null or a
        // location.
        unsafe {
            let new = if next_block.is_null() {
                (self.api.LLVMAppendBasicBlockInContext)(self.context, self.function, c"".as_ptr())
            } else {
                (self.api.LLVMInsertBasicBlockInContext)(self.context, next_block, c"".as_ptr())
            };
            let builder = (self.api.LLVMCreateBuilderInContext)(self.context);
            (self.api.LLVMPositionBuilderAtEnd)(builder, new);
            let branch = (self.api.LLVMBuildBr)(builder, target);
            (self.api.LLVMDisposeBuilder)(builder);
            (self.api.LLVMInstructionSetDebugLoc)(
                branch,
                (self.api.LLVMInstructionGetDebugLoc)(terminator),
            );
            new
        }
    }

    pub(super) fn phis(&self, block: *mut LBlock) -> Vec<*mut LValue> {
        let mut phis = Vec::new();
        // SAFETY: first and next of a live list; null at the end.
        unsafe {
            let mut instruction = (self.api.LLVMGetFirstInstruction)(block);
            while !instruction.is_null() && (self.api.LLVMGetInstructionOpcode)(instruction) == PHI
            {
                phis.push(instruction);
                instruction = (self.api.LLVMGetNextInstruction)(instruction);
            }
        }
        phis
    }

    /// Replaces each phi of a block by a phi with changed incoming blocks. Parallel incoming blocks
    /// that change to the same block become one.
    pub(super) fn rebuild_phis(
        &self,
        block: *mut LBlock,
        change: impl Fn(*mut LBlock) -> Incoming,
    ) {
        for old in self.phis(block) {
            // SAFETY: a phi. The new phi is inserted before the old phi, gets the same values, and
            // takes over all uses, including the old phi's use of itself. Then the old phi is
            // erased.
            unsafe {
                let builder = (self.api.LLVMCreateBuilderInContext)(self.context);
                (self.api.LLVMPositionBuilderBeforeInstrAndDbgRecords)(builder, old);
                let new =
                    (self.api.LLVMBuildPhi)(builder, (self.api.LLVMTypeOf)(old), c"".as_ptr());
                (self.api.LLVMDisposeBuilder)(builder);
                (self.api.LLVMInstructionSetDebugLoc)(
                    new,
                    (self.api.LLVMInstructionGetDebugLoc)(old),
                );
                if (self.api.LLVMCanValueUseFastMathFlags)(old) != 0 {
                    (self.api.LLVMSetFastMathFlags)(new, (self.api.LLVMGetFastMathFlags)(old));
                }
                let mut values = Vec::new();
                let mut blocks: Vec<*mut LBlock> = Vec::new();
                let mut added_blocks = HashSet::new();
                for index in 0..(self.api.LLVMCountIncoming)(old) {
                    let source = (self.api.LLVMGetIncomingBlock)(old, index);
                    let source = match change(source) {
                        Incoming::Keep => source,
                        Incoming::Drop => continue,
                        Incoming::From(new) if !added_blocks.insert(new) => continue,
                        Incoming::From(new) => new,
                    };
                    values.push((self.api.LLVMGetIncomingValue)(old, index));
                    blocks.push(source);
                }
                (self.api.LLVMAddIncoming)(
                    new,
                    values.as_mut_ptr(),
                    blocks.as_mut_ptr(),
                    values.len() as u32,
                );
                (self.api.LLVMReplaceAllUsesWith)(old, new);
                (self.api.LLVMInstructionEraseFromParent)(old);
            }
        }
    }

    fn duplicate_tail_returns(&self) -> usize {
        let blocks = self.blocks();
        let mut predecessors: HashMap<*mut LBlock, Vec<*mut LBlock>> = HashMap::new();
        for &block in &blocks {
            for target in distinct(&self.terminator(block).2) {
                predecessors.entry(target).or_default().push(block);
            }
        }
        let mut changed = 0;
        for &target in &blocks {
            let Some((ret, result)) = self.bare_return(target) else {
                continue;
            };
            if self.address_is_taken(target) {
                continue;
            }
            let predecessors = predecessors.get(&target).map_or(&[][..], Vec::as_slice);
            let tail_callers: Vec<_> = predecessors
                .iter()
                .copied()
                .filter(|&block| self.ends_with_tail_call(block, result, target))
                .collect();
            if tail_callers.is_empty() {
                continue;
            }
            changed += tail_callers.len();
            for &block in &tail_callers {
                self.end_with_return(block, target, ret, result);
            }
            if tail_callers.len() == predecessors.len() {
                // SAFETY: no edge leads to the block any more. Its phis are used only in the block,
                // because it only returns. The block is not accessed again: each block is visited
                // once, and the block is no predecessor of another block.
                unsafe { (self.api.LLVMDeleteBasicBlock)(target) };
            } else {
                let tail_callers: HashSet<_> = tail_callers.into_iter().collect();
                self.rebuild_phis(target, |block| {
                    if tail_callers.contains(&block) {
                        Incoming::Drop
                    } else {
                        Incoming::Keep
                    }
                });
            }
        }
        changed
    }

    /// Returns the `ret` of a block that contains only phis and the `ret`, and the operand of the
    /// `ret` (null for `ret void`).
    fn bare_return(&self, block: *mut LBlock) -> Option<(*mut LValue, *mut LValue)> {
        let (terminator, opcode, _) = self.terminator(block);
        // SAFETY: live instructions; a ret has no or one operand.
        unsafe {
            if opcode != RET || block == (self.api.LLVMGetEntryBasicBlock)(self.function) {
                return None;
            }
            let mut first = (self.api.LLVMGetFirstInstruction)(block);
            while (self.api.LLVMGetInstructionOpcode)(first) == PHI {
                first = (self.api.LLVMGetNextInstruction)(first);
            }
            if first != terminator {
                return None;
            }
            let operands = (self.api.LLVMGetNumOperands)(terminator);
            let result = if operands == 0 {
                std::ptr::null_mut()
            } else {
                (self.api.LLVMGetOperand)(terminator, 0)
            };
            Some((terminator, result))
        }
    }

    /// Returns whether the address of a block is used as a constant (`blockaddress`).
    pub(super) fn address_is_taken(&self, block: *mut LBlock) -> bool {
        // SAFETY: first and next of a live list; null at the end.
        unsafe {
            let mut entry = (self.api.LLVMGetFirstUse)((self.api.LLVMBasicBlockAsValue)(block));
            while !entry.is_null() {
                if (self.api.LLVMIsAInstruction)((self.api.LLVMGetUser)(entry)).is_null() {
                    return true;
                }
                entry = (self.api.LLVMGetNextUse)(entry);
            }
        }
        false
    }

    /// Returns whether a block ends with a tail call and a jump to `target`, and `target` returns
    /// the call's result.
    fn ends_with_tail_call(
        &self,
        block: *mut LBlock,
        result: *mut LValue,
        target: *mut LBlock,
    ) -> bool {
        const TAIL: i32 = 1;
        let (terminator, opcode, successors) = self.terminator(block);
        if opcode != BR || successors.len() != 1 {
            return false;
        }
        // SAFETY: live instructions; callee and tail kind are read only of a call.
        unsafe {
            let mut last = (self.api.LLVMGetPreviousInstruction)(terminator);
            while !last.is_null() && self.is_marker(last) {
                last = (self.api.LLVMGetPreviousInstruction)(last);
            }
            if last.is_null()
                || (self.api.LLVMGetInstructionOpcode)(last) != CALL
                || (self.api.LLVMGetTailCallKind)(last) != TAIL
            {
                return false;
            }
            result.is_null() || self.incoming(result, block, target) == last
        }
    }

    /// Returns the value that `value` has in `target` if control comes from `block`: the incoming
    /// value if `value` is a phi of `target`, else `value` itself.
    fn incoming(&self, value: *mut LValue, block: *mut LBlock, target: *mut LBlock) -> *mut LValue {
        if !self.phis(target).contains(&value) {
            return value;
        }
        // SAFETY: a phi; indices below the count.
        unsafe {
            (0..(self.api.LLVMCountIncoming)(value))
                .find(|&index| (self.api.LLVMGetIncomingBlock)(value, index) == block)
                .map_or(std::ptr::null_mut(), |index| {
                    (self.api.LLVMGetIncomingValue)(value, index)
                })
        }
    }

    /// Returns whether an instruction is a call that generates no code: debug markers, ends of
    /// lifetimes, assumptions.
    ///
    /// # Safety
    /// `instruction` is live.
    unsafe fn is_marker(&self, instruction: *mut LValue) -> bool {
        // SAFETY: a live instruction by the contract; the callee is read only of a call; the name
        // belongs to the callee.
        unsafe {
            if (self.api.LLVMGetInstructionOpcode)(instruction) != CALL {
                return false;
            }
            let callee = (self.api.LLVMIsAFunction)((self.api.LLVMGetCalledValue)(instruction));
            if callee.is_null() {
                return false;
            }
            let mut length = 0;
            let name = copy_text((self.api.LLVMGetValueName2)(callee, &mut length), length);
            is_marker(&name)
        }
    }

    /// Replaces a block's jump to `target` by a copy of `target`'s return.
    fn end_with_return(
        &self,
        block: *mut LBlock,
        target: *mut LBlock,
        ret: *mut LValue,
        result: *mut LValue,
    ) {
        let (branch, ..) = self.terminator(block);
        let value = if result.is_null() {
            result
        } else {
            self.incoming(result, block, target)
        };
        // SAFETY: live instructions; the jump is erased after the return has been inserted before
        // it. The value is defined in `block`, or it dominates `target`. In the second case it also
        // dominates `block`, a predecessor of `target`.
        unsafe {
            let builder = (self.api.LLVMCreateBuilderInContext)(self.context);
            (self.api.LLVMPositionBuilderBefore)(builder, branch);
            let new = if value.is_null() {
                (self.api.LLVMBuildRetVoid)(builder)
            } else {
                (self.api.LLVMBuildRet)(builder, value)
            };
            (self.api.LLVMDisposeBuilder)(builder);
            (self.api.LLVMInstructionSetDebugLoc)(new, (self.api.LLVMInstructionGetDebugLoc)(ret));
            (self.api.LLVMInstructionEraseFromParent)(branch);
        }
    }
}

/// The change of an incoming block of a phi.
pub(super) enum Incoming {
    /// The incoming block does not change.
    Keep,
    /// The incoming block and its value are removed.
    Drop,
    /// The value now comes from this block.
    From(*mut LBlock),
}

/// Returns the blocks without duplicates, in order.
pub(super) fn distinct(blocks: &[*mut LBlock]) -> Vec<*mut LBlock> {
    let mut seen = HashSet::new();
    blocks
        .iter()
        .copied()
        .filter(|block| seen.insert(*block))
        .collect()
}

/// Returns the successor indices of the edges to `target`. Returns no index if one of the edges
/// cannot be redirected.
fn movable(opcode: i32, successors: &[*mut LBlock], target: *mut LBlock) -> Vec<u32> {
    let indices = || {
        (0u32..)
            .zip(successors)
            .filter(|(_, block)| **block == target)
            .map(|(index, _)| index)
    };
    match opcode {
        BR | SWITCH => indices().collect(),
        // Only the normal edge after the call can be redirected. Any other edge leads to a landing
        // pad or an indirect label.
        INVOKE | CALLBR if indices().eq([0]) => vec![0],
        _ => Vec::new(),
    }
}
