//! Plans of old programs: the counts of a plan, for a program that has changed since.
//!
//! `functions` pairs the functions of the plan and of the program. A function with the same graph
//! keeps its counts. For a function with another graph, `blocks` pairs its blocks, and `counts`
//! gives it the counts of unchanged edges and a flow that fits. If less than half of a function's
//! executions is found again, it gets no counts. `unchanged` says which functions keep more than
//! counts.

mod balance;
mod blocks;
mod code;
mod counts;
mod functions;
mod ignored;
mod names;
mod program;
mod unchanged;

use std::collections::{BTreeMap, BTreeSet};

use holloway_format::{Count, FunctionPlan, Plan, Text};

use counts::{ChangedCounts, changed_counts};
use functions::{Key, pair_functions};
use ignored::{ignored_load, remove_ignored};
use unchanged::{Equal, unchanged};

pub use code::function_code;
pub use ignored::{IgnoredLine, IgnoredPlace};
pub use program::Program;

/// A plan for a program, made of the plan of an old one.
#[derive(Clone, Debug, Default)]
pub struct CarriedOver {
    /// The plan for the program.
    pub plan: Plan,
    /// What was carried over.
    pub summary: Summary,
    /// The lines of the old plan that fit nothing in the program.
    pub ignored: Vec<IgnoredLine>,
    /// For each path whose blocks the old plan copies in code that has changed, the function.
    pub lost_tails: Vec<Text>,
    /// For each load to prefetch in code that has changed, the function.
    pub lost_loads: Vec<Text>,
}

/// How much of a plan was carried over. Executions are those of functions and edges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Functions with the same graph.
    pub unchanged: usize,
    /// Functions with another graph that got counts.
    pub changed: usize,
    /// Functions that the program does not have, or that get no counts, because less than half of
    /// their executions was found again.
    pub gone: usize,
    /// The executions of the changed functions.
    pub changed_executions: Count,
    /// Those of them on unchanged edges.
    pub changed_matched: Count,
    /// The executions of all functions.
    pub executions: Count,
    /// Those of them that were carried over.
    pub matched: Count,
}

impl Summary {
    /// The number of the plan's functions.
    pub fn functions(&self) -> usize {
        self.unchanged + self.changed + self.gone
    }

    /// Whether the plan fits the program as it is.
    pub fn is_complete(&self) -> bool {
        self.changed == 0 && self.gone == 0
    }

    /// Whether anything was found again. A function without executions that has changed does not
    /// count: only its name is known.
    pub fn has_matches(&self) -> bool {
        self.unchanged > 0 || self.matched > Count::ZERO
    }

    /// Adds the summary of another plan.
    pub fn add(&mut self, other: Self) {
        self.unchanged += other.unchanged;
        self.changed += other.changed;
        self.gone += other.gone;
        let sums = [
            (&mut self.changed_executions, other.changed_executions),
            (&mut self.changed_matched, other.changed_matched),
            (&mut self.executions, other.executions),
            (&mut self.matched, other.matched),
        ];
        for (sum, count) in sums {
            *sum = sum.saturating_add(count);
        }
    }
}

/// Makes a plan for `program` of a plan for an earlier version of it.
pub fn carry_over(plan: &Plan, program: &Program) -> CarriedOver {
    let pairs = pair_functions(plan, program);
    let same = unchanged(plan, program, &pairs, Equal::Code);
    let mut carried = CarriedOver::default();
    for (name, hash, function) in plan.functions() {
        let key = (name.clone(), hash);
        let executions = function.executions();
        carried.summary.executions = carried.summary.executions.saturating_add(executions);
        match pairs.get(&key) {
            Some(new) if new.1 == hash => {
                let is_same = same.contains(&key);
                let ignored = carried.add_unchanged(function, new, program, &pairs, is_same);
                carried.ignored.extend(ignored.into_iter().map(|place| {
                    let function = name.clone();
                    IgnoredLine { function, place }
                }));
            }
            Some(new) => carried.add_changed(function, new, program),
            None => carried.summary.gone += 1,
        }
        let keeps_tails = same.contains(&key);
        let lost = function.tails.keys().filter(|_| !keeps_tails);
        carried.lost_tails.extend(lost.map(|_| name.clone()));
    }
    carried.add_late(plan, &pairs, &same);
    carried.add_prefetches(plan, program, &pairs);
    // A function that is gone has no section, so its place in the order means nothing.
    let order = plan.order().iter().map(|name| new_name(name, &pairs));
    carried.plan.set_order(order.collect());
    carried
}

impl CarriedOver {
    /// Adds a function whose graph is the same. Returns what its lines name and it does not have.
    fn add_unchanged(
        &mut self,
        function: &FunctionPlan,
        (name, hash): &Key,
        program: &Program,
        pairs: &BTreeMap<Key, Key>,
        is_same: bool,
    ) -> Vec<IgnoredPlace> {
        let new = &program.functions[&(name.clone(), *hash)];
        let same_code = new
            .codes()
            .find(|code| Some(*code) == function.code.as_ref());
        let code = same_code.or(new.code.as_ref()).cloned();
        let mut carried = FunctionPlan {
            calls: function.calls,
            edge_count: function.edge_count,
            taken: function.taken.clone(),
            code: code.filter(|_| function.ran()),
            ..FunctionPlan::default()
        };
        if is_same {
            carried.unpredictable = function.unpredictable.clone();
            carried.sizes = function.sizes.clone();
            carried.tails = function.tails.clone();
            for ((site, target), &count) in &function.targets {
                carried.add_target(*site, new_name(target, pairs), count);
            }
        }
        let ignored = remove_ignored(&mut carried, new);
        self.summary.unchanged += 1;
        self.summary.matched = self.summary.matched.saturating_add(function.executions());
        self.plan.add(name.clone(), *hash, carried);
        ignored
    }

    fn add_changed(&mut self, function: &FunctionPlan, new: &Key, program: &Program) {
        let code = program.functions[new].code.as_ref();
        let Some(ChangedCounts {
            function: counts,
            kept,
        }) = code.and_then(|code| changed_counts(function, code))
        else {
            self.summary.gone += 1;
            return;
        };
        let summary = &mut self.summary;
        summary.changed += 1;
        summary.changed_executions = summary
            .changed_executions
            .saturating_add(function.executions());
        summary.changed_matched = summary.changed_matched.saturating_add(kept);
        summary.matched = summary.matched.saturating_add(kept);
        self.plan.add(new.0.clone(), new.1, counts);
    }

    /// Adds the late counts of functions that are the same. Functions without early counts, such as
    /// clones, keep their late counts if all functions are the same.
    fn add_late(&mut self, plan: &Plan, pairs: &BTreeMap<Key, Key>, same: &BTreeSet<Key>) {
        let are_all_same = same.len() == plan.functions().len();
        let late = plan.late().filter_map(|(name, hash, function)| {
            let keys = of_name(pairs, name);
            let is_same = match keys.is_empty() {
                true => are_all_same,
                false => keys.iter().all(|(old, _)| same.contains(*old)),
            };
            is_same.then(|| (new_name(name, pairs), hash, function.clone()))
        });
        self.plan.add_late(late.collect());
    }

    /// Adds the loads to prefetch of functions whose code and lines are the same. As with late
    /// counts, functions without early counts keep them if all functions are the same.
    fn add_prefetches(&mut self, plan: &Plan, program: &Program, pairs: &BTreeMap<Key, Key>) {
        if plan.prefetch_count() == 0 {
            return;
        }
        let same = unchanged(plan, program, pairs, Equal::CodeAndPlaces);
        let are_all_same = same.len() == plan.functions().len();
        for (name, loads) in plan.all_prefetches() {
            let keys = of_name(pairs, name);
            let is_same = match keys.is_empty() {
                true => are_all_same,
                false => keys.iter().all(|(old, _)| same.contains(*old)),
            };
            for &load in loads {
                match ignored_load(load, program) {
                    _ if !is_same => self.lost_loads.push(name.clone()),
                    None => self.plan.add_prefetch(new_name(name, pairs), load),
                    Some(place) => self.ignored.push(IgnoredLine {
                        function: name.clone(),
                        place,
                    }),
                }
            }
        }
    }
}

/// The pairs whose old function has this name.
fn of_name<'a>(pairs: &'a BTreeMap<Key, Key>, name: &Text) -> Vec<(&'a Key, &'a Key)> {
    let all = (name.clone(), 0)..=(name.clone(), u64::MAX);
    pairs.range(all).collect()
}

/// The new name of a function. Functions that the plan does not count keep their name.
fn new_name(name: &Text, pairs: &BTreeMap<Key, Key>) -> Text {
    let pair = of_name(pairs, name).into_iter().next();
    pair.map_or(name, |(_, (new, _))| new).clone()
}
