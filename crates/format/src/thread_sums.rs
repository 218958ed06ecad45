//! Adds up the counts of a raw profile's threads.
//!
//! A function's counters are at the same offset in each thread's block. So this code first adds up
//! the blocks, and then assigns the sums to the functions. It adds up the segments of hashed
//! functions separately.
//!
//! Cost: one pass over the file's data, and two binary searches for each function.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::counter_map::CounterMap;
use crate::damage::{Damage, DamagedFile, Fact};
use crate::function_index::FunctionIndex;
use crate::map::{Counters, FunctionCounters};
use crate::profile::{FunctionCounts, Profile, add_up};
use crate::raw::RawProfile;
use crate::units::Count;

/// Adds up the counts of a raw profile's threads, by the functions of the map. `lost` describes
/// the damage of a function whose counts at an offset of the file cannot be used.
pub(crate) fn sum_raw(
    mut sums: Sums<'_, '_>,
    map: &CounterMap,
    lost: impl Fn(FunctionIndex, u64, Fact) -> Damage,
) -> Profile {
    let raw = sums.raw;
    let mut profile = Profile::from_head(raw.header().profile.clone());
    profile.damage.extend_from_slice(raw.damage());
    let mut hashed = sum_segments(raw, map, &mut profile.damage);
    for (module, placed) in (0..).zip(&map.modules) {
        for (function, function_map) in (0..).zip(&placed.functions) {
            let Some(function_map) = function_map else {
                continue;
            };
            let index = FunctionIndex { module, function };
            let start = placed.base.saturating_add(function_map.counters.offset());
            let mut take_hashed = |sums: &mut Sums<'_, '_>, head: u64| {
                sums.clear(head, 1);
                hashed.remove(&head).unwrap_or(Ok(Vec::new()))
            };
            let counts = match function_map.counters {
                Counters::Array { len, .. } | Counters::Edges { len, .. } => {
                    sums.take_array(start, len, function_map)
                }
                Counters::Hash { .. } => take_hashed(&mut sums, start),
            };
            let values = match function_map.counters.values() {
                Some(offset) => take_hashed(&mut sums, placed.base.saturating_add(offset)),
                None => Ok(Vec::new()),
            };
            match counts.and_then(|counts| Ok((counts, values?))) {
                Ok((counts, values)) if counts.is_empty() && values.is_empty() => {}
                Ok((counts, values)) => {
                    profile.functions.push(FunctionCounts {
                        index,
                        hash: function_map.hash,
                        counts,
                        values,
                    });
                }
                Err(UnusableCounts { offset, fact }) => {
                    profile.damage.push(lost(index, offset, fact));
                }
            }
        }
    }
    sums.note_unclaimed(&mut profile.damage);
    profile
}

/// The reason why a function's counts cannot be used.
struct UnusableCounts {
    /// Offset in the file of the damaged count.
    offset: u64,
    fact: Fact,
}

impl UnusableCounts {
    /// A path, or an edge counter, that the function does not have.
    fn out_of_range(path: u64, function_map: &FunctionCounters, offset: u64) -> Self {
        Self {
            offset,
            fact: Fact::CountBeyond {
                counted: function_map.counted_thing(),
                number: path,
                limit: function_map.counter_limit(),
            },
        }
    }

    /// A sum of counts that exceeds 64 bits.
    fn overflow(path: u64, function_map: &FunctionCounters, offset: u64) -> Self {
        Self {
            offset,
            fact: Fact::CountOverflow {
                counted: function_map.counted_thing(),
                number: path,
            },
        }
    }
}

/// The sums of each counter over all blocks.
pub(crate) struct Sums<'p, 'a> {
    raw: &'p RawProfile<'a>,
    sums: Vec<u64>,
    /// The numbers of the sums that were not 0 at first, ascending.
    counted: Vec<usize>,
}

impl<'p, 'a> Sums<'p, 'a> {
    pub(crate) fn new(raw: &'p RawProfile<'a>) -> Self {
        // The blocks are in the file, so the sums take no more memory than the file.
        let max_counters = raw
            .blocks()
            .iter()
            .map(|block| block.bytes.len() / 8)
            .max()
            .unwrap_or(0);
        let mut sums = vec![0u64; max_counters];
        let mut counted = Vec::new();
        for block in raw.blocks() {
            for (number, count) in raw.nonzero_counters(block) {
                sums[number] = sums[number].saturating_add(count);
                counted.push(number);
            }
        }
        counted.sort_unstable();
        counted.dedup();
        Self { raw, sums, counted }
    }

    /// Offset in the file of the first counter that is not zero among the counters at `offset` of
    /// all blocks.
    fn file_offset(&self, offset: u64) -> u64 {
        let block = self
            .raw
            .blocks()
            .iter()
            .find(|block| block.counter(offset) != 0);
        block.map_or(0, |block| block.offset + offset)
    }

    /// Whether a counter in this range of bytes of a block was not 0 at first.
    pub(crate) fn counts_in(&self, range: Range<u64>) -> bool {
        let first = self.first_counted(range.start / 8);
        let number = self.counted.get(first);
        number.is_some_and(|&number| (number as u64) < range.end.div_ceil(8))
    }

    /// The position in `counted` of the first counter from `number` on.
    fn first_counted(&self, number: u64) -> usize {
        self.counted
            .partition_point(|&counted| (counted as u64) < number)
    }

    /// The positions in `counted` of `len` counters from byte `start` on. The counters between them
    /// are 0.
    fn counted_range(&self, start: u64, len: u64) -> Range<usize> {
        let from = start / 8;
        self.first_counted(from)..self.first_counted(from.saturating_add(len))
    }

    fn clear(&mut self, start: u64, len: u64) {
        for &number in &self.counted[self.counted_range(start, len)] {
            self.sums[number] = 0;
        }
    }

    /// Returns the counts of a function with an array of counters, and clears their sums. Sums that
    /// are not zero at the end then belong to no function.
    fn take_array(
        &mut self,
        start: u64,
        len: u64,
        function_map: &FunctionCounters,
    ) -> Result<Vec<(u64, Count)>, UnusableCounts> {
        let limit = function_map.counter_limit();
        let mut counts = Vec::new();
        let mut unusable = None;
        for &number in &self.counted[self.counted_range(start, len)] {
            let sum = &mut self.sums[number];
            if *sum == 0 {
                continue;
            }
            let path = number as u64 - start / 8;
            if path >= limit || *sum == u64::MAX {
                unusable.get_or_insert((path, *sum));
            }
            counts.push((path, Count(*sum)));
            *sum = 0;
        }
        match unusable {
            None => Ok(counts),
            Some((path, _)) if path >= limit => Err(UnusableCounts::out_of_range(
                path,
                function_map,
                self.file_offset(start + 8 * path),
            )),
            Some((path, _)) => Err(UnusableCounts::overflow(
                path,
                function_map,
                self.file_offset(start + 8 * path),
            )),
        }
    }

    /// Reports the counters that belong to no function as damage.
    fn note_unclaimed(&self, damage: &mut Vec<Damage>) {
        let numbers = self
            .counted
            .iter()
            .filter(|&&number| self.sums[number] != 0);
        let mut unclaimed = numbers.map(|&number| number as u64 * 8);
        if let Some(first) = unclaimed.next() {
            let counters = 1 + unclaimed.count() as u64;
            damage.push(Damage::of_file(
                DamagedFile::Profile,
                self.file_offset(first),
                Fact::StrayCounters { counters },
            ));
        }
    }
}

/// Adds up the segments. Returns the counts of the hash tables by the offset of their heads in a
/// block.
fn sum_segments(
    raw: &RawProfile<'_>,
    map: &CounterMap,
    damage: &mut Vec<Damage>,
) -> BTreeMap<u64, Result<Vec<(u64, Count)>, UnusableCounts>> {
    let mut heads: BTreeMap<u64, &FunctionCounters> = BTreeMap::new();
    for placed in &map.modules {
        for function in placed.functions.iter().flatten() {
            let head = match function.counters {
                Counters::Hash { offset } => Some(offset),
                Counters::Array { .. } | Counters::Edges { .. } => function.counters.values(),
            };
            if let Some(head) = head {
                heads.insert(placed.base.saturating_add(head), function);
            }
        }
    }
    let mut hashed: BTreeMap<u64, Result<Vec<(u64, Count)>, UnusableCounts>> = BTreeMap::new();
    for segment in raw.segments() {
        let Some(function) = heads.get(&segment.head) else {
            let offset = segment.offset;
            damage.push(Damage::of_file(
                DamagedFile::Profile,
                offset,
                Fact::StraySegment,
            ));
            continue;
        };
        let counts = hashed.entry(segment.head).or_insert_with(|| Ok(Vec::new()));
        let Ok(list) = counts else { continue };
        list.extend(segment.entries().map(|(path, count)| (path, Count(count))));
        let misplaced = segment.misplaced();
        let limit = match function.counters {
            Counters::Array { .. } | Counters::Hash { .. } => function.path_count,
            Counters::Edges { .. } => u64::MAX,
        };
        let beyond = segment.entries().find(|&(path, _)| path >= limit);
        if let Some((path, _)) = beyond {
            *counts = Err(UnusableCounts::out_of_range(path, function, segment.offset));
        } else if let Some(offset) = misplaced {
            *counts = Err(UnusableCounts {
                offset,
                fact: Fact::MisplacedPath,
            });
        }
    }
    for (head, counts) in &mut hashed {
        if let Ok(list) = counts {
            add_up(list);
            if let Some(&(path, _)) = list.iter().find(|&&(_, count)| count == Count(u64::MAX)) {
                *counts = Err(UnusableCounts::overflow(path, heads[head], 0));
            }
        }
    }
    hashed
}
