//! The functions in which two plans differ.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use super::counts::{Functions, Plan};
use crate::text::Text;
use crate::units::Count;

impl Plan {
    /// The linkage names of the functions for which two plans say something else, most executions
    /// in this plan first. The order of functions does not count.
    pub fn functions_unlike(&self, other: &Self) -> Vec<Text> {
        let mut names = BTreeSet::new();
        for (one, other) in [
            (&self.functions, &other.functions),
            (&self.late, &other.late),
        ] {
            let keys = one.keys().chain(other.keys());
            let unlike = keys.filter(|key| one.get(*key) != other.get(*key));
            names.extend(unlike.map(|(name, _)| name.clone()));
        }
        let loads = self.prefetches.keys().chain(other.prefetches.keys());
        let unlike = loads.filter(|name| self.prefetches(name) != other.prefetches(name));
        names.extend(unlike.cloned());
        let mut names: Vec<Text> = names.into_iter().collect();
        names.sort_by_cached_key(|name| Reverse(self.executions(name)));
        names
    }

    /// The same plan, with what another one says about the function with this linkage name: nothing
    /// if it knows no such function.
    #[must_use]
    pub fn with_function_of(&self, other: &Self, name: &Text) -> Self {
        let mut plan = self.clone();
        replace(&mut plan.functions, &other.functions, name);
        replace(&mut plan.late, &other.late, name);
        plan.prefetches.remove(name);
        if let Some(loads) = other.prefetches.get(name) {
            plan.prefetches.insert(name.clone(), loads.clone());
        }
        plan
    }

    /// The linkage names of all functions that the plan says something about. The order of
    /// functions does not count.
    pub fn names(&self) -> BTreeSet<&Text> {
        let counted = self.functions.keys().chain(self.late.keys());
        let counted = counted.map(|(name, _)| name);
        counted.chain(self.prefetches.keys()).collect()
    }

    /// What the plan says about the functions with these linkage names, without an order.
    #[must_use]
    pub fn of_functions(&self, names: &BTreeSet<&Text>) -> Self {
        let of = |functions: &Functions| {
            let named = names.iter().flat_map(|name| functions.range(keys(name)));
            named
                .map(|(key, function)| (key.clone(), function.clone()))
                .collect()
        };
        let loads = names
            .iter()
            .filter_map(|&name| self.prefetches.get_key_value(name));
        Self {
            functions: of(&self.functions),
            late: of(&self.late),
            order: Vec::new(),
            prefetches: loads
                .map(|(name, loads)| (name.clone(), loads.clone()))
                .collect(),
        }
    }

    /// The executions of a function and of its edges, early or late: whichever are more.
    fn executions(&self, name: &Text) -> Count {
        let sum = |functions: &Functions| {
            let named = functions.range(keys(name));
            named.fold(Count::ZERO, |sum, (_, function)| {
                sum.saturating_add(function.executions())
            })
        };
        sum(&self.functions).max(sum(&self.late))
    }
}

/// The keys of all functions with this name.
fn keys(name: &Text) -> RangeInclusive<(Text, u64)> {
    (name.clone(), u64::MIN)..=(name.clone(), u64::MAX)
}

fn replace(functions: &mut Functions, others: &Functions, name: &Text) {
    functions.retain(|(known, _), _| known != name);
    let others = others.range(keys(name));
    functions.extend(others.map(|(key, function)| (key.clone(), function.clone())));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{FunctionPlan, PrefetchPlan};

    fn counts(executions: u64) -> FunctionPlan {
        FunctionPlan::new(Count(executions), [Count(executions)])
    }

    fn example() -> Plan {
        let functions = [
            ("cold", 1, 5),
            ("hot", 2, 900),
            ("hot", 3, 50),
            ("warm", 4, 80),
        ];
        functions
            .map(|(name, hash, executions)| (name.into(), hash, counts(executions)))
            .into_iter()
            .collect()
    }

    const LOAD: PrefetchPlan = PrefetchPlan {
        line: 4,
        column: 2,
        turns: 8,
    };

    #[test]
    fn equal_plans_have_no_unlike_functions() {
        let mut ordered = example();
        ordered.set_order(vec!["hot".into()]);
        assert!(example().functions_unlike(&ordered).is_empty());
    }

    #[test]
    fn unlike_functions_begin_with_the_most_executed() {
        let mut late = Plan::default();
        late.add("late".into(), 9, counts(300));
        let mut plan = example();
        plan.add_late(late);
        plan.add_prefetch("cold".into(), LOAD);
        let unlike = plan.functions_unlike(&Plan::default());
        assert_eq!(unlike, ["hot", "late", "warm", "cold"].map(Text::from));
        assert_eq!(
            plan.functions_unlike(&example()),
            ["late", "cold"].map(Text::from)
        );
    }

    #[test]
    fn a_function_is_replaced_in_all_parts_of_a_plan() {
        let mut late = Plan::default();
        late.add("hot".into(), 7, counts(3));
        let mut with = example();
        with.add_late(late);
        with.add_prefetch("hot".into(), LOAD);
        with.add_prefetch("warm".into(), LOAD);
        let hot = Text::from("hot");

        let back = with.with_function_of(&example(), &hot);
        assert_eq!(back.functions_unlike(&example()), ["warm"].map(Text::from));
        assert_eq!(back.prefetches("hot"), []);
        assert_eq!(back.with_function_of(&with, &hot), with);

        let only = with.of_functions(&BTreeSet::from([&hot]));
        assert_eq!(only.names(), BTreeSet::from([&hot]));
        assert_eq!((only.functions().len(), only.late_functions()), (2, 1));
        assert_eq!(only.prefetches("hot"), [LOAD]);
        assert_eq!(with.of_functions(&with.names()), with);

        let gone = with.with_function_of(&Plan::default(), &hot);
        assert!(gone.functions().all(|(name, _, _)| *name != hot));
        assert_eq!((gone.functions().len(), gone.late_functions()), (2, 0));
    }
}
