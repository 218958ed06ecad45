//! Computes an address again, from another value.

use std::collections::HashMap;

use holloway_llvm::{Builder, Instruction, Opcode, Type, Value};

use crate::loads::LoopAccesses;

/// The largest number of instructions that are copied for a prefetch.
const MOST_COPIES: usize = 32;
/// The largest number of values that the search for them visits.
const MOST_VALUES: usize = 256;

/// The instructions that compute a value from another one by arithmetic, in the order of the code.
/// `None` if the value does not depend on the other one, or not by arithmetic alone.
pub(super) fn arithmetic<'m>(
    accesses: &LoopAccesses<'_, 'm>,
    value: Value<'m>,
    from: Value<'m>,
) -> Option<Vec<Instruction<'m>>> {
    let mut known = HashMap::from([(from, true)]);
    let mut path = Vec::new();
    let is_needed = depends(accesses, value, &mut known, &mut path)?;
    (is_needed && path.len() <= MOST_COPIES).then_some(path)
}

/// Whether a value depends on one that is known to. Appends the instructions on the way. `None` if
/// an instruction on the way is no arithmetic.
fn depends<'m>(
    accesses: &LoopAccesses<'_, 'm>,
    value: Value<'m>,
    known: &mut HashMap<Value<'m>, bool>,
    path: &mut Vec<Instruction<'m>>,
) -> Option<bool> {
    if let Some(&known) = known.get(&value) {
        return Some(known);
    }
    let instruction = value.as_instruction();
    let instruction = instruction.filter(|i| accesses.contains(i.block()));
    // Phis and loads that do not lead to the value differ from iteration to iteration. A wrong
    // address costs a prefetch.
    let Some(instruction) =
        instruction.filter(|i| !matches!(i.opcode(), Opcode::Phi | Opcode::Load))
    else {
        known.insert(value, false);
        return Some(false);
    };
    if known.len() > MOST_VALUES {
        return None;
    }
    let mut any = false;
    for index in 0..value.operand_count() {
        any |= depends(accesses, value.operand(index), known, path)?;
    }
    known.insert(value, any);
    if any {
        if !is_arithmetic(instruction) {
            return None;
        }
        path.push(instruction);
    }
    Some(any)
}

fn is_arithmetic(instruction: Instruction<'_>) -> bool {
    matches!(
        instruction.opcode(),
        Opcode::Add
            | Opcode::Or
            | Opcode::Subtract
            | Opcode::Multiply
            | Opcode::Shift
            | Opcode::Bits
            | Opcode::Resize
            | Opcode::Freeze
            | Opcode::Select
            | Opcode::Offset
    )
}

/// Computes the last value of `path` again, from another value than `from`.
pub(super) fn copy<'m>(
    builder: &Builder<'m>,
    path: &[Instruction<'m>],
    from: Value<'m>,
    to: Value<'m>,
) -> Value<'m> {
    let mut copies = HashMap::from([(from, to)]);
    let mut last = to;
    for &instruction in path {
        let copy = builder.copy(instruction);
        for index in 0..instruction.value().operand_count() {
            if let Some(&operand) = copies.get(&instruction.value().operand(index)) {
                copy.set_operand(index, operand);
            }
        }
        last = copy.value();
        copies.insert(instruction.value(), last);
    }
    last
}

/// An address plus bytes. It may be outside of the object.
pub(super) fn offset<'m>(builder: &Builder<'m>, address: Value<'m>, bytes: i64) -> Value<'m> {
    let module = address.module();
    builder.offset(Type::i8(module), address, Type::i64(module).int(bytes))
}
