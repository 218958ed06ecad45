//! The values that a loop carries from iteration to iteration, and the shapes of its loads.

use std::cell::Cell;
use std::collections::HashMap;

use holloway_flow::{BlockId, Loops};
use holloway_format::LoadShape;
use holloway_llvm::{Block, Instruction, Opcode, Type, TypeKind, Value};

use crate::lower::LoweredFunction;

/// The maximum number of instructions visited in the search from one load.
const STEPS: u32 = 64;

/// The innermost loop around a load, and its stores.
pub(crate) struct LoopAccesses<'a, 'm> {
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
    pub(crate) fn new(
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

    /// The shape of a load. `None` if its next address is not known early. `outer` is the loop
    /// around this one.
    pub(crate) fn shape(&self, load: Instruction<'m>, outer: Option<&Self>) -> Option<LoadShape> {
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
        if let Some(offset) = self.field(from) {
            return Some(LoadShape::Field { offset });
        }
        let Some((_, stride)) = self.pointer_load(address) else {
            let (_, factor, through) = self.geometric_phi(address)?;
            return Some(LoadShape::Geometric { factor, through });
        };
        let shift = outer.and_then(|outer| {
            outer.steps_left.set(STEPS);
            outer.shift(self, address)
        });
        match shift {
            Some(stride) if stride != 0 => Some(LoadShape::Outer { stride }),
            _ => Some(LoadShape::Through { stride }),
        }
    }

    /// The constant by which each iteration of this loop shifts the values that a value takes in
    /// the iterations of `inner`, a loop in this one. `None` if there is no such constant.
    fn shift(&self, inner: &Self, value: Value<'m>) -> Option<i64> {
        let Some(instruction) = self.instruction_in_loop(value) else {
            return Some(0);
        };
        self.count_step()?;
        let is_same = |value| self.shift(inner, value) == Some(0);
        match instruction.opcode() {
            Opcode::Phi if instruction.block() == inner.head => {
                let incoming = instruction.incoming();
                let mut starts = incoming.iter().filter(|(_, block)| !inner.contains(*block));
                let is_steady = inner.phi_stride(instruction).is_some();
                (is_steady && starts.all(|(start, _)| is_same(*start))).then_some(0)
            }
            Opcode::Phi => self.phi_stride(instruction),
            // The loop is assumed not to change what it loads.
            Opcode::Load => is_same(instruction.value().operand(0)).then_some(0),
            _ => self.sum(instruction, &|value| self.shift(inner, value)),
        }
    }

    /// The offset of the next-pointer in the nodes of a list, if `value` is loaded from a member of
    /// a node of this list.
    fn field(&self, value: Value<'m>) -> Option<i64> {
        let load = self.instruction_in_loop(value)?;
        if load.opcode() != Opcode::Load {
            return None;
        }
        let (node, _) = self.without_constants(load.value().operand(0));
        self.chain(node)
    }

    /// The phi of an index that `value` is computed from, the factor by which each iteration
    /// multiplies it, and whether a load lies between.
    fn geometric_phi(&self, value: Value<'m>) -> Option<(Value<'m>, i64, bool)> {
        let instruction = self.instruction_in_loop(value)?;
        self.count_step()?;
        let operands = 0..instruction.value().operand_count();
        let mut operands = operands.map(|index| instruction.value().operand(index));
        match instruction.opcode() {
            Opcode::Phi if instruction.block() == self.head => {
                let next = self.next_values(instruction)?;
                let mut factors = next
                    .into_iter()
                    .map(|next| self.multiple_of(instruction, next));
                let factor = factors.next()??;
                let is_only = factors.all(|other| other == Some(factor));
                (is_only && factor > 1).then_some((value, factor, false))
            }
            Opcode::Phi => {
                let mut values = instruction.incoming().into_iter().map(|(value, _)| value);
                values.find_map(|value| self.geometric_phi(value))
            }
            Opcode::Load => {
                let (phi, factor, _) = self.geometric_phi(operands.next()?)?;
                Some((phi, factor, true))
            }
            Opcode::Add
            | Opcode::Subtract
            | Opcode::Or
            | Opcode::Multiply
            | Opcode::Shift
            | Opcode::Resize
            | Opcode::Freeze
            | Opcode::Select
            | Opcode::Offset => operands.find_map(|operand| self.geometric_phi(operand)),
            _ => None,
        }
    }

    /// The factor by which `value` is a multiple of a phi. Small numbers that are added, such as
    /// the outcome of a comparison, do not matter.
    fn multiple_of(&self, phi: Instruction<'m>, value: Value<'m>) -> Option<i64> {
        if value == phi.value() {
            return Some(1);
        }
        let instruction = self.instruction_in_loop(value)?;
        self.count_step()?;
        let operand = |index| instruction.value().operand(index);
        let multiple = |index| self.multiple_of(phi, operand(index));
        match instruction.opcode() {
            Opcode::Add | Opcode::Or => multiple(0).or_else(|| multiple(1)),
            Opcode::Subtract | Opcode::Resize | Opcode::Freeze => multiple(0),
            Opcode::Multiply => multiple(0)?.checked_mul(operand(1).as_int()?),
            Opcode::Shift => {
                let bits = operand(1).as_int()?.try_into().ok()?;
                multiple(0)?.checked_mul(1i64.checked_shl(bits)?)
            }
            Opcode::Select => multiple(1).filter(|&factor| multiple(2) == Some(factor)),
            Opcode::Phi if instruction.block() != self.head => {
                let incoming = instruction.incoming().into_iter();
                let mut factors = incoming.map(|(value, _)| self.multiple_of(phi, value));
                let factor = factors.next()??;
                factors.all(|other| other == Some(factor)).then_some(factor)
            }
            _ => None,
        }
    }

    /// The first block of the loop.
    pub(crate) fn head(&self) -> Block<'m> {
        self.head
    }

    /// The load of the index that an address is computed from.
    pub(crate) fn index_load(&self, address: Value<'m>) -> Option<Instruction<'m>> {
        self.steps_left.set(STEPS);
        let (load, _) = self.pointer_load(address)?;
        Some(load)
    }

    /// The node of a list that an address lies in, if it is the phi at the loop's head.
    pub(crate) fn list_node(&self, address: Value<'m>) -> Option<Value<'m>> {
        let (mut node, _) = self.without_constants(address);
        if let Some(load) = self
            .instruction_in_loop(node)
            .filter(|load| load.opcode() == Opcode::Load)
        {
            (node, _) = self.without_constants(load.value().operand(0));
        }
        let phi = self.instruction_in_loop(node)?;
        let is_node = phi.opcode() == Opcode::Phi && phi.block() == self.head;
        self.steps_left.set(STEPS);
        (is_node && self.chain(node).is_some()).then_some(node)
    }

    /// The phi of the index that an address is computed from, if each iteration multiplies it.
    pub(crate) fn geometric_index(&self, address: Value<'m>) -> Option<Value<'m>> {
        self.steps_left.set(STEPS);
        let (phi, _, through) = self.geometric_phi(address)?;
        (!through).then_some(phi)
    }

    /// Whether a value that is loaded is a pointer to the next node of the list that the loop
    /// walks.
    pub(crate) fn leads_to_next_node(&self, load: Instruction<'m>) -> bool {
        self.steps_left.set(STEPS);
        let (node, distance) = self.without_constants(load.value().operand(0));
        self.chain(node) == Some(distance)
    }

    /// The constant by which a pointer or a number of 64 bits grows in each iteration, exactly and
    /// modulo 2^64. `None` if this does not follow from additions and multiplications in registers.
    pub(crate) fn exact_stride(&self, value: Value<'m>) -> Option<i64> {
        self.steps_left.set(STEPS);
        self.exact(value)
    }

    fn exact(&self, value: Value<'m>) -> Option<i64> {
        let Some(instruction) = self.instruction_in_loop(value) else {
            return Some(0);
        };
        self.count_step()?;
        let kind = value.kind();
        let is_wide =
            kind.kind() == TypeKind::Integer(64) || kind == Type::pointer(instruction.module());
        match instruction.opcode() {
            _ if !is_wide => None,
            Opcode::Phi => self.step_of(instruction),
            Opcode::Add | Opcode::Subtract | Opcode::Multiply | Opcode::Shift | Opcode::Offset => {
                self.sum(instruction, &|value| self.exact(value))
            }
            _ => None,
        }
    }

    /// The constant that every iteration adds to a phi at the loop's head, in registers.
    pub(crate) fn step_of(&self, phi: Instruction<'m>) -> Option<i64> {
        if phi.opcode() != Opcode::Phi || phi.block() != self.head {
            return None;
        }
        let inside = phi.incoming().into_iter();
        let mut steps = inside
            .filter(|(_, block)| self.contains(*block))
            .map(|(next, _)| {
                let (from, step) = self.without_constants(next);
                (from == phi.value()).then_some(step)
            });
        let step = steps.next()??;
        steps.all(|other| other == Some(step)).then_some(step)
    }

    /// Counts one step of the search. `None` after [`STEPS`] steps.
    fn count_step(&self) -> Option<()> {
        self.steps_left.set(self.steps_left.get().checked_sub(1)?);
        Some(())
    }

    /// Whether a block is in the loop.
    pub(crate) fn contains(&self, block: Block<'m>) -> bool {
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
        match instruction.opcode() {
            Opcode::Phi => self.phi_stride(instruction),
            Opcode::Load => self.memory_stride(instruction),
            _ => self.sum(instruction, &|value| self.stride(value)),
        }
    }

    /// The stride of the result of an instruction that computes a sum of multiples, from the
    /// strides of its operands.
    fn sum(
        &self,
        instruction: Instruction<'m>,
        stride: &dyn Fn(Value<'m>) -> Option<i64>,
    ) -> Option<i64> {
        let operand = |index| stride(instruction.value().operand(index));
        let constant = |index| instruction.value().operand(index).as_int();
        match instruction.opcode() {
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
                let mut sum = stride(address.base)?;
                for (term, bytes) in address.terms {
                    sum = sum.checked_add(stride(term)?.checked_mul(bytes)?)?;
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
    pub(super) fn next(&self, phi: Instruction<'m>) -> Option<Value<'m>> {
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

    /// The values that a phi at the loop's head may have in the next iteration. A value that the
    /// loop chooses among several stands for all of them. `None` for other instructions.
    fn next_values(&self, phi: Instruction<'m>) -> Option<Vec<Value<'m>>> {
        if phi.opcode() != Opcode::Phi || phi.block() != self.head {
            return None;
        }
        let inside = phi.incoming().into_iter();
        let inside = inside.filter(|(_, block)| self.contains(*block));
        let mut unknown: Vec<Value<'m>> = inside.map(|(value, _)| value).collect();
        let mut values = Vec::new();
        let mut seen = Vec::new();
        while let Some(value) = unknown.pop() {
            if seen.contains(&value) {
                continue;
            }
            self.count_step()?;
            seen.push(value);
            match self.instruction_in_loop(value) {
                Some(merge) if merge.opcode() == Opcode::Phi && merge.block() != self.head => {
                    unknown.extend(merge.incoming().into_iter().map(|(value, _)| value));
                }
                _ => values.push(value),
            }
        }
        Some(values)
    }

    /// A value without the constants that are added to it, and their sum.
    pub(crate) fn without_constants(&self, mut value: Value<'m>) -> (Value<'m>, i64) {
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
            Opcode::Phi if instruction.block() == self.head => {
                let next = instruction.incoming().into_iter();
                let next = next.filter(|(_, block)| self.contains(*block));
                let next: Vec<Value<'m>> = next.map(|(value, _)| value).collect();
                self.step(value, &next, &mut Vec::new())?
            }
            // A loop inside this one may walk along the list, too.
            Opcode::Phi => {
                let incoming = instruction.incoming().into_iter();
                let mut offsets = incoming.map(|(value, _)| self.chain(value));
                offsets.find_map(|offset| offset)
            }
            Opcode::Load => {
                let (from, distance) = self.without_constants(instruction.value().operand(0));
                self.chain(from).filter(|&offset| offset == distance)
            }
            _ => None,
        }
    }

    /// The offset of the next-pointer in the nodes of a list, if the loop walks from the node
    /// `from` to each of the nodes `to`, over any number of nodes. `Some(None)` if it stays at the
    /// node.
    fn step(
        &self,
        from: Value<'m>,
        to: &[Value<'m>],
        seen: &mut Vec<Value<'m>>,
    ) -> Option<Option<i64>> {
        let mut offset = None;
        let mut add = |step: Option<i64>| {
            let is_same = step.is_none_or(|step| *offset.get_or_insert(step) == step);
            is_same.then_some(())
        };
        for &to in to {
            if to == from || seen.contains(&to) {
                continue;
            }
            seen.push(to);
            let instruction = self.instruction_in_loop(to)?;
            self.count_step()?;
            match instruction.opcode() {
                Opcode::Load => {
                    let (node, distance) = self.without_constants(instruction.value().operand(0));
                    add(Some(distance))?;
                    add(self.step(from, &[node], seen)?)?;
                }
                Opcode::Phi => {
                    let incoming = instruction.incoming().into_iter();
                    let incoming: Vec<Value<'m>> = incoming.map(|(value, _)| value).collect();
                    add(self.step(from, &incoming, seen)?)?;
                }
                _ => return None,
            }
        }
        Some(offset)
    }

    /// The load from whose result `value` is computed, and its stride.
    fn pointer_load(&self, value: Value<'m>) -> Option<(Instruction<'m>, i64)> {
        let instruction = self.instruction_in_loop(value)?;
        self.count_step()?;
        match instruction.opcode() {
            Opcode::Load => {
                let stride = self.stride(instruction.value().operand(0))?;
                (stride != 0).then_some((instruction, stride))
            }
            // A phi inside the loop joins branches of the same iteration. A phi at the head has a
            // value of the previous iteration, so it does not count.
            Opcode::Phi if instruction.block() != self.head => {
                let mut values = instruction.incoming().into_iter().map(|(value, _)| value);
                values.find_map(|value| self.pointer_load(value))
            }
            Opcode::Add
            | Opcode::Subtract
            | Opcode::Multiply
            | Opcode::Shift
            | Opcode::Bits
            | Opcode::Resize
            | Opcode::Freeze
            | Opcode::Offset => {
                let operands = 0..instruction.value().operand_count();
                let mut operands = operands.map(|index| instruction.value().operand(index));
                operands.find_map(|operand| self.pointer_load(operand))
            }
            _ => None,
        }
    }
}

/// The first part of each LLVM block.
pub(crate) fn first_parts<'m>(lowered: &LoweredFunction<'m>) -> HashMap<Block<'m>, BlockId> {
    let mut first_parts = HashMap::new();
    for (id, part) in (0u32..).zip(&lowered.nodes) {
        let block = lowered.parts.blocks[part.block].block;
        first_parts.entry(block).or_insert(BlockId(id));
    }
    first_parts
}
