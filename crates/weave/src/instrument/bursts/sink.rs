//! Recomputes cheap values in each block that uses them.
//!
//! After the function's code is copied, a value that another block uses is a variable with two
//! definitions ([`super::super::ssa_repair`]). Then the code generator no longer recognizes that
//! the value is a field's address or a comparison. It keeps the value in a register or in the
//! frame, instead of folding it into the instruction that uses it. (LLVM's pass `CodeGenPrepare`
//! also sinks such values, but it runs later.) So before the function is copied, this stage copies
//! cheap values into the blocks that use them. Only their operands then live across blocks.
//!
//! Measured (callgrind, clang 22, `-O2`): timed code made zstd's decoder of sequences execute 43 %
//! more instructions without this stage, and 21 % more with it. Three variants of the stage were
//! tried: sinking the other casts too gave 31 %, sinking the addresses of values that live in the
//! block anyway gave 28 %, and sinking sums of such values changed nothing.

use std::collections::HashMap;

use holloway_llvm::{Block, Builder, Function, Instruction, Opcode, Value};

/// Copies a function's cheap values into all blocks that use them.
pub(super) fn sink(function: Function<'_>) {
    let instructions = function.blocks().flat_map(Block::instructions);
    let mut pending: Vec<_> = instructions
        .filter(|&instruction| is_cheap(instruction))
        .collect();
    while let Some(instruction) = pending.pop() {
        if copy(instruction) {
            let operands = (0..instruction.value().operand_count())
                .filter_map(|index| instruction.value().operand(index).as_instruction());
            pending.extend(operands.filter(|&operand| is_cheap(operand)));
        }
    }
}

/// Copies a value to the top of each other block that uses it. Returns whether there is a copy.
fn copy(instruction: Instruction<'_>) -> bool {
    let value = instruction.value();
    let users = value.users().into_iter().filter_map(Value::as_instruction);
    let users = users.filter(|user| user.opcode() != Opcode::Phi);
    let users: Vec<_> = users
        .filter(|user| user.block() != instruction.block())
        .collect();
    if !users.iter().all(|&user| may_move(instruction, user)) {
        return false;
    }
    let mut copies = HashMap::new();
    for &user in &users {
        let copy = *copies.entry(user.block()).or_insert_with(|| {
            let builder = Builder::before(first_after_phis(user.block()));
            builder.copy(instruction).value()
        });
        for index in 0..user.value().operand_count() {
            if user.value().operand(index) == value {
                user.set_operand(index, copy);
            }
        }
    }
    !copies.is_empty()
}

/// Whether a value costs almost nothing, or can be folded into the instruction that uses it.
fn is_cheap(instruction: Instruction<'_>) -> bool {
    let is_constant = |index| instruction.value().operand(index).is_constant();
    match instruction.opcode() {
        Opcode::Compare => true,
        Opcode::Resize => !is_only_use(instruction),
        Opcode::Offset => (1..instruction.value().operand_count()).all(is_constant),
        _ => false,
    }
}

/// Whether the number that `resize` converts has no other use outside this block. Then only the
/// result lives across blocks, so nothing would be gained by recomputing it.
fn is_only_use(resize: Instruction<'_>) -> bool {
    let users = resize.value().operand(0).users().into_iter();
    let mut users = users.filter_map(Value::as_instruction);
    users.all(|user| {
        user == resize || user.block() == resize.block() && user.opcode() != Opcode::Resize
    })
}

/// Whether a cheap value may be recomputed in the block of this user. Recomputing an address keeps
/// its base alive in that block. So the user must be a memory access or another offset, unless the
/// base is in the frame or computed by no instruction.
fn may_move(instruction: Instruction<'_>, user: Instruction<'_>) -> bool {
    if instruction.opcode() != Opcode::Offset {
        return true;
    }
    let base = instruction.value().operand(0).as_instruction();
    let address = match user.opcode() {
        Opcode::Load | Opcode::Offset => Some(0),
        Opcode::Store => Some(1),
        _ => None,
    };
    let accesses = address.is_some_and(|index| user.value().operand(index) == instruction.value());
    accesses || base.is_none_or(Instruction::is_static_alloca)
}

/// The first instruction of a block after its phis and landing pad.
pub(super) fn first_after_phis(block: Block<'_>) -> Instruction<'_> {
    let mut instructions = block.instructions();
    let is_after_phis = |instruction: &Instruction<'_>| {
        !matches!(instruction.opcode(), Opcode::Phi | Opcode::LandingPad)
    };
    let first = instructions.find(is_after_phis);
    first.expect("blocks have an end")
}
