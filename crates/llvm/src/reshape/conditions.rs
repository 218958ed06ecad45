//! Makes branches of conditions whose value is kept.
//!
//! A front end evaluates `a && b` in the condition of an `if` with a branch on each operand. If the
//! value of the whole is kept, as in `r = a && b`, there is a branch on `a` only, and a phi takes
//! the value of `b`. Clang does so in the conditions of loops, too. Then no edge says what `b` was.
//! So the phi gets a block for each of its two values:
//!
//! ```text
//!   a: br a, b, join              a: br a, b, fails
//!   b: br join                    b: br b, holds, fails
//!                                 holds: br join     fails: br join
//!   join: phi [false, a], [b, b]  join: phi [true, holds], [false, fails]
//! ```
//! rustc keeps the value in memory: each of the blocks stores a value before it jumps to `join`.
//! Such a store of a condition is changed likewise. A block that only stores a constant is used as
//! it is.
//!
//! If a block that only jumps stands for one of the values already, it is `holds` or `fails`. If
//! `join` only branches on the phi, then `holds` and `fails` jump to its targets instead.
//!
//! Only phis with a constant are changed. The other ones choose between two values
//! (`c ? a : b`). A branch on poison is undefined behavior and a phi of poison is not, hence a
//! `freeze`.

use std::collections::HashSet;

use super::function::{BR, Choice, Incoming, PHI, Reshape, SWITCH, distinct};
use crate::module::Module;
use crate::sys::{LBlock, LValue};

/// LLVM's opcode numbers (`llvm-c/Core.h`).
const ALLOCA: i32 = 26;
const LOAD: i32 = 27;
const STORE: i32 = 28;
const XOR: i32 = 25;
const TRUNC: i32 = 30;
const ZEXT: i32 = 31;
const FREEZE: i32 = 68;
/// LLVM's number of the ordering of accesses that are not atomic.
const NOT_ATOMIC: i32 = 0;
/// LLVM's number of the kind of integer types.
const INTEGER_TYPE: i32 = 8;

impl Module<'_> {
    /// Gives each phi of conditions a block for each of its two values, with a branch on each
    /// condition. Returns the number of changed phis.
    pub fn branch_on_conditions(&mut self, choice: Choice<'_>) -> usize {
        let functions = self.chosen_functions(choice);
        functions
            .into_iter()
            .map(|function| Reshape::new(self, function).branch_on_conditions())
            .sum()
    }
}

/// A value that is 0 or 1.
#[derive(Clone, Copy)]
enum Bit {
    Known(bool),
    /// A value of type `i1`.
    Computed(*mut LValue),
}

impl Reshape<'_> {
    fn branch_on_conditions(&self) -> usize {
        let blocks = self.blocks();
        let joins = blocks.iter().filter(|&&block| self.expand_phi(block));
        let phis = joins.count();
        let sources = blocks.iter().filter(|&&block| self.expand_store(block));
        let changed = phis + sources.count();
        // A target of a removed block may be removed next. A removed block is not looked at again.
        let mut removed: HashSet<*mut LBlock> = HashSet::new();
        loop {
            let before = removed.len();
            for &block in &blocks {
                if !removed.contains(&block) {
                    removed.extend(self.skip_known_branch(block));
                }
            }
            if removed.len() == before {
                return changed;
            }
        }
    }

    /// Expands a phi of a block. Returns whether the block has such a phi.
    fn expand_phi(&self, join: *mut LBlock) -> bool {
        let phis = self.phis(join);
        let expandable = |&phi: &*mut LValue| Some((phi, self.conditions(phi)?));
        let Some((expanded, incoming)) = phis.iter().find_map(expandable) else {
            return false;
        };
        let sources: Vec<*mut LBlock> = incoming.iter().map(|&(_, source)| source).collect();
        if distinct(&sources).len() < sources.len() || self.address_is_taken(join) {
            return false;
        }
        let is_known = |&&(bit, source): &&(Option<Bit>, *mut LBlock), value: bool| {
            matches!(bit, Some(Bit::Known(known)) if known == value) && self.is_jump(source)
        };
        let (location, ..) = self.terminator(sources[0]);
        let [holds, fails] = [true, false].map(|value| {
            // A block that only jumps and stands for the value already is used for it.
            let known = incoming.iter().find(|source| is_known(source, value));
            known.map_or_else(
                || self.new_block(join, join, location),
                |&(_, source)| source,
            )
        });
        // The sources that now lead to each of the two blocks.
        let mut moved: [Vec<*mut LBlock>; 2] = [Vec::new(), Vec::new()];
        for &(bit, source) in &incoming {
            match bit {
                Some(Bit::Known(_)) if source == holds || source == fails => {}
                Some(Bit::Known(true)) => moved[0].push(source),
                Some(Bit::Known(false)) => moved[1].push(source),
                Some(Bit::Computed(_)) => moved.iter_mut().for_each(|moved| moved.push(source)),
                None => {}
            }
        }
        let olds = [holds, fails].map(|block| self.predecessors(block));
        for &(bit, source) in &incoming {
            match bit {
                Some(Bit::Known(true)) if source != holds => self.retarget(source, join, holds),
                Some(Bit::Known(false)) if source != fails => self.retarget(source, join, fails),
                Some(Bit::Computed(value)) => self.branch_on(source, value, holds, fails),
                Some(Bit::Known(_)) | None => {}
            }
        }
        for phi in phis {
            self.move_incoming(phi, phi == expanded, [holds, fails], &olds, &moved);
        }
        true
    }

    /// Expands the store of a condition before the jump at the end of a block. Another block must
    /// store a constant to the same variable and jump to the same block. Returns whether there is
    /// such a store.
    fn expand_store(&self, source: *mut LBlock) -> bool {
        let Some((store, Bit::Computed(condition), variable, join)) = self.last_store(source)
        else {
            return false;
        };
        if !self.phis(join).is_empty() {
            return false;
        }
        let constant = |wanted: bool| {
            let mut blocks = self.predecessors(join).into_iter();
            blocks.find(|&block| {
                let stored = self.last_store(block);
                // SAFETY: a block has a first instruction.
                let first = unsafe { (self.api.LLVMGetFirstInstruction)(block) };
                stored.is_some_and(|(store, bit, other, _)| {
                    let is_wanted = matches!(bit, Bit::Known(value) if value == wanted);
                    is_wanted && other == variable && first == store
                })
            })
        };
        let known = [constant(true), constant(false)];
        if known == [None, None] {
            return false;
        }
        let (jump, ..) = self.terminator(source);
        let [holds, fails] = [(true, known[0]), (false, known[1])].map(|(value, known)| {
            known.unwrap_or_else(|| self.storing_block(store, value, join, jump))
        });
        self.branch_on(source, condition, holds, fails);
        // SAFETY: a store has no uses.
        unsafe { (self.api.LLVMInstructionEraseFromParent)(store) };
        true
    }

    /// The store before the jump at the end of a block: the store, the stored bit, the variable,
    /// and the target of the jump.
    fn last_store(
        &self,
        block: *mut LBlock,
    ) -> Option<(*mut LValue, Bit, *mut LValue, *mut LBlock)> {
        let (jump, opcode, successors) = self.terminator(block);
        let (BR, &[join]) = (opcode, &successors[..]) else {
            return None;
        };
        // SAFETY: live instructions; a store has a value and a pointer.
        unsafe {
            let store = (self.api.LLVMGetPreviousInstruction)(jump);
            if store.is_null()
                || (self.api.LLVMGetInstructionOpcode)(store) != STORE
                || (self.api.LLVMGetVolatile)(store) != 0
                || (self.api.LLVMGetOrdering)(store) != NOT_ATOMIC
            {
                return None;
            }
            let variable = (self.api.LLVMGetOperand)(store, 1);
            let is_variable = !(self.api.LLVMIsAInstruction)(variable).is_null()
                && (self.api.LLVMGetInstructionOpcode)(variable) == ALLOCA;
            let value = (self.api.LLVMGetOperand)(store, 0);
            let is_integer =
                (self.api.LLVMGetTypeKind)((self.api.LLVMTypeOf)(value)) == INTEGER_TYPE;
            let bit = self.bit(value).filter(|_| is_variable && is_integer)?;
            Some((store, bit, variable, join))
        }
    }

    /// Creates a block that stores a constant as `store` does, and jumps to `join`.
    fn storing_block(
        &self,
        store: *mut LValue,
        value: bool,
        join: *mut LBlock,
        jump: *mut LValue,
    ) -> *mut LBlock {
        let block = self.new_block(join, join, jump);
        let (end, ..) = self.terminator(block);
        // SAFETY: a store; its copy is inserted at once, and stores a constant of the same type.
        unsafe {
            let builder = (self.api.LLVMCreateBuilderInContext)(self.context);
            (self.api.LLVMPositionBuilderBefore)(builder, end);
            let copy = (self.api.LLVMInstructionClone)(store);
            (self.api.LLVMInsertIntoBuilder)(builder, copy);
            (self.api.LLVMDisposeBuilder)(builder);
            let location = (self.api.LLVMInstructionGetDebugLoc)(store);
            (self.api.LLVMInstructionSetDebugLoc)(copy, location);
            let kind = (self.api.LLVMTypeOf)((self.api.LLVMGetOperand)(store, 0));
            let constant = (self.api.LLVMConstInt)(kind, value.into(), 0);
            (self.api.LLVMSetOperand)(copy, 0, constant);
        }
        block
    }

    /// The bits that a phi takes, with their blocks, if at least one is known and one is computed,
    /// and if their edges can be moved. Other values have no bit.
    fn conditions(&self, phi: *mut LValue) -> Option<Vec<(Option<Bit>, *mut LBlock)>> {
        let incoming = self.incoming_bits(phi)?;
        let has = |is_wanted: fn(Bit) -> bool| {
            let mut bits = incoming.iter().filter_map(|&(bit, _)| bit);
            bits.any(is_wanted)
        };
        let is_expandable = has(|bit| matches!(bit, Bit::Known(_)))
            && has(|bit| matches!(bit, Bit::Computed(_)))
            && incoming.iter().all(|&(bit, source)| {
                let (_, opcode, successors) = self.terminator(source);
                match bit {
                    Some(Bit::Known(_)) => matches!(opcode, BR | SWITCH),
                    Some(Bit::Computed(_)) => opcode == BR && successors.len() == 1,
                    None => true,
                }
            });
        is_expandable.then_some(incoming)
    }

    /// Whether a block only jumps.
    fn is_jump(&self, block: *mut LBlock) -> bool {
        let (terminator, opcode, successors) = self.terminator(block);
        // SAFETY: a block has a first instruction.
        let first = unsafe { (self.api.LLVMGetFirstInstruction)(block) };
        opcode == BR
            && successors.len() == 1
            && first == terminator
            && !self.address_is_taken(block)
    }

    /// The blocks with an edge to a block.
    fn predecessors(&self, block: *mut LBlock) -> Vec<*mut LBlock> {
        let blocks = self.blocks().into_iter();
        let leads = |&source: &*mut LBlock| self.terminator(source).2.contains(&block);
        blocks.filter(leads).collect()
    }

    /// Replaces a phi after edges to its block were moved: the edges of `moved` now lead to `to`,
    /// which had the predecessors `olds` before. If the phi is expanded, it takes 1 and 0 from
    /// these blocks, else the values that it took from the moved edges.
    fn move_incoming(
        &self,
        phi: *mut LValue,
        is_expanded: bool,
        to: [*mut LBlock; 2],
        olds: &[Vec<*mut LBlock>; 2],
        moved: &[Vec<*mut LBlock>; 2],
    ) {
        // SAFETY: a phi; indices below the count. Each new phi has one value for each predecessor
        // of its block, of the phi's type. A value that came from a block is available at the end
        // of the blocks before it, too, unless the block defines it, and a block that only jumps
        // defines none. The new phi takes over all uses, and the old phi is erased.
        unsafe {
            let kind = (self.api.LLVMTypeOf)(phi);
            let incoming: Vec<(*mut LBlock, *mut LValue)> = (0..(self.api.LLVMCountIncoming)(phi))
                .map(|index| {
                    let source = (self.api.LLVMGetIncomingBlock)(phi, index);
                    (source, (self.api.LLVMGetIncomingValue)(phi, index))
                })
                .collect();
            let value_from = |block: *mut LBlock| {
                let mut incoming = incoming.iter();
                incoming
                    .find(|(source, _)| *source == block)
                    .map(|&(_, value)| value)
            };
            let mut parts: Vec<(*mut LBlock, *mut LValue)> = incoming
                .iter()
                .copied()
                .filter(|(source, _)| {
                    !to.contains(source) && !moved.iter().flatten().any(|moved| moved == source)
                })
                .collect();
            for (number, block) in to.into_iter().enumerate() {
                if is_expanded {
                    let one = u64::from(number == 0);
                    parts.push((block, (self.api.LLVMConstInt)(kind, one, 0)));
                    continue;
                }
                let own = value_from(block);
                let olds = olds[number].iter().filter_map(|&old| Some((old, own?)));
                let news = moved[number]
                    .iter()
                    .filter_map(|&source| Some((source, value_from(source)?)));
                let values: Vec<_> = olds.chain(news).collect();
                let Some(&(_, first)) = values.first() else {
                    continue;
                };
                let value = match values.iter().all(|&(_, value)| value == first) {
                    true => first,
                    false => {
                        let top = (self.api.LLVMGetFirstInstruction)(block);
                        self.new_phi(kind, top, phi, &values)
                    }
                };
                parts.push((block, value));
            }
            let new = self.new_phi(kind, phi, phi, &parts);
            (self.api.LLVMReplaceAllUsesWith)(phi, new);
            (self.api.LLVMInstructionEraseFromParent)(phi);
        }
    }

    /// Creates a phi before an instruction, with the debug location and flags of another phi.
    ///
    /// # Safety
    /// The instruction is the first of its block or a phi, `like` is a phi of the type `kind`, and
    /// each value has this type and is available at the end of its block.
    unsafe fn new_phi(
        &self,
        kind: *mut crate::sys::LType,
        before: *mut LValue,
        like: *mut LValue,
        parts: &[(*mut LBlock, *mut LValue)],
    ) -> *mut LValue {
        // SAFETY: by the contract.
        unsafe {
            let builder = (self.api.LLVMCreateBuilderInContext)(self.context);
            (self.api.LLVMPositionBuilderBeforeInstrAndDbgRecords)(builder, before);
            let new = (self.api.LLVMBuildPhi)(builder, kind, c"".as_ptr());
            (self.api.LLVMDisposeBuilder)(builder);
            let location = (self.api.LLVMInstructionGetDebugLoc)(like);
            (self.api.LLVMInstructionSetDebugLoc)(new, location);
            if (self.api.LLVMCanValueUseFastMathFlags)(like) != 0 {
                (self.api.LLVMSetFastMathFlags)(new, (self.api.LLVMGetFastMathFlags)(like));
            }
            let (mut blocks, mut values): (Vec<_>, Vec<_>) = parts.iter().copied().unzip();
            let count = values.len() as u32;
            (self.api.LLVMAddIncoming)(new, values.as_mut_ptr(), blocks.as_mut_ptr(), count);
            new
        }
    }

    /// The incoming values of a phi with their blocks: a bit, or `None` for another value. `None`
    /// if the phi is not of an integer type.
    fn incoming_bits(&self, phi: *mut LValue) -> Option<Vec<(Option<Bit>, *mut LBlock)>> {
        // SAFETY: a phi; indices below the count.
        unsafe {
            let kind = (self.api.LLVMTypeOf)(phi);
            if (self.api.LLVMGetTypeKind)(kind) != INTEGER_TYPE {
                return None;
            }
            let incoming = 0..(self.api.LLVMCountIncoming)(phi);
            let incoming = incoming.map(|index| {
                let value = (self.api.LLVMGetIncomingValue)(phi, index);
                let source = (self.api.LLVMGetIncomingBlock)(phi, index);
                (self.bit(value), source)
            });
            Some(incoming.collect())
        }
    }

    /// A value as a bit: the constants 0 and 1, a value of type `i1`, or its extension.
    fn bit(&self, value: *mut LValue) -> Option<Bit> {
        // SAFETY: a live value; an extension has one operand.
        unsafe {
            if !(self.api.LLVMIsAConstantInt)(value).is_null() {
                // The C API sign-extends the `i1` true.
                let number = (self.api.LLVMConstIntGetSExtValue)(value);
                let is_known = matches!(number, 0 | 1) || number == -1 && self.is_bit(value);
                return is_known.then_some(Bit::Known(number != 0));
            }
            if (self.api.LLVMIsConstant)(value) != 0 {
                return None;
            }
            if self.is_bit(value) {
                return Some(Bit::Computed(value));
            }
            if (self.api.LLVMIsAInstruction)(value).is_null()
                || (self.api.LLVMGetInstructionOpcode)(value) != ZEXT
            {
                return None;
            }
            let operand = (self.api.LLVMGetOperand)(value, 0);
            self.is_bit(operand).then_some(Bit::Computed(operand))
        }
    }

    /// Lets the edges from `source` to `old` lead to `new`.
    fn retarget(&self, source: *mut LBlock, old: *mut LBlock, new: *mut LBlock) {
        let (terminator, _, successors) = self.terminator(source);
        for (index, successor) in (0u32..).zip(successors) {
            if successor == old {
                // SAFETY: a successor of the terminator by that index.
                unsafe { (self.api.LLVMSetSuccessor)(terminator, index, new) };
            }
        }
    }

    /// Replaces the jump at the end of `source` by a branch on a condition, at the place of the
    /// condition.
    fn branch_on(
        &self,
        source: *mut LBlock,
        condition: *mut LValue,
        holds: *mut LBlock,
        fails: *mut LBlock,
    ) {
        let (jump, ..) = self.terminator(source);
        // SAFETY: an `i1` that dominates the end of `source`, because a phi takes it from there;
        // two blocks of the function; the jump is erased after the branch has been inserted before
        // it.
        unsafe {
            let location_of = |value: *mut LValue| {
                let is_instruction = !(self.api.LLVMIsAInstruction)(value).is_null();
                is_instruction.then(|| (self.api.LLVMInstructionGetDebugLoc)(value))
            };
            let location = location_of(condition)
                .filter(|location| !location.is_null())
                .unwrap_or_else(|| (self.api.LLVMInstructionGetDebugLoc)(jump));
            let builder = (self.api.LLVMCreateBuilderInContext)(self.context);
            (self.api.LLVMPositionBuilderBefore)(builder, jump);
            let frozen = (self.api.LLVMBuildFreeze)(builder, condition, c"".as_ptr());
            let branch = (self.api.LLVMBuildCondBr)(builder, frozen, holds, fails);
            (self.api.LLVMDisposeBuilder)(builder);
            (self.api.LLVMInstructionSetDebugLoc)(branch, location);
            (self.api.LLVMInstructionEraseFromParent)(jump);
        }
    }

    /// Removes a block that only branches on one of two known values. Its two predecessors then
    /// jump to its targets. If they have no other code, they are removed, too. Returns the removed
    /// blocks.
    fn skip_known_branch(&self, join: *mut LBlock) -> Vec<*mut LBlock> {
        let Some(steps) = self.known_steps(join) else {
            return Vec::new();
        };
        for &(source, target) in &steps {
            self.retarget(source, join, target);
            self.rebuild_phis(target, |block| match block == join {
                true => Incoming::From(source),
                false => Incoming::Keep,
            });
        }
        // SAFETY: no edge leads to the block and no phi names it. Its values are used only in it.
        unsafe { (self.api.LLVMDeleteBasicBlock)(join) };
        let mut removed = vec![join];
        for (source, target) in steps {
            if !self.is_jump(source) || !self.phis(target).is_empty() {
                continue;
            }
            for before in self.predecessors(source) {
                self.retarget(before, source, target);
            }
            // SAFETY: no edge leads to the block, no phi names it, and it defines no value.
            unsafe { (self.api.LLVMDeleteBasicBlock)(source) };
            removed.push(source);
        }
        removed
    }

    /// The predecessors of a block that only branches on one of two known values, each with the
    /// target to which control goes from it.
    fn known_steps(&self, join: *mut LBlock) -> Option<[(*mut LBlock, *mut LBlock); 2]> {
        let (value, targets) = self.only_branches(join)?;
        let incoming = self.incoming_of(value, join)?;
        let known = |wanted: bool| {
            let mut sources = incoming.iter().filter_map(|&(bit, source)| match bit {
                Some(Bit::Known(value)) if value == wanted => Some(source),
                Some(Bit::Known(_) | Bit::Computed(_)) | None => None,
            });
            let source = sources.next()?;
            sources.next().is_none().then_some(source)
        };
        let [holds, fails] = [known(true)?, known(false)?];
        let steps = [(holds, targets[0]), (fails, targets[1])];
        let only_jumps = |&(source, target): &(*mut LBlock, *mut LBlock)| {
            let (_, opcode, successors) = self.terminator(source);
            opcode == BR && successors.len() == 1 && source != target
        };
        let is_removable = incoming.len() == 2
            && holds != fails
            && !self.address_is_taken(join)
            && !targets.contains(&join)
            && steps.iter().all(only_jumps);
        is_removable.then_some(steps)
    }

    /// The values that a phi takes, or that the predecessors of a block store to the variable that
    /// a load of the block reads.
    fn incoming_of(
        &self,
        value: *mut LValue,
        join: *mut LBlock,
    ) -> Option<Vec<(Option<Bit>, *mut LBlock)>> {
        // SAFETY: a phi or a load, which has one operand.
        let variable = unsafe {
            match (self.api.LLVMGetInstructionOpcode)(value) {
                PHI => return self.incoming_bits(value),
                _ => (self.api.LLVMGetOperand)(value, 0),
            }
        };
        let sources = self.predecessors(join).into_iter();
        let stored = sources.map(|source| {
            let stored = self.last_store(source);
            let stored = stored.filter(|&(_, _, other, _)| other == variable);
            (stored.map(|(_, bit, _, _)| bit), source)
        });
        Some(stored.collect())
    }

    /// The phi or load on whose value a block branches, and the targets of the branch for 1 and 0,
    /// if the block has no other code and the value has no other use. The value may be truncated,
    /// frozen, and negated.
    fn only_branches(&self, block: *mut LBlock) -> Option<(*mut LValue, [*mut LBlock; 2])> {
        let (branch, opcode, successors) = self.terminator(block);
        let (BR, &[holds, fails]) = (opcode, &successors[..]) else {
            return None;
        };
        let mut targets = [holds, fails];
        // SAFETY: live instructions; a block has a first one, and its terminator comes last.
        unsafe {
            let value = (self.api.LLVMGetFirstInstruction)(block);
            match (self.api.LLVMGetInstructionOpcode)(value) {
                PHI => {}
                LOAD if (self.api.LLVMGetVolatile)(value) == 0 => {}
                _ => return None,
            }
            let mut last = value;
            loop {
                let next = (self.api.LLVMGetNextInstruction)(last);
                if self.only_user(last) != Some(next) {
                    return None;
                }
                if next == branch {
                    break;
                }
                match (self.api.LLVMGetInstructionOpcode)(next) {
                    TRUNC | FREEZE => {}
                    XOR if self.is_negation(next) => targets.swap(0, 1),
                    _ => return None,
                }
                last = next;
            }
            (holds != fails).then_some((value, targets))
        }
    }

    /// Whether an `xor` negates a bit.
    fn is_negation(&self, xor: *mut LValue) -> bool {
        // SAFETY: an `xor`, which has two operands.
        let constant = unsafe { (self.api.LLVMGetOperand)(xor, 1) };
        self.is_bit(xor) && matches!(self.bit(constant), Some(Bit::Known(true)))
    }

    /// Whether a value is of type `i1`.
    fn is_bit(&self, value: *mut LValue) -> bool {
        // SAFETY: a live value; only an integer type has a width.
        unsafe {
            let kind = (self.api.LLVMTypeOf)(value);
            (self.api.LLVMGetTypeKind)(kind) == INTEGER_TYPE
                && (self.api.LLVMGetIntTypeWidth)(kind) == 1
        }
    }

    /// The instruction that uses a value, if there is only one use.
    fn only_user(&self, value: *mut LValue) -> Option<*mut LValue> {
        // SAFETY: first and next of a live list; null at the end.
        unsafe {
            let entry = (self.api.LLVMGetFirstUse)(value);
            if entry.is_null() || !(self.api.LLVMGetNextUse)(entry).is_null() {
                return None;
            }
            Some((self.api.LLVMGetUser)(entry))
        }
    }
}
