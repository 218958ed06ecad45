//! The counts of a function.

/// Counts of one function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionCounts {
    /// Module in the image map.
    pub module: u32,
    /// Function in the module.
    pub function: u32,
    /// Hash of the function's structure in the map.
    pub hash: u64,
    /// Path number (or edge counter, as the function's map says) and count, ascending by number, no count 0.
    pub counts: Vec<(u64, u64)>,
}

impl FunctionCounts {
    /// The sum of its counts: of paths, their executions.
    pub fn total(&self) -> u128 {
        self.counts
            .iter()
            .map(|&(_, count)| u128::from(count))
            .sum()
    }
}

/// Sorts by path and adds up the counts of each; counts of 0 go.
pub(crate) fn add_up(counts: &mut Vec<(u64, u64)>) {
    counts.retain(|&(_, count)| count != 0);
    counts.sort_unstable();
    counts.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 = kept.1.saturating_add(next.1);
        }
        same
    });
}

/// The functions of both, ascending; the counts of those in both added up.
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
