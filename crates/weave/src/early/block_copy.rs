//! Copies a block for one of its predecessors.
//!
//! ```text
//! p → b, q → b, b → s        p → copy, q → b, b → s, copy → s
//! ```
//! The program does what it did: the copy computes what the block would have computed after this
//! predecessor. Both define the block's values now, so later uses get phis
//! ([`crate::instrument::ssa_repair`]).
//!
//! Debug locations are copied. Records of variables are not: in the copy, a debugger does not see
//! assignments of the block.
//!
//! Cost: linear in the function.

use std::collections::{HashMap, HashSet};

use holloway_llvm::{Block, Builder, Function, Instruction, Opcode, Value};

use crate::instrument::duplication::CopyObstacles;
use crate::instrument::ssa_repair::SsaRepair;

/// The number of blocks that lead to a block.
pub(super) fn predecessor_count(function: Function<'_>, block: Block<'_>) -> usize {
    let leads = |from: &Block<'_>| successors(*from).contains(&block);
    function.blocks().filter(leads).count()
}

/// The blocks that a block leads to, with duplicates.
pub(super) fn successors(block: Block<'_>) -> Vec<Block<'_>> {
    let terminator = block.terminator();
    terminator.map(Instruction::successors).unwrap_or_default()
}

/// Whether the code of a block can be copied. Blocks that unwinding leads to, and computed jumps,
/// are left alone.
pub(super) fn is_copyable(block: Block<'_>, obstacles: &CopyObstacles<'_>) -> bool {
    block.instructions().all(|instruction| {
        let is_fixed = matches!(
            instruction.opcode(),
            Opcode::LandingPad | Opcode::Funclet | Opcode::IndirectBr | Opcode::Alloca
        );
        let name = instruction.intrinsic();
        let declares_scope =
            name.is_some_and(|name| name == "llvm.experimental.noalias.scope.decl");
        !is_fixed && !declares_scope && obstacles.of(instruction).is_none()
    })
}

/// Copies `block` for its predecessor `from`: all edges from there lead to the copy. The block must
/// be [copyable](is_copyable), and have another predecessor. Returns the copy.
pub(super) fn copy_for<'m>(function: Function<'m>, block: Block<'m>, from: Block<'m>) -> Block<'m> {
    let end = from.terminator().expect("every block has an end");
    let indices: Vec<u32> = (0..)
        .zip(end.successors())
        .filter_map(|(index, target)| (target == block).then_some(index))
        .collect();
    let phis = take_incoming(block, from);
    let copy = block.insert_before("");
    let builder = Builder::at_end(copy);
    // By value of the block: its copy.
    let mut copies: HashMap<Value<'m>, Value<'m>> = HashMap::new();
    let mut pairs: Vec<(Instruction<'m>, Instruction<'m>)> = Vec::new();
    for instruction in block.instructions().filter(|it| !is_debug_record(*it)) {
        let new = builder.copy(instruction);
        match phis.get(&instruction) {
            Some(&value) => indices.iter().for_each(|_| new.add_incoming(value, from)),
            None => rename(new, &copies),
        }
        copies.insert(instruction.value(), new.value());
        pairs.push((instruction, new));
    }
    add_incoming(block, copy, &copies);
    for index in indices {
        end.set_successor(index, copy);
    }
    SsaRepair::new(function, &[]).repair_copies(&pairs);
    copy
}

/// Removes the predecessor `from` of the phis of a block. LLVM's C API cannot remove an incoming
/// value, so new phis replace the old ones. Returns the new phis, each with the value that came
/// from there.
fn take_incoming<'m>(block: Block<'m>, from: Block<'m>) -> HashMap<Instruction<'m>, Value<'m>> {
    let is_phi = |instruction: &Instruction<'m>| instruction.opcode() == Opcode::Phi;
    let olds: Vec<Instruction<'m>> = block.instructions().take_while(is_phi).collect();
    let mut news = Vec::with_capacity(olds.len());
    for &old in &olds {
        let new = Builder::at_top(block).copy(old);
        let mut taken = None;
        for (value, source) in old.incoming() {
            match source == from {
                true => taken = Some(value),
                false => new.add_incoming(value, source),
            }
        }
        news.push((new, taken.expect("a phi has a value of each predecessor")));
    }
    // The value of a phi may be one of these phis.
    let replaced: HashMap<Value<'m>, Value<'m>> = olds
        .iter()
        .zip(&news)
        .map(|(old, (new, _))| (old.value(), new.value()))
        .collect();
    for (old, (new, _)) in olds.iter().zip(&news) {
        old.replace_by(new.value());
    }
    let taken = news.into_iter();
    let taken = taken.map(|(new, value)| (new, replaced.get(&value).copied().unwrap_or(value)));
    taken.collect()
}

/// Makes a copied instruction use the copied values.
fn rename<'m>(new: Instruction<'m>, copies: &HashMap<Value<'m>, Value<'m>>) {
    for index in 0..new.value().operand_count() {
        if let Some(&value) = copies.get(&new.value().operand(index)) {
            new.set_operand(index, value);
        }
    }
}

/// Adds the copy of a block to the phis of the blocks that it leads to.
fn add_incoming<'m>(block: Block<'m>, copy: Block<'m>, copies: &HashMap<Value<'m>, Value<'m>>) {
    let mut visited = HashSet::new();
    for target in successors(block) {
        if !visited.insert(target) {
            continue;
        }
        let instructions = target.instructions();
        for phi in instructions.take_while(|phi| phi.opcode() == Opcode::Phi) {
            // A parallel edge has a value of its own.
            for (value, source) in phi.incoming() {
                if source == block {
                    phi.add_incoming(copies.get(&value).copied().unwrap_or(value), copy);
                }
            }
        }
    }
}

fn is_debug_record(instruction: Instruction<'_>) -> bool {
    let name = instruction.intrinsic();
    name.is_some_and(|name| name.starts_with("llvm.dbg."))
}
