//! The counts of a loop whose counters are in registers: the accumulator to which each count adds.
//!
//! A count has a separate accumulator ([`CounterSlot`]) if its counter is known where the count
//! stands. If arms with different numbers join before the count, the number is known on the arms.
//! Then each arm adds to a separate accumulator at its end ([`CountJoin`]). An arm that is only an
//! edge has no place for an addition. Then the count itself adds to that arm's accumulator, for all
//! arms. After the loop, the other arms' counts are subtracted from it. If control leaves the loop
//! between the join and the count, a path was counted too early. The register tells which path, and
//! its count is subtracted too.

use std::collections::BTreeSet;

use holloway_flow::{Action, CountBase};

use super::graph::{BlockGraph, InstructionPosition};
use super::natural_loops::NaturalLoop;
use super::register::{RegisterFlow, RegisterValue, SteadyLoop, walk};
use super::sites::Sites;
use crate::lower::{BlockIndex, FunctionParts};

/// The counters that one accumulator is added to after the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CounterSlot {
    /// The counter of this number.
    Fixed(i64),
    /// The counters of a path from one iteration to the next.
    Iterations(IterationCounters),
}

/// The counters of a path from one iteration of a loop to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IterationCounters {
    /// Index of the loop among the [`SteadyLoop`]s.
    pub(super) steady_loop: usize,
    /// Number of the first iteration's counter, less the register's value at the loop's entry.
    pub(super) first: i64,
    /// Number of the counter of all later iterations.
    pub(super) later: i64,
}

/// A count after the join of arms with different numbers.
#[derive(Clone, Debug)]
pub(super) struct CountJoin {
    /// The arms that add to separate accumulators.
    pub(super) arms: Vec<JoinArm>,
    /// The slot to which the count itself adds: the slot of the arm that has no place for an
    /// addition.
    pub(super) total: Option<CounterSlot>,
    /// Blocks after the loop that control reaches between the join and the count.
    pub(super) early_exits: Vec<BlockIndex>,
}

/// An arm on which the register is a known number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JoinArm {
    /// The last block of the arm. It leads only to the join.
    pub(super) source: BlockIndex,
    /// The register's value there, in all iterations but the first.
    pub(super) number: i64,
    pub(super) slot: CounterSlot,
}

/// A count that adds to an accumulator, not to memory.
#[derive(Clone, Debug)]
pub(super) struct PromotedCount {
    pub(super) block: BlockIndex,
    /// Position of the count among the block's actions.
    pub(super) nth: usize,
    /// The slot to which the count adds. `None` if the arms before it add everything.
    pub(super) slot: Option<CounterSlot>,
    /// Where the addition stands.
    pub(super) place: InstructionPosition,
    /// Blocks after the loop where the count is subtracted again.
    pub(super) early_exits: Vec<BlockIndex>,
}

impl PromotedCount {
    fn new(block: BlockIndex, nth: usize, index: usize, slot: Option<CounterSlot>) -> Self {
        Self {
            block,
            nth,
            slot,
            place: InstructionPosition { block, index },
            early_exits: Vec::new(),
        }
    }
}

/// All counts of a loop that add to accumulators.
#[derive(Clone, Debug, Default)]
pub(super) struct LoopCounts {
    pub(super) slots: Vec<CounterSlot>,
    pub(super) counts: Vec<PromotedCount>,
    pub(super) joins: Vec<CountJoin>,
}

impl LoopCounts {
    /// Resolves a loop's counts. `number` is the loop's index among `loops`. `None` if the loop
    /// needs the register as a value.
    pub(super) fn new(
        natural: &NaturalLoop,
        number: Option<usize>,
        graph: &BlockGraph,
        sites: &Sites,
        register: &RegisterFlow,
        loops: &[SteadyLoop],
    ) -> Option<Self> {
        if number.is_some_and(|number| !is_steady(natural, number, graph, register)) {
            return None;
        }
        let mut loop_counts = Self::default();
        let mut joined = BTreeSet::new();
        for &block in &natural.blocks {
            let mut found = Vec::new();
            walk(block, register.top[block]?, sites, |stop, action, value| {
                found.push((stop.index, action, value));
            });
            for (nth, (index, action, value)) in found.into_iter().enumerate() {
                if let Some(slot) = slot(action, value, loops) {
                    loop_counts.add(slot);
                    loop_counts
                        .counts
                        .push(PromotedCount::new(block, nth, index, Some(slot)));
                    continue;
                }
                let (Action::Count { increment, .. }, RegisterValue::Phi(phi)) = (action, value)
                else {
                    continue;
                };
                if !natural.blocks.contains(&phi) {
                    continue;
                }
                let arm_join = ArmJoin::new(natural, graph, register, phi);
                let join = arm_join.as_ref().and_then(|arm_join| {
                    arm_join.join(natural, graph, register, block, increment, loops)
                });
                match (arm_join, join) {
                    (Some(arm_join), Some(join)) if arm_join.phis.is_disjoint(&joined) => {
                        joined.extend(arm_join.phis);
                        loop_counts
                            .counts
                            .push(PromotedCount::new(block, nth, index, join.total));
                        loop_counts.joins.push(join);
                    }
                    (Some(_), Some(_)) => return None,
                    // The count stays in memory. Its counter must be known from the register's
                    // value, which a steady loop does not have.
                    _ if number.is_none() => {}
                    _ => return None,
                }
            }
        }
        loop_counts.add_joins().then_some(loop_counts)
    }

    /// Lists the slots of the joins. `false` if another count has one of these slots too: then
    /// nothing could be subtracted from the slot.
    fn add_joins(&mut self) -> bool {
        for join in &self.joins {
            let known = self.slots.len();
            for slot in join.arms.iter().map(|arm| arm.slot).chain(join.total) {
                match self.slots.iter().position(|&other| other == slot) {
                    Some(place) if place < known => return false,
                    Some(_) => {}
                    None => self.slots.push(slot),
                }
            }
        }
        true
    }

    fn add(&mut self, slot: CounterSlot) {
        if !self.slots.contains(&slot) {
            self.slots.push(slot);
        }
    }

    /// Moves a count from an empty block to the block before, if all other ways from there leave
    /// the loop. On these the count is subtracted again. So the empty block stays empty, and LLVM
    /// removes it.
    pub(super) fn move_out_of_empty_blocks(
        &mut self,
        parts: &FunctionParts<'_>,
        graph: &BlockGraph,
        natural: &NaturalLoop,
    ) {
        for count in &mut self.counts {
            let [source] = graph.sources[count.block][..] else {
                continue;
            };
            let others = graph.successors[source].iter().copied();
            let others: Vec<BlockIndex> = others.filter(|&other| other != count.block).collect();
            let alone = parts.blocks[count.block].instructions.len() == 1
                && natural.blocks.contains(&source)
                && others.iter().all(|other| natural.exits.contains(other));
            if alone && count.slot.is_some() {
                count.place = InstructionPosition {
                    block: source,
                    index: parts.blocks[source].instructions.len() - 1,
                };
                count.early_exits = others;
            }
        }
    }

    /// Whether the first iteration adds a mark.
    pub(super) fn are_marked(&self) -> bool {
        self.iteration_slots() > 1
    }

    /// Whether control reaches the block `exit` after the loop after the iteration was counted,
    /// but before the path has ended.
    pub(super) fn is_early(&self, exit: BlockIndex) -> bool {
        let counts_iterations =
            |count: &PromotedCount| matches!(count.slot, Some(CounterSlot::Iterations(_)));
        let mut counts = self.counts.iter();
        let mut joins = self.joins.iter();
        counts.any(|count| counts_iterations(count) && count.early_exits.contains(&exit))
            || joins.any(|join| join.total.is_none() && join.early_exits.contains(&exit))
    }

    /// Whether this slot is a summand of the count of all iterations. Each iteration is counted by
    /// exactly one summand.
    pub(super) fn is_summand(&self, slot: CounterSlot) -> bool {
        let joins = self.joins.iter().filter(|join| join.total.is_some());
        let mut arms = joins.flat_map(|join| &join.arms);
        matches!(slot, CounterSlot::Iterations(_)) && arms.all(|arm| arm.slot != slot)
    }

    /// The number of slots that count iterations.
    pub(super) fn iteration_slots(&self) -> usize {
        let is_iteration_slot = |slot: &&CounterSlot| matches!(slot, CounterSlot::Iterations(_));
        self.slots.iter().filter(is_iteration_slot).count()
    }
}

/// Whether all needed values of the register in a loop have a known distance from its value at the
/// loop's entry.
fn is_steady(
    natural: &NaturalLoop,
    number: usize,
    graph: &BlockGraph,
    register: &RegisterFlow,
) -> bool {
    register.needed.iter().all(|&value| match value {
        RegisterValue::Phi(block) if natural.blocks.contains(&block) => {
            ArmJoin::new(natural, graph, register, block).is_some_and(|arm_join| {
                let is_steady =
                    |arm: &(BlockIndex, RegisterValue)| matches!(arm.1, RegisterValue::Steady(index, _) if index == number);
                arm_join.arms.iter().all(is_steady)
            })
        }
        RegisterValue::Sum(block, _) => !natural.blocks.contains(&block),
        _ => true,
    })
}

/// The counters of an action, if they are known at this value of the register.
fn slot(action: Action, value: RegisterValue, loops: &[SteadyLoop]) -> Option<CounterSlot> {
    let Action::Count { base, increment } = action else {
        return None;
    };
    match value {
        _ if base == CountBase::Zero => Some(CounterSlot::Fixed(increment)),
        RegisterValue::Constant(number) => Some(CounterSlot::Fixed(increment.wrapping_add(number))),
        RegisterValue::Steady(index, number) => {
            let later = increment.wrapping_add(number);
            Some(CounterSlot::Iterations(IterationCounters {
                steady_loop: index,
                first: later.wrapping_sub(loops[index].start),
                later,
            }))
        }
        _ => None,
    }
}

/// The join of arms with different numbers, perhaps through several blocks.
struct ArmJoin {
    phis: BTreeSet<BlockIndex>,
    /// The last block of each arm, and the register's value there: a constant, or steady.
    arms: Vec<(BlockIndex, RegisterValue)>,
}

impl ArmJoin {
    fn new(
        natural: &NaturalLoop,
        graph: &BlockGraph,
        register: &RegisterFlow,
        phi: BlockIndex,
    ) -> Option<Self> {
        let mut phis: BTreeSet<BlockIndex> = [phi].into();
        let mut open = vec![phi];
        let mut arms = Vec::new();
        while let Some(phi) = open.pop() {
            if phi == natural.head || !natural.blocks.contains(&phi) {
                return None;
            }
            for &source in &graph.sources[phi] {
                match register.bottom[source] {
                    Some(value @ (RegisterValue::Constant(_) | RegisterValue::Steady(..))) => {
                        arms.push((source, value));
                    }
                    Some(RegisterValue::Phi(before)) => {
                        if phis.insert(before) {
                            open.push(before);
                        }
                    }
                    _ => return None,
                }
            }
        }
        Some(Self { phis, arms })
    }

    /// The count in `block` after the join, if all ways from the join inside the loop lead there
    /// and nothing changes the register in between.
    fn join(
        &self,
        natural: &NaturalLoop,
        graph: &BlockGraph,
        register: &RegisterFlow,
        block: BlockIndex,
        increment: i64,
        loops: &[SteadyLoop],
    ) -> Option<CountJoin> {
        let early_exits = self.early_exits(natural, graph, register, block)?;
        let action = Action::Count {
            base: CountBase::Register,
            increment,
        };
        let mut arms: Vec<JoinArm> = Vec::new();
        let mut total = None;
        for &(source, value) in &self.arms {
            let number = match value {
                RegisterValue::Constant(number) | RegisterValue::Steady(_, number) => number,
                _ => return None,
            };
            let slot = slot(action, value, loops)?;
            let arm = JoinArm {
                source,
                number,
                slot,
            };
            if graph.successors[source].len() == 1 {
                arms.push(arm);
            } else if total.replace(slot).is_some_and(|other| other != slot) {
                return None;
            }
        }
        arms.retain(|arm| Some(arm.slot) != total);
        Some(CountJoin {
            arms,
            total,
            early_exits,
        })
    }

    /// The blocks after the loop that control reaches between the join and the count in `block`.
    fn early_exits(
        &self,
        natural: &NaturalLoop,
        graph: &BlockGraph,
        register: &RegisterFlow,
        block: BlockIndex,
    ) -> Option<Vec<BlockIndex>> {
        let is_joined = |value: Option<RegisterValue>| matches!(value, Some(RegisterValue::Phi(phi)) if self.phis.contains(&phi));
        let mut seen = self.phis.clone();
        let mut open: Vec<BlockIndex> = seen.iter().copied().collect();
        let mut early_exits = Vec::new();
        while let Some(next) = open.pop() {
            if next == block {
                continue;
            }
            if next == natural.head
                || !is_joined(register.top[next])
                || !is_joined(register.bottom[next])
            {
                return None;
            }
            for &target in &graph.successors[next] {
                if !natural.blocks.contains(&target) {
                    early_exits.push(target);
                } else if seen.insert(target) {
                    open.push(target);
                }
            }
        }
        Some(early_exits)
    }
}
