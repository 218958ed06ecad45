//! What a loop's counts are counted by, while the counters are in registers.
//!
//! A count whose number is known where it stands has an accumulator ([`Slot`]). Where ways of different numbers meet before
//! the count, the number is known on these ways: each adds to its own accumulator, at its end ([`Join`]). A way of nothing but an edge
//! has no place for that: then the count itself adds to that way's accumulator, for all of them, and behind the loop the
//! others are taken off it. A loop that is left between the meeting and the count has counted one path too early: which one
//! the register says there, and it is taken off too.

use std::collections::BTreeSet;

use holloway_flow::{Action, CountBase};

use super::inner::Inner;
use super::register::{Graph, Register, Turning, Value, walk};
use super::sites::Sites;
use crate::lower::Layout;

/// One counter in a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// The counter of this number.
    Plain(i64),
    /// A counter of turns.
    Turns {
        /// Number of the loop among the [`Turning`].
        turning: usize,
        /// The first turn's counter is so far from what came in.
        first: i64,
        /// The counter of all others.
        later: i64,
    },
}

/// A count behind the meeting of ways with different numbers.
#[derive(Clone, Debug)]
pub(super) struct Join {
    /// The ways that count for themselves.
    pub(super) ways: Vec<Way>,
    /// What the count itself adds to: of the way that can't.
    pub(super) total: Option<Slot>,
    /// Blocks behind the loop that are reached between the meeting and the count.
    pub(super) early: Vec<usize>,
}

/// A way on which a number is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    /// The block it ends with, which leads nowhere else.
    pub(super) source: usize,
    /// What the register is there, in all turns but the first.
    pub(super) number: i64,
    pub(super) slot: Slot,
}

/// A count that isn't done in memory.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    pub(super) block: usize,
    /// Which of the block's actions it is.
    pub(super) nth: usize,
    /// What it adds to; `None` where the ways before it do all.
    pub(super) slot: Option<Slot>,
    /// In which block, before which instruction.
    pub(super) place: (usize, usize),
    /// Blocks behind the loop where it is taken off again.
    pub(super) early: Vec<usize>,
}

impl Tally {
    fn new(block: usize, nth: usize, index: usize, slot: Option<Slot>) -> Self {
        Self {
            block,
            nth,
            slot,
            place: (block, index),
            early: Vec::new(),
        }
    }
}

/// All counts of a loop that aren't done in memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Tallies {
    pub(super) slots: Vec<Slot>,
    pub(super) counts: Vec<Tally>,
    pub(super) joins: Vec<Join>,
}

impl Tallies {
    /// Resolves a loop's counts; `number` is its number among the `turning`. `None` where the register in it can't be done
    /// without.
    pub(super) fn new(
        inner: &Inner,
        number: Option<usize>,
        graph: &Graph,
        sites: &Sites,
        register: &Register,
        turning: &[Turning],
    ) -> Option<Self> {
        if number.is_some_and(|number| !only_turns(inner, number, graph, register)) {
            return None;
        }
        let mut tallies = Self::default();
        let mut met = BTreeSet::new();
        for &block in &inner.blocks {
            let mut found = Vec::new();
            walk(
                block,
                register.top[block]?,
                sites,
                |index, action, value| {
                    found.push((index, action, value));
                },
            );
            for (nth, (index, action, value)) in found.into_iter().enumerate() {
                if let Some(slot) = slot(action, value, turning) {
                    tallies.add(slot);
                    tallies
                        .counts
                        .push(Tally::new(block, nth, index, Some(slot)));
                    continue;
                }
                let (Action::Count { increment, .. }, Value::Phi(phi)) = (action, value) else {
                    continue;
                };
                if !inner.blocks.contains(&phi) {
                    continue;
                }
                let meeting = Meeting::new(inner, graph, register, phi);
                let join = meeting.as_ref().and_then(|meeting| {
                    meeting.join(inner, graph, register, block, increment, turning)
                });
                match (meeting, join) {
                    (Some(meeting), Some(join)) if meeting.phis.is_disjoint(&met) => {
                        met.extend(meeting.phis);
                        tallies
                            .counts
                            .push(Tally::new(block, nth, index, join.total));
                        tallies.joins.push(join);
                    }
                    (Some(_), Some(_)) => return None,
                    // In memory, by what the register is; which is not known of turns.
                    _ if number.is_none() => {}
                    _ => return None,
                }
            }
        }
        tallies.add_joins().then_some(tallies)
    }

    /// Lists what the joins count; `false` where something else counts it too, so that nothing could be taken off it.
    fn add_joins(&mut self) -> bool {
        for join in &self.joins {
            let known = self.slots.len();
            for slot in join.ways.iter().map(|way| way.slot).chain(join.total) {
                match self.slots.iter().position(|&other| other == slot) {
                    Some(place) if place < known => return false,
                    Some(_) => {}
                    None => self.slots.push(slot),
                }
            }
        }
        true
    }

    fn add(&mut self, slot: Slot) {
        if !self.slots.contains(&slot) {
            self.slots.push(slot);
        }
    }

    /// Counts what would stand in an empty block in the one before, if the other ways from there leave the loop: what they
    /// count too much is taken off again on these. So the empty block stays empty, and vanishes.
    pub(super) fn lift(&mut self, layout: &Layout<'_>, graph: &Graph, inner: &Inner) {
        for tally in &mut self.counts {
            let [source] = graph.sources[tally.block][..] else {
                continue;
            };
            let others = graph.successors[source].iter().copied();
            let others: Vec<usize> = others.filter(|&other| other != tally.block).collect();
            let alone = layout.blocks[tally.block].instructions.len() == 1
                && inner.blocks.contains(&source)
                && others.iter().all(|other| inner.exits.contains(other));
            if alone && tally.slot.is_some() {
                tally.place = (source, layout.blocks[source].instructions.len() - 1);
                tally.early = others;
            }
        }
    }

    /// Whether the first turn is told from the others by what it adds.
    pub(super) fn marked(&self) -> bool {
        self.turns() > 1
    }

    /// Whether the block `exit` behind the loop is reached after the turn was counted, but before the path has ended.
    pub(super) fn is_early(&self, exit: usize) -> bool {
        let turns = |tally: &Tally| matches!(tally.slot, Some(Slot::Turns { .. }));
        let mut counts = self.counts.iter();
        let mut joins = self.joins.iter();
        counts.any(|tally| turns(tally) && tally.early.contains(&exit))
            || joins.any(|join| join.total.is_none() && join.early.contains(&exit))
    }

    /// Whether what this accumulator counts is part of the sum of all turns: each turn is counted by one that is.
    pub(super) fn sums(&self, slot: Slot) -> bool {
        let joins = self.joins.iter().filter(|join| join.total.is_some());
        let mut ways = joins.flat_map(|join| &join.ways);
        matches!(slot, Slot::Turns { .. }) && ways.all(|way| way.slot != slot)
    }

    /// How many accumulators count turns.
    pub(super) fn turns(&self) -> usize {
        let turns = |slot: &&Slot| matches!(slot, Slot::Turns { .. });
        self.slots.iter().filter(turns).count()
    }
}

/// Whether what is needed of the register in a loop is as far from what came in, whatever that was.
fn only_turns(inner: &Inner, number: usize, graph: &Graph, register: &Register) -> bool {
    register.needed.iter().all(|&value| match value {
        Value::Phi(block) if inner.blocks.contains(&block) => {
            Meeting::new(inner, graph, register, block).is_some_and(|meeting| {
                let turns =
                    |way: &(usize, Value)| matches!(way.1, Value::Turn(of, _) if of == number);
                meeting.ways.iter().all(turns)
            })
        }
        Value::Sum(block, _) => !inner.blocks.contains(&block),
        _ => true,
    })
}

/// What counter an action counts, if that is known at this value of the register.
fn slot(action: Action, value: Value, turning: &[Turning]) -> Option<Slot> {
    let Action::Count { base, increment } = action else {
        return None;
    };
    match value {
        _ if base == CountBase::Zero => Some(Slot::Plain(increment)),
        Value::Constant(number) => Some(Slot::Plain(increment.wrapping_add(number))),
        Value::Turn(index, number) => {
            let later = increment.wrapping_add(number);
            Some(Slot::Turns {
                turning: index,
                first: later.wrapping_sub(turning[index].start),
                later,
            })
        }
        _ => None,
    }
}

/// Where ways with different numbers meet, maybe one after the other.
struct Meeting {
    phis: BTreeSet<usize>,
    /// The ends of the ways, and what the register is there: a number or a turn's number.
    ways: Vec<(usize, Value)>,
}

impl Meeting {
    fn new(inner: &Inner, graph: &Graph, register: &Register, phi: usize) -> Option<Self> {
        let mut phis: BTreeSet<usize> = [phi].into();
        let mut open = vec![phi];
        let mut ways = Vec::new();
        while let Some(phi) = open.pop() {
            if phi == inner.head || !inner.blocks.contains(&phi) {
                return None;
            }
            for &source in &graph.sources[phi] {
                match register.bottom[source] {
                    Some(value @ (Value::Constant(_) | Value::Turn(..))) => {
                        ways.push((source, value));
                    }
                    Some(Value::Phi(before)) => {
                        if phis.insert(before) {
                            open.push(before);
                        }
                    }
                    _ => return None,
                }
            }
        }
        Some(Self { phis, ways })
    }

    /// The count in `block` of what met, if all ways from the meeting inside the loop lead there, with nothing else done.
    fn join(
        &self,
        inner: &Inner,
        graph: &Graph,
        register: &Register,
        block: usize,
        increment: i64,
        turning: &[Turning],
    ) -> Option<Join> {
        let early = self.early(inner, graph, register, block)?;
        let action = Action::Count {
            base: CountBase::Register,
            increment,
        };
        let mut ways: Vec<Way> = Vec::new();
        let mut total = None;
        for &(source, value) in &self.ways {
            let number = match value {
                Value::Constant(number) | Value::Turn(_, number) => number,
                _ => return None,
            };
            let slot = slot(action, value, turning)?;
            let way = Way {
                source,
                number,
                slot,
            };
            if graph.successors[source].len() == 1 {
                ways.push(way);
            } else if total.replace(slot).is_some_and(|other| other != slot) {
                return None;
            }
        }
        ways.retain(|way| Some(way.slot) != total);
        Some(Join { ways, total, early })
    }

    /// The blocks behind the loop that are reached between the meeting and the count in `block`.
    fn early(
        &self,
        inner: &Inner,
        graph: &Graph,
        register: &Register,
        block: usize,
    ) -> Option<Vec<usize>> {
        let met = |value: Option<Value>| matches!(value, Some(Value::Phi(phi)) if self.phis.contains(&phi));
        let mut seen = self.phis.clone();
        let mut open: Vec<usize> = seen.iter().copied().collect();
        let mut early = Vec::new();
        while let Some(next) = open.pop() {
            if next == block {
                continue;
            }
            if next == inner.head || !met(register.top[next]) || !met(register.bottom[next]) {
                return None;
            }
            for &target in &graph.successors[next] {
                if !inner.blocks.contains(&target) {
                    early.push(target);
                } else if seen.insert(target) {
                    open.push(target);
                }
            }
        }
        Some(early)
    }
}
