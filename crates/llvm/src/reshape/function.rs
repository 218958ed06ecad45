//! Changes of a function's shape that leave its meaning alone, so that every edge has a place for a
//! probe.
//!
//! LLVM's own pass `break-crit-edges` makes a block for *each case* of a switch, also of those that
//! lead to the same place and so are one edge to us: a character class would become dozens of paths
//! and lose its bit test. So edges are split here, all cases between two blocks together. The C API
//! can't change a phi's operands; the phi is built anew and replaces the old one. Edges to landing
//! pads can't be split at all; `pads.rs` tells them apart.

use std::collections::{HashMap, HashSet};

use crate::context::text_of;
use crate::intrinsics::is_marker;
use crate::module::Module;
use crate::sys::{Api, LBlock, LContext, LValue};
use crate::value::Function;

/// Which functions to reshape: told each defined function.
pub type Choice<'a> = &'a dyn Fn(Function<'_>) -> bool;

impl Module<'_> {
    /// Splits critical edges (source with several successors, target with several predecessors),
    /// with one new block for all parallel edges of a pair. Left alone: edges to landing pads
    /// ([`Module::split_landing_pads`]), of `indirectbr`, and `callbr`'s indirect ones. Returns the
    /// number of new blocks.
    pub fn split_critical_edges(&mut self, choice: Choice<'_>) -> usize {
        let functions = self.chosen(choice);
        functions
            .into_iter()
            .map(|function| Reshape::new(self, function).split_critical_edges())
            .sum()
    }

    /// Gives each block that ends with a tail call and a jump to a bare `ret` of the call's result
    /// a `ret` of its own: what the code generator does itself as long as nothing else stands
    /// before that `ret`. Without it a program that relies on tail calls (mutual recursion at
    /// `-O2`) would overflow its stack once probes stand there. Returns the number of blocks
    /// changed.
    pub fn duplicate_tail_returns(&mut self, choice: Choice<'_>) -> usize {
        let functions = self.chosen(choice);
        functions
            .into_iter()
            .map(|function| Reshape::new(self, function).duplicate_tail_returns())
            .sum()
    }

    pub(super) fn chosen(&self, choice: Choice<'_>) -> Vec<*mut LValue> {
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

/// One function being reshaped: raw pointers, alive because the module is borrowed mutably and what
/// is deleted is not touched again.
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

    /// Opcode of the terminator and successors in order.
    pub(super) fn exits(&self, block: *mut LBlock) -> (*mut LValue, i32, Vec<*mut LBlock>) {
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
            for target in distinct(&self.exits(block).2) {
                *predecessors.entry(target).or_default() += 1;
            }
        }
        // New block by (source, target); grouped by target so that its phis are rebuilt once.
        let mut splits: Vec<(*mut LBlock, Vec<(*mut LBlock, *mut LBlock)>)> = Vec::new();
        let mut place: HashMap<*mut LBlock, usize> = HashMap::new();
        for &block in &blocks {
            let (terminator, opcode, successors) = self.exits(block);
            let targets = distinct(&successors);
            if targets.len() < 2 {
                continue;
            }
            // The block after the source, so that new blocks stand in the order of the edges.
            // SAFETY: a live block; null at the end.
            let after = unsafe { (self.api.LLVMGetNextBasicBlock)(block) };
            for target in targets {
                let indices = movable(opcode, &successors, target);
                if indices.is_empty() || predecessors[&target] < 2 {
                    continue;
                }
                let new = self.new_block(after, target, terminator);
                for index in indices {
                    // SAFETY: a successor of the terminator by that index.
                    unsafe { (self.api.LLVMSetSuccessor)(terminator, index, new) };
                }
                let index = *place.entry(target).or_insert_with(|| {
                    splits.push((target, Vec::new()));
                    splits.len() - 1
                });
                splits[index].1.push((block, new));
            }
        }
        for (target, moved) in &splits {
            let moved: HashMap<_, _> = moved.iter().copied().collect();
            self.rebuild_phis(*target, |block| match moved.get(&block) {
                Some(new) => Incoming::From(*new),
                None => Incoming::Keep,
            });
        }
        splits.iter().map(|(_, moved)| moved.len()).sum()
    }

    /// A block that jumps to `target`, before `after` or at the function's end.
    pub(super) fn new_block(
        &self,
        after: *mut LBlock,
        target: *mut LBlock,
        terminator: *mut LValue,
    ) -> *mut LBlock {
        // SAFETY: blocks of this function; the builder is freed; the location is null or a
        // location.
        unsafe {
            let new = if after.is_null() {
                (self.api.LLVMAppendBasicBlockInContext)(self.context, self.function, c"".as_ptr())
            } else {
                (self.api.LLVMInsertBasicBlockInContext)(self.context, after, c"".as_ptr())
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

    /// Replaces each phi of a block by one whose incoming blocks are changed; parallel ones that
    /// move become one.
    pub(super) fn rebuild_phis(
        &self,
        block: *mut LBlock,
        change: impl Fn(*mut LBlock) -> Incoming,
    ) {
        for old in self.phis(block) {
            // SAFETY: a phi; the new one stands before it, gets the same values, and takes over its
            // uses (its own too, where the old one used itself) before the old one is erased.
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
                let mut seen = HashSet::new();
                for index in 0..(self.api.LLVMCountIncoming)(old) {
                    let source = (self.api.LLVMGetIncomingBlock)(old, index);
                    let source = match change(source) {
                        Incoming::Keep => source,
                        Incoming::Drop => continue,
                        Incoming::From(new) if !seen.insert(new) => continue,
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
        let mut sources: HashMap<*mut LBlock, Vec<*mut LBlock>> = HashMap::new();
        for &block in &blocks {
            for target in distinct(&self.exits(block).2) {
                sources.entry(target).or_default().push(block);
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
            let sources = sources.get(&target).map_or(&[][..], Vec::as_slice);
            let tails: Vec<_> = sources
                .iter()
                .copied()
                .filter(|&block| self.ends_with_tail_call(block, result, target))
                .collect();
            if tails.is_empty() {
                continue;
            }
            changed += tails.len();
            for &block in &tails {
                self.end_with_return(block, target, ret, result);
            }
            if tails.len() == sources.len() {
                // SAFETY: nothing leads to it now; what it defines is used in it only, since it
                // only returns. It isn't looked at again: each block is visited once, and it is no
                // block's source.
                unsafe { (self.api.LLVMDeleteBasicBlock)(target) };
            } else {
                let tails: HashSet<_> = tails.into_iter().collect();
                self.rebuild_phis(target, |block| {
                    if tails.contains(&block) {
                        Incoming::Drop
                    } else {
                        Incoming::Keep
                    }
                });
            }
        }
        changed
    }

    /// The `ret` of a block that holds nothing but phis and it, and its operand (null: `ret void`).
    fn bare_return(&self, block: *mut LBlock) -> Option<(*mut LValue, *mut LValue)> {
        let (terminator, opcode, _) = self.exits(block);
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

    /// Whether something but terminators refers to a block: a label's address.
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

    /// Whether a block does nothing after a tail call but jump to `target`, and what `target`
    /// returns is the call's result.
    fn ends_with_tail_call(
        &self,
        block: *mut LBlock,
        result: *mut LValue,
        target: *mut LBlock,
    ) -> bool {
        const TAIL: i32 = 1;
        let (terminator, opcode, successors) = self.exits(block);
        if opcode != BR || successors.len() != 1 {
            return false;
        }
        // SAFETY: live instructions; the callee and tail kind are asked of a call.
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

    /// What a phi of `target` gets from `block`; any other value is itself.
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

    /// Whether an instruction is a call that makes no code: debug markers, ends of lifetimes,
    /// assumptions.
    unsafe fn is_marker(&self, instruction: *mut LValue) -> bool {
        // SAFETY: the caller gives a live instruction; the callee is asked of a call; the name
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
            let name = text_of((self.api.LLVMGetValueName2)(callee, &mut length), length);
            is_marker(&name)
        }
    }

    /// Replaces a block's jump to `target` by `target`'s return.
    fn end_with_return(
        &self,
        block: *mut LBlock,
        target: *mut LBlock,
        ret: *mut LValue,
        result: *mut LValue,
    ) {
        let (branch, ..) = self.exits(block);
        let value = if result.is_null() {
            result
        } else {
            self.incoming(result, block, target)
        };
        // SAFETY: live instructions; the jump is erased after the return stands before it; the
        // value is defined in `block` or dominates `target`, and so `block` too, which jumps only
        // there.
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

/// What becomes of a phi's incoming block.
pub(super) enum Incoming {
    Keep,
    Drop,
    From(*mut LBlock),
}

pub(super) fn distinct(blocks: &[*mut LBlock]) -> Vec<*mut LBlock> {
    let mut seen = HashSet::new();
    blocks
        .iter()
        .copied()
        .filter(|block| seen.insert(*block))
        .collect()
}

/// The successor numbers of the edges to `target`, if all of them can be led elsewhere.
fn movable(opcode: i32, successors: &[*mut LBlock], target: *mut LBlock) -> Vec<u32> {
    let indices = || {
        (0u32..)
            .zip(successors)
            .filter(|(_, block)| **block == target)
            .map(|(index, _)| index)
    };
    match opcode {
        BR | SWITCH => indices().collect(),
        // Only the way on after the call: the other leads to a landing pad, or is an indirect
        // label.
        INVOKE | CALLBR if indices().eq([0]) => vec![0],
        _ => Vec::new(),
    }
}
