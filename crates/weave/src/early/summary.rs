//! The summary of a program's counts, from which LLVM decides what is hot and what is cold.
//!
//! The summary lists, for shares of all executions from 1 % to 99.9999 %, how large the counts are
//! that make up this share, and how many there are. It must be the same in all modules of a
//! program, so it is computed from the whole plan.

use holloway_format::{Count, Plan};
use holloway_llvm::{Metadata, Module, Type};

/// The module flag with the summary.
const FLAG: &str = "ProfileSummary";
/// Shares of all executions, in millionths, as LLVM lists them.
const CUTOFFS: [u32; 16] = [
    10_000, 100_000, 200_000, 300_000, 400_000, 500_000, 600_000, 700_000, 800_000, 900_000,
    950_000, 990_000, 999_000, 999_900, 999_990, 999_999,
];
/// LLVM's share of executions that hot code makes up.
const HOT: u32 = 990_000;
/// LLVM's share of executions that all but cold code makes up.
const COLD: u32 = 999_999;

/// The counts of a program, summarized.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Summary {
    total: u64,
    max: u64,
    max_edge: u64,
    max_calls: u64,
    counts: u64,
    functions: u64,
    /// For each of [`CUTOFFS`]: the smallest count of the share, and how many counts it has.
    details: Vec<(u64, u64)>,
}

impl Summary {
    /// Summarizes the counts of all functions and edges.
    pub(super) fn new(plan: &Plan) -> Self {
        let mut counts: Vec<u64> = Vec::new();
        let (mut max_edge, mut max_calls, mut number) = (0, 0, 0);
        for (_, _, function) in plan.functions() {
            let Count(calls) = function.calls;
            max_calls = max_calls.max(calls);
            number += 1 + function.edge_count as u64;
            counts.push(calls);
            for &Count(count) in function.taken.values() {
                max_edge = max_edge.max(count);
                counts.push(count);
            }
        }
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let sum: u128 = counts.iter().map(|&count| u128::from(count)).sum();
        Self {
            total: u64::try_from(sum).unwrap_or(u64::MAX),
            max: max_edge.max(max_calls),
            max_edge,
            max_calls,
            counts: number,
            functions: plan.functions().len() as u64,
            details: details(&counts, sum),
        }
    }

    /// Whether a function with this number of calls is hot.
    pub(super) fn is_hot(&self, count: u64) -> bool {
        count >= self.threshold(HOT).max(1)
    }

    /// Whether code with this count is cold.
    pub(super) fn is_cold(&self, count: u64) -> bool {
        count <= self.threshold(COLD)
    }

    fn threshold(&self, cutoff: u32) -> u64 {
        let position = CUTOFFS.iter().position(|&known| known == cutoff);
        self.details[position.expect("a listed cutoff")].0
    }

    /// Adds the summary to a module. Returns whether it was added: a module whose compiler has used
    /// another profile keeps the summary of that one.
    pub(super) fn attach(&self, module: &Module<'_>) -> bool {
        if module.has_flag(FLAG) {
            return false;
        }
        let text = |text: &str| Metadata::string(module, text);
        let long = |value: u64| Metadata::constant(Type::i64(module).int(value as i64));
        let int = |value: u32| Metadata::constant(Type::i32(module).int(i64::from(value)));
        let field = |name: &str, value| Metadata::node(module, &[text(name), value]);
        let details: Vec<_> = CUTOFFS
            .iter()
            .zip(&self.details)
            .map(|(&cutoff, &(count, number))| {
                let number = u32::try_from(number).unwrap_or(u32::MAX);
                Metadata::node(module, &[int(cutoff), long(count), int(number)])
            })
            .collect();
        let fields = [
            field("ProfileFormat", text("InstrProf")),
            field("TotalCount", long(self.total)),
            field("MaxCount", long(self.max)),
            field("MaxInternalCount", long(self.max_edge)),
            field("MaxFunctionCount", long(self.max_calls)),
            field("NumCounts", long(self.counts)),
            field("NumFunctions", long(self.functions)),
            field("DetailedSummary", Metadata::node(module, &details)),
        ];
        module.add_flag(FLAG, Metadata::node(module, &fields));
        true
    }
}

/// For each cutoff: the smallest of the largest counts that together reach this share of `sum`, and
/// how many counts are at least as large. `counts` descend.
fn details(counts: &[u64], sum: u128) -> Vec<(u64, u64)> {
    let mut details = Vec::with_capacity(CUTOFFS.len());
    let (mut reached, mut number, mut last) = (0u128, 0usize, 0u64);
    for cutoff in CUTOFFS {
        let wanted = sum * u128::from(cutoff) / 1_000_000;
        while reached < wanted {
            last = counts[number];
            let equal = counts[number..].partition_point(|&count| count == last);
            reached += u128::from(last) * equal as u128;
            number += equal;
        }
        details.push((last, number as u64));
    }
    details
}

#[cfg(test)]
mod tests {
    use super::*;
    use holloway_format::FunctionPlan;

    fn plan(functions: &[(u64, &[u64])]) -> Plan {
        let functions = functions.iter().zip(0..);
        functions
            .map(|((calls, edges), hash)| {
                let edges = edges.iter().copied().map(Count);
                ("f".into(), hash, FunctionPlan::new(Count(*calls), edges))
            })
            .collect()
    }

    #[test]
    fn thresholds_are_the_counts_that_reach_the_share() {
        let summary = Summary::new(&plan(&[(1, &[1_000_000, 0, 500]), (2, &[])]));
        assert_eq!(
            (summary.total, summary.max, summary.max_edge),
            (1_000_503, 1_000_000, 1_000_000)
        );
        assert_eq!(
            (summary.max_calls, summary.counts, summary.functions),
            (2, 5, 2)
        );
        assert_eq!(summary.details[0], (1_000_000, 1));
        assert_eq!(summary.threshold(HOT), 1_000_000);
        assert_eq!(summary.threshold(COLD), 2);
        assert!(summary.is_hot(1_000_000) && !summary.is_hot(500));
        assert!(summary.is_cold(2) && !summary.is_cold(500));
    }

    #[test]
    fn counts_of_any_size_are_summed() {
        let summary = Summary::new(&plan(&[(u64::MAX, &[u64::MAX, u64::MAX])]));
        assert_eq!(summary.total, u64::MAX);
        assert_eq!(summary.details.last(), Some(&(u64::MAX, 3)));
        let empty = Summary::new(&plan(&[]));
        assert_eq!(empty.details, vec![(0, 0); CUTOFFS.len()]);
        assert!(empty.is_cold(0) && !empty.is_hot(0));
    }
}
