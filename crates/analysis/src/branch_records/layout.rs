//! The code of blocks by address.

use std::collections::{BTreeSet, HashMap};

use holloway_format::FunctionIndex;

/// The code of a block. A block may have several ranges, because the code generator duplicates
/// code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeRange {
    /// The first address.
    pub start: u64,
    /// The first address after the code.
    pub end: u64,
    /// The function.
    pub function: FunctionIndex,
    /// The number of the block.
    pub block: u32,
    /// Whether a symbol starts here. Calls lead to such addresses.
    pub is_symbol: bool,
}

/// The code of all blocks of a file.
#[derive(Clone, Debug, Default)]
pub struct CodeLayout {
    /// Ascending and disjoint.
    ranges: Vec<CodeRange>,
    seen_blocks: HashMap<FunctionIndex, BTreeSet<u32>>,
}

impl CodeLayout {
    /// Sorts ranges. Of ranges that overlap, the later one is left out.
    pub fn new(mut ranges: Vec<CodeRange>) -> Self {
        ranges.retain(|range| range.start < range.end);
        ranges.sort_by_key(|range| range.start);
        let mut end = 0;
        ranges.retain(|range| {
            let is_free = range.start >= end;
            if is_free {
                end = range.end;
            }
            is_free
        });
        let mut seen_blocks: HashMap<FunctionIndex, BTreeSet<u32>> = HashMap::new();
        for range in &ranges {
            let blocks = seen_blocks.entry(range.function).or_default();
            blocks.insert(range.block);
        }
        Self {
            ranges,
            seen_blocks,
        }
    }

    /// The ranges, ascending.
    pub fn ranges(&self) -> &[CodeRange] {
        &self.ranges
    }

    /// The number of the range that contains an address.
    pub(super) fn find(&self, address: u64) -> Option<usize> {
        let next = self.ranges.partition_point(|range| range.start <= address);
        let index = next.checked_sub(1)?;
        (address < self.ranges[index].end).then_some(index)
    }

    /// The range with this number.
    pub(super) fn range(&self, index: usize) -> &CodeRange {
        &self.ranges[index]
    }

    /// The ranges from `first` to `last`, if control can run straight ahead through them: they
    /// belong to one function, without gaps.
    pub(super) fn straight(&self, first: usize, last: usize) -> Option<&[CodeRange]> {
        let ranges = self.ranges.get(first..=last)?;
        let mut pairs = ranges.windows(2);
        let is_straight =
            pairs.all(|pair| pair[0].end == pair[1].start && pair[0].function == pair[1].function);
        is_straight.then_some(ranges)
    }

    /// The blocks of a function that have code.
    pub(super) fn seen_blocks(&self, function: FunctionIndex) -> BTreeSet<u32> {
        self.seen_blocks.get(&function).cloned().unwrap_or_default()
    }
}
