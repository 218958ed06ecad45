//! A plan: the counts of a build's functions, and their sums.

use std::collections::{BTreeMap, BTreeSet};

use crate::plan::function::{FunctionPlan, add_all};
use crate::text::Text;
use crate::units::Count;

/// The counts of a build's functions. Its [`FromIterator`] adds up functions with equal names and
/// graphs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    pub(super) functions: Functions,
    /// The late counts.
    pub(super) late: Functions,
    /// The functions in the order in which they are to lie in the program, by linkage name.
    pub(super) order: Vec<Text>,
    /// The loads to prefetch, by linkage name.
    pub(super) prefetches: BTreeMap<Text, Vec<PrefetchPlan>>,
}

/// A load that is to be prefetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PrefetchPlan {
    /// The line of the load, in the innermost frame that it was inlined from.
    pub line: u32,
    /// The column. 0 stands for all loads of the line.
    pub column: u32,
    /// How many turns of the loop ahead, at least 1.
    pub turns: u32,
}

pub(super) type Functions = BTreeMap<FunctionKey, FunctionPlan>;

/// Identifies a function: its linkage name, and the hash of its graph.
pub(super) type FunctionKey = (Text, u64);

impl FromIterator<(Text, u64, FunctionPlan)> for Plan {
    fn from_iter<I: IntoIterator<Item = (Text, u64, FunctionPlan)>>(functions: I) -> Self {
        let mut plan = Self::default();
        for (name, hash, function) in functions {
            plan.add(name, hash, function);
        }
        plan
    }
}

impl Plan {
    /// Adds a function's early counts to the plan.
    pub fn add(&mut self, name: Text, hash: u64, function: FunctionPlan) {
        add_function(&mut self.functions, (name, hash), function);
    }

    /// Adds all counts of another plan.
    pub fn add_plan(&mut self, other: Self) {
        for (key, function) in other.functions {
            add_function(&mut self.functions, key, function);
        }
        for (key, function) in other.late {
            add_function(&mut self.late, key, function);
        }
        let known: BTreeSet<Text> = self.order.iter().cloned().collect();
        let new = other.order.into_iter();
        self.order.extend(new.filter(|name| !known.contains(name)));
        for (name, loads) in other.prefetches {
            for load in loads {
                self.add_prefetch(name.clone(), load);
            }
        }
    }

    /// The functions in the order in which they are to lie in the program, by linkage name. Empty
    /// if the linker is to decide.
    pub fn order(&self) -> &[Text] {
        &self.order
    }

    /// Sets the order of functions.
    pub fn set_order(&mut self, order: Vec<Text>) {
        self.order = order;
    }

    /// Adds a load to prefetch. A load that the plan has already keeps its distance.
    pub fn add_prefetch(&mut self, name: Text, load: PrefetchPlan) {
        let loads = self.prefetches.entry(name).or_default();
        let place = |load: &PrefetchPlan| (load.line, load.column);
        if let Err(index) = loads.binary_search_by_key(&place(&load), place) {
            loads.insert(index, load);
        }
    }

    /// The loads to prefetch in the function with this linkage name, by place.
    pub fn prefetches(&self, name: &str) -> &[PrefetchPlan] {
        self.prefetches.get(name).map_or(&[], Vec::as_slice)
    }

    /// The loads to prefetch in all functions, by linkage name.
    pub fn all_prefetches(&self) -> impl Iterator<Item = (&Text, &[PrefetchPlan])> {
        let all = self.prefetches.iter();
        all.map(|(name, loads)| (name, loads.as_slice()))
    }

    /// The number of loads to prefetch.
    pub fn prefetch_count(&self) -> usize {
        self.prefetches.values().map(Vec::len).sum()
    }

    /// The same plan, without loads to prefetch.
    #[must_use]
    pub fn without_prefetches(&self) -> Self {
        Self {
            prefetches: BTreeMap::new(),
            ..self.clone()
        }
    }

    /// The same plan, with the loads to prefetch of another one.
    #[must_use]
    pub fn with_prefetches_of(&self, other: &Self) -> Self {
        Self {
            prefetches: other.prefetches.clone(),
            ..self.clone()
        }
    }

    /// Adds late counts: the executions of the functions of `late`. They have no code, because they
    /// apply only to what the optimizer makes of the early counts. They have no values, because the
    /// optimizer has used those of the early counts.
    pub fn add_late(&mut self, late: Self) {
        for (key, function) in late.functions {
            add_function(&mut self.late, key, function.without_values());
        }
    }

    /// Adds late counts of functions, or of code of functions, that have none yet.
    pub fn add_new_late(&mut self, late: Self) {
        for (key, function) in late.functions {
            let function = function.without_values();
            self.late.entry(key).or_insert(function);
        }
    }

    /// All functions with late counts, ascending by name and hash.
    pub fn late(&self) -> impl ExactSizeIterator<Item = (&Text, u64, &FunctionPlan)> {
        let functions = self.late.iter();
        functions.map(|((name, hash), function)| (name, *hash, function))
    }

    /// The number of functions with late counts. A function with copied blocks has counts of its
    /// code with and without the copies.
    pub fn late_functions(&self) -> usize {
        let names: BTreeSet<&Text> = self.late.keys().map(|(name, _)| name).collect();
        names.len()
    }

    /// The late counts of the function with this linkage name and graph.
    pub fn find_late(&self, name: &str, hash: u64) -> Option<&FunctionPlan> {
        self.late.get(&(name.into(), hash))
    }

    /// The same plan, without late counts.
    #[must_use]
    pub fn without_late_counts(&self) -> Self {
        Self {
            late: Functions::default(),
            ..self.clone()
        }
    }

    /// The early counts of the function with this linkage name and graph.
    pub fn find(&self, name: &str, hash: u64) -> Option<&FunctionPlan> {
        self.functions.get(&(name.into(), hash))
    }

    /// Adds expected mispredictions to the branch with this first edge. Returns whether the plan
    /// has such a function and edge.
    pub fn mark_unpredictable(
        &mut self,
        name: &Text,
        hash: u64,
        edge: usize,
        mispredictions: Count,
    ) -> bool {
        let function = self.functions.get_mut(&(name.clone(), hash));
        match function.filter(|function| edge < function.edge_count) {
            Some(function) => {
                add_all(&mut function.unpredictable, [(edge, mispredictions)].into());
                true
            }
            None => false,
        }
    }

    /// Adds executions of a path whose blocks are to be copied. Returns whether the plan has such a
    /// function and edges.
    pub fn add_tail(&mut self, name: &Text, hash: u64, edges: Vec<usize>, count: Count) -> bool {
        let function = self.functions.get_mut(&(name.clone(), hash));
        let is_path = |function: &&mut FunctionPlan| {
            edges.len() >= 2 && edges.iter().all(|&edge| edge < function.edge_count)
        };
        match function.filter(is_path) {
            Some(function) => {
                add_all(&mut function.tails, [(edges, count)].into());
                true
            }
            None => false,
        }
    }

    /// The number of paths whose blocks are copied.
    pub fn tail_count(&self) -> usize {
        let functions = self.functions.values();
        functions.map(|function| function.tails.len()).sum()
    }

    /// The same plan, without paths whose blocks are copied.
    #[must_use]
    pub fn without_tails(&self) -> Self {
        let mut plan = self.clone();
        for function in plan.functions.values_mut() {
            function.tails.clear();
        }
        plan
    }

    /// The same plan, with the paths of another one whose blocks are copied.
    #[must_use]
    pub fn with_tails_of(&self, other: &Self) -> Self {
        let mut plan = self.clone();
        for (key, function) in &mut plan.functions {
            let other = other.functions.get(key);
            function.tails = other.map(|other| other.tails.clone()).unwrap_or_default();
        }
        plan
    }

    /// The number of branches that are marked as unpredictable.
    pub fn unpredictable_branches(&self) -> usize {
        let functions = self.functions.values();
        functions.map(|function| function.unpredictable.len()).sum()
    }

    /// The same counts, without unpredictable branches.
    pub fn without_unpredictable(&self) -> Self {
        let mut plan = self.clone();
        for function in plan.functions.values_mut() {
            function.unpredictable.clear();
        }
        plan
    }

    /// All functions with early counts, ascending by name and hash.
    pub fn functions(&self) -> impl ExactSizeIterator<Item = (&Text, u64, &FunctionPlan)> {
        let functions = self.functions.iter();
        functions.map(|((name, hash), function)| (name, *hash, function))
    }
}

pub(super) fn add_function(functions: &mut Functions, key: FunctionKey, function: FunctionPlan) {
    functions.entry(key).or_default().add(function);
}
