//! Inserts prefetches for the loads that a plan names (Perelman, Chilimbi, Calder 2005, section 5.4;
//! Ainsworth and Jones 2017 for loads through an index).
//!
//! A prefetch instruction never faults, so its address need not be valid. The new address is computed
//! from the load's shape ([`loads`](crate::loads)), for an iteration some turns ahead:
//!
//! - *Induction*, *outer*, *geometric* (with a factor that is a power of two): from the address of this
//!   iteration. This needs arithmetic only. What an element of a geometric walk points to is not
//!   prefetched, because the element would have to be loaded first.
//! - *Chain*, *field*: the next node. If each iteration loads the pointer to it, the pointer is loaded
//!   once more, when the iteration begins. Otherwise, the prefetch follows the program's own load.
//! - *Through*: the index must be loaded from an element ahead, and this load could fault. So the code
//!   loads it only if the loop certainly reaches that element, and otherwise loads the element of this
//!   iteration again:
//!
//! ```text
//! s += b[a[i]];        ok    = n - i > distance
//!                      where = ok ? &a[i + distance] : &a[i]
//!                      prefetch(&b[*where])
//!                      s += b[a[i]];
//! ```
//! The loop certainly reaches the element if it has one exit, by the comparison of an induction
//! variable with a number that does not change, if it calls nothing that may leave it, and if each
//! iteration loads an element. Loads through an index in any other loop get no prefetch. A nest of loops
//! with the shape *outer* is prefetched through its index where possible, because the line of the outer
//! loop's next iteration is often the present one.

use std::collections::{HashMap, HashSet};

use holloway_flow::{BlockId, Dominators, Loops};
use holloway_format::{LoadShape, PrefetchPlan};
use holloway_llvm::{
    Block, Builder, Comparison, Instruction, Module, Opcode, Type, TypeKind, Value,
};

use crate::loads::{LoopAccesses, first_parts, location};
use crate::lower::{CallAttributes, LoweredFunction, LoweringOptions, lower};
use crate::options::ModuleOptions;
use crate::selection::functions_with_code;

/// Bytes of a cache line.
const LINE: i64 = 64;

/// Inserts the prefetches of a plan. `find` returns those of a function, by linkage name. Returns the
/// number of prefetches.
pub(crate) fn insert<'p>(
    module: &mut Module<'_>,
    find: impl Fn(&str) -> &'p [PrefetchPlan],
    options: &ModuleOptions,
) -> u64 {
    let module: &Module<'_> = module;
    let attributes = CallAttributes::lookup(module);
    let mut inserted = 0;
    for function in functions_with_code(module) {
        let wanted = find(&function.name());
        if wanted.is_empty() {
            continue;
        }
        let lowering = LoweringOptions::new(options, &[]);
        if let Ok(lowered) = lower(function, &attributes, lowering) {
            inserted += in_function(&lowered, &attributes, wanted);
        }
    }
    inserted
}

fn in_function(
    lowered: &LoweredFunction<'_>,
    attributes: &CallAttributes,
    wanted: &[PrefetchPlan],
) -> u64 {
    let dominators = Dominators::new(&lowered.cfg);
    let loops = Loops::new(&lowered.cfg, &dominators);
    let first_parts = first_parts(lowered);
    let mut seen = HashSet::new();
    let mut inserted = 0;
    for block in &lowered.parts.blocks {
        let Some(&node) = first_parts.get(&block.block) else {
            continue;
        };
        let Some(index) = loops.innermost(node) else {
            continue;
        };
        let accesses = |index| LoopAccesses::new(lowered, &loops, &first_parts, index);
        let loads = block
            .instructions
            .iter()
            .filter(|load| load.is_plain_load());
        for &load in loads {
            let Some(turns) = turns(load, wanted) else {
                continue;
            };
            let inner = accesses(index);
            let outer = loops.all()[index].parent.map(accesses);
            let Some(shape) = inner.shape(load, outer.as_ref()) else {
                continue;
            };
            let inserter = Inserter {
                lowered,
                attributes,
                dominators: &dominators,
                loops: &loops,
                first_parts: &first_parts,
                accesses: &inner,
                index,
            };
            if let Some(key) = inserter.insert(load, shape, turns, &seen) {
                seen.insert(key);
                inserted += 1;
            }
        }
    }
    inserted
}

/// How many turns ahead the plan wants to prefetch a load. `None` if it does not.
fn turns(load: Instruction<'_>, wanted: &[PrefetchPlan]) -> Option<i64> {
    let location = location(load)?;
    let is_wanted = |wanted: &&PrefetchPlan| {
        wanted.line == location.line() && [0, location.column()].contains(&wanted.column)
    };
    Some(wanted.iter().find(is_wanted)?.turns.into())
}

/// Prefetches that fetch the same line: what the address is computed from, and the number of the line
/// after that.
type LineKey<'m> = (Value<'m>, i64);

/// Inserts prefetches for the loads of one loop.
struct Inserter<'a, 'm> {
    lowered: &'a LoweredFunction<'m>,
    attributes: &'a CallAttributes,
    dominators: &'a Dominators,
    loops: &'a Loops,
    first_parts: &'a HashMap<Block<'m>, BlockId>,
    accesses: &'a LoopAccesses<'a, 'm>,
    /// The loop's index in `loops`.
    index: usize,
}

impl<'m> Inserter<'_, 'm> {
    /// Inserts a prefetch for a load, unless there is one for the same line. Returns its line.
    fn insert(
        &self,
        load: Instruction<'m>,
        shape: LoadShape,
        turns: i64,
        seen: &HashSet<LineKey<'m>>,
    ) -> Option<LineKey<'m>> {
        let address = load.value().operand(0);
        let (base, constant) = self.accesses.without_constants(address);
        let key = (base, constant.div_euclid(LINE));
        if seen.contains(&key) {
            return None;
        }
        let builder = Builder::before(load);
        match shape {
            LoadShape::Induction { stride } => {
                let bytes = stride.checked_mul(turns)?;
                builder.prefetch(offset(&builder, address, bytes));
            }
            LoadShape::Outer { stride } => {
                if self.through(&builder, address, turns).is_none() {
                    builder.prefetch(offset(&builder, address, stride));
                }
            }
            LoadShape::Geometric { factor, through } => {
                if through || factor.count_ones() != 1 {
                    return None;
                }
                let phi = self.accesses.geometric_index(address)?;
                let doublings = 2 * factor.trailing_zeros();
                let ahead = (0..doublings).fold(phi, |index, _| builder.add(index, index));
                builder.prefetch(self.copy(&builder, address, phi, ahead)?);
            }
            LoadShape::Chain { offset } | LoadShape::Field { offset } => {
                return self.next_nodes(load, offset, seen);
            }
            LoadShape::Through { .. } => self.through(&builder, address, turns)?,
        }
        Some(key)
    }

    /// Prefetches the address that is computed from an element some turns ahead.
    fn through(&self, builder: &Builder<'m>, address: Value<'m>, turns: i64) -> Option<()> {
        let (index, stride) = self.accesses.index_load(address)?;
        let bytes = stride.checked_mul(turns)?;
        self.check_index(index)?;
        let reaches = self.reaches(builder, turns)?;
        let element = index.value().operand(0);
        let ahead = offset(builder, element, bytes);
        let element = builder.select(reaches, ahead, element);
        let ahead = builder.load(index.value().kind(), element);
        builder.prefetch(self.copy(builder, address, index.value(), ahead)?);
        Some(())
    }

    /// Prefetches the next node of the list that the loop walks: at the beginning of each iteration,
    /// or after each load of a pointer to the next node. `pointer` is the pointer's place in a node.
    fn next_nodes(
        &self,
        load: Instruction<'m>,
        pointer: i64,
        seen: &HashSet<LineKey<'m>>,
    ) -> Option<LineKey<'m>> {
        let head = self.accesses.head();
        let node = self.accesses.list_node(load.value().operand(0));
        let key = (node.unwrap_or(head.instructions().next()?.value()), 0);
        if seen.contains(&key) {
            return None;
        }
        if let Some(node) = node.filter(|node| self.loads_in_each_iteration((*node, pointer))) {
            let first = head
                .instructions()
                .find(|first| first.opcode() != Opcode::Phi)?;
            let builder = Builder::before(first);
            let place = offset(&builder, node, pointer);
            builder.prefetch(builder.load(Type::pointer(head.module()), place));
            return Some(key);
        }
        let mut found = false;
        for block in &self.lowered.parts.blocks {
            if !self.accesses.contains(block.block) {
                continue;
            }
            for pair in block.instructions.windows(2) {
                let [next, after] = pair else { continue };
                let is_pointer = next.value().kind().kind() == TypeKind::Pointer;
                if is_pointer
                    && next.is_plain_load()
                    && after.opcode() != Opcode::Phi
                    && self.accesses.leads_to_next_node(*next)
                {
                    Builder::before(*after).prefetch(next.value());
                    found = true;
                }
            }
        }
        found.then_some(key)
    }

    /// Whether each iteration that begins loads this place, a value plus bytes: the loop has one exit,
    /// at its end, and no call leaves it before.
    fn loads_in_each_iteration(&self, place: (Value<'m>, i64)) -> bool {
        let Some(exit) = self.only_exit() else {
            return false;
        };
        let Some(latch) = self.latch() else {
            return false;
        };
        let dominates = |block: Block<'m>| {
            let node = self.first_parts.get(&block).copied();
            node.is_some_and(|node| self.dominators.dominates(node, latch))
        };
        let blocks = self.lowered.parts.blocks.iter();
        let mut loads = blocks
            .filter(|block| self.accesses.contains(block.block) && dominates(block.block))
            .flat_map(|block| &block.instructions)
            .filter(|load| load.is_plain_load());
        exit.block() == self.block_of(latch)
            && loads.any(|load| self.accesses.without_constants(load.value().operand(0)) == place)
    }

    /// The part from which the only back edge leads to the loop's head.
    fn latch(&self) -> Option<BlockId> {
        match self.loops.all()[self.index].back_edges[..] {
            [back_edge] => Some(self.lowered.cfg.edge(back_edge).from),
            _ => None,
        }
    }

    fn block_of(&self, part: BlockId) -> Block<'m> {
        self.lowered.parts.blocks[self.lowered.nodes[part.index()].block].block
    }

    /// The terminator with the only exit of the loop. `None` if there are several, or if a call may
    /// leave the loop.
    fn only_exit(&self) -> Option<Instruction<'m>> {
        let inside = |block: Block<'m>| self.accesses.contains(block);
        let mut exits = Vec::new();
        for block in self.lowered.parts.blocks.iter().map(|block| block.block) {
            if !inside(block) {
                continue;
            }
            let may_leave = |instruction| self.attributes.may_leave(instruction);
            if block.instructions().any(may_leave) {
                return None;
            }
            let terminator = block.terminator()?;
            if terminator.successors().is_empty() {
                return None;
            }
            if !terminator.successors().into_iter().all(inside) {
                exits.push(terminator);
            }
        }
        match exits[..] {
            [exit] => Some(exit),
            _ => None,
        }
    }

    /// Checks that an element ahead may be loaded if the loop reaches it: its address depends on
    /// nothing in memory, and each iteration loads an element.
    fn check_index(&self, index: Instruction<'m>) -> Option<()> {
        let is_ordinary = index.is_plain_load()
            && index.value().kind().is_scalar()
            && !self.accesses.depends_on_load(index.value().operand(0));
        let latch = self.latch()?;
        let node = *self.first_parts.get(&index.block())?;
        (is_ordinary && self.dominators.dominates(node, latch)).then_some(())
    }

    /// Computes whether the loop will certainly run the iteration after so many turns, if no call
    /// leaves the loop. `None` if this is unknown.
    fn reaches(&self, builder: &Builder<'m>, turns: i64) -> Option<Value<'m>> {
        let inside = |block: Block<'m>| self.accesses.contains(block);
        let exit = self.only_exit()?;
        let [then, otherwise] = exit.successors()[..] else {
            return None;
        };
        if exit.opcode() != Opcode::Br || then == otherwise {
            return None;
        }
        let comparison = exit.value().operand(0).as_instruction()?;
        let [left, right] = [0, 1].map(|index| comparison.value().operand(index));
        let changes = |value: Value<'m>| {
            let instruction = value.as_instruction();
            instruction.is_some_and(|instruction| inside(instruction.block()))
        };
        let (variable, limit, operand) = match (changes(left), changes(right)) {
            (true, false) => (left, right, 0),
            (false, true) => (right, left, 1),
            _ => return None,
        };
        let (phi, added) = self.accesses.without_constants(variable);
        let stride = self.accesses.phi_stride(phi.as_instruction()?)?;
        if stride == 0 {
            return None;
        }
        // The comparisons of this iteration and of those before the wanted one must go on. At the
        // loop's head, the comparison of this iteration is past, and that of the wanted one is not.
        let head = self.accesses.head();
        let latch = self.block_of(self.latch()?);
        let added = match exit.block() {
            block if block == latch => added,
            block if block == head => added.checked_add(stride)?,
            _ => return None,
        };
        let first = self.plus(builder, phi, added);
        let stays_on_true = inside(then);
        let step = stride.checked_abs()?;
        let distance = match stride > 0 {
            true => self.difference(builder, limit, first),
            false => self.difference(builder, first, limit),
        };
        let least = |bytes: i64| Some(distance.kind().int(bytes.checked_sub(1)?));
        let is_before = match (comparison.comparison()?, operand) {
            (Comparison::Less, 0) | (Comparison::Greater, 1) => stride > 0,
            (Comparison::Greater, 0) | (Comparison::Less, 1) => stride < 0,
            _ => false,
        };
        match (comparison.comparison()?, stays_on_true) {
            (Comparison::Equal, false) | (Comparison::NotEqual, true) => {
                Some(builder.is_above(distance, least(step.checked_mul(turns)?)?))
            }
            (Comparison::Less | Comparison::Greater, true) if is_before => {
                // The difference means something only if the comparison itself goes on.
                let now = builder.copy(comparison);
                now.set_operand(operand, first);
                let far = least(step.checked_mul(turns - 1)?.checked_add(1)?)?;
                let far = builder.is_above(distance, far);
                let never = Type::i1(comparison.module()).int(0);
                Some(builder.select(now.value(), far, never))
            }
            _ => None,
        }
    }

    /// A number or pointer plus a constant.
    fn plus(&self, builder: &Builder<'m>, value: Value<'m>, constant: i64) -> Value<'m> {
        match (value.kind().kind(), constant) {
            (_, 0) => value,
            (TypeKind::Pointer, _) => offset(builder, value, constant),
            _ => builder.add(value, value.kind().int(constant)),
        }
    }

    /// The difference of two numbers or pointers.
    fn difference(&self, builder: &Builder<'m>, left: Value<'m>, right: Value<'m>) -> Value<'m> {
        let [left, right] = [left, right].map(|value| match value.kind().kind() {
            TypeKind::Pointer => builder.pointer_to_i64(value),
            _ => value,
        });
        builder.subtract(left, right)
    }

    /// Computes a value again, from another value than `from`. `None` if it does not depend on
    /// `from` by arithmetic alone.
    fn copy(
        &self,
        builder: &Builder<'m>,
        value: Value<'m>,
        from: Value<'m>,
        to: Value<'m>,
    ) -> Option<Value<'m>> {
        if value == from {
            return Some(to);
        }
        let instruction = value.as_instruction()?;
        let is_arithmetic = matches!(
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
        );
        if !is_arithmetic || !self.accesses.contains(instruction.block()) {
            return None;
        }
        let operands = 0..value.operand_count();
        let copies = operands.filter_map(|index| {
            let copy = self.copy(builder, value.operand(index), from, to)?;
            Some((index, copy))
        });
        let copies: Vec<_> = copies.collect();
        if copies.is_empty() {
            return None;
        }
        let copy = builder.copy(instruction);
        for (index, operand) in copies {
            copy.set_operand(index, operand);
        }
        Some(copy.value())
    }
}

/// An address plus bytes. It may be outside of the object.
fn offset<'m>(builder: &Builder<'m>, address: Value<'m>, bytes: i64) -> Value<'m> {
    let module = address.module();
    builder.offset(Type::i8(module), address, Type::i64(module).int(bytes))
}
