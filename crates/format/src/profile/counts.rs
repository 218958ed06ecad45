//! The counts of a function.

use crate::function_index::FunctionIndex;
use crate::units::Count;

/// Counts of one function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionCounts {
    /// The function.
    pub index: FunctionIndex,
    /// Hash of the function's structure in the map.
    pub hash: u64,
    /// Path numbers with their counts, ascending by number, without counts of 0. If the function
    /// counts edges, the numbers are indices in
    /// [`FunctionMap::counted`](crate::FunctionMap::counted).
    pub counts: Vec<(u64, Count)>,
    /// The [keys](crate::SiteValue::key) of values with their counts, ascending, without counts of
    /// 0. Empty unless the function
    /// [counts them](crate::Counters::values).
    pub values: Vec<(u64, Count)>,
}

impl FunctionCounts {
    /// Counts of paths or edge counters.
    pub fn new(
        index: FunctionIndex,
        hash: u64,
        counts: impl IntoIterator<Item = (u64, Count)>,
    ) -> Self {
        Self {
            index,
            hash,
            counts: counts.into_iter().collect(),
            values: Vec::new(),
        }
    }

    /// The sum of all counts. For paths, this is the number of executions.
    pub fn total(&self) -> u128 {
        self.counts
            .iter()
            .map(|&(_, count)| u128::from(count))
            .sum()
    }
}

/// Sorts the counts by number, adds up counts of equal numbers, and removes counts of 0.
pub(crate) fn add_up(counts: &mut Vec<(u64, Count)>) {
    counts.retain(|&(_, count)| count != Count::ZERO);
    counts.sort_unstable();
    counts.dedup_by(|next, first| {
        let same = next.0 == first.0;
        if same {
            first.1 = first.1.saturating_add(next.1);
        }
        same
    });
}

/// Merges two lists of functions, in ascending order. The counts of functions in both lists are
/// added up.
pub(super) fn merge_functions(
    left: Vec<FunctionCounts>,
    right: Vec<FunctionCounts>,
) -> Vec<FunctionCounts> {
    let mut functions = left;
    functions.extend(right);
    functions.sort_by_key(|counts| counts.index);
    functions.dedup_by(|next, first| {
        let same = next.index == first.index;
        if same {
            let lists = [
                (&mut first.counts, &mut next.counts),
                (&mut first.values, &mut next.values),
            ];
            for (sum, other) in lists {
                sum.append(other);
                add_up(sum);
            }
        }
        same
    });
    functions
}
