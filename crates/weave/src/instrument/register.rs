//! Puts the path register into SSA form: computes its value at each block, and where it needs a
//! phi.
//!
//! The register is a variable that probes set and add to. LLVM cannot build its SSA form here: the
//! C API has no SSA updater, and the pass `mem2reg` skips `optnone` functions and at `-O0` would
//! also promote the program's variables. So this module builds the SSA form. Each value is a
//! constant, an addition, or a phi. Values flow along the edges until nothing changes, with a phi
//! wherever different values meet. Only the values that a count needs become LLVM values.
//!
//! SSA form is also correct in a function that calls `setjmp`, because only constants live across
//! the call (`lower`).
//!
//! # Steady loops
//! If the counters of a loop are kept in registers ([`super::promote`]), the path register has the
//! same constant at the start of each iteration but the first. At the start of the first iteration
//! it has its value from the loop's entry. In such a *steady* loop, no LLVM value holds the
//! register. Its value is [`RegisterValue::Steady`]: the number that it has from the second
//! iteration on (or a phi of such numbers). After the loop its value is a
//! [`RegisterValue::LoopExit`], which depends on whether there was a second iteration.
//!
//! Cost: a block is visited again only when the value that reaches it changes, which happens at
//! most three times after the first visit.

use std::collections::{BTreeSet, HashMap};

use holloway_flow::{Action, CountBase};

use super::graph::{BlockGraph, reverse_postorder};
use super::sites::{Sites, Stop};
use crate::lower::BlockIndex;

/// A value of the register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum RegisterValue {
    /// The register was never set, and no count uses it.
    Unset,
    /// This number.
    Constant(i64),
    /// The phi at the top of this block.
    Phi(BlockIndex),
    /// The result of an addition: the block, and the number of the addition in the block.
    Sum(BlockIndex, usize),
    /// The value in the steady loop with this index. The number is the value in all iterations but
    /// the first. In the first iteration, the value is that number minus the loop's start plus the
    /// register's value at the loop's entry.
    Steady(usize, i64),
    /// The value after a steady loop, at the top of this block.
    LoopExit(BlockIndex),
    /// The phi at the entry of the steady loop with this index, into which several edges lead.
    LoopEntry(usize),
}

/// A loop in which no LLVM value holds the register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SteadyLoop {
    /// The head of the loop.
    pub(crate) head: BlockIndex,
    /// All blocks of the loop.
    pub(crate) blocks: BTreeSet<BlockIndex>,
    /// The blocks outside the loop that lead to the head.
    pub(crate) entries: Vec<BlockIndex>,
    /// The blocks outside the loop that the loop leads to. Each has only one predecessor.
    pub(crate) exits: Vec<BlockIndex>,
    /// The register's value at the start of each iteration but the first.
    pub(crate) start: i64,
}

/// The register's value at each block, and the phis and additions that are needed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RegisterFlow {
    /// The value at the top of each block. `None` if control cannot reach the block.
    pub(crate) top: Vec<Option<RegisterValue>>,
    /// The value at the end of each block. `None` if control cannot reach the block.
    pub(crate) bottom: Vec<Option<RegisterValue>>,
    /// The values for which LLVM values are needed: phis, additions, and values after steady loops.
    pub(crate) needed: BTreeSet<RegisterValue>,
}

/// Steps through a block's actions, and calls `visit` for each with the register's value before it.
/// Returns the value at the end of the block.
pub(crate) fn walk(
    block: BlockIndex,
    top: RegisterValue,
    sites: &Sites,
    mut visit: impl FnMut(&Stop, Action, RegisterValue),
) -> RegisterValue {
    let mut value = top;
    let mut sums = 0;
    for stop in &sites[block] {
        for &action in &stop.actions {
            visit(stop, action, value);
            value = match action {
                Action::Set(number) => RegisterValue::Constant(number),
                Action::Add(number) => {
                    sums += 1;
                    match value {
                        RegisterValue::Constant(before) => {
                            RegisterValue::Constant(before.wrapping_add(number))
                        }
                        RegisterValue::Unset => RegisterValue::Unset,
                        RegisterValue::Steady(index, before) => {
                            RegisterValue::Steady(index, before.wrapping_add(number))
                        }
                        _ => RegisterValue::Sum(block, sums),
                    }
                }
                Action::Count { .. } => value,
            };
        }
    }
    value
}

impl RegisterFlow {
    /// Computes the register's values.
    pub(crate) fn new(graph: &BlockGraph, sites: &Sites, loops: &[SteadyLoop]) -> Self {
        Self::with(graph, sites, loops, &[])
    }

    /// Computes the register's values. The values at the ends of the blocks `end_values_needed` are
    /// needed even if no count uses them.
    pub(crate) fn with(
        graph: &BlockGraph,
        sites: &Sites,
        loops: &[SteadyLoop],
        end_values_needed: &[BlockIndex],
    ) -> Self {
        let mut register = Self {
            top: vec![None; sites.len()],
            bottom: vec![None; sites.len()],
            needed: BTreeSet::new(),
        };
        register.propagate(graph, sites, loops);
        register.find_needed(graph, sites, loops, end_values_needed);
        register
    }

    /// Propagates values along the edges until nothing changes. Sets `top` and `bottom`.
    fn propagate(&mut self, graph: &BlockGraph, sites: &Sites, loops: &[SteadyLoop]) {
        let order = reverse_postorder(&graph.successors);
        let mut order_index = vec![usize::MAX; order.len().max(sites.len())];
        for (index, &block) in order.iter().enumerate() {
            order_index[block] = index;
        }
        let mut heads = HashMap::new();
        for (index, steady) in loops.iter().enumerate() {
            heads.insert(steady.head, RegisterValue::Steady(index, steady.start));
        }
        let mut exits = HashMap::new();
        for steady in loops {
            exits.extend(steady.exits.iter().map(|&exit| (exit, &steady.blocks)));
        }
        // Whether a value at a loop's exit was computed inside the loop. Such a value assumes that
        // the first iteration started like the others.
        let is_from_loop = |value: RegisterValue, exit: BlockIndex| match (value, exits.get(&exit))
        {
            (RegisterValue::Steady(..), Some(_)) => true,
            (RegisterValue::Phi(block) | RegisterValue::Sum(block, _), Some(blocks)) => {
                blocks.contains(&block)
            }
            _ => false,
        };
        self.top[0] = Some(RegisterValue::Unset);
        let mut pending_blocks: BTreeSet<usize> = [0].into();
        while let Some(next) = pending_blocks.pop_first() {
            let block = order[next];
            let top = self.top[block].expect("a block waits once something reaches it");
            let bottom = walk(block, top, sites, |_, _, _| {});
            if self.bottom[block] == Some(bottom) {
                continue;
            }
            self.bottom[block] = Some(bottom);
            for &next in &graph.successors[block] {
                let value = match (
                    heads.get(&next),
                    self.value_at_top(next, &graph.sources[next]),
                ) {
                    (Some(&start), _) => start,
                    (None, value) if is_from_loop(value, next) => RegisterValue::LoopExit(next),
                    (None, value) => value,
                };
                if self.top[next] != Some(value) {
                    self.top[next] = Some(value);
                    pending_blocks.insert(order_index[next]);
                }
            }
        }
    }

    /// The value at the top of a block that at least one value reaches. If it is a phi once, it
    /// remains a phi.
    fn value_at_top(&self, block: BlockIndex, sources: &[BlockIndex]) -> RegisterValue {
        if self.top[block] == Some(RegisterValue::Phi(block)) {
            return RegisterValue::Phi(block);
        }
        let mut values = sources.iter().filter_map(|&source| self.bottom[source]);
        let first = values.next().expect("something reaches it");
        if values.all(|value| value == first) {
            first
        } else {
            RegisterValue::Phi(block)
        }
    }

    /// The register's value at the entry of a steady loop: the only value that reaches the head
    /// from outside, or a phi.
    pub(crate) fn at_loop_entry(&self, loops: &[SteadyLoop], index: usize) -> RegisterValue {
        let entries = loops[index].entries.iter();
        let mut values = entries.filter_map(|&entry| self.bottom[entry]);
        let first = values.next().unwrap_or(RegisterValue::Unset);
        if values.all(|value| value == first) {
            first
        } else {
            RegisterValue::LoopEntry(index)
        }
    }

    /// Sets `needed`: the values that counts use, and the operands of these values.
    fn find_needed(
        &mut self,
        graph: &BlockGraph,
        sites: &Sites,
        loops: &[SteadyLoop],
        end_values_needed: &[BlockIndex],
    ) {
        let mut pending: Vec<RegisterValue> = Vec::new();
        let mut operands: HashMap<RegisterValue, RegisterValue> = HashMap::new();
        for block in BlockIndex::all(sites.len()) {
            let Some(top) = self.top[block] else { continue };
            let mut sums = 0;
            walk(block, top, sites, |_, action, value| match action {
                Action::Count {
                    base: CountBase::Register,
                    ..
                } => pending.push(value),
                Action::Add(_) => {
                    sums += 1;
                    operands.insert(RegisterValue::Sum(block, sums), value);
                }
                _ => {}
            });
        }
        // Writing back a loop's counters needs the register's value at the loop's entry.
        pending.extend((0..loops.len()).map(|index| self.at_loop_entry(loops, index)));
        pending.extend(
            end_values_needed
                .iter()
                .filter_map(|&block| self.bottom[block]),
        );
        while let Some(value) = pending.pop() {
            if matches!(
                value,
                RegisterValue::Unset | RegisterValue::Constant(_) | RegisterValue::Steady(..)
            ) || !self.needed.insert(value)
            {
                continue;
            }
            let bottoms = |blocks: &[BlockIndex]| -> Vec<RegisterValue> {
                let values = blocks.iter().filter_map(|&block| self.bottom[block]);
                values.collect()
            };
            match value {
                RegisterValue::Phi(block) | RegisterValue::LoopExit(block) => {
                    pending.extend(bottoms(&graph.sources[block]));
                }
                RegisterValue::LoopEntry(index) => pending.extend(bottoms(&loops[index].entries)),
                RegisterValue::Sum(..) => pending.extend(operands.get(&value)),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bb(index: usize) -> BlockIndex {
        BlockIndex::new(index)
    }

    const COUNT: Action = Action::Count {
        base: CountBase::Register,
        increment: 0,
    };

    fn register(successors: &[&[usize]], actions: &[&[Action]]) -> RegisterFlow {
        steady(successors, actions, &[])
    }

    fn steady(
        successors: &[&[usize]],
        actions: &[&[Action]],
        loops: &[SteadyLoop],
    ) -> RegisterFlow {
        let blocks = |targets: &&[usize]| targets.iter().map(|&target| bb(target)).collect();
        let successors = successors.iter().map(blocks).collect();
        let stops = |actions: &&[Action]| vec![Stop::new(0, actions.to_vec())];
        RegisterFlow::new(
            &BlockGraph::new(successors),
            &actions.iter().map(stops).collect(),
            loops,
        )
    }

    #[test]
    fn equal_constants_need_no_phi() {
        let flow = register(
            &[&[1, 2], &[3], &[3], &[]],
            &[&[], &[Action::Set(4)], &[Action::Set(4)], &[COUNT]],
        );
        assert_eq!(flow.top[3], Some(RegisterValue::Constant(4)));
        assert!(flow.needed.is_empty());
    }

    #[test]
    fn different_constants_meet_in_a_phi() {
        let flow = register(
            &[&[1, 2], &[3], &[3], &[]],
            &[&[], &[Action::Set(4)], &[Action::Set(5)], &[COUNT]],
        );
        assert_eq!(flow.needed, [RegisterValue::Phi(bb(3))].into());
    }

    #[test]
    fn an_unused_phi_is_not_needed() {
        let flow = register(
            &[&[1, 2], &[3], &[3], &[]],
            &[&[], &[Action::Set(4)], &[Action::Set(5)], &[]],
        );
        assert!(flow.needed.is_empty());
    }

    #[test]
    fn a_loop_that_changes_nothing_needs_no_phi() {
        let flow = register(&[&[1], &[1, 2], &[]], &[&[Action::Set(3)], &[], &[COUNT]]);
        assert_eq!(
            flow.top,
            [
                Some(RegisterValue::Unset),
                Some(RegisterValue::Constant(3)),
                Some(RegisterValue::Constant(3))
            ]
        );
    }

    #[test]
    fn a_loop_that_adds_needs_phi_and_sum() {
        let flow = register(
            &[&[1], &[1, 2], &[]],
            &[&[Action::Set(3)], &[Action::Add(1)], &[COUNT]],
        );
        assert_eq!(
            flow.needed,
            [RegisterValue::Phi(bb(1)), RegisterValue::Sum(bb(1), 1)].into()
        );
    }

    #[test]
    fn unreachable_blocks_are_left_out() {
        let flow = register(
            &[&[2], &[2], &[]],
            &[&[Action::Set(3)], &[Action::Set(9)], &[COUNT]],
        );
        assert_eq!(
            flow.top,
            [
                Some(RegisterValue::Unset),
                None,
                Some(RegisterValue::Constant(3))
            ]
        );
    }

    #[test]
    fn a_steady_loop_holds_no_value() {
        let flow = steady(
            &[&[1, 2], &[3], &[3], &[3, 4], &[]],
            &[
                &[],
                &[Action::Set(4)],
                &[Action::Set(5)],
                &[Action::Add(2), Action::Set(7)],
                &[Action::Add(1), COUNT],
            ],
            &[SteadyLoop {
                head: bb(3),
                blocks: [bb(3)].into(),
                entries: vec![bb(1), bb(2)],
                exits: vec![bb(4)],
                start: 7,
            }],
        );
        assert_eq!(flow.top[3], Some(RegisterValue::Steady(0, 7)));
        // The value after the loop is a constant. Only the value at the entry is needed, for the
        // write-back of counters.
        assert_eq!(flow.top[4], Some(RegisterValue::Constant(7)));
        assert_eq!(flow.needed, [RegisterValue::LoopEntry(0)].into());
    }

    #[test]
    fn the_value_after_a_steady_loop_is_a_loop_exit() {
        let flow = steady(
            &[&[1], &[2, 3], &[1], &[]],
            &[&[Action::Set(4)], &[], &[Action::Set(7)], &[COUNT]],
            &[SteadyLoop {
                head: bb(1),
                blocks: [bb(1), bb(2)].into(),
                entries: vec![bb(0)],
                exits: vec![bb(3)],
                start: 7,
            }],
        );
        assert_eq!(flow.top[1], Some(RegisterValue::Steady(0, 7)));
        assert_eq!(flow.top[3], Some(RegisterValue::LoopExit(bb(3))));
        assert_eq!(flow.needed, [RegisterValue::LoopExit(bb(3))].into());
    }
}
