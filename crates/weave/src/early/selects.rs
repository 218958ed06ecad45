//! Selects as branches, so that training counts their outcomes.
//!
//! The passes before the counts turn small branches into selects, above all the branches that are
//! hard to predict: a binary search has a select there. A probe cannot count a select. So training
//! expands each select into a branch. The optimized build expands the selects of its copy of the
//! module, which has the graph of training, and transfers the counts to the selects of the module
//! itself.
//!
//! ```text
//! x = select c, a, b       d = freeze c
//!                          br d, then, otherwise
//!                    then: br tail          otherwise: br tail
//!                    tail: x = phi [a, then], [b, otherwise]
//! ```
//! A branch on poison is undefined behavior and a select on poison is not, hence the `freeze`.
//!
//! The selects of a block with the same condition are one choice. Only the first is expanded.
//! Otherwise the outcome of the second branch would follow from the first, so it would count as
//! predictable.
//!
//! Selects of bits (`a && b`) are no choices: they become bit operations or parts of a branch's
//! condition. Neither are selects with a vector of conditions.

use holloway_llvm::{Block, Builder, Instruction, Module, Opcode, TypeKind, Value};

use crate::selection::functions_with_code;

/// The selects of a block that are chosen by one condition, in the order of the code.
pub(super) type SelectGroup<'m> = Vec<Instruction<'m>>;

/// The select groups of a block, in the order of their first selects.
pub(super) fn groups(block: Block<'_>) -> Vec<SelectGroup<'_>> {
    let mut groups: Vec<SelectGroup<'_>> = Vec::new();
    for select in block.instructions().filter(|select| is_choice(*select)) {
        let same = |group: &&mut SelectGroup<'_>| condition(group[0]) == condition(select);
        match groups.iter_mut().find(same) {
            Some(group) => group.push(select),
            None => groups.push(vec![select]),
        }
    }
    groups
}

/// Expands the selects of all functions into branches.
pub(crate) fn expand(module: &mut Module<'_>) {
    let module: &Module<'_> = module;
    for function in functions_with_code(module) {
        let blocks: Vec<Block<'_>> = function.blocks().collect();
        for group in blocks.into_iter().flat_map(groups) {
            expand_select(group[0]);
        }
    }
}

/// Expands a select. The block of the select keeps its end, so the blocks stay in the order of the
/// code.
fn expand_select(select: Instruction<'_>) {
    let [then_value, else_value] = [1, 2].map(|index| select.value().operand(index));
    let head = select.split_before("");
    let tail = select.block();
    let [then, otherwise] = [(); 2].map(|()| tail.insert_before(""));
    let builder = Builder::at_end(head);
    let condition = builder.freeze(condition(select));
    let branch = builder.branch_if(condition, then, otherwise);
    branch.set_location_of(select);
    let phi = Builder::at_top(tail).phi(select.value().kind());
    for (arm, value) in [(then, then_value), (otherwise, else_value)] {
        Builder::at_end(arm).branch(tail);
        phi.add_incoming(value, arm);
    }
    select.replace_by(phi.value());
}

fn is_choice(instruction: Instruction<'_>) -> bool {
    let bit = TypeKind::Integer(1);
    instruction.opcode() == Opcode::Select
        && condition(instruction).kind().kind() == bit
        && instruction.value().kind().kind() != bit
}

fn condition(select: Instruction<'_>) -> Value<'_> {
    select.value().operand(0)
}
