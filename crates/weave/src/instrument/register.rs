//! The path register in SSA form: where it needs a phi.
//!
//! The register is one variable that probes set and add to. The C API has no SSA updater. `mem2reg`
//! skips functions that must not be optimized (`optnone`), and at `-O0` it would promote the
//! program's own variables. So this module builds the SSA form. Each value is a constant, an
//! addition or a phi. Values flow along the edges until nothing changes, with a phi wherever
//! different values meet. Only the values that a counter needs are made.
//!
//! In a function that calls setjmp, only constants live across the call (`lower`). So SSA is right
//! there too.
//!
//! In a loop whose counters are kept in registers ([`super::promote`]), the register starts each
//! iteration but the first with the same constant. It starts the first iteration with its value at
//! the loop's entry. In such a loop, no LLVM value holds the register. Its value is
//! [`RegisterValue::Steady`]: the number that it has from the second iteration on (or a phi of such
//! numbers). After the loop it is a [`RegisterValue::LoopExit`], which depends on whether there
//! was a second iteration.
//!
//! Cost: a block is visited again only when the value that reaches it changes, at most three times
//! after the first visit.

use std::collections::{BTreeSet, HashMap};

use holloway_flow::{Action, CountBase};

use super::graph::{BlockGraph, reverse_postorder};
use super::sites::{Sites, Stop};
use crate::lower::BlockIndex;

/// A value of the register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum RegisterValue {
    /// The register was never set, and no counter uses it.
    Unset,
    /// This number.
    Constant(i64),
    /// The phi at the top of this block.
    Phi(BlockIndex),
    /// The result of an addition: the block, and the number of the addition in it.
    Sum(BlockIndex, usize),
    /// In the steady loop of this index: the number in all iterations but the first. In the first
    /// iteration the register is as far from its value at the loop's entry as this number from the
    /// loop's start.
    Steady(usize, i64),
    /// The value after a steady loop, at the top of this block.
    LoopExit(BlockIndex),
    /// The phi at the entry of the steady loop of this index, where several edges lead into it.
    LoopEntry(usize),
}

/// A loop in which no LLVM value holds the register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SteadyLoop {
    /// The head of the loop.
    pub(crate) head: BlockIndex,
    /// All blocks of the loop.
    pub(crate) blocks: BTreeSet<BlockIndex>,
    /// The blocks outside of the loop that lead to the head.
    pub(crate) entries: Vec<BlockIndex>,
    /// Blocks outside that the loop leads to, each with one predecessor.
    pub(crate) exits: Vec<BlockIndex>,
    /// The register's value at the start of each iteration but the first.
    pub(crate) start: i64,
}

/// The register's value at each block, and the phis and additions that are needed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RegisterFlow {
    /// RegisterValue at the top of each block; `None` where the block can't be reached.
    pub(crate) top: Vec<Option<RegisterValue>>,
    /// RegisterValue at the end of each block.
    pub(crate) bottom: Vec<Option<RegisterValue>>,
    /// Needed phis, additions and choices.
    pub(crate) needed: BTreeSet<RegisterValue>,
}

/// Steps through a block's actions and calls `see` for each, with the register's value before it.
/// Returns the value at the end of the block.
pub(crate) fn walk(
    block: BlockIndex,
    top: RegisterValue,
    sites: &Sites,
    mut see: impl FnMut(&Stop, Action, RegisterValue),
) -> RegisterValue {
    let mut value = top;
    let mut sums = 0;
    for stop in &sites[block] {
        for &action in &stop.actions {
            see(stop, action, value);
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
    /// Finds the register's values. `loops` are the loops in which no LLVM value holds it.
    pub(crate) fn new(graph: &BlockGraph, sites: &Sites, loops: &[SteadyLoop]) -> Self {
        Self::with(graph, sites, loops, &[])
    }

    /// The same, but also needs the values at the ends of the blocks `wanted`.
    pub(crate) fn with(
        graph: &BlockGraph,
        sites: &Sites,
        loops: &[SteadyLoop],
        wanted: &[BlockIndex],
    ) -> Self {
        let mut register = Self {
            top: vec![None; sites.len()],
            bottom: vec![None; sites.len()],
            needed: BTreeSet::new(),
        };
        register.flow(graph, sites, loops);
        register.find_needed(graph, sites, loops, wanted);
        register
    }

    fn flow(&mut self, graph: &BlockGraph, sites: &Sites, loops: &[SteadyLoop]) {
        let order = reverse_postorder(&graph.successors);
        let mut place = vec![usize::MAX; order.len().max(sites.len())];
        for (index, &block) in order.iter().enumerate() {
            place[block] = index;
        }
        let mut heads = HashMap::new();
        for (index, steady) in loops.iter().enumerate() {
            heads.insert(steady.head, RegisterValue::Steady(index, steady.start));
        }
        let mut exits = HashMap::new();
        for steady in loops {
            exits.extend(steady.exits.iter().map(|&exit| (exit, &steady.blocks)));
        }
        // A number of the loop's own: as if its first iteration had started like the others.
        let inside = |value: RegisterValue, exit: BlockIndex| match (value, exits.get(&exit)) {
            (RegisterValue::Steady(..), Some(_)) => true,
            (RegisterValue::Phi(block) | RegisterValue::Sum(block, _), Some(blocks)) => {
                blocks.contains(&block)
            }
            _ => false,
        };
        self.top[0] = Some(RegisterValue::Unset);
        let mut waiting: BTreeSet<usize> = [0].into();
        while let Some(next) = waiting.pop_first() {
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
                    (Some(&turn), _) => turn,
                    (None, value) if inside(value, next) => RegisterValue::LoopExit(next),
                    (None, value) => value,
                };
                if self.top[next] != Some(value) {
                    self.top[next] = Some(value);
                    waiting.insert(place[next]);
                }
            }
        }
    }

    /// The value at the top of a block that some value reaches. A phi stays a phi.
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

    /// The register's value at the entry of a steady loop: the one value that reaches the head from
    /// outside, or a phi.
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

    fn find_needed(
        &mut self,
        graph: &BlockGraph,
        sites: &Sites,
        loops: &[SteadyLoop],
        wanted: &[BlockIndex],
    ) {
        let mut open: Vec<RegisterValue> = Vec::new();
        let mut operands: HashMap<RegisterValue, RegisterValue> = HashMap::new();
        for block in BlockIndex::all(sites.len()) {
            let Some(top) = self.top[block] else { continue };
            let mut sums = 0;
            walk(block, top, sites, |_, action, value| match action {
                Action::Count {
                    base: CountBase::Register,
                    ..
                } => open.push(value),
                Action::Add(_) => {
                    sums += 1;
                    operands.insert(RegisterValue::Sum(block, sums), value);
                }
                _ => {}
            });
        }
        // Writing back a loop's counters needs the register's value at the loop's entry.
        open.extend((0..loops.len()).map(|index| self.at_loop_entry(loops, index)));
        open.extend(wanted.iter().filter_map(|&block| self.bottom[block]));
        while let Some(value) = open.pop() {
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
                    open.extend(bottoms(&graph.sources[block]));
                }
                RegisterValue::LoopEntry(index) => open.extend(bottoms(&loops[index].entries)),
                RegisterValue::Sum(..) => open.extend(operands.get(&value)),
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
        let found = register(
            &[&[1, 2], &[3], &[3], &[]],
            &[&[], &[Action::Set(4)], &[Action::Set(4)], &[COUNT]],
        );
        assert_eq!(found.top[3], Some(RegisterValue::Constant(4)));
        assert!(found.needed.is_empty());
    }

    #[test]
    fn different_constants_meet_in_a_phi() {
        let found = register(
            &[&[1, 2], &[3], &[3], &[]],
            &[&[], &[Action::Set(4)], &[Action::Set(5)], &[COUNT]],
        );
        assert_eq!(found.needed, [RegisterValue::Phi(bb(3))].into());
    }

    #[test]
    fn an_unused_phi_is_not_needed() {
        let found = register(
            &[&[1, 2], &[3], &[3], &[]],
            &[&[], &[Action::Set(4)], &[Action::Set(5)], &[]],
        );
        assert!(found.needed.is_empty());
    }

    #[test]
    fn a_loop_that_changes_nothing_needs_no_phi() {
        let found = register(&[&[1], &[1, 2], &[]], &[&[Action::Set(3)], &[], &[COUNT]]);
        assert_eq!(
            found.top,
            [
                Some(RegisterValue::Unset),
                Some(RegisterValue::Constant(3)),
                Some(RegisterValue::Constant(3))
            ]
        );
    }

    #[test]
    fn a_loop_that_adds_needs_phi_and_sum() {
        let found = register(
            &[&[1], &[1, 2], &[]],
            &[&[Action::Set(3)], &[Action::Add(1)], &[COUNT]],
        );
        assert_eq!(
            found.needed,
            [RegisterValue::Phi(bb(1)), RegisterValue::Sum(bb(1), 1)].into()
        );
    }

    #[test]
    fn unreachable_blocks_are_left_out() {
        let found = register(
            &[&[2], &[2], &[]],
            &[&[Action::Set(3)], &[Action::Set(9)], &[COUNT]],
        );
        assert_eq!(
            found.top,
            [
                Some(RegisterValue::Unset),
                None,
                Some(RegisterValue::Constant(3))
            ]
        );
    }

    #[test]
    fn a_steady_loop_holds_no_value() {
        let found = steady(
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
        assert_eq!(found.top[3], Some(RegisterValue::Steady(0, 7)));
        // A constant leaves as one; only what came in is needed, for the counters.
        assert_eq!(found.top[4], Some(RegisterValue::Constant(7)));
        assert_eq!(found.needed, [RegisterValue::LoopEntry(0)].into());
    }

    #[test]
    fn the_value_behind_a_steady_loop_is_chosen_there() {
        let found = steady(
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
        assert_eq!(found.top[1], Some(RegisterValue::Steady(0, 7)));
        assert_eq!(found.top[3], Some(RegisterValue::LoopExit(bb(3))));
        assert_eq!(found.needed, [RegisterValue::LoopExit(bb(3))].into());
    }
}
