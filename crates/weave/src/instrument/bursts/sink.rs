//! Making cheap values anew in the blocks that use them.
//!
//! A value of one block that another uses is a variable with two definitions, once the function stands there twice ([`super::ssa_repair`]). Of a field's address or a
//! comparison the code generator then doesn't see any more what it is, and keeps it in a register, or in the frame, where it would have made it part of the
//! instruction that uses it (LLVM's `CodeGenPrepare` moves such values there, later). So they are put there before the function is copied, and only what they are made of lives across blocks.
//!
//! Measured (callgrind, clang 22, `-O2`): zstd's decoder of sequences ran 43 % more instructions than without a second code, now 21 %. Moving the other casts too, or the addresses of what lives there anyway, made it 31 and 28 %; sums of such changed nothing.

use std::collections::HashMap;

use holloway_llvm::{Block, Builder, Function, Instruction, Opcode, Value};

/// Puts copies of a function's cheap values into all blocks that use them.
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

/// Puts copies of a value at the top of the other blocks that use it; whether there are any.
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

/// Whether a value is made in no time, or by the instruction that uses it.
fn is_cheap(instruction: Instruction<'_>) -> bool {
    let constant = |index| instruction.value().operand(index).is_constant();
    match instruction.opcode() {
        Opcode::Compare => true,
        Opcode::Resize => !is_alone(instruction),
        Opcode::Offset => (1..instruction.value().operand_count()).all(constant),
        _ => false,
    }
}

/// Whether the number that is resized is used in no other way: then one of the two is enough.
fn is_alone(resize: Instruction<'_>) -> bool {
    let users = resize.value().operand(0).users().into_iter();
    let mut users = users.filter_map(Value::as_instruction);
    users.all(|user| {
        user == resize || user.block() == resize.block() && user.opcode() != Opcode::Resize
    })
}

/// Whether a cheap value may be made anew in the block of this user. Where that keeps an address alive that is in no other use there, the user has to be a part of an access.
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

/// The first instruction of a block that others may stand before.
pub(super) fn behind_phis(block: Block<'_>) -> Instruction<'_> {
    let mut instructions = block.instructions();
    let behind = |instruction: &Instruction<'_>| {
        !matches!(instruction.opcode(), Opcode::Phi | Opcode::LandingPad)
    };
    instructions.find(behind).expect("blocks have an end")
}
