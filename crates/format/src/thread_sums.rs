//! Adds up the threads of a raw profile.
//!
//! Counters of a function lie at the same offset of each block, so the blocks are added up and the
//! sums cut into functions. Cost: one pass over the file and one over a block.

use std::collections::BTreeMap;

use crate::counter_map::CounterMap;
use crate::damage::{Damage, DamagedFile, Fact};
use crate::function_record::FunctionIndex;
use crate::map::{Counters, FunctionCounters};
use crate::profile::{FunctionCounts, Profile, add_up};
use crate::raw::RawProfile;

/// The sum of a raw profile's threads, cut into the functions of the map. `lost` words the damage
/// of a function whose counts at an offset of the file cannot be used.
pub(crate) fn sum_raw(
    raw: &RawProfile<'_>,
    map: &CounterMap,
    lost: impl Fn(FunctionIndex, u64, Fact) -> Damage,
) -> Profile {
    let mut profile = Profile::from_head(raw.header().profile.clone());
    profile.damage.extend_from_slice(raw.damage());
    let mut hashed = sum_segments(raw, map, &mut profile.damage);
    let mut sums = Sums::new(raw);
    for (module, placed) in (0..).zip(&map.modules) {
        for (function, shape) in (0..).zip(&placed.functions) {
            let Some(shape) = shape else { continue };
            let index = FunctionIndex { module, function };
            let start = placed.base.saturating_add(shape.counters.offset());
            let counts = match shape.counters {
                Counters::Array { len, .. } | Counters::Edges { len, .. } => {
                    sums.take_array(start, len, shape)
                }
                Counters::Hash { .. } => {
                    sums.clear(start, 1);
                    hashed.remove(&start).unwrap_or(Ok(Vec::new()))
                }
            };
            match counts {
                Ok(counts) if counts.is_empty() => {}
                Ok(counts) => {
                    profile.functions.push(FunctionCounts {
                        module,
                        function,
                        hash: shape.hash,
                        counts,
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

/// The reason why a function's counts cannot be used, and its place.
struct UnusableCounts {
    offset: u64,
    fact: Fact,
}

impl UnusableCounts {
    fn path(path: u64, shape: &FunctionCounters, offset: u64) -> Self {
        Self {
            offset,
            fact: Fact::CountBeyond {
                counted: shape.counted_thing(),
                number: path,
                limit: shape.counter_limit(),
            },
        }
    }

    fn overflow(path: u64, shape: &FunctionCounters, offset: u64) -> Self {
        Self {
            offset,
            fact: Fact::CountOverflow {
                counted: shape.counted_thing(),
                number: path,
            },
        }
    }
}

/// The sums over all blocks, one for each counter.
struct Sums<'p, 'a> {
    raw: &'p RawProfile<'a>,
    words: Vec<u64>,
    /// The numbers of the sums that were not 0 at first, ascending.
    counted: Vec<usize>,
}

impl<'p, 'a> Sums<'p, 'a> {
    fn new(raw: &'p RawProfile<'a>) -> Self {
        // A block lies in the file, so this is no larger than the file.
        let longest = raw
            .blocks()
            .iter()
            .map(|block| block.bytes.len() / 8)
            .max()
            .unwrap_or(0);
        let mut words = vec![0u64; longest];
        let mut counted = Vec::new();
        for block in raw.blocks() {
            for (number, count) in block.nonzero_counters() {
                words[number] = words[number].saturating_add(count);
                counted.push(number);
            }
        }
        counted.sort_unstable();
        counted.dedup();
        Self {
            raw,
            words,
            counted,
        }
    }

    /// Offset in the file of the first nonzero counter at this offset of its block.
    fn file_offset(&self, at: u64) -> u64 {
        let block = self
            .raw
            .blocks()
            .iter()
            .find(|block| block.counter(at) != 0);
        block.map_or(0, |block| block.offset + at)
    }

    /// The sums of `len` counters at byte `start`, as far as they exist.
    fn range(&mut self, start: u64, len: u64) -> &mut [u64] {
        let total = self.words.len() as u64;
        let from = (start / 8).min(total);
        let to = from.saturating_add(len).min(total);
        &mut self.words[from as usize..to as usize]
    }

    fn clear(&mut self, start: u64, len: u64) {
        self.range(start, len).fill(0);
    }

    /// Takes the counts of an array function and clears their sums, so that the sums left at the
    /// end belong to no function.
    fn take_array(
        &mut self,
        start: u64,
        len: u64,
        shape: &FunctionCounters,
    ) -> Result<Vec<(u64, u64)>, UnusableCounts> {
        let limit = shape.counter_limit();
        let mut counts = Vec::new();
        let mut unusable = None;
        for (path, sum) in (0..).zip(self.range(start, len)) {
            if *sum == 0 {
                continue;
            }
            if path >= limit || *sum == u64::MAX {
                unusable.get_or_insert((path, *sum));
            }
            counts.push((path, *sum));
            *sum = 0;
        }
        match unusable {
            None => Ok(counts),
            Some((path, _)) if path >= limit => Err(UnusableCounts::path(
                path,
                shape,
                self.file_offset(start + 8 * path),
            )),
            Some((path, _)) => Err(UnusableCounts::overflow(
                path,
                shape,
                self.file_offset(start + 8 * path),
            )),
        }
    }

    /// Lists the counters that belong to no function.
    fn note_unclaimed(&self, damage: &mut Vec<Damage>) {
        let numbers = self
            .counted
            .iter()
            .filter(|&&number| self.words[number] != 0);
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

/// Counts of the hashed functions, by the offset of their heads in a block.
fn sum_segments(
    raw: &RawProfile<'_>,
    map: &CounterMap,
    damage: &mut Vec<Damage>,
) -> BTreeMap<u64, Result<Vec<(u64, u64)>, UnusableCounts>> {
    let mut heads: BTreeMap<u64, &FunctionCounters> = BTreeMap::new();
    for placed in &map.modules {
        let functions = placed.functions.iter().flatten();
        for function in
            functions.filter(|function| matches!(function.counters, Counters::Hash { .. }))
        {
            heads.insert(
                placed.base.saturating_add(function.counters.offset()),
                function,
            );
        }
    }
    let mut hashed: BTreeMap<u64, Result<Vec<(u64, u64)>, UnusableCounts>> = BTreeMap::new();
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
        list.extend(segment.entries());
        let misplaced = segment.misplaced();
        let beyond = segment
            .entries()
            .find(|&(path, _)| path >= function.path_count);
        if let Some((path, _)) = beyond {
            *counts = Err(UnusableCounts::path(path, function, segment.offset));
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
            if let Some(&(path, _)) = list.iter().find(|&&(_, count)| count == u64::MAX) {
                *counts = Err(UnusableCounts::overflow(path, heads[head], 0));
            }
        }
    }
    hashed
}
