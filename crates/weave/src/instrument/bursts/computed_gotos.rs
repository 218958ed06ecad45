//! A separate computed goto for each operation of an interpreter.
//!
//! An interpreter jumps from each operation to the next by one `indirectbr`. The code generator
//! gives each operation a separate jump, so that the processor learns each operation's targets
//! (Ertl, Gregg 2003). It does so only if nothing but that jump follows, not if all operations join
//! in a block with a check before the jump. So this stage gives each edge into such a block a
//! separate check. An empty piece of assembly stands between check and jump, because the code
//! generator does not copy a jump that is one side of a branch.

use std::collections::HashMap;

use holloway_llvm::{Block, Builder, Instruction, Opcode, Type, Value};

use super::pieces::{PieceStart, Pieces};

/// Copies the checks before computed gotos into the blocks that lead to them. To be called last.
pub(super) fn spread(pieces: &Pieces<'_>) {
    for (index, piece) in pieces.all.iter().enumerate() {
        if piece.begin != PieceStart::Boundary {
            continue;
        }
        let Some(goto) = piece.jump() else { continue };
        if goto.terminator().map(Instruction::opcode) != Some(Opcode::IndirectBr) {
            continue;
        }
        keep_apart(piece.instructions[0]);
        let before = &pieces.all[index - 1];
        let [first @ .., _] = &before.instructions[..] else {
            continue;
        };
        // A load reads a value that the frame holds.
        let is_short = |one: &Instruction<'_>| matches!(one.opcode(), Opcode::Phi | Opcode::Load);
        if before.begin == PieceStart::Block && first.iter().all(is_short) {
            copy(before.block, piece.block, goto);
        }
    }
}

/// Inserts an empty piece of assembly before a jump.
fn keep_apart(jump: Instruction<'_>) {
    Builder::before(jump).asm("", "", Type::void(jump.module()), &[]);
}

/// Gives each edge into the block `check`, but the first, a copy of the check and of the `jump`
/// after it that leads to `goto`.
fn copy<'m>(check: Block<'m>, jump: Block<'m>, goto: Block<'m>) {
    let end = check.terminator().expect("the check is in place");
    let mut ways = ways(check);
    if ways.len() < 2 || end.successors().len() != 2 {
        return;
    }
    let cold = end.successors()[0];
    let is_phi = |instruction: &Instruction<'_>| instruction.opcode() == Opcode::Phi;
    let (phis, rest): (Vec<_>, Vec<_>) = check.instructions().partition(is_phi);
    for value in phis.iter().chain(&rest) {
        meet(value.value(), check, cold, &[check, jump]);
    }
    let incoming: Vec<HashMap<Block<'m>, Value<'m>>> = phis
        .iter()
        .map(|phi| {
            phi.incoming()
                .into_iter()
                .map(|(value, block)| (block, value))
                .collect()
        })
        .collect();
    let first = ways.remove(0);
    for from in ways {
        let [new, behind] =
            ["holloway.check", "holloway.next"].map(|name| check.insert_before(name));
        let mut values: HashMap<Value<'m>, Value<'m>> = phis
            .iter()
            .zip(&incoming)
            .map(|(phi, incoming)| (phi.value(), incoming[&from.block()]))
            .collect();
        let builder = Builder::at_end(new);
        for &old in &rest {
            let copy = builder.copy(old);
            rename(copy, &values);
            values.insert(old.value(), copy.value());
        }
        let end = new.terminator().expect("a copy of the check's end");
        end.set_successor(1, behind);
        let builder = Builder::at_end(behind);
        for old in jump.instructions() {
            let copy = builder.copy(old);
            rename(copy, &values);
            values.insert(old.value(), copy.value());
        }
        extend(cold, check, new, &values);
        extend(goto, jump, behind, &values);
        for (index, target) in (0..).zip(from.successors()) {
            if target == check {
                from.set_successor(index, new);
            }
        }
    }
    for (phi, incoming) in phis.into_iter().zip(incoming) {
        phi.replace_by(incoming[&first.block()]);
    }
}

/// The terminators of the blocks that lead to a block; none if one of them can't be redirected.
fn ways(block: Block<'_>) -> Vec<Instruction<'_>> {
    let mut ways = Vec::new();
    let Some(phi) = block
        .instructions()
        .next()
        .filter(|first| first.opcode() == Opcode::Phi)
    else {
        return ways;
    };
    for (_, from) in phi.incoming() {
        let end = from.terminator().expect("every block has an end");
        if end.opcode() != Opcode::Br {
            return Vec::new();
        }
        if !ways.contains(&end) {
            ways.push(end);
        }
    }
    ways
}

/// Makes users of a value of `block` after `cold`, except phis of `cold`, use a phi of `cold`.
fn meet<'m>(value: Value<'m>, block: Block<'m>, cold: Block<'m>, own: &[Block<'m>]) {
    let mut found = Vec::new();
    for user in value.users().into_iter().filter_map(Value::as_instruction) {
        let incoming = user.incoming();
        for operand in 0..user.value().operand_count() {
            let at = incoming
                .get(operand as usize)
                .map_or(user.block(), |(_, block)| *block);
            if user.value().operand(operand) == value && !own.contains(&at) {
                found.push((user, operand));
            }
        }
    }
    if !found.is_empty() {
        let phi = Builder::at_top(cold).phi(value.kind());
        phi.add_incoming(value, block);
        for (user, operand) in found {
            user.set_operand(operand, phi.value());
        }
    }
}

fn rename<'m>(copy: Instruction<'m>, values: &HashMap<Value<'m>, Value<'m>>) {
    for operand in 0..copy.value().operand_count() {
        if let Some(&value) = values.get(&copy.value().operand(operand)) {
            copy.set_operand(operand, value);
        }
    }
}

/// Gives the phis of a block, for the copy of a predecessor, the values from that predecessor.
fn extend<'m>(
    block: Block<'m>,
    old: Block<'m>,
    new: Block<'m>,
    values: &HashMap<Value<'m>, Value<'m>>,
) {
    for phi in block
        .instructions()
        .take_while(|phi| phi.opcode() == Opcode::Phi)
    {
        let incoming = phi.incoming();
        if let Some(&(value, _)) = incoming.iter().find(|(_, from)| *from == old) {
            phi.add_incoming(values.get(&value).copied().unwrap_or(value), new);
        }
    }
}
