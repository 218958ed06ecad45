//! The counts of a function.

use crate::units::Count;

/// Counts of one function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionCounts {
    /// Module in the image map.
    pub module: u32,
    /// Function in the module.
    pub function: u32,
    /// Hash of the function's structure in the map.
    pub hash: u64,
    /// Path number and count, ascending by number, without counts of 0. If the function's map
    /// counts edges, the number is that of an edge counter.
    pub counts: Vec<(u64, Count)>,
}

impl FunctionCounts {
    /// The sum of its counts: for paths, their executions.
    pub fn total(&self) -> u128 {
        self.counts
            .iter()
            .map(|&(_, count)| u128::from(count))
            .sum()
    }
}

/// Sorts the counts by path, adds up those of equal paths, and drops counts of 0.
pub(crate) fn add_up(counts: &mut Vec<(u64, Count)>) {
    counts.retain(|&(_, count)| count != Count::ZERO);
    counts.sort_unstable();
    counts.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 = kept.1.saturating_add(next.1);
        }
        same
    });
}

/// The functions of both lists, ascending. The counts of functions that occur in both are added up.
pub(super) fn merge_functions(
    left: Vec<FunctionCounts>,
    right: Vec<FunctionCounts>,
) -> Vec<FunctionCounts> {
    let mut functions = left;
    functions.extend(right);
    functions.sort_by_key(|counts| (counts.module, counts.function));
    functions.dedup_by(|next, kept| {
        let same = (next.module, next.function) == (kept.module, kept.function);
        if same {
            kept.counts.append(&mut next.counts);
            add_up(&mut kept.counts);
        }
        same
    });
    functions
}
