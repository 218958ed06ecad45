//! The counts of one function of a plan.

use std::collections::BTreeMap;

use crate::plan::code::FunctionCode;
use crate::text::Text;
use crate::units::Count;

/// Mispredictions of an unpredictable branch, at least: one in so many executions.
///
/// A misprediction costs 15 to 20 cycles on current processors. One in five executions costs 3 to 4
/// cycles for each execution. A select costs about as much: it executes both sides, and its result
/// waits for the condition.
const EXECUTIONS_PER_MISPREDICTION: u64 = 5;

/// The counts of one function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionPlan {
    /// Executions of the function.
    pub calls: Count,
    /// The number of the function's edges, without exit edges.
    pub edge_count: usize,
    /// Executions of the edges that ran, by number.
    pub taken: BTreeMap<usize, Count>,
    /// How often an indirect call has called a function, by the number of the call and the linkage
    /// name of the function. The name is empty for functions whose names are unknown.
    pub targets: BTreeMap<(usize, Text), Count>,
    /// How often a memory operation has had a size in bytes, by the number of the operation and the
    /// size. [`OperationSize::LARGE`](crate::OperationSize::LARGE) stands for all larger sizes,
    /// too.
    pub sizes: BTreeMap<(usize, u64), Count>,
    /// Expected mispredictions of the branches that are hard to predict. The key is the smallest
    /// number of the branch's edges.
    pub unpredictable: BTreeMap<usize, Count>,
    /// Executions of paths whose blocks are copied. The key has the edges of the path: the blocks
    /// between them are copied.
    pub tails: BTreeMap<Vec<usize>, Count>,
    /// The code that was counted. `None` if it is unknown, or differs among the plans of a sum.
    pub code: Option<FunctionCode>,
}

impl FunctionPlan {
    /// The counts of a function. `edges` has the executions of each edge, except exit edges, in the
    /// order of the map.
    pub fn new(calls: Count, edges: impl IntoIterator<Item = Count>) -> Self {
        let mut edge_count = 0;
        let numbered = edges.into_iter().inspect(|_| edge_count += 1).enumerate();
        let taken = numbered.filter(|(_, count)| *count != Count::ZERO);
        let taken = taken.collect();
        Self {
            calls,
            edge_count,
            taken,
            ..Self::default()
        }
    }

    /// Adds calls of a function by the indirect call with this number. The name is empty if it is
    /// unknown.
    pub fn add_target(&mut self, site: usize, name: Text, calls: Count) {
        add_all(&mut self.targets, [((site, name), calls)].into());
    }

    /// Adds executions of the memory operation with this number, with a size in bytes.
    pub fn add_size(&mut self, site: usize, bytes: u64, executions: Count) {
        add_all(&mut self.sizes, [((site, bytes), executions)].into());
    }

    /// Executions of an edge.
    pub fn count(&self, edge: usize) -> Count {
        self.taken.get(&edge).copied().unwrap_or_default()
    }

    /// Whether the function ran.
    pub fn ran(&self) -> bool {
        self.calls != Count::ZERO || !self.taken.is_empty()
    }

    /// Executions of the function and of its edges.
    pub fn executions(&self) -> Count {
        let edges = self.taken.values().copied();
        edges.fold(self.calls, Count::saturating_add)
    }

    /// The executions alone, without values, copied paths, and code.
    pub(super) fn without_values(self) -> Self {
        Self {
            code: None,
            tails: BTreeMap::new(),
            targets: BTreeMap::new(),
            sizes: BTreeMap::new(),
            ..self
        }
    }

    /// Adds the counts of another run.
    pub(super) fn add(&mut self, other: Self) {
        self.code = match (self.code.take(), other.code) {
            (Some(code), Some(other)) => Some(code).filter(|code| *code == other),
            (code, other) => code.or(other),
        };
        self.calls = self.calls.saturating_add(other.calls);
        self.edge_count = self.edge_count.max(other.edge_count);
        let edges = self.edge_count;
        self.code.take_if(|code| code.edges.len() != edges);
        add_all(&mut self.taken, other.taken);
        add_all(&mut self.targets, other.targets);
        add_all(&mut self.sizes, other.sizes);
        add_all(&mut self.unpredictable, other.unpredictable);
        add_all(&mut self.tails, other.tails);
    }
}

pub(super) fn add_all<K: Ord>(sums: &mut BTreeMap<K, Count>, counts: BTreeMap<K, Count>) {
    for (key, count) in counts {
        let sum = sums.entry(key).or_default();
        *sum = sum.saturating_add(count);
    }
}

/// Whether a branch with these counts is unpredictable: at least a fifth of its executions is
/// expected to be mispredicted.
pub fn is_unpredictable(mispredictions: Count, executions: Count) -> bool {
    let least = executions.0.div_ceil(EXECUTIONS_PER_MISPREDICTION);
    mispredictions.0 >= least.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::code::BlockCode;

    #[test]
    fn a_fifth_of_the_executions_is_unpredictable() {
        let check = |mispredictions, executions, expect| {
            let is = is_unpredictable(Count(mispredictions), Count(executions));
            assert_eq!(is, expect, "{mispredictions} of {executions}");
        };
        check(0, 0, false);
        check(0, 4, false);
        check(1, 5, true);
        check(1, 6, false);
        check(500, 1000, true);
        check(199, 1000, false);
        check(u64::MAX, u64::MAX, true);
    }

    #[test]
    fn a_sum_keeps_the_code_that_its_functions_share() {
        let code = |hash| {
            let block = |hash| BlockCode {
                hash,
                callees: Vec::new(),
            };
            Some(FunctionCode {
                places: 0,
                blocks: vec![block(hash), block(0)],
                edges: vec![(0, 1)],
            })
        };
        let check = |one, other, expect| {
            let plan = |code| FunctionPlan {
                code,
                ..FunctionPlan::new(Count(1), [Count(1)])
            };
            let mut sum: FunctionPlan = plan(one);
            sum.add(plan(other));
            assert_eq!(sum.code, expect);
        };
        check(code(1), code(1), code(1));
        check(code(1), None, code(1));
        check(None, code(1), code(1));
        check(code(1), code(2), None);
    }
}
