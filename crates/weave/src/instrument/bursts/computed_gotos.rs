//! Gives each operation of an interpreter a separate computed goto, although a check precedes it.
//!
//! An interpreter jumps from each operation to the next by one `indirectbr`, to which all
//! operations lead. The code generator duplicates this jump for each operation, so that the
//! processor predicts each operation's targets separately (Ertl, Gregg 2003). It does so only if
//! the operations join in a block that contains nothing but the jump. In the checking code a check
//! precedes the jump. So this stage duplicates the check for each edge into the block. The
//! code generator does not duplicate a jump that is one side of a branch. So this stage puts empty
//! inline assembly between check and jump, which keeps their blocks separate.

use std::collections::HashMap;

use holloway_llvm::{Block, Builder, Instruction, Opcode, Type, Value};

use super::spans::{SpanStart, Spans};

/// Duplicates the checks before computed gotos. This must be the last stage.
pub(super) fn duplicate_checks(spans: &Spans<'_>) {
    for (index, span) in spans.all.iter().enumerate() {
        if span.begin != SpanStart::Boundary {
            continue;
        }
        let Some(goto) = span.jump() else { continue };
        if goto.terminator().map(Instruction::opcode) != Some(Opcode::IndirectBr) {
            continue;
        }
        keep_apart(span.instructions[0]);
        let before = &spans.all[index - 1];
        let [instructions_before_end @ .., _] = &before.instructions[..] else {
            continue;
        };
        // The loads read values that were spilled to the frame.
        let is_phi_or_load = |instruction: &Instruction<'_>| {
            matches!(instruction.opcode(), Opcode::Phi | Opcode::Load)
        };
        if before.begin == SpanStart::Block && instructions_before_end.iter().all(is_phi_or_load) {
            duplicate_check(before.block, span.block, goto);
        }
    }
}

/// Inserts empty inline assembly before a jump.
fn keep_apart(jump: Instruction<'_>) {
    Builder::before(jump).asm("", "", Type::void(jump.module()), &[]);
}

/// Gives each edge into the block `check`, except the first edge, a copy of that block and of the
/// block `jump`, which follows the check and leads to the block `goto`.
fn duplicate_check<'m>(check: Block<'m>, jump: Block<'m>, goto: Block<'m>) {
    let end = check.terminator().expect("the check is in place");
    let mut branches = branches(check);
    if branches.len() < 2 || end.successors().len() != 2 {
        return;
    }
    let cold = end.successors()[0];
    let is_phi = |instruction: &Instruction<'_>| instruction.opcode() == Opcode::Phi;
    let (phis, others): (Vec<_>, Vec<_>) = check.instructions().partition(is_phi);
    for value in phis.iter().chain(&others) {
        insert_phi(value.value(), check, cold, &[check, jump]);
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
    let first = branches.remove(0);
    for from in branches {
        let [new_check, new_jump] =
            ["holloway.check", "holloway.next"].map(|name| check.insert_before(name));
        let mut values: HashMap<Value<'m>, Value<'m>> = phis
            .iter()
            .zip(&incoming)
            .map(|(phi, incoming)| (phi.value(), incoming[&from.block()]))
            .collect();
        let builder = Builder::at_end(new_check);
        for &old in &others {
            let copy = builder.copy(old);
            rename(copy, &values);
            values.insert(old.value(), copy.value());
        }
        let end = new_check.terminator().expect("a copy of the check's end");
        end.set_successor(1, new_jump);
        let builder = Builder::at_end(new_jump);
        for old in jump.instructions() {
            let copy = builder.copy(old);
            rename(copy, &values);
            values.insert(old.value(), copy.value());
        }
        extend(cold, check, new_check, &values);
        extend(goto, jump, new_jump, &values);
        for (index, target) in (0..).zip(from.successors()) {
            if target == check {
                from.set_successor(index, new_check);
            }
        }
    }
    for (phi, incoming) in phis.into_iter().zip(incoming) {
        phi.replace_by(incoming[&first.block()]);
    }
}

/// The terminators of the blocks that lead to a block. Empty if one of them cannot be redirected,
/// or if the block begins with no phi: then usually only one block leads to it.
fn branches(block: Block<'_>) -> Vec<Instruction<'_>> {
    let mut branches = Vec::new();
    let Some(phi) = block
        .instructions()
        .next()
        .filter(|first| first.opcode() == Opcode::Phi)
    else {
        return branches;
    };
    for (_, from) in phi.incoming() {
        let end = from.terminator().expect("every block has an end");
        if end.opcode() != Opcode::Br {
            return Vec::new();
        }
        if !branches.contains(&end) {
            branches.push(end);
        }
    }
    branches
}

/// Inserts a phi of `value` into the block `cold`, and makes users outside the blocks `owners` use
/// that phi. `block` computes the value.
fn insert_phi<'m>(value: Value<'m>, block: Block<'m>, cold: Block<'m>, owners: &[Block<'m>]) {
    let mut operands = Vec::new();
    for user in value.users().into_iter().filter_map(Value::as_instruction) {
        let incoming = user.incoming();
        for operand in 0..user.value().operand_count() {
            let user_block = incoming
                .get(operand as usize)
                .map_or(user.block(), |(_, block)| *block);
            if user.value().operand(operand) == value && !owners.contains(&user_block) {
                operands.push((user, operand));
            }
        }
    }
    if !operands.is_empty() {
        let phi = Builder::at_top(cold).phi(value.kind());
        phi.add_incoming(value, block);
        for (user, operand) in operands {
            user.set_operand(operand, phi.value());
        }
    }
}

/// Makes a copied instruction use the copied values.
fn rename<'m>(copy: Instruction<'m>, values: &HashMap<Value<'m>, Value<'m>>) {
    for operand in 0..copy.value().operand_count() {
        if let Some(&value) = values.get(&copy.value().operand(operand)) {
            copy.set_operand(operand, value);
        }
    }
}

/// Adds an incoming value to the phis of `block` for its new predecessor `new`, a copy of its
/// predecessor `old`.
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
