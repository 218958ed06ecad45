//! Adding to memory, behind a loop, what it has counted in registers.
//!
//! Where several paths go on a turn, the first turn adds a *mark* in place of 1: the sign bit. So behind the loop each
//! accumulator says how often it counted, and whether that was in the first turn; in the loop this costs one constant for
//! each turn but the first.

use std::collections::HashMap;

use holloway_llvm::{Builder, Instruction, Type, Value};

use super::probe::Probe;
use super::promote::Kept;
use super::register::Graph;
use super::tally::Slot;
use super::variable::{Counted, Variable};
use crate::lower::Layout;

/// What the first turn adds.
const FIRST: i64 = i64::MIN;

/// What turns add, in the loops in which the first adds something else.
pub(super) struct Marks<'a, 'm> {
    units: HashMap<usize, (&'a Kept, Value<'m>)>,
    phis: Vec<(&'a Kept, Instruction<'m>)>,
}

impl<'a, 'm> Marks<'a, 'm> {
    /// Makes the phis, without their values yet.
    pub(super) fn new(layout: &Layout<'m>, loops: &'a [Kept]) -> Self {
        let word = Type::i64(layout.function.module());
        let mut marks = Self {
            units: HashMap::new(),
            phis: Vec::new(),
        };
        for kept in loops.iter().filter(|kept| kept.tallies.marked()) {
            let phi = Builder::at_top(layout.blocks[kept.inner.head].block).phi(word);
            let blocks = &kept.inner.blocks;
            marks
                .units
                .extend(blocks.iter().map(|&block| (block, (kept, phi.value()))));
            marks.phis.push((kept, phi));
        }
        marks
    }

    /// What an accumulator is added in this block, if that isn't always 1: only what turns count is marked.
    pub(super) fn unit(&self, block: usize, slot: usize) -> Option<Value<'m>> {
        let (kept, unit) = self.units.get(&block)?;
        let slot = kept.tallies.slots.get(slot)?;
        matches!(slot, Slot::Turns { .. }).then_some(*unit)
    }

    /// Gives the phis their values.
    pub(super) fn close(&self, layout: &Layout<'m>, graph: &Graph) {
        let word = Type::i64(layout.function.module());
        for &(kept, phi) in &self.phis {
            let head = layout.blocks[kept.inner.head].block;
            for &source in &graph.sources[kept.inner.head] {
                let inside = kept.inner.blocks.contains(&source);
                let unit = word.int(if inside { 1 } else { FIRST });
                let info = &layout.blocks[source];
                // A phi has an entry for each edge, parallel ones too.
                for target in info.terminator().successors() {
                    if target == head {
                        phi.add_incoming(unit, info.block);
                    }
                }
            }
        }
    }
}

/// A loop's counts on their way to memory, on the edge by which it is left.
pub(super) struct WriteBack<'a, 'm> {
    pub(super) probe: &'a Probe<'a, 'm>,
    pub(super) builder: Builder<'m>,
    pub(super) kept: &'a Kept,
    /// From the block in the loop to the one behind it.
    pub(super) edge: (usize, usize),
}

impl<'m> WriteBack<'_, 'm> {
    /// Writes the accumulators' values. `register` is the path register.
    pub(super) fn write(&self, register: &mut Variable<'_, 'm>, counts: Vec<Counted<'m>>) {
        let word = self.word();
        let mut counts: Vec<Value<'m>> = counts
            .into_iter()
            .map(|counted| match counted {
                Counted::Number(number) => word.int(number),
                Counted::Value(value) => value,
            })
            .collect();
        let marked = self.kept.tallies.marked();
        let mut first = marked.then(|| self.in_first(&counts));
        self.settle(register, &mut counts, first);
        for (&slot, &count) in self.kept.tallies.slots.iter().zip(&counts) {
            match slot {
                Slot::Plain(number) => self.probe.add(&self.builder, None, number, count),
                Slot::Turns { .. } if marked => self.turns(register, slot, count),
                Slot::Turns { .. } => first = Some(self.all_turns(register, slot, count)),
            }
        }
        if let (Some(turning), Some(first)) = (self.kept.turning, first) {
            register.leave(&self.builder, self.edge, turning, first);
        }
    }

    fn word(&self) -> Type<'m> {
        Type::i64(self.probe.module)
    }

    /// Whether the loop is left in its first turn: then no turn was counted, or too early the first.
    fn in_first(&self, counts: &[Value<'m>]) -> Value<'m> {
        let tallies = &self.kept.tallies;
        let slots = tallies.slots.iter().zip(counts);
        let turns = slots.filter(|(slot, _)| tallies.sums(**slot));
        let sum = turns.fold(self.word().int(0), |sum, (_, &count)| {
            self.builder.add(sum, count)
        });
        let early = tallies.is_early(self.edge.1);
        self.is(sum, if early { FIRST } else { 0 })
    }

    fn is(&self, value: Value<'m>, number: i64) -> Value<'m> {
        let difference = self.builder.subtract(value, self.word().int(number));
        self.builder.is_null(difference)
    }

    /// Takes off what was counted too early, and what was counted for others.
    fn settle(
        &self,
        register: &Variable<'_, 'm>,
        counts: &mut [Value<'m>],
        first: Option<Value<'m>>,
    ) {
        let slots = &self.kept.tallies.slots;
        let place = |wanted: Slot| {
            let mut slots = slots.iter();
            slots
                .position(|&slot| slot == wanted)
                .expect("all slots are listed")
        };
        let word = self.word();
        let one = word.int(1);
        let unit = first.map_or(one, |first| {
            self.builder.select(first, word.int(FIRST), one)
        });
        if first.is_some() {
            for tally in &self.kept.tallies.counts {
                if let Some(slot @ Slot::Turns { .. }) = tally.slot
                    && tally.early.contains(&self.edge.1)
                {
                    let slot = place(slot);
                    counts[slot] = self.builder.subtract(counts[slot], unit);
                }
            }
        }
        for join in &self.kept.tallies.joins {
            let mut ways: Vec<(usize, i64)> = Vec::new();
            for way in &join.ways {
                let way = (place(way.slot), way.number);
                if !ways.contains(&way) {
                    ways.push(way);
                }
            }
            if join.early.contains(&self.edge.1) {
                let came = register.bottom(self.edge.0);
                for &(slot, number) in &ways {
                    let early = self.is(came, number);
                    let less = self.builder.select(early, unit, word.int(0));
                    counts[slot] = self.builder.subtract(counts[slot], less);
                }
            }
            if let Some(total) = join.total {
                let total = place(total);
                for &(slot, _) in &ways {
                    counts[total] = self.builder.subtract(counts[total], counts[slot]);
                }
            }
        }
    }

    /// Adds what one of several paths a turn was counted.
    fn turns(&self, register: &Variable<'_, 'm>, slot: Slot, count: Value<'m>) {
        let Slot::Turns {
            turning,
            first,
            later,
        } = slot
        else {
            unreachable!("turns are counted by their slots")
        };
        let word = self.word();
        let marked = self.builder.is_negative(count);
        let one = self.builder.select(marked, word.int(1), word.int(0));
        self.probe
            .add(&self.builder, Some(register.came(turning)), first, one);
        let rest = self.builder.and(count, word.int(!FIRST));
        self.probe.add(&self.builder, None, later, rest);
    }

    /// Adds the counts of the one path a turn; returns whether there was none.
    fn all_turns(&self, register: &Variable<'_, 'm>, slot: Slot, count: Value<'m>) -> Value<'m> {
        let Slot::Turns {
            turning,
            first,
            later,
        } = slot
        else {
            unreachable!("turns are counted by their slots")
        };
        let word = self.word();
        let none = self.builder.is_null(count);
        let one = self.builder.select(none, word.int(0), word.int(1));
        self.probe
            .add(&self.builder, Some(register.came(turning)), first, one);
        let less = self.builder.select(none, word.int(0), word.int(-1));
        let rest = self.builder.add(count, less);
        self.probe.add(&self.builder, None, later, rest);
        none
    }
}
