//! How often each slab followed each other slab.
//!
//! Recent pairs have counters in a small table, one for each place. If another pair needs the
//! place, the old counter moves to a *log*. A full log is sorted and merged with the pairs logged
//! earlier. So a pair that recurs often costs an increment in the cache. A pair that never recurs
//! causes no random access: the log and the sorted pairs are read from beginning to end.
//!
//! Cost: 16 bytes for each pair.

use super::prune::nth;
use super::slab::Slab;

/// Number of places in the small table: 128 KiB.
const PLACES: usize = 1 << 13;
/// Minimum length of a full log.
const LOG: usize = 1 << 16;

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
    most: usize,
}

/// Packs two consecutive slabs into a pair.
#[inline(always)]
pub(super) fn pair(before: Slab, slab: Slab) -> u64 {
    u64::from(before) << 32 | u64::from(slab)
}

/// Unpacks a pair: the first slab and the second slab.
#[inline(always)]
pub(super) fn slabs(pair: u64) -> (Slab, Slab) {
    ((pair >> 32) as Slab, pair as Slab)
}

impl Default for Pairs {
    fn default() -> Pairs {
        Pairs {
            places: vec![(0, 0); PLACES],
            log: Vec::new(),
            sorted: Vec::new(),
            most: LOG,
        }
    }
}

impl Pairs {
    /// Counts a pair.
    #[inline(always)]
    pub(super) fn add(&mut self, before: Slab, slab: Slab) {
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
    pub(super) fn is_full(&self, most: usize) -> bool {
        self.log.len() >= self.most.min(most)
    }

    /// Merges all counters. Returns all pairs in ascending order, with their counts.
    pub(super) fn settle(&mut self) -> &[(u64, u64)] {
        let counted = self.places.iter_mut().filter(|place| place.0 != 0);
        self.log.extend(counted.map(std::mem::take));
        if self.log.is_empty() {
            return &self.sorted;
        }
        let logged = sum_up(&mut self.log);
        self.log.truncate(logged);
        if self.sorted.is_empty() {
            std::mem::swap(&mut self.sorted, &mut self.log);
        } else {
            join(&mut self.sorted, &self.log);
            self.log.clear();
        }
        self.most = LOG.max(self.sorted.len() / 2);
        &self.sorted
    }

    /// The median of the counts: half of the pairs have at most this count.
    pub(super) fn middle(&mut self) -> u64 {
        let pairs = self.settle();
        nth(pairs.iter().map(|(_, count)| *count), pairs.len() / 2)
    }

    /// Creates a table from counts, which may be in any order.
    pub(super) fn of(mut pairs: Vec<(u64, u64)>) -> Pairs {
        let len = sum_up(&mut pairs);
        pairs.truncate(len);
        Pairs {
            sorted: pairs,
            ..Pairs::default()
        }
    }

    /// Replaces the second slab of each pair by the result of `after`, which receives the slab and
    /// the pair's count. The pair is removed if the result is 0.
    pub(super) fn change(&mut self, mut after: impl FnMut(Slab, u64) -> Slab) {
        self.settle();
        let (mut read, mut len) = (0, 0);
        while let Some(&(first, _)) = self.sorted.get(read) {
            let (before, begin) = (slabs(first).0, len);
            while let Some(&(both, count)) = self.sorted.get(read)
                && slabs(both).0 == before
            {
                let slab = after(slabs(both).1, count);
                self.sorted[len] = (pair(before, slab), count);
                len += usize::from(slab != 0);
                read += 1;
            }
            len = begin + sum_up(&mut self.sorted[begin..len]);
        }
        self.sorted.truncate(len);
        self.most = LOG.max(len / 2);
    }

    /// Renumbers all slabs. The new numbers must have the same order.
    pub(super) fn rename(&mut self, name: impl Fn(Slab) -> Slab) {
        self.settle();
        for (both, _) in &mut self.sorted {
            let (before, slab) = slabs(*both);
            *both = pair(name(before), name(slab));
        }
    }
}

/// Sorts pairs and adds the counts of equal pairs. Returns the number of distinct pairs.
fn sum_up(pairs: &mut [(u64, u64)]) -> usize {
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
fn join(all: &mut Vec<(u64, u64)>, more: &[(u64, u64)]) {
    let (mut one, mut other) = (all.len(), more.len());
    all.resize(one + other, (0, 0));
    let mut to = all.len();
    while one > 0 && other > 0 {
        let (first, second) = (all[one - 1], more[other - 1]);
        // Without branches, because a branch on the next pair would be unpredictable.
        let (is_first, is_second) = (first.0 >= second.0, second.0 >= first.0);
        let counts = (u64::from(is_first) * first.1) + (u64::from(is_second) * second.1);
        to -= 1;
        all[to] = (first.0.max(second.0), counts);
        one -= usize::from(is_first);
        other -= usize::from(is_second);
    }
    all[to - other..to].copy_from_slice(&more[..other]);
    // The number of free places equals the number of pairs that both lists contain.
    all.drain(one..to - other);
}

#[cfg(test)]
mod tests {
    use super::{LOG, Pairs, slabs};
    use std::collections::BTreeMap;

    /// Counts by first and second slab, added one by one.
    type Naive = BTreeMap<(u32, u32), u64>;

    fn check(pairs: &mut Pairs, naive: &Naive) {
        let settled = pairs.settle().iter();
        let settled: Vec<_> = settled
            .map(|(both, count)| (slabs(*both), *count))
            .collect();
        let all: Vec<_> = naive.iter().map(|(both, count)| (*both, *count)).collect();
        assert_eq!(settled, all);
        let mut counts: Vec<u64> = naive.values().copied().collect();
        counts.sort_unstable();
        let middle = counts.get(counts.len() / 2).copied().unwrap_or(0);
        assert_eq!(pairs.middle(), middle);
    }

    #[test]
    fn pairs_are_counted_joined_and_changed_like_a_map() {
        let (mut pairs, mut naive, mut seed) = (Pairs::default(), Naive::new(), 0x9E37_79B9u32);
        check(&mut pairs, &naive);
        for round in 1..6 {
            for _ in 0..LOG {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let (before, slab) = (seed >> 16 & 0xFF, 1 + (seed >> 24));
                for (before, slab) in [(before, slab), (7, 9)] {
                    pairs.add(before, slab);
                    *naive.entry((before, slab)).or_default() += 1;
                }
            }
            check(&mut pairs, &naive);
            let least = pairs.middle();
            let after = |slab, count| {
                if count > least {
                    slab
                } else {
                    slab / round % 40
                }
            };
            pairs.change(after);
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
        pairs.rename(|slab| 2 * slab);
        let doubled = naive
            .iter()
            .map(|((before, slab), count)| ((2 * before, 2 * slab), *count));
        check(&mut pairs, &doubled.collect());
    }
}
