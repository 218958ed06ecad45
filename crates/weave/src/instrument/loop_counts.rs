//! Assigns the counts of a loop to accumulators: registers in which the loop counts, instead of in
//! memory.
//!
//! A *count* is the action ([`Action::Count`]) at the end of a path that increments the path's
//! counter. If the code there determines the counter, the count adds to an accumulator of that
//! counter ([`AccumulatorKey`]) instead. Often several branches with different path numbers join
//! before the count. Such a branch is called an *arm*. Then the counter is known only on each arm,
//! so each arm adds to a separate accumulator at its end ([`CountJoin`]).
//!
//! There are two complications:
//! - An arm that is only an edge has no block for its addition. Then the count itself adds to this
//!   arm's accumulator, whichever arm was taken. After the loop, the counts of the other arms are
//!   subtracted from it.
//! - If control leaves the loop between the join and the count, the arm has counted a path that did
//!   not end. The path register identifies the path, and its count is subtracted after the loop.

use std::collections::BTreeSet;

use holloway_flow::{Action, CountBase};

use super::graph::{BlockGraph, InstructionPosition};
use super::natural_loops::NaturalLoop;
use super::register::{RegisterFlow, RegisterValue, SteadyLoop, walk};
use super::sites::Sites;
use crate::lower::{BlockIndex, FunctionParts};

/// What an accumulator of a loop counts. It determines the counters to which the accumulator is
/// added after the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AccumulatorKey {
    /// A path with this number.
    Fixed(i64),
    /// A path from one iteration to the next. In the first iteration it has another number.
    Iterations(IterationCounters),
}

/// The counters of a path from one iteration of a loop to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IterationCounters {
    /// The index of the loop among the [`SteadyLoop`]s.
    pub(super) steady_loop: usize,
    /// The number of the first iteration's counter, minus the register's value at the loop's entry.
    pub(super) first: i64,
    /// The number of the counter of all later iterations.
    pub(super) later: i64,
}

/// A count after a join of arms with different path numbers.
#[derive(Clone, Debug)]
pub(super) struct CountJoin {
    /// The arms that add to separate accumulators.
    pub(super) arms: Vec<JoinArm>,
    /// The accumulator to which the count itself adds, on all arms: the accumulator of the arm that
    /// is only an edge. `None` if there is no such arm.
    pub(super) total: Option<AccumulatorKey>,
    /// The blocks after the loop to which control may leave between the join and the count.
    pub(super) early_exits: Vec<BlockIndex>,
}

/// An arm on which the register has a known number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JoinArm {
    /// The last block of the arm. It leads only to the join.
    pub(super) source: BlockIndex,
    /// The register's value at the end of the arm, in all iterations but the first.
    pub(super) number: i64,
    pub(super) key: AccumulatorKey,
}

/// A count that adds to an accumulator, not to memory.
#[derive(Clone, Debug)]
pub(super) struct PromotedCount {
    pub(super) block: BlockIndex,
    /// The index of the count among the block's actions.
    pub(super) nth: usize,
    /// The accumulator to which the count adds. `None` if the arms before the count add everything.
    pub(super) key: Option<AccumulatorKey>,
    /// Where the addition is inserted.
    pub(super) position: InstructionPosition,
    /// The blocks after the loop in which the count is subtracted again.
    pub(super) early_exits: Vec<BlockIndex>,
}

impl PromotedCount {
    fn new(block: BlockIndex, nth: usize, index: usize, key: Option<AccumulatorKey>) -> Self {
        Self {
            block,
            nth,
            key,
            position: InstructionPosition { block, index },
            early_exits: Vec::new(),
        }
    }
}

/// All counts of a loop that add to accumulators.
#[derive(Clone, Debug, Default)]
pub(super) struct LoopCounts {
    /// The accumulators of the loop.
    pub(super) keys: Vec<AccumulatorKey>,
    pub(super) counts: Vec<PromotedCount>,
    pub(super) joins: Vec<CountJoin>,
}

impl LoopCounts {
    /// Assigns a loop's counts to accumulators. `steady_index` is the loop's index among `loops`,
    /// or `None` if the loop is not steady. Returns `None` if the loop needs the register as an
    /// LLVM value.
    pub(super) fn new(
        natural: &NaturalLoop,
        steady_index: Option<usize>,
        graph: &BlockGraph,
        sites: &Sites,
        register: &RegisterFlow,
        loops: &[SteadyLoop],
    ) -> Option<Self> {
        if steady_index.is_some_and(|index| !is_steady(natural, index, graph, register)) {
            return None;
        }
        let mut loop_counts = Self::default();
        let mut joined = BTreeSet::new();
        for &block in &natural.blocks {
            let mut actions = Vec::new();
            walk(block, register.top[block]?, sites, |stop, action, value| {
                actions.push((stop.index, action, value));
            });
            for (nth, (index, action, value)) in actions.into_iter().enumerate() {
                if let Some(key) = key(action, value, loops) {
                    loop_counts.add(key);
                    loop_counts
                        .counts
                        .push(PromotedCount::new(block, nth, index, Some(key)));
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
                    // This count stays in memory. That is possible only if the loop is not steady:
                    // in a steady loop, no LLVM value holds the register.
                    _ if steady_index.is_none() => {}
                    _ => return None,
                }
            }
        }
        loop_counts.add_joins().then_some(loop_counts)
    }

    /// Adds the accumulators of the joins to the list. Returns `false` if another count uses one of
    /// these accumulators too, because then the subtractions would be wrong.
    fn add_joins(&mut self) -> bool {
        for join in &self.joins {
            let old_len = self.keys.len();
            for key in join.arms.iter().map(|arm| arm.key).chain(join.total) {
                match self.keys.iter().position(|&other| other == key) {
                    Some(position) if position < old_len => return false,
                    Some(_) => {}
                    None => self.keys.push(key),
                }
            }
        }
        true
    }

    fn add(&mut self, key: AccumulatorKey) {
        if !self.keys.contains(&key) {
            self.keys.push(key);
        }
    }

    /// Moves each count in an otherwise empty block to the preceding block, so that LLVM can remove
    /// the empty block. This requires that all other successors of the preceding block are outside
    /// the loop. The count is subtracted again in these successors.
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
            let may_move = parts.blocks[count.block].instructions.len() == 1
                && natural.blocks.contains(&source)
                && others.iter().all(|other| natural.exits.contains(other));
            if may_move && count.key.is_some() {
                count.position = InstructionPosition {
                    block: source,
                    index: parts.blocks[source].instructions.len() - 1,
                };
                count.early_exits = others;
            }
        }
    }

    /// Whether the first iteration adds a mark ([`super::write_back`]).
    pub(super) fn are_marked(&self) -> bool {
        self.iteration_keys() > 1
    }

    /// Whether the iteration that leaves the loop to the block `exit` has already been counted,
    /// although its path has not ended.
    pub(super) fn is_early(&self, exit: BlockIndex) -> bool {
        let counts_iterations =
            |count: &PromotedCount| matches!(count.key, Some(AccumulatorKey::Iterations(_)));
        let mut counts = self.counts.iter();
        let mut joins = self.joins.iter();
        counts.any(|count| counts_iterations(count) && count.early_exits.contains(&exit))
            || joins.any(|join| join.total.is_none() && join.early_exits.contains(&exit))
    }

    /// Whether an accumulator is a summand of the number of iterations. The summands are chosen so
    /// that each iteration is counted once: a join's total already includes the counts of its arms.
    pub(super) fn is_summand(&self, key: AccumulatorKey) -> bool {
        let joins = self.joins.iter().filter(|join| join.total.is_some());
        let mut arms = joins.flat_map(|join| &join.arms);
        matches!(key, AccumulatorKey::Iterations(_)) && arms.all(|arm| arm.key != key)
    }

    /// The number of accumulators that count iterations.
    pub(super) fn iteration_keys(&self) -> usize {
        let is_iteration_key = |key: &&AccumulatorKey| matches!(key, AccumulatorKey::Iterations(_));
        self.keys.iter().filter(is_iteration_key).count()
    }
}

/// Whether all needed values of the register in a loop have a known distance from the register's
/// value at the loop's entry.
fn is_steady(
    natural: &NaturalLoop,
    steady_index: usize,
    graph: &BlockGraph,
    register: &RegisterFlow,
) -> bool {
    register.needed.iter().all(|&value| match value {
        RegisterValue::Phi(block) if natural.blocks.contains(&block) => {
            ArmJoin::new(natural, graph, register, block).is_some_and(|arm_join| {
                let is_steady =
                    |arm: &(BlockIndex, RegisterValue)| matches!(arm.1, RegisterValue::Steady(index, _) if index == steady_index);
                arm_join.arms.iter().all(is_steady)
            })
        }
        RegisterValue::Sum(block, _) => !natural.blocks.contains(&block),
        _ => true,
    })
}

/// The accumulator of a count. `None` if the action is no count, or if its counter is not known
/// from this value of the register.
fn key(action: Action, value: RegisterValue, loops: &[SteadyLoop]) -> Option<AccumulatorKey> {
    let Action::Count { base, increment } = action else {
        return None;
    };
    match value {
        _ if base == CountBase::Zero => Some(AccumulatorKey::Fixed(increment)),
        RegisterValue::Constant(number) => {
            Some(AccumulatorKey::Fixed(increment.wrapping_add(number)))
        }
        RegisterValue::Steady(index, number) => {
            let later = increment.wrapping_add(number);
            Some(AccumulatorKey::Iterations(IterationCounters {
                steady_loop: index,
                first: later.wrapping_sub(loops[index].start),
                later,
            }))
        }
        _ => None,
    }
}

/// A join of arms with different path numbers. The arms may join in several steps.
struct ArmJoin {
    /// The blocks in which arms join.
    phis: BTreeSet<BlockIndex>,
    /// The last block of each arm, and the register's value there: a constant, or steady.
    arms: Vec<(BlockIndex, RegisterValue)>,
}

impl ArmJoin {
    /// The arms that join in the block `phi`. `None` if the register's value on one of them is
    /// neither constant nor steady.
    fn new(
        natural: &NaturalLoop,
        graph: &BlockGraph,
        register: &RegisterFlow,
        phi: BlockIndex,
    ) -> Option<Self> {
        let mut phis: BTreeSet<BlockIndex> = [phi].into();
        let mut pending = vec![phi];
        let mut arms = Vec::new();
        while let Some(phi) = pending.pop() {
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
                            pending.push(before);
                        }
                    }
                    _ => return None,
                }
            }
        }
        Some(Self { phis, arms })
    }

    /// The count in `block` after the join. `None` unless all branches from the join inside the
    /// loop lead to `block` and the register does not change in between. Also `None` if the counter
    /// of an arm is not known, or if two arms that are only edges have different counters.
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
            let key = key(action, value, loops)?;
            let arm = JoinArm {
                source,
                number,
                key,
            };
            if graph.successors[source].len() == 1 {
                arms.push(arm);
            } else if total.replace(key).is_some_and(|other| other != key) {
                return None;
            }
        }
        arms.retain(|arm| Some(arm.key) != total);
        Some(CountJoin {
            arms,
            total,
            early_exits,
        })
    }

    /// The blocks after the loop to which control may leave between the join and the count in
    /// `block`. `None` unless all other branches lead to `block` with the register unchanged.
    fn early_exits(
        &self,
        natural: &NaturalLoop,
        graph: &BlockGraph,
        register: &RegisterFlow,
        block: BlockIndex,
    ) -> Option<Vec<BlockIndex>> {
        let is_joined = |value: Option<RegisterValue>| matches!(value, Some(RegisterValue::Phi(phi)) if self.phis.contains(&phi));
        let mut visited = self.phis.clone();
        let mut pending: Vec<BlockIndex> = visited.iter().copied().collect();
        let mut early_exits = Vec::new();
        while let Some(next) = pending.pop() {
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
                } else if visited.insert(target) {
                    pending.push(target);
                }
            }
        }
        Some(early_exits)
    }
}
