//! How often each slab followed each other slab.
//!
//! Recent pairs have counters in a small table, one for each place. If another pair needs the
//! place, the old counter moves to a *log*. A full log is sorted and merged with the pairs logged
//! earlier. So a pair that recurs often costs an increment in the cache. A pair that never recurs
//! causes no random access: the log and the sorted pairs are read from beginning to end.
//!
//! Cost: 16 bytes for each pair.

use super::prune::nth_smallest;
use super::slab::SlabId;

/// Number of places in the small table: 128 KiB.
const PLACES: usize = 1 << 13;
/// Minimum length of a full log.
const MIN_LOG: usize = 1 << 16;

/// Counts by pair. A pair is a number: the first slab (0: none), shifted by 32 bits, and the second
/// slab.
#[derive(Debug)]
pub(super) struct Pairs {
    /// A place is free if its pair is 0.
    places: Vec<(u64, u64)>,
    log: Vec<(u64, u64)>,
    /// Ascending; each pair once.
    sorted: Vec<(u64, u64)>,
    /// Length of a full log.
    full_len: usize,
}

/// Packs two consecutive slabs into a pair.
#[inline(always)]
pub(super) fn pair(before: SlabId, slab: SlabId) -> u64 {
    u64::from(before.0) << 32 | u64::from(slab.0)
}

/// Unpacks a pair: the first slab and the second slab.
#[inline(always)]
pub(super) fn slabs(pair: u64) -> (SlabId, SlabId) {
    (SlabId((pair >> 32) as u32), SlabId(pair as u32))
}

impl Default for Pairs {
    fn default() -> Pairs {
        Pairs {
            places: vec![(0, 0); PLACES],
            log: Vec::new(),
            sorted: Vec::new(),
            full_len: MIN_LOG,
        }
    }
}

impl Pairs {
    /// Counts a pair.
    #[inline(always)]
    pub(super) fn add(&mut self, before: SlabId, slab: SlabId) {
        let pair = pair(before, slab);
        let hash = pair.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let place = &mut self.places[(hash >> 40) as usize & (PLACES - 1)];
        if place.0 == pair {
            place.1 += 1;
            return;
        }
        if place.0 != 0 {
            self.log.push(*place);
        }
        *place = (pair, 1);
    }

    /// Whether the log should be merged. `most` is the maximum length that fits into the memory.
    pub(super) fn is_full(&self, max: usize) -> bool {
        self.log.len() >= self.full_len.min(max)
    }

    /// Merges all counters. Returns all pairs in ascending order, with their counts.
    pub(super) fn merge_log(&mut self) -> &[(u64, u64)] {
        let counted = self.places.iter_mut().filter(|place| place.0 != 0);
        self.log.extend(counted.map(std::mem::take));
        if self.log.is_empty() {
            return &self.sorted;
        }
        let logged = sum_equal(&mut self.log);
        self.log.truncate(logged);
        if self.sorted.is_empty() {
            std::mem::swap(&mut self.sorted, &mut self.log);
        } else {
            merge_sorted(&mut self.sorted, &self.log);
            self.log.clear();
        }
        self.full_len = MIN_LOG.max(self.sorted.len() / 2);
        &self.sorted
    }

    /// The median of the counts: half of the pairs have at most this count.
    pub(super) fn median(&mut self) -> u64 {
        let pairs = self.merge_log();
        nth_smallest(pairs.iter().map(|(_, count)| *count), pairs.len() / 2)
    }

    /// Creates a table from counts, which may be in any order.
    pub(super) fn from_counts(mut pairs: Vec<(u64, u64)>) -> Pairs {
        let len = sum_equal(&mut pairs);
        pairs.truncate(len);
        Pairs {
            sorted: pairs,
            ..Pairs::default()
        }
    }

    /// Replaces the second slab of each pair by the result of `after`, which receives the slab and
    /// the pair's count. The pair is removed if the result is
    /// [`SlabId::NONE`].
    pub(super) fn replace_slabs(&mut self, mut after: impl FnMut(SlabId, u64) -> SlabId) {
        self.merge_log();
        let (mut read, mut len) = (0, 0);
        while let Some(&(first, _)) = self.sorted.get(read) {
            let (before, begin) = (slabs(first).0, len);
            while let Some(&(key, count)) = self.sorted.get(read)
                && slabs(key).0 == before
            {
                let slab = after(slabs(key).1, count);
                self.sorted[len] = (pair(before, slab), count);
                len += usize::from(slab != SlabId::NONE);
                read += 1;
            }
            len = begin + sum_equal(&mut self.sorted[begin..len]);
        }
        self.sorted.truncate(len);
        self.full_len = MIN_LOG.max(len / 2);
    }

    /// Renumbers all slabs. The new numbers must have the same order.
    pub(super) fn renumber(&mut self, new_id: impl Fn(SlabId) -> SlabId) {
        self.merge_log();
        for (key, _) in &mut self.sorted {
            let (before, slab) = slabs(*key);
            *key = pair(new_id(before), new_id(slab));
        }
    }
}

/// Sorts pairs and adds the counts of equal pairs. Returns the number of distinct pairs.
fn sum_equal(pairs: &mut [(u64, u64)]) -> usize {
    if pairs.len() < 2 {
        return pairs.len();
    }
    pairs.sort_unstable_by_key(|(pair, _)| *pair);
    let mut last = 0;
    for at in 1..pairs.len() {
        let (pair, count) = pairs[at];
        if pairs[last].0 == pair {
            pairs[last].1 += count;
        } else {
            last += 1;
            pairs[last] = (pair, count);
        }
    }
    last + 1
}

/// Merges sorted pairs into others, from the last to the first, so that no third list is necessary.
fn merge_sorted(all: &mut Vec<(u64, u64)>, logged: &[(u64, u64)]) {
    let (mut old_len, mut new_len) = (all.len(), logged.len());
    all.resize(old_len + new_len, (0, 0));
    let mut to = all.len();
    while old_len > 0 && new_len > 0 {
        let (first, second) = (all[old_len - 1], logged[new_len - 1]);
        // Without branches, because a branch on the next pair would be unpredictable.
        let (is_first, is_second) = (first.0 >= second.0, second.0 >= first.0);
        let counts = (u64::from(is_first) * first.1) + (u64::from(is_second) * second.1);
        to -= 1;
        all[to] = (first.0.max(second.0), counts);
        old_len -= usize::from(is_first);
        new_len -= usize::from(is_second);
    }
    all[to - new_len..to].copy_from_slice(&logged[..new_len]);
    // The number of free places equals the number of pairs that both lists contain.
    all.drain(old_len..to - new_len);
}

#[cfg(test)]
mod tests {
    use super::{MIN_LOG, Pairs, SlabId, slabs};
    use std::collections::BTreeMap;

    /// Counts by first and second slab, added one by one.
    type Naive = BTreeMap<(u32, u32), u64>;

    fn check(pairs: &mut Pairs, naive: &Naive) {
        let merged = pairs.merge_log().iter();
        let merged: Vec<_> = merged
            .map(|(key, count)| {
                let (before, slab) = slabs(*key);
                ((before.0, slab.0), *count)
            })
            .collect();
        let all: Vec<_> = naive.iter().map(|(key, count)| (*key, *count)).collect();
        assert_eq!(merged, all);
        let mut counts: Vec<u64> = naive.values().copied().collect();
        counts.sort_unstable();
        let middle = counts.get(counts.len() / 2).copied().unwrap_or(0);
        assert_eq!(pairs.median(), middle);
    }

    #[test]
    fn pairs_are_counted_joined_and_changed_like_a_map() {
        let (mut pairs, mut naive, mut seed) = (Pairs::default(), Naive::new(), 0x9E37_79B9u32);
        check(&mut pairs, &naive);
        for round in 1..6 {
            for _ in 0..MIN_LOG {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let (before, slab) = (seed >> 16 & 0xFF, 1 + (seed >> 24));
                for (before, slab) in [(before, slab), (7, 9)] {
                    pairs.add(SlabId(before), SlabId(slab));
                    *naive.entry((before, slab)).or_default() += 1;
                }
            }
            check(&mut pairs, &naive);
            let threshold = pairs.median();
            let after = |slab, count| {
                if count > threshold {
                    slab
                } else {
                    slab / round % 40
                }
            };
            pairs.replace_slabs(|slab, count| SlabId(after(slab.0, count)));
            let mut changed = Naive::new();
            for ((before, slab), count) in naive {
                let slab = after(slab, count);
                if slab != 0 {
                    *changed.entry((before, slab)).or_default() += count;
                }
            }
            naive = changed;
            check(&mut pairs, &naive);
        }
        pairs.renumber(|slab| SlabId(2 * slab.0));
        let doubled = naive
            .iter()
            .map(|((before, slab), count)| ((2 * before, 2 * slab), *count));
        check(&mut pairs, &doubled.collect());
    }
}
