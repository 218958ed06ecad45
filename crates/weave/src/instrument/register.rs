//! The path register as SSA values: where it needs a phi.
//!
//! The register is one variable, set and added to by probes; the C API has no SSA updater, and `mem2reg` skips
//! functions that must not be optimised (`optnone`) and would promote the program's own variables at `-O0`. So the few lines are here:
//! each value is a number (a constant, an addition, a phi), and the value that reaches a block is found
//! by going round until nothing changes, a phi wherever different values meet. Only what a counter needs is made.
//!
//! In a function that calls setjmp no value lives across the call but constants (`lower`), so SSA is right there too.
//! Cost: a block is looked at again only when what reaches it changes, at most twice after the first time.

use std::collections::{BTreeSet, HashMap};

use holloway_flow::Action;

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
}

/// Which phis and additions are needed, and what reaches each block.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Register {
    /// Value at the top of each block; `None` where the block can't be reached.
    pub(crate) top: Vec<Option<Value>>,
    /// Value at the end of each block.
    pub(crate) bottom: Vec<Option<Value>>,
    /// Needed phis and additions.
    pub(crate) needed: BTreeSet<Value>,
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
                        Value::Phi(_) | Value::Sum(..) => Value::Sum(block, sums),
                    }
                }
                Action::Count { .. } => value,
            };
        }
    }
    value
}

impl Register {
    /// Finds the register's values. `successors` are those of the LLVM blocks, block 0 the entry.
    pub(crate) fn new(successors: &[Vec<usize>], sites: &Sites) -> Self {
        let mut sources = vec![Vec::new(); successors.len()];
        for (source, targets) in successors.iter().enumerate() {
            for &target in targets {
                sources[target].push(source);
            }
        }
        let mut register = Self {
            top: vec![None; sites.len()],
            bottom: vec![None; sites.len()],
            needed: BTreeSet::new(),
        };
        register.flow(successors, &sources, sites);
        register.find_needed(&sources, sites);
        register
    }

    fn flow(&mut self, successors: &[Vec<usize>], sources: &[Vec<usize>], sites: &Sites) {
        let order = reverse_postorder(successors);
        let mut place = vec![usize::MAX; successors.len()];
        for (index, &block) in order.iter().enumerate() {
            place[block] = index;
        }
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
            for &next in &successors[block] {
                let met = self.meet(next, &sources[next]);
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

    fn find_needed(&mut self, sources: &[Vec<usize>], sites: &Sites) {
        let mut open: Vec<Value> = Vec::new();
        let mut operands: HashMap<Value, Value> = HashMap::new();
        for block in 0..sites.len() {
            let Some(top) = self.top[block] else { continue };
            let mut sums = 0;
            walk(block, top, sites, |_, action, value| match action {
                Action::Count { register: true, .. } => open.push(value),
                Action::Add(_) => {
                    sums += 1;
                    operands.insert(Value::Sum(block, sums), value);
                }
                _ => {}
            });
        }
        while let Some(value) = open.pop() {
            if !matches!(value, Value::Phi(_) | Value::Sum(..)) || !self.needed.insert(value) {
                continue;
            }
            match value {
                Value::Phi(block) => open.extend(
                    sources[block]
                        .iter()
                        .filter_map(|&source| self.bottom[source]),
                ),
                _ => open.extend(operands.get(&value)),
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
        register: true,
        increment: 0,
    };

    fn register(successors: &[&[usize]], actions: &[&[Action]]) -> Register {
        let successors: Vec<Vec<usize>> =
            successors.iter().map(|targets| targets.to_vec()).collect();
        let stops = |actions: &&[Action]| {
            vec![Stop {
                index: 0,
                actions: actions.to_vec(),
            }]
        };
        Register::new(&successors, &actions.iter().map(stops).collect())
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
}
