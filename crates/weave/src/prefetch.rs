//! Inserts prefetches for the loads that a plan names (Perelman, Chilimbi, Calder 2005, section
//! 5.4; Ainsworth and Jones 2017 for loads through an index).
//!
//! A prefetch instruction never faults, so its address need not be valid. The new address is
//! computed from the load's shape ([`loads`](crate::loads)), for an iteration some turns ahead:
//!
//! - *Induction*, *outer*, *geometric* (with a factor that is a power of two): from the address of
//!   this iteration. This needs arithmetic only. What an element of a geometric walk points to is
//!   not prefetched, because the element would have to be loaded first.
//! - *Chain*, *field*: the next node. If each iteration loads the pointer to it, the pointer is
//!   loaded once more, when the iteration begins. Otherwise, the prefetch follows the program's own
//!   load.
//! - *Through*: the index must be loaded from an element ahead, and this load could fault. So the
//!   code loads it only if the loop certainly reaches that element, and otherwise loads the element
//!   of this iteration again:
//!
//! ```text
//! s += b[a[i]];        ok    = n - i > distance
//!                      where = ok ? &a[i + distance] : &a[i]
//!                      prefetch(&b[*where])
//!                      s += b[a[i]];
//! ```
//! The loop certainly reaches the element if all of this holds:
//!
//! - It has one exit, which compares a counter with a number that does not change or only grows,
//!   and one back edge.
//! - Nothing in it may leave it or wait for another thread: calls that may not return, atomic and
//!   volatile accesses, and inline assembly.
//! - Each iteration loads an element, from an address that grows by a constant in registers.
//!
//! Loads in rows look ahead into later rows ([`rows`]).
//! Loads through an index in other loops get no prefetch. A nest of loops with the shape *outer* is
//! prefetched through its index where possible, because the line of the outer loop's next iteration
//! is often the present one.

mod addresses;
mod memory;
mod rows;
mod turns;

use std::collections::{HashMap, HashSet};

use holloway_flow::{Dominators, Loops};
use holloway_format::{LoadShape, PrefetchPlan};
use holloway_llvm::{Builder, Instruction, Module, Opcode, Type, Value};

use addresses::{arithmetic, copy, offset};
use turns::LoopTurns;

use crate::loads::{LoopAccesses, RowWalk, first_parts, location};
use crate::lower::{CallAttributes, LoweredFunction, LoweringOptions, lower};
use crate::options::ModuleOptions;
use crate::selection::functions_with_code;

/// Bytes of a cache line.
const LINE: i64 = 64;

/// Inserts the prefetches of a plan. `find` returns those of a function, by linkage name. Returns
/// the number of prefetches.
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
    let all = 0..loops.all().len();
    let accesses = all.map(|index| LoopAccesses::new(lowered, &loops, &first_parts, index));
    let accesses: Vec<LoopAccesses<'_, '_>> = accesses.collect();
    let turns_of = |index: usize| LoopTurns {
        lowered,
        attributes,
        dominators: &dominators,
        loops: &loops,
        first_parts: &first_parts,
        accesses: &accesses[index],
        index,
    };
    let mut rows: HashMap<usize, Vec<Rows<'_>>> = HashMap::new();
    let mut seen = HashSet::new();
    for block in &lowered.parts.blocks {
        let Some(&node) = first_parts.get(&block.block) else {
            continue;
        };
        let Some(index) = loops.innermost(node) else {
            continue;
        };
        let parent = loops.all()[index].parent;
        let loads = block.instructions.iter();
        for &load in loads.filter(|load| load.is_plain_load()) {
            let Some(turns) = turns(load, wanted) else {
                continue;
            };
            let in_rows = [index].into_iter().chain(parent).find_map(|index| {
                let found = || RowWalk::find(lowered, &loops, &accesses[index]);
                let rows = rows.entry(index).or_insert_with(|| Rows::all(found()));
                insert_in_rows(&turns_of(index), rows, load, turns, &seen)
            });
            let inserter = Inserter {
                turns: turns_of(index),
                accesses: &accesses[index],
            };
            let outer = parent.map(|parent| &accesses[parent]);
            let key = in_rows.or_else(|| {
                let shape = inserter.accesses.shape(load, outer)?;
                inserter.insert(load, shape, turns, &seen)
            });
            seen.extend(key);
        }
    }
    seen.len() as u64
}

/// A walk along rows, and its limits by the number of elements ahead. A limit is `None` if it
/// cannot be computed.
struct Rows<'m> {
    walk: RowWalk<'m>,
    limits: HashMap<i64, Option<Value<'m>>>,
}

impl<'m> Rows<'m> {
    fn all(walks: Vec<RowWalk<'m>>) -> Vec<Self> {
        let rows = |walk| Self {
            walk,
            limits: HashMap::new(),
        };
        walks.into_iter().map(rows).collect()
    }
}

/// Inserts a prefetch for a load whose address is computed from an element of a row.
fn insert_in_rows<'m>(
    turns: &LoopTurns<'_, 'm>,
    rows: &mut [Rows<'m>],
    load: Instruction<'m>,
    elements: i64,
    seen: &HashSet<LineKey<'m>>,
) -> Option<LineKey<'m>> {
    let address = load.value().operand(0);
    let key = line_key(turns.accesses, address)?;
    rows.iter_mut().find_map(|rows| {
        let element = rows.walk.element_of(turns.accesses, address)?;
        if seen.contains(&key) {
            return None;
        }
        let limit = || {
            let known = rows.limits.entry(elements);
            *known.or_insert_with(|| rows::limit(turns, &rows.walk, elements))
        };
        rows::prefetch(turns, &rows.walk, element, load, elements, limit)?;
        Some(key)
    })
}

/// What the address of a load is computed from, and the number of its line after that. `None` if no
/// prefetch takes the address: one that is not of the ordinary address space.
fn line_key<'m>(accesses: &LoopAccesses<'_, 'm>, address: Value<'m>) -> Option<LineKey<'m>> {
    let (base, constant) = accesses.without_constants(address);
    let is_ordinary = address.kind() == Type::pointer(address.module());
    is_ordinary.then_some((base, constant.div_euclid(LINE)))
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

/// Prefetches that fetch the same line: what the address is computed from, and the number of the
/// line after that.
type LineKey<'m> = (Value<'m>, i64);

/// Inserts prefetches for the loads of one loop. All checks come before the first new instruction.
struct Inserter<'a, 'm> {
    turns: LoopTurns<'a, 'm>,
    accesses: &'a LoopAccesses<'a, 'm>,
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
        let key = line_key(self.accesses, address)?;
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
                let path = arithmetic(self.accesses, address, phi)?;
                let builder = Builder::before(load);
                let doublings = 2 * factor.trailing_zeros();
                let ahead = (0..doublings).fold(phi, |index, _| builder.add(index, index));
                builder.prefetch(copy(&builder, &path, phi, ahead));
            }
            LoadShape::Chain { offset } | LoadShape::Field { offset } => {
                return self.next_nodes(load, offset, seen);
            }
            LoadShape::Through { .. } => self.through(load, turns)?,
            // These are of several loops, so they are not found here.
            LoadShape::Rows { .. } => return None,
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
        if stride == 0 || !is_ordinary || !self.turns.is_in_each_iteration(index.block()) {
            return None;
        }
        let path = arithmetic(self.accesses, address, index.value())?;
        let limit = self.turns.limit(load.block(), turns)?;
        let builder = Builder::before(load);
        let reaches = limit.compare(&builder);
        let ahead = offset(&builder, element, bytes);
        let element = builder.select(reaches, ahead, element);
        let ahead = builder.load_as(index, element);
        builder.prefetch(copy(&builder, &path, index.value(), ahead));
        Some(())
    }

    /// Prefetches the next node of the list that the loop walks: at the beginning of each
    /// iteration, or after each load of a pointer to the next node. `pointer` is the pointer's
    /// place in a node.
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
        for block in self.turns.blocks() {
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
        let latch = self.turns.block_of(self.turns.latch()?);
        if self.turns.only_exit()?.block() != latch {
            return None;
        }
        let is_it = |load: &Instruction<'m>| {
            is_pointer_load(*load)
                && self.accesses.without_constants(load.value().operand(0)) == (node, pointer)
                && self.turns.is_in_each_iteration(load.block())
        };
        self.turns.blocks().flatten().copied().find(is_it)
    }
}

/// The largest number of iterations ahead.
const MOST_TURNS: u32 = 4096;

fn is_pointer_load(load: Instruction<'_>) -> bool {
    let pointer = Type::pointer(load.module());
    load.is_plain_load()
        && load.value().kind() == pointer
        && load.value().operand(0).kind() == pointer
}
