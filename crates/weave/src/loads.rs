//! Finds loads in loops that could be prefetched: their address in the next iteration is known
//! before that iteration begins (Perelman, Chilimbi, Calder 2005, section 5.4).
//!
//! The search follows each load's address back through additions. It looks for a value that the
//! innermost loop with the load carries from iteration to iteration, in a phi at its head or in
//! memory. Loads have one of three shapes:
//!
//! - *Induction*: each iteration adds the same constant to the address.
//! - *Chain*: the loop walks along a list. Each iteration loads the pointer to the next node from
//!   the current node. The paper prefetches the next node.
//! - *Through*: the address is computed from the result of an induction load of the same loop.
//!
//! All other loads are ignored. If a variable is in memory (a member, or any variable of
//! unoptimized code), only the stores inside the loop are considered. The result is advice for the
//! user. It changes no code. Cost: a few steps per load.

use std::cell::Cell;
use std::collections::HashMap;

use holloway_flow::{BlockId, Dominators, Loops};
use holloway_format::{Load, LoadShape};
use holloway_llvm::{Block, Instruction, Opcode, Value};

use crate::lower::{LoweredFunction, Scopes};

/// The maximum number of instructions visited in the search from one load.
const STEPS: u32 = 64;

/// The loads of a function that could be prefetched, in order of their blocks.
pub(crate) fn loads<'m>(lowered: &LoweredFunction<'m>, scopes: &mut Scopes<'m>) -> Vec<Load> {
    let loops = Loops::new(&lowered.cfg, &Dominators::new(&lowered.cfg));
    let mut first_part = HashMap::new();
    for (id, part) in (0u32..).zip(&lowered.nodes) {
        let block = lowered.parts.blocks[part.block].block;
        first_part.entry(block).or_insert(BlockId(id));
    }
    let mut loads = Vec::new();
    let mut accesses_by_loop = HashMap::new();
    for (id, part) in (0u32..).zip(&lowered.nodes) {
        let Some(loop_index) = loops.innermost(BlockId(id)) else {
            continue;
        };
        let accesses = accesses_by_loop
            .entry(loop_index)
            .or_insert_with(|| LoopAccesses::new(lowered, &loops, &first_part, loop_index));
        let instructions = &lowered.parts.blocks[part.block].instructions;
        for &instruction in &instructions[part.from..part.to] {
            if instruction.opcode() == Opcode::Load
                && let Some(shape) = accesses.shape(instruction)
                && let Some(location) = instruction.location()
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

/// The innermost loop around a load, and its stores.
struct LoopAccesses<'a, 'm> {
    head: Block<'m>,
    loop_index: usize,
    loops: &'a Loops,
    /// The first part of each LLVM block.
    first_part: &'a HashMap<Block<'m>, BlockId>,
    /// The steps that are left for the current load.
    steps_left: Cell<u32>,
    /// The location and the value of each store in the loop to a location that is the same in every
    /// iteration.
    stored: Vec<(MemoryLocation<'m>, Value<'m>)>,
}

/// A location in memory: an address, and a distance from it in bytes.
type MemoryLocation<'m> = (Value<'m>, i64);

impl<'a, 'm> LoopAccesses<'a, 'm> {
    fn new(
        lowered: &LoweredFunction<'m>,
        loops: &'a Loops,
        first_part: &'a HashMap<Block<'m>, BlockId>,
        loop_index: usize,
    ) -> Self {
        let head = lowered.nodes[loops.all()[loop_index].head.index()].block;
        let mut accesses = Self {
            head: lowered.parts.blocks[head].block,
            loop_index,
            loops,
            first_part,
            steps_left: Cell::new(0),
            stored: Vec::new(),
        };
        let blocks = lowered.parts.blocks.iter();
        let blocks_inside = blocks.filter(|block| accesses.contains(block.block));
        let stores = blocks_inside
            .flat_map(|block| &block.instructions)
            .filter(|instruction| instruction.opcode() == Opcode::Store)
            .map(|store| store.value());
        accesses.stored = stores
            .filter_map(|store| {
                Some((
                    accesses.memory_location(store.operand(1))?,
                    store.operand(0),
                ))
            })
            .collect();
        accesses
    }

    /// The shape of a load. `None` if its next address is not known early.
    fn shape(&self, load: Instruction<'m>) -> Option<LoadShape> {
        self.steps_left.set(STEPS);
        let address = load.value().operand(0);
        match self.stride(address) {
            Some(0) => return None,
            Some(stride) => return Some(LoadShape::Induction { stride }),
            None => {}
        }
        let (from, _) = self.without_constants(address);
        if let Some(offset) = self.chain(from) {
            return Some(LoadShape::Chain { offset });
        }
        let stride = self.pointer_stride(address)?;
        Some(LoadShape::Through { stride })
    }

    /// Counts one step of the search. `None` after [`STEPS`] steps.
    fn count_step(&self) -> Option<()> {
        self.steps_left.set(self.steps_left.get().checked_sub(1)?);
        Some(())
    }

    /// Whether a block is in the loop.
    fn contains(&self, block: Block<'m>) -> bool {
        let Some(&node) = self.first_part.get(&block) else {
            return false;
        };
        let mut enclosing = self.loops.innermost(node);
        while let Some(index) = enclosing {
            if index == self.loop_index {
                return true;
            }
            enclosing = self.loops.all()[index].parent;
        }
        false
    }

    /// The instruction that computes a value inside the loop. `None` if the value comes from
    /// outside, so it is the same in every iteration.
    fn instruction_in_loop(&self, value: Value<'m>) -> Option<Instruction<'m>> {
        let instruction = value.as_instruction()?;
        self.contains(instruction.block()).then_some(instruction)
    }

    /// The constant by which a number or pointer grows in each iteration. `None` if it does not
    /// grow by a constant.
    fn stride(&self, value: Value<'m>) -> Option<i64> {
        let Some(instruction) = self.instruction_in_loop(value) else {
            return Some(0);
        };
        self.count_step()?;
        let operand = |index| self.stride(instruction.value().operand(index));
        let constant = |index| instruction.value().operand(index).as_int();
        match instruction.opcode() {
            Opcode::Phi => self.phi_stride(instruction),
            Opcode::Load => self.memory_stride(instruction),
            Opcode::Add => operand(0)?.checked_add(operand(1)?),
            Opcode::Subtract => operand(0)?.checked_sub(operand(1)?),
            // Compilers replace an addition by `or` if the operands have no bit in common.
            Opcode::Or => constant(1).and_then(|_| operand(0)),
            Opcode::Multiply => operand(0)?.checked_mul(constant(1)?),
            Opcode::Shift => {
                operand(0)?.checked_mul(1i64.checked_shl(constant(1)?.try_into().ok()?)?)
            }
            Opcode::Resize | Opcode::Freeze => operand(0),
            Opcode::Offset => {
                let address = instruction.address()?;
                let mut sum = self.stride(address.base)?;
                for (term, bytes) in address.terms {
                    let stride = self.stride(term)?.checked_mul(bytes)?;
                    sum = sum.checked_add(stride)?;
                }
                Some(sum)
            }
            _ => None,
        }
    }

    /// The constant that each iteration adds to a phi at the loop's head.
    fn phi_stride(&self, phi: Instruction<'m>) -> Option<i64> {
        let next = self.next(phi)?;
        let (from, distance) = self.without_constants(next);
        if from == phi.value() {
            return Some(distance);
        }
        // Each iteration loads the phi's next value, so the phi grows as the value in memory does.
        let load = self.instruction_in_loop(from).filter(|_| distance == 0)?;
        (load.opcode() == Opcode::Load)
            .then(|| self.memory_stride(load))
            .flatten()
    }

    /// The constant that each iteration adds to the value in memory that is loaded here, according
    /// to the stores in the loop. Stores of unrelated values are ignored.
    fn memory_stride(&self, load: Instruction<'m>) -> Option<i64> {
        let location = self.memory_location(load.value().operand(0))?;
        let mut stored = self.stored.iter().filter(|(other, _)| *other == location);
        if stored.clone().next().is_none() {
            return Some(0);
        }
        let added = stored.find_map(|(_, value)| self.added(location, *value))?;
        let is_only_addition = stored.all(|(_, value)| self.added(location, *value).is_none());
        is_only_addition.then_some(added)
    }

    /// The constant that was added to the content of a memory location to get `value`. `None` if
    /// `value` is not that content plus a constant.
    fn added(&self, location: MemoryLocation<'m>, value: Value<'m>) -> Option<i64> {
        let (from, distance) = self.without_constants(value);
        let from = self.instruction_in_loop(from)?;
        let is_content = match from.opcode() {
            Opcode::Load => self.memory_location(from.value().operand(0)) == Some(location),
            Opcode::Phi => from.block() == self.head,
            _ => false,
        };
        is_content.then_some(distance)
    }

    /// The memory location that an address points to. `None` if it is not the same in every
    /// iteration.
    fn memory_location(&self, mut address: Value<'m>) -> Option<MemoryLocation<'m>> {
        let mut distance = 0i64;
        for _ in 0..STEPS {
            let offset = address.as_instruction().and_then(Instruction::address);
            let Some(offset) = offset.filter(|offset| offset.terms.is_empty()) else {
                break;
            };
            distance = distance.checked_add(offset.constant)?;
            address = offset.base;
        }
        self.instruction_in_loop(address)
            .is_none()
            .then_some((address, distance))
    }

    /// The value that a phi at the loop's head has in the next iteration. `None` for other
    /// instructions, and if several values are possible.
    fn next(&self, phi: Instruction<'m>) -> Option<Value<'m>> {
        if phi.opcode() != Opcode::Phi || phi.block() != self.head {
            return None;
        }
        let inside = phi
            .incoming()
            .into_iter()
            .filter(|(_, block)| self.contains(*block));
        let mut next = inside.map(|(value, _)| value);
        let first = next.next()?;
        next.all(|other| other == first).then_some(first)
    }

    /// A value without the constants that are added to it, and their sum.
    fn without_constants(&self, mut value: Value<'m>) -> (Value<'m>, i64) {
        let mut distance = 0i64;
        for _ in 0..STEPS {
            let Some(instruction) = self.instruction_in_loop(value) else {
                break;
            };
            let (from, added) = match instruction.opcode() {
                Opcode::Offset => match instruction.address() {
                    Some(address) if address.terms.is_empty() => (address.base, address.constant),
                    _ => break,
                },
                Opcode::Add | Opcode::Subtract => {
                    let (steps_left, right) = (value.operand(0), value.operand(1));
                    let sign = if instruction.opcode() == Opcode::Add {
                        1
                    } else {
                        -1
                    };
                    match right.as_int().and_then(|number| number.checked_mul(sign)) {
                        Some(number) => (steps_left, number),
                        None => break,
                    }
                }
                _ => break,
            };
            let Some(sum) = distance.checked_add(added) else {
                break;
            };
            (value, distance) = (from, sum);
        }
        (value, distance)
    }

    /// The offset of the next-pointer in the nodes of a list, if the loop walks along the list and
    /// `value` points to a node.
    fn chain(&self, value: Value<'m>) -> Option<i64> {
        let instruction = self.instruction_in_loop(value)?;
        self.count_step()?;
        match instruction.opcode() {
            Opcode::Phi => {
                // Follow the next-pointers of one iteration, perhaps over several nodes, back to
                // this phi.
                let mut next = self.next(instruction)?;
                let mut offset = None;
                for _ in 0..STEPS {
                    let load = self.instruction_in_loop(next)?;
                    if load.opcode() != Opcode::Load {
                        return None;
                    }
                    let (from, distance) = self.without_constants(load.value().operand(0));
                    if *offset.get_or_insert(distance) != distance {
                        return None;
                    }
                    if from == value {
                        return offset;
                    }
                    next = from;
                }
                None
            }
            Opcode::Load => {
                let (from, distance) = self.without_constants(instruction.value().operand(0));
                self.chain(from).filter(|&offset| offset == distance)
            }
            _ => None,
        }
    }

    /// The stride of the load from whose result `value` is computed.
    fn pointer_stride(&self, value: Value<'m>) -> Option<i64> {
        let instruction = self.instruction_in_loop(value)?;
        self.count_step()?;
        match instruction.opcode() {
            Opcode::Load => {
                let stride = self.stride(instruction.value().operand(0))?;
                (stride != 0).then_some(stride)
            }
            // A phi inside the loop joins branches of the same iteration. A phi at the head has a
            // value of the previous iteration, so it does not count.
            Opcode::Phi if instruction.block() != self.head => {
                let mut values = instruction.incoming().into_iter().map(|(value, _)| value);
                values.find_map(|value| self.pointer_stride(value))
            }
            Opcode::Add
            | Opcode::Subtract
            | Opcode::Multiply
            | Opcode::Shift
            | Opcode::Resize
            | Opcode::Freeze
            | Opcode::Offset => {
                let operands = 0..instruction.value().operand_count();
                let mut operands = operands.map(|index| instruction.value().operand(index));
                operands.find_map(|operand| self.pointer_stride(operand))
            }
            _ => None,
        }
    }
}
