//! The path register as SSA values: where it needs a phi.
//!
//! The register is one variable, set and added to by probes; the C API has no SSA updater, and `mem2reg` skips
//! functions that must not be optimised (`optnone`) and would promote the program's own variables at `-O0`. So the few lines are here:
//! each value is a number (a constant, an addition, a phi), and the value that reaches a block is found
//! by going round until nothing changes, a phi wherever different values meet. Only what a counter needs is made.
//!
//! In a function that calls setjmp no value lives across the call but constants (`lower`), so SSA is right there too.
//!
//! In a loop whose counters are kept in registers ([`super::promote`]) the register starts each turn as the same constant,
//! and only in the first turn as what came into the loop. There it is no value at all: it is a [`Value::Turn`], the number
//! that it has from the second turn on (or a phi of such where ways meet), and behind the loop a [`Value::Left`], which is
//! chosen there by whether there was a second turn.
//!
//! Cost: a block is looked at again only when what reaches it changes, at most three times after the first time.

use std::collections::{BTreeSet, HashMap};

use holloway_flow::{Action, CountBase};

use super::sites::Sites;

/// A value that the register can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Value {
    /// Nothing was set: no counter uses it.
    Unset,
    /// This number.
    Constant(i64),
    /// What meets at the top of this block.
    Phi(usize),
    /// The result of an addition: of this block, the number of the addition in it.
    Sum(usize, usize),
    /// In the loop of this number: as far from what came into the loop as this from what turns start with.
    Turn(usize, i64),
    /// What a loop's `Turn` is behind it, at the top of this block.
    Left(usize),
    /// What came into the loop of this number, where several ways lead into it.
    Came(usize),
}

/// A loop in which the register isn't kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Turning {
    /// Its head.
    pub(crate) head: usize,
    /// All its blocks.
    pub(crate) blocks: BTreeSet<usize>,
    /// Blocks outside that lead to the head.
    pub(crate) entries: Vec<usize>,
    /// Blocks outside that it leads to, each with one way in.
    pub(crate) exits: Vec<usize>,
    /// What the register is at the start of each turn but the first.
    pub(crate) start: i64,
}

/// Which phis and additions are needed, and what reaches each block.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Register {
    /// Value at the top of each block; `None` where the block can't be reached.
    pub(crate) top: Vec<Option<Value>>,
    /// Value at the end of each block.
    pub(crate) bottom: Vec<Option<Value>>,
    /// Needed phis, additions and choices.
    pub(crate) needed: BTreeSet<Value>,
}

/// The function's graph.
pub(crate) struct Graph {
    /// LLVM's successors of each block, by position, each once; block 0 is the entry.
    pub(crate) successors: Vec<Vec<usize>>,
    /// The other way round.
    pub(crate) sources: Vec<Vec<usize>>,
}

impl Graph {
    pub(crate) fn new(successors: Vec<Vec<usize>>) -> Self {
        let mut sources = vec![Vec::new(); successors.len()];
        for (source, targets) in successors.iter().enumerate() {
            for &target in targets {
                sources[target].push(source);
            }
        }
        Self {
            successors,
            sources,
        }
    }
}

/// Steps through a block's actions: `see` is told each action and the register's value before it.
pub(crate) fn walk(
    block: usize,
    top: Value,
    sites: &Sites,
    mut see: impl FnMut(usize, Action, Value),
) -> Value {
    let mut value = top;
    let mut sums = 0;
    for stop in &sites[block] {
        for &action in &stop.actions {
            see(stop.index, action, value);
            value = match action {
                Action::Set(number) => Value::Constant(number),
                Action::Add(number) => {
                    sums += 1;
                    match value {
                        Value::Constant(before) => Value::Constant(before.wrapping_add(number)),
                        Value::Unset => Value::Unset,
                        Value::Turn(turning, before) => {
                            Value::Turn(turning, before.wrapping_add(number))
                        }
                        _ => Value::Sum(block, sums),
                    }
                }
                Action::Count { .. } => value,
            };
        }
    }
    value
}

impl Register {
    /// Finds the register's values. `turning` are loops that hold no value.
    pub(crate) fn new(graph: &Graph, sites: &Sites, turning: &[Turning]) -> Self {
        Self::with(graph, sites, turning, &[])
    }

    /// The same where more is needed than counters use: the values at the ends of the blocks `wanted`.
    pub(crate) fn with(
        graph: &Graph,
        sites: &Sites,
        turning: &[Turning],
        wanted: &[usize],
    ) -> Self {
        let mut register = Self {
            top: vec![None; sites.len()],
            bottom: vec![None; sites.len()],
            needed: BTreeSet::new(),
        };
        register.flow(graph, sites, turning);
        register.find_needed(graph, sites, turning, wanted);
        register
    }

    fn flow(&mut self, graph: &Graph, sites: &Sites, turning: &[Turning]) {
        let order = reverse_postorder(&graph.successors);
        let mut place = vec![usize::MAX; order.len().max(sites.len())];
        for (index, &block) in order.iter().enumerate() {
            place[block] = index;
        }
        let mut heads = HashMap::new();
        for (index, turning) in turning.iter().enumerate() {
            heads.insert(turning.head, Value::Turn(index, turning.start));
        }
        let mut exits = HashMap::new();
        for turning in turning {
            exits.extend(turning.exits.iter().map(|&exit| (exit, &turning.blocks)));
        }
        // What is a number of the loop's own: as if its first turn had begun like the others.
        let inside = |value: Value, exit: usize| match (value, exits.get(&exit)) {
            (Value::Turn(..), Some(_)) => true,
            (Value::Phi(block) | Value::Sum(block, _), Some(blocks)) => blocks.contains(&block),
            _ => false,
        };
        self.top[0] = Some(Value::Unset);
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
                let met = match (heads.get(&next), self.meet(next, &graph.sources[next])) {
                    (Some(&turn), _) => turn,
                    (None, met) if inside(met, next) => Value::Left(next),
                    (None, met) => met,
                };
                if self.top[next] != Some(met) {
                    self.top[next] = Some(met);
                    waiting.insert(place[next]);
                }
            }
        }
    }

    /// What meets at a block that something reaches. A phi stays one.
    fn meet(&self, block: usize, sources: &[usize]) -> Value {
        if self.top[block] == Some(Value::Phi(block)) {
            return Value::Phi(block);
        }
        let mut values = sources.iter().filter_map(|&source| self.bottom[source]);
        let first = values.next().expect("something reaches it");
        if values.all(|value| value == first) {
            first
        } else {
            Value::Phi(block)
        }
    }

    /// What came into a loop: a value that reaches its head from everywhere outside, or a phi there.
    pub(crate) fn came(&self, turning: &[Turning], index: usize) -> Value {
        let entries = turning[index].entries.iter();
        let mut values = entries.filter_map(|&entry| self.bottom[entry]);
        let first = values.next().unwrap_or(Value::Unset);
        if values.all(|value| value == first) {
            first
        } else {
            Value::Came(index)
        }
    }

    fn find_needed(&mut self, graph: &Graph, sites: &Sites, turning: &[Turning], wanted: &[usize]) {
        let mut open: Vec<Value> = Vec::new();
        let mut operands: HashMap<Value, Value> = HashMap::new();
        for block in 0..sites.len() {
            let Some(top) = self.top[block] else { continue };
            let mut sums = 0;
            walk(block, top, sites, |_, action, value| match action {
                Action::Count {
                    base: CountBase::Register,
                    ..
                } => open.push(value),
                Action::Add(_) => {
                    sums += 1;
                    operands.insert(Value::Sum(block, sums), value);
                }
                _ => {}
            });
        }
        // Where a loop's counters are written back it must be known what came in.
        open.extend((0..turning.len()).map(|index| self.came(turning, index)));
        open.extend(wanted.iter().filter_map(|&block| self.bottom[block]));
        while let Some(value) = open.pop() {
            if matches!(value, Value::Unset | Value::Constant(_) | Value::Turn(..))
                || !self.needed.insert(value)
            {
                continue;
            }
            let bottoms = |blocks: &[usize]| -> Vec<Value> {
                let values = blocks.iter().filter_map(|&block| self.bottom[block]);
                values.collect()
            };
            match value {
                Value::Phi(block) | Value::Left(block) => {
                    open.extend(bottoms(&graph.sources[block]));
                }
                Value::Came(index) => open.extend(bottoms(&turning[index].entries)),
                Value::Sum(..) => open.extend(operands.get(&value)),
                _ => {}
            }
        }
    }
}

/// The blocks that can be reached from block 0, each before those it leads to, back edges apart.
pub(crate) fn reverse_postorder(successors: &[Vec<usize>]) -> Vec<usize> {
    let mut order = Vec::with_capacity(successors.len());
    let mut seen = vec![false; successors.len()];
    let mut stack = vec![(0, 0)];
    seen[0] = true;
    while let Some((block, next)) = stack.last_mut() {
        match successors[*block].get(*next) {
            Some(&target) => {
                *next += 1;
                if !std::mem::replace(&mut seen[target], true) {
                    stack.push((target, 0));
                }
            }
            None => {
                order.push(*block);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}

#[cfg(test)]
mod tests {
    use super::super::sites::Stop;
    use super::*;

    const COUNT: Action = Action::Count {
        base: CountBase::Register,
        increment: 0,
    };

    fn register(successors: &[&[usize]], actions: &[&[Action]]) -> Register {
        turning(successors, actions, &[])
    }

    fn turning(successors: &[&[usize]], actions: &[&[Action]], loops: &[Turning]) -> Register {
        let successors: Vec<Vec<usize>> =
            successors.iter().map(|targets| targets.to_vec()).collect();
        let stops = |actions: &&[Action]| {
            vec![Stop {
                index: 0,
                actions: actions.to_vec(),
            }]
        };
        Register::new(
            &Graph::new(successors),
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
        assert_eq!(found.top[3], Some(Value::Constant(4)));
        assert!(found.needed.is_empty());
    }

    #[test]
    fn different_constants_meet_in_a_phi() {
        let found = register(
            &[&[1, 2], &[3], &[3], &[]],
            &[&[], &[Action::Set(4)], &[Action::Set(5)], &[COUNT]],
        );
        assert_eq!(found.needed, [Value::Phi(3)].into());
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
                Some(Value::Unset),
                Some(Value::Constant(3)),
                Some(Value::Constant(3))
            ]
        );
    }

    #[test]
    fn a_loop_that_adds_needs_phi_and_sum() {
        let found = register(
            &[&[1], &[1, 2], &[]],
            &[&[Action::Set(3)], &[Action::Add(1)], &[COUNT]],
        );
        assert_eq!(found.needed, [Value::Phi(1), Value::Sum(1, 1)].into());
    }

    #[test]
    fn unreachable_blocks_are_left_out() {
        let found = register(
            &[&[2], &[2], &[]],
            &[&[Action::Set(3)], &[Action::Set(9)], &[COUNT]],
        );
        assert_eq!(
            found.top,
            [Some(Value::Unset), None, Some(Value::Constant(3))]
        );
    }

    #[test]
    fn a_turning_loop_holds_no_value() {
        let found = turning(
            &[&[1, 2], &[3], &[3], &[3, 4], &[]],
            &[
                &[],
                &[Action::Set(4)],
                &[Action::Set(5)],
                &[Action::Add(2), Action::Set(7)],
                &[Action::Add(1), COUNT],
            ],
            &[Turning {
                head: 3,
                blocks: [3].into(),
                entries: vec![1, 2],
                exits: vec![4],
                start: 7,
            }],
        );
        assert_eq!(found.top[3], Some(Value::Turn(0, 7)));
        // A constant leaves as one; only what came in is needed, for the counters.
        assert_eq!(found.top[4], Some(Value::Constant(7)));
        assert_eq!(found.needed, [Value::Came(0)].into());
    }

    #[test]
    fn what_is_left_of_a_turn_is_chosen_behind_the_loop() {
        let found = turning(
            &[&[1], &[2, 3], &[1], &[]],
            &[&[Action::Set(4)], &[], &[Action::Set(7)], &[COUNT]],
            &[Turning {
                head: 1,
                blocks: [1, 2].into(),
                entries: vec![0],
                exits: vec![3],
                start: 7,
            }],
        );
        assert_eq!(found.top[1], Some(Value::Turn(0, 7)));
        assert_eq!(found.top[3], Some(Value::Left(3)));
        assert_eq!(found.needed, [Value::Left(3)].into());
    }
}
