//! Recomputing cheap values in each block that uses them.
//!
//! Once the function has two codes, a value that another block uses is a variable with two
//! definitions ([`super::ssa_repair`]). The code generator then no longer sees that the value is a
//! field's address or a comparison. It keeps the value in a register or in the frame, where it
//! would have folded it into the instruction that uses it. (LLVM's `CodeGenPrepare` sinks such
//! values, but later.) So this stage copies cheap values into the blocks that use them, before the
//! function is copied. Only their operands live across blocks.
//!
//! Measured (callgrind, clang 22, `-O2`): zstd's decoder of sequences ran 43 % more instructions
//! than without timed code, now 21 %. Sinking the other casts too made it 31 %, and sinking the
//! addresses of values that live there anyway 28 %. Sinking sums of such values changed nothing.

use std::collections::HashMap;

use holloway_llvm::{Block, Builder, Function, Instruction, Opcode, Value};

/// Copies a function's cheap values into all blocks that use them.
pub(super) fn sink(function: Function<'_>) {
    let instructions = function.blocks().flat_map(Block::instructions);
    let mut open: Vec<_> = instructions
        .filter(|&instruction| is_cheap(instruction))
        .collect();
    while let Some(instruction) = open.pop() {
        if copy(instruction) {
            let operands = (0..instruction.value().operand_count())
                .filter_map(|index| instruction.value().operand(index).as_instruction());
            open.extend(operands.filter(|&operand| is_cheap(operand)));
        }
    }
}

/// Copies a value to the top of each other block that uses it. Returns whether there are any.
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
            let builder = Builder::before(behind_phis(user.block()));
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

/// Whether a value costs next to nothing, or folds into the instruction that uses it.
fn is_cheap(instruction: Instruction<'_>) -> bool {
    let constant = |index| instruction.value().operand(index).is_constant();
    match instruction.opcode() {
        Opcode::Compare => true,
        Opcode::Resize => !is_alone(instruction),
        Opcode::Offset => (1..instruction.value().operand_count()).all(constant),
        _ => false,
    }
}

/// Whether the resized number has no other use. Then only one of the two numbers lives on.
fn is_alone(resize: Instruction<'_>) -> bool {
    let users = resize.value().operand(0).users().into_iter();
    let mut users = users.filter_map(Value::as_instruction);
    users.all(|user| {
        user == resize || user.block() == resize.block() && user.opcode() != Opcode::Resize
    })
}

/// Whether a cheap value may be recomputed in the block of this user. If that keeps an otherwise
/// unused address alive there, the user must be piece of an access.
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
pub(super) fn behind_phis(block: Block<'_>) -> Instruction<'_> {
    let mut instructions = block.instructions();
    let behind = |instruction: &Instruction<'_>| {
        !matches!(instruction.opcode(), Opcode::Phi | Opcode::LandingPad)
    };
    instructions.find(behind).expect("blocks have an end")
}
