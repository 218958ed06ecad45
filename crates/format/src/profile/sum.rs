//! Adds up the threads of a raw profile, and the functions of several profiles.

use std::collections::BTreeMap;

use crate::damage::{Damage, DamagedFile, Fact};
use crate::image::ImageMap;
use crate::map::{Counters, FunctionMap};
use crate::profile::{FunctionCounts, Profile, lost_function};
use crate::raw::RawProfile;

/// Counts by path or edge counter, ascending.
type Counts = Vec<(u64, u64)>;

/// The sum of a raw profile's threads, cut into the functions of the map.
pub(super) fn sum_raw(raw: &RawProfile<'_>, map: &ImageMap) -> Profile {
    let mut profile = Profile::of_head(raw.header().profile.clone());
    profile.damage.extend_from_slice(raw.damage());
    let mut hashed = sum_segments(raw, map, &mut profile.damage);
    let mut sums = Sums::of(raw);
    for (module, placed) in (0..).zip(&map.modules) {
        for (function, shape) in (0..).zip(&placed.module.functions) {
            if shape.is_damaged() {
                continue;
            }
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
                Err(Bad { offset, fact }) => {
                    profile
                        .damage
                        .push(lost_function(map, (module, function), offset, fact));
                }
            }
        }
    }
    sums.note_rest(&mut profile.damage);
    profile
}

/// Why a function's counts can't be used, and where.
struct Bad {
    offset: u64,
    fact: Fact,
}

impl Bad {
    fn path(path: u64, shape: &FunctionMap, offset: u64) -> Self {
        Self {
            offset,
            fact: Fact::CountBeyond {
                counted: shape.counted_thing(),
                number: path,
                limit: shape.counter_limit(),
            },
        }
    }

    fn overflow(path: u64, shape: &FunctionMap, offset: u64) -> Self {
        Self {
            offset,
            fact: Fact::CountOverflow {
                counted: shape.counted_thing(),
                number: path,
            },
        }
    }
}

/// Sums over the blocks, one for each counter.
struct Sums<'p, 'a> {
    raw: &'p RawProfile<'a>,
    words: Vec<u64>,
}

impl<'p, 'a> Sums<'p, 'a> {
    fn of(raw: &'p RawProfile<'a>) -> Self {
        // A block is as long as the file says and lies in it, so this is no more than the file.
        let longest = raw
            .blocks()
            .iter()
            .map(|block| block.bytes.len() / 8)
            .max()
            .unwrap_or(0);
        let mut words = vec![0u64; longest];
        for block in raw.blocks() {
            for (sum, count) in words.iter_mut().zip(block.counters()) {
                *sum = sum.saturating_add(count);
            }
        }
        Self { raw, words }
    }

    /// Offset in the file of the first counter that is not 0 at this offset of its block.
    fn file_offset(&self, at: u64) -> u64 {
        let block = self
            .raw
            .blocks()
            .iter()
            .find(|block| block.counter(at) != 0);
        block.map_or(0, |block| block.offset + at)
    }

    /// The words of `len` counters at byte `start`, as far as there are any.
    fn range(&mut self, start: u64, len: u64) -> &mut [u64] {
        let total = self.words.len() as u64;
        let from = (start / 8).min(total);
        let to = from.saturating_add(len).min(total);
        &mut self.words[from as usize..to as usize]
    }

    fn clear(&mut self, start: u64, len: u64) {
        self.range(start, len).fill(0);
    }

    /// The counts of an array function; they are cleared, so that what no function takes can be told at the end.
    fn take_array(&mut self, start: u64, len: u64, shape: &FunctionMap) -> Result<Counts, Bad> {
        let limit = shape.counter_limit();
        let mut counts = Vec::new();
        let mut bad = None;
        for (path, sum) in (0..).zip(self.range(start, len)) {
            if *sum == 0 {
                continue;
            }
            if path >= limit || *sum == u64::MAX {
                bad.get_or_insert((path, *sum));
            }
            counts.push((path, *sum));
            *sum = 0;
        }
        match bad {
            None => Ok(counts),
            Some((path, _)) if path >= limit => {
                Err(Bad::path(path, shape, self.file_offset(start + 8 * path)))
            }
            Some((path, _)) => Err(Bad::overflow(
                path,
                shape,
                self.file_offset(start + 8 * path),
            )),
        }
    }

    /// Counters that belong to no function.
    fn note_rest(&self, damage: &mut Vec<Damage>) {
        let mut rest = (0u64..)
            .zip(&self.words)
            .filter(|&(_, &sum)| sum != 0)
            .map(|(index, _)| index * 8);
        if let Some(first) = rest.next() {
            let counters = 1 + rest.count() as u64;
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
    map: &ImageMap,
    damage: &mut Vec<Damage>,
) -> BTreeMap<u64, Result<Counts, Bad>> {
    let mut heads: BTreeMap<u64, &FunctionMap> = BTreeMap::new();
    for placed in &map.modules {
        let functions = placed
            .module
            .functions
            .iter()
            .filter(|function| !function.is_damaged());
        for function in
            functions.filter(|function| matches!(function.counters, Counters::Hash { .. }))
        {
            heads.insert(
                placed.base.saturating_add(function.counters.offset()),
                function,
            );
        }
    }
    let mut hashed: BTreeMap<u64, Result<Counts, Bad>> = BTreeMap::new();
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
            *counts = Err(Bad::path(path, function, segment.offset));
        } else if let Some(offset) = misplaced {
            *counts = Err(Bad {
                offset,
                fact: Fact::MisplacedPath,
            });
        }
    }
    for (head, counts) in &mut hashed {
        if let Ok(list) = counts {
            add_up(list);
            if let Some(&(path, _)) = list.iter().find(|&&(_, count)| count == u64::MAX) {
                *counts = Err(Bad::overflow(path, heads[head], 0));
            }
        }
    }
    hashed
}

/// Sorts by path and adds up the counts of each; counts of 0 go.
pub(crate) fn add_up(counts: &mut Counts) {
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
