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
//! The loop certainly reaches the element if all of this holds:
//!
//! - It has one exit, which compares a counter with a number that does not change, and one back edge.
//! - Nothing in it may leave it or wait for another thread: calls that may not return, atomic and
//!   volatile accesses, and inline assembly.
//! - Each iteration loads an element, from an address that grows by a constant in registers.
//!
//! Loads through an index in other loops get no prefetch. A nest of loops with the shape *outer* is
//! prefetched through its index where possible, because the line of the outer loop's next iteration is
//! often the present one.

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
    let mut accesses_by_loop: HashMap<usize, LoopAccesses<'_, '_>> = HashMap::new();
    let mut seen = HashSet::new();
    for block in &lowered.parts.blocks {
        let Some(&node) = first_parts.get(&block.block) else {
            continue;
        };
        let Some(index) = loops.innermost(node) else {
            continue;
        };
        let loads = block
            .instructions
            .iter()
            .filter(|load| load.is_plain_load());
        for &load in loads {
            let Some(turns) = turns(load, wanted) else {
                continue;
            };
            let parent = loops.all()[index].parent;
            for index in [index].into_iter().chain(parent) {
                accesses_by_loop
                    .entry(index)
                    .or_insert_with(|| LoopAccesses::new(lowered, &loops, &first_parts, index));
            }
            let inserter = Inserter {
                lowered,
                attributes,
                dominators: &dominators,
                loops: &loops,
                first_parts: &first_parts,
                accesses: &accesses_by_loop[&index],
                index,
            };
            let outer = parent.map(|parent| &accesses_by_loop[&parent]);
            if let Some(shape) = inserter.accesses.shape(load, outer)
                && let Some(key) = inserter.insert(load, shape, turns, &seen)
            {
                seen.insert(key);
            }
        }
    }
    seen.len() as u64
}

/// How many iterations ahead the plan wants to prefetch a load. `None` if it does not.
fn turns(load: Instruction<'_>, wanted: &[PrefetchPlan]) -> Option<i64> {
    let location = location(load)?;
    let is_wanted = |wanted: &&PrefetchPlan| {
        wanted.line == location.line() && [0, location.column()].contains(&wanted.column)
    };
    let turns = wanted.iter().find(is_wanted)?.turns.min(MOST_TURNS);
    Some(turns.into())
}

/// Prefetches that fetch the same line: what the address is computed from, and the number of the line
/// after that.
type LineKey<'m> = (Value<'m>, i64);

/// Inserts prefetches for the loads of one loop. All checks come before the first new instruction.
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
        // A prefetch takes an address of the ordinary address space.
        if address.kind() != Type::pointer(load.module()) {
            return None;
        }
        let (base, constant) = self.accesses.without_constants(address);
        let key = (base, constant.div_euclid(LINE));
        if seen.contains(&key) {
            return None;
        }
        match shape {
            LoadShape::Induction { stride } => {
                let bytes = stride.checked_mul(turns)?;
                let builder = Builder::before(load);
                builder.prefetch(offset(&builder, address, bytes));
            }
            LoadShape::Outer { stride } => {
                if self.through(load, turns).is_none() {
                    let builder = Builder::before(load);
                    builder.prefetch(offset(&builder, address, stride));
                }
            }
            LoadShape::Geometric { factor, through } => {
                if through || factor.count_ones() != 1 {
                    return None;
                }
                let phi = self.accesses.geometric_index(address)?;
                let path = self.arithmetic(address, phi)?;
                let builder = Builder::before(load);
                let doublings = 2 * factor.trailing_zeros();
                let ahead = (0..doublings).fold(phi, |index, _| builder.add(index, index));
                builder.prefetch(copy(&builder, &path, phi, ahead));
            }
            LoadShape::Chain { offset } | LoadShape::Field { offset } => {
                return self.next_nodes(load, offset, seen);
            }
            LoadShape::Through { .. } => self.through(load, turns)?,
        }
        Some(key)
    }

    /// Prefetches the address that is computed from an element some iterations ahead.
    fn through(&self, load: Instruction<'m>, turns: i64) -> Option<()> {
        let address = load.value().operand(0);
        let index = self.accesses.index_load(address)?;
        let element = index.value().operand(0);
        let stride = self.accesses.exact_stride(element)?;
        let bytes = stride.checked_mul(turns)?;
        let is_ordinary = index.is_plain_load()
            && index.value().kind().is_scalar()
            && element.kind() == Type::pointer(load.module());
        if stride == 0 || !is_ordinary || !self.is_in_each_iteration(index.block()) {
            return None;
        }
        let path = self.arithmetic(address, index.value())?;
        let limit = self.limit(load.block(), turns)?;
        let builder = Builder::before(load);
        let reaches = limit.compare(&builder);
        let ahead = offset(&builder, element, bytes);
        let element = builder.select(reaches, ahead, element);
        let ahead = builder.load_as(index, element);
        builder.prefetch(copy(&builder, &path, index.value(), ahead));
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
        let known = node.and_then(|node| Some((node, self.load_in_each_iteration(node, pointer)?)));
        if let Some((node, next)) = known {
            let mut instructions = head.instructions();
            let first = instructions.find(|first| first.opcode() != Opcode::Phi)?;
            let builder = Builder::before(first);
            let place = offset(&builder, node, pointer);
            builder.prefetch(builder.load_as(next, place));
            return Some(key);
        }
        let mut found = false;
        for block in self.blocks() {
            for pair in block.windows(2) {
                let [next, after] = pair else { continue };
                if is_pointer_load(*next)
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

    /// The load of the pointer at this place of a node, if each iteration that begins runs it: the
    /// loop has one exit, at its end, and nothing leaves it before.
    fn load_in_each_iteration(&self, node: Value<'m>, pointer: i64) -> Option<Instruction<'m>> {
        let latch = self.block_of(self.latch()?);
        if self.only_exit()?.block() != latch {
            return None;
        }
        let is_it = |load: &Instruction<'m>| {
            is_pointer_load(*load)
                && self.accesses.without_constants(load.value().operand(0)) == (node, pointer)
                && self.is_in_each_iteration(load.block())
        };
        self.blocks().flatten().copied().find(is_it)
    }

    /// The instructions of the loop, by block.
    fn blocks(&self) -> impl Iterator<Item = &[Instruction<'m>]> {
        let blocks = self.lowered.parts.blocks.iter();
        let inside = blocks.filter(|block| self.accesses.contains(block.block));
        inside.map(|block| &*block.instructions)
    }

    /// Whether each iteration that comes to its end runs a block of the loop.
    fn is_in_each_iteration(&self, block: Block<'m>) -> bool {
        let node = self.first_parts.get(&block).copied();
        node.zip(self.latch())
            .is_some_and(|(node, latch)| self.dominators.dominates(node, latch))
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

    /// The terminator with the only exit of the loop. `None` if there are several, or if an
    /// instruction may not come to its end or waits for another thread.
    fn only_exit(&self) -> Option<Instruction<'m>> {
        let inside = |block: Block<'m>| self.accesses.contains(block);
        let mut exit = None;
        for block in self.lowered.parts.blocks.iter().map(|block| block.block) {
            if !inside(block) {
                continue;
            }
            if !block.instructions().all(|i| self.attributes.ends_alone(i)) {
                return None;
            }
            let terminator = block.terminator()?;
            let successors = terminator.successors();
            if successors.is_empty() {
                return None;
            }
            let leaves = !successors.into_iter().all(inside);
            if leaves && exit.replace(terminator).is_some() {
                return None;
            }
        }
        exit
    }

    /// Finds out how the loop tells, in `block`, whether it will run the iteration after so many.
    /// `None` if that is unknown.
    fn limit(&self, block: Block<'m>, turns: i64) -> Option<Limit<'m>> {
        let inside = |block: Block<'m>| self.accesses.contains(block);
        let exit = self.only_exit()?;
        let [then, otherwise] = exit.successors()[..] else {
            return None;
        };
        if exit.opcode() != Opcode::Br || then == otherwise {
            return None;
        }
        let test = exit.value().operand(0).as_instruction()?;
        let comparison = test.comparison()?;
        let [left, right] = [0, 1].map(|index| test.value().operand(index));
        let changes = |value: Value<'m>| {
            let instruction = value.as_instruction();
            instruction.is_some_and(|instruction| inside(instruction.block()))
        };
        let (counter, limit, is_left) = match (changes(left), changes(right)) {
            (true, false) => (left, right, true),
            (false, true) => (right, left, false),
            _ => return None,
        };
        let (phi, added) = self.accesses.without_constants(counter);
        let step = self.accesses.step_of(phi.as_instruction()?)?;
        let kind = phi.kind();
        if step == 0 || !kind.is_scalar() || counter.kind() != kind {
            return None;
        }
        // The tests from that of this iteration on must not end the loop. At the head, this test is
        // past in all other blocks, and the wanted iteration has one more.
        let (head, latch) = (self.accesses.head(), self.block_of(self.latch()?));
        let added = match exit.block() {
            exit if exit == latch => added,
            exit if exit == head && block == head => added,
            exit if exit == head => added.checked_add(step)?,
            _ => return None,
        };
        let ends_at_limit = match (comparison, inside(then)) {
            (Comparison::Equal, false) | (Comparison::NotEqual, true) => true,
            (Comparison::Less, true) if is_left == (step > 0) => false,
            (Comparison::Greater, true) if is_left == (step < 0) => false,
            _ => return None,
        };
        let tests = if ends_at_limit { turns } else { turns - 1 };
        let least = step.checked_abs()?.checked_mul(tests)?;
        let least = least.checked_sub(i64::from(ends_at_limit))?;
        let bits = match kind.kind() {
            TypeKind::Integer(bits) => bits.min(64),
            _ => 64,
        };
        let fits = |number: i64| number >= 0 && number <= i64::MAX >> (64 - bits);
        (fits(least) && fits(step.checked_abs()?)).then_some(Limit {
            test,
            phi,
            added,
            limit,
            is_left,
            goes_up: step > 0,
            ends_at_limit,
            least,
        })
    }

    /// The instructions that compute a value from another one by arithmetic, in the order of the code.
    /// `None` if the value does not depend on the other one, or not by arithmetic alone.
    fn arithmetic(&self, value: Value<'m>, from: Value<'m>) -> Option<Vec<Instruction<'m>>> {
        let mut depends = HashMap::from([(from, true)]);
        let mut path = Vec::new();
        let depends = self.depends(value, &mut depends, &mut path)?;
        (depends && path.len() <= MOST_COPIES).then_some(path)
    }

    /// Whether a value depends on one that is known to. Appends the instructions on the way. `None` if
    /// an instruction on the way is no arithmetic.
    fn depends(
        &self,
        value: Value<'m>,
        known: &mut HashMap<Value<'m>, bool>,
        path: &mut Vec<Instruction<'m>>,
    ) -> Option<bool> {
        if let Some(&known) = known.get(&value) {
            return Some(known);
        }
        let instruction = value.as_instruction();
        let instruction = instruction.filter(|i| self.accesses.contains(i.block()));
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
            any |= self.depends(value.operand(index), known, path)?;
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
}

/// The largest number of instructions that are copied for a prefetch.
const MOST_COPIES: usize = 32;
/// The largest number of values that the search for them visits.
const MOST_VALUES: usize = 256;
/// The largest number of iterations ahead.
const MOST_TURNS: u32 = 4096;

fn is_pointer_load(load: Instruction<'_>) -> bool {
    let pointer = Type::pointer(load.module());
    load.is_plain_load()
        && load.value().kind() == pointer
        && load.value().operand(0).kind() == pointer
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
fn copy<'m>(
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

/// What tells whether a loop will run the iteration after so many.
struct Limit<'m> {
    /// The comparison at the loop's exit.
    test: Instruction<'m>,
    /// The counter's phi at the loop's head.
    phi: Value<'m>,
    /// The phi plus this is the counter of the first test that is not past.
    added: i64,
    /// What the counter is compared with.
    limit: Value<'m>,
    /// Whether the counter is the comparison's first operand.
    is_left: bool,
    /// Whether the counter grows.
    goes_up: bool,
    /// Whether the loop ends when the counter equals the limit, rather than passes it.
    ends_at_limit: bool,
    /// The distance from the counter to the limit must be greater, as an unsigned number.
    least: i64,
}

impl<'m> Limit<'m> {
    /// Computes whether the loop will run that iteration.
    fn compare(&self, builder: &Builder<'m>) -> Value<'m> {
        let kind = self.phi.kind();
        let counter = match (kind.kind(), self.added) {
            (_, 0) => self.phi,
            (TypeKind::Pointer, added) => offset(builder, self.phi, added),
            (_, added) => builder.add(self.phi, kind.int(added)),
        };
        let number = |value: Value<'m>| match kind.kind() {
            TypeKind::Pointer => builder.pointer_to_i64(value),
            _ => value,
        };
        let (counter_number, limit) = (number(counter), number(self.limit));
        let distance = match self.goes_up {
            true => builder.subtract(limit, counter_number),
            false => builder.subtract(counter_number, limit),
        };
        let is_far = builder.is_above(distance, distance.kind().int(self.least));
        if self.ends_at_limit {
            return is_far;
        }
        // The distance means something only if the next test goes on.
        let (left, right) = match self.is_left {
            true => (counter, self.limit),
            false => (self.limit, counter),
        };
        let goes_on = builder.compare_as(self.test, left, right);
        builder.and(goes_on, is_far)
    }
}

/// An address plus bytes. It may be outside of the object.
fn offset<'m>(builder: &Builder<'m>, address: Value<'m>, bytes: i64) -> Value<'m> {
    let module = address.module();
    builder.offset(Type::i8(module), address, Type::i64(module).int(bytes))
}
