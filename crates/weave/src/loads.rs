//! Finds loads in loops that could be prefetched: their address in the next iteration is known
//! before that iteration begins (Perelman, Chilimbi, Calder 2005, section 5.4).
//!
//! The search follows each load's address back through additions. It looks for a value that the
//! innermost loop with the load carries from iteration to iteration, in a phi at its head or in
//! memory. Loads have one of these shapes:
//!
//! - *Induction*: each iteration adds the same constant to the address.
//! - *Chain*: the loop walks along a list. Each iteration loads the pointer to the next node from
//!   the current node. The paper prefetches the next node.
//! - *Field*: the address comes from a member of a list's node. The paper prefetches what the
//!   member of the next node points to (its Fig. 10).
//! - *Outer*: in each iteration of the loop around the innermost one, the address takes the same
//!   steps, shifted by a constant. The paper prefetches for the next iteration of the outer loop
//!   (its Fig. 9).
//! - *Through*: the address is computed from the result of an induction load of the same loop.
//! - *Rows*: the address is computed from an element of a row, and the rows lie one after the
//!   other. The element of a later row is prefetched ([`RowWalk`]).
//! - *Geometric*: each iteration multiplies the index by a constant (the paper's Fig. 8).
//!
//! All other loads are ignored. If a variable is in memory (a member, or any variable of
//! unoptimized code), only the stores inside the loop are considered, and casts are assumed to keep
//! the number. So a shape is a guess, good enough for advice and for a prefetch, which cannot
//! fault. [`LoopAccesses::exact_stride`] guesses nothing. Cost: a few steps per load.

mod accesses;
mod rows;

use std::collections::HashMap;
use std::iter;

use holloway_flow::{BlockId, Dominators, Loops};
use holloway_format::{Load, LoadShape};
use holloway_llvm::{Instruction, Location, Opcode};

pub(crate) use accesses::{LoopAccesses, first_parts};
pub(crate) use rows::{RowElement, RowWalk};

use crate::lower::{LoweredFunction, Scopes};

/// The loads of a function that could be prefetched, in order of their blocks.
pub(crate) fn loads<'m>(lowered: &LoweredFunction<'m>, scopes: &mut Scopes<'m>) -> Vec<Load> {
    let loops = Loops::new(&lowered.cfg, &Dominators::new(&lowered.cfg));
    let first_part = first_parts(lowered);
    let mut loads = Vec::new();
    let mut walks_by_loop: HashMap<usize, Vec<RowWalk<'m>>> = HashMap::new();
    let mut accesses_by_loop: HashMap<usize, LoopAccesses<'_, 'm>> = HashMap::new();
    for (id, part) in (0u32..).zip(&lowered.nodes) {
        let Some(loop_index) = loops.innermost(BlockId(id)) else {
            continue;
        };
        let parent = loops.all()[loop_index].parent;
        for index in [loop_index].into_iter().chain(parent) {
            accesses_by_loop
                .entry(index)
                .or_insert_with(|| LoopAccesses::new(lowered, &loops, &first_part, index));
            let accesses = &accesses_by_loop[&index];
            walks_by_loop
                .entry(index)
                .or_insert_with(|| RowWalk::find(lowered, &loops, accesses));
        }
        let accesses = &accesses_by_loop[&loop_index];
        let outer = parent.map(|parent| &accesses_by_loop[&parent]);
        let in_rows = |load: Instruction<'m>| {
            let loops = [loop_index].into_iter().chain(parent);
            let mut walks =
                loops.flat_map(|index| walks_by_loop[&index].iter().zip(iter::repeat(index)));
            walks.find_map(|(walk, index)| {
                walk.element_of(&accesses_by_loop[&index], load.value().operand(0))?;
                Some(LoadShape::Rows {
                    stride: walk.stride,
                })
            })
        };
        let instructions = &lowered.parts.blocks[part.block].instructions;
        for &instruction in &instructions[part.from..part.to] {
            if instruction.opcode() == Opcode::Load
                && let Some(shape) =
                    in_rows(instruction).or_else(|| accesses.shape(instruction, outer))
                && let Some(location) = location(instruction)
                && let Some(place) = scopes.place(location)
            {
                let load = Load {
                    block: id,
                    place,
                    shape,
                };
                if loads.last() != Some(&load) {
                    loads.push(load);
                }
            }
        }
    }
    loads
}

/// The place of a load. The optimizer may have joined the lines of several loads, and left none:
/// then the place of the address that it loads from.
pub(crate) fn location(load: Instruction<'_>) -> Option<Location<'_>> {
    let address = load.value().operand(0).as_instruction();
    let instructions = [Some(load), address].into_iter().flatten();
    let mut locations = instructions.filter_map(Instruction::location);
    locations.find(|location| location.line() != 0)
}
