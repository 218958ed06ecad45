//! How often each slab followed each other slab.
//!
//! Recent pairs have counters in a small table with one counter per slot. If another pair needs the
//! slot, the old counter moves to a *log*. A full log is sorted and merged with the pairs logged
//! earlier. So a pair that recurs often costs an increment in the cache. A pair that never recurs
//! causes no random memory access, because the log and the sorted pairs are read in order.
//!
//! Cost: 16 bytes for each pair.

use super::prune::nth_smallest;
use super::slab::SlabId;

/// Number of slots in the table of recent pairs, which takes 128 KiB.
const RECENT_SLOTS: usize = 1 << 13;
/// The log is never merged below this length, unless the memory limit is smaller.
const MIN_LOG: usize = 1 << 16;

/// Counts by pair. A pair is a number: the id of the first slab (0: none) in the upper 32 bits, and
/// the id of the second slab in the lower 32 bits.
#[derive(Debug)]
pub(super) struct Pairs {
    /// The table of recent pairs, with their counts. A slot is free if its pair is 0.
    recent: Vec<(u64, u64)>,
    /// Pairs that lost their slot, with their counts, in the order of loss.
    log: Vec<(u64, u64)>,
    /// The merged pairs with their counts, in ascending order, each pair once.
    sorted: Vec<(u64, u64)>,
    /// Length at which the log is merged.
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
            recent: vec![(0, 0); RECENT_SLOTS],
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
        let slot = &mut self.recent[(hash >> 40) as usize & (RECENT_SLOTS - 1)];
        if slot.0 == pair {
            slot.1 += 1;
            return;
        }
        if slot.0 != 0 {
            self.log.push(*slot);
        }
        *slot = (pair, 1);
    }

    /// Whether the log should be merged. `max_len` is the maximum length of the log that fits into
    /// the memory limit.
    pub(super) fn is_full(&self, max_len: usize) -> bool {
        self.log.len() >= self.full_len.min(max_len)
    }

    /// Merges all counters. Returns all pairs in ascending order, with their counts.
    pub(super) fn merge_log(&mut self) -> &[(u64, u64)] {
        let used = self.recent.iter_mut().filter(|slot| slot.0 != 0);
        self.log.extend(used.map(std::mem::take));
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

    /// The median of the counts: at least half of the pairs have at most this count.
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

    /// Replaces the second slab of each pair by the result of `replacement`, which receives the
    /// slab and the pair's count. If the result is [`SlabId::NONE`], the pair is removed.
    pub(super) fn replace_slabs(&mut self, mut replacement: impl FnMut(SlabId, u64) -> SlabId) {
        self.merge_log();
        let (mut read, mut len) = (0, 0);
        while let Some(&(first_pair, _)) = self.sorted.get(read) {
            // All pairs with the same first slab are adjacent.
            let (before, group_start) = (slabs(first_pair).0, len);
            while let Some(&(key, count)) = self.sorted.get(read)
                && slabs(key).0 == before
            {
                let slab = replacement(slabs(key).1, count);
                self.sorted[len] = (pair(before, slab), count);
                len += usize::from(slab != SlabId::NONE);
                read += 1;
            }
            len = group_start + sum_equal(&mut self.sorted[group_start..len]);
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
    for index in 1..pairs.len() {
        let (pair, count) = pairs[index];
        if pairs[last].0 == pair {
            pairs[last].1 += count;
        } else {
            last += 1;
            pairs[last] = (pair, count);
        }
    }
    last + 1
}

/// Merges the sorted pairs `logged` into the sorted pairs `all`. It works from the last pair to the
/// first, so that no third list is necessary.
fn merge_sorted(all: &mut Vec<(u64, u64)>, logged: &[(u64, u64)]) {
    // Lengths of the parts that are not merged yet, and the start of the merged part.
    let (mut all_len, mut logged_len) = (all.len(), logged.len());
    all.resize(all_len + logged_len, (0, 0));
    let mut merged_start = all.len();
    while all_len > 0 && logged_len > 0 {
        let (last, last_logged) = (all[all_len - 1], logged[logged_len - 1]);
        // Without branches, because a branch on the next pair would be unpredictable.
        let takes_last = last.0 >= last_logged.0;
        let takes_logged = last_logged.0 >= last.0;
        let count = (u64::from(takes_last) * last.1) + (u64::from(takes_logged) * last_logged.1);
        merged_start -= 1;
        all[merged_start] = (last.0.max(last_logged.0), count);
        all_len -= usize::from(takes_last);
        logged_len -= usize::from(takes_logged);
    }
    all[merged_start - logged_len..merged_start].copy_from_slice(&logged[..logged_len]);
    // A pair in both lists was merged into one, which leaves one unused element in between.
    all.drain(all_len..merged_start - logged_len);
}

#[cfg(test)]
mod tests {
    use super::{MIN_LOG, Pairs, SlabId, slabs};
    use std::collections::BTreeMap;

    /// The slow reference implementation: counts by first and second slab.
    type ReferenceCounts = BTreeMap<(u32, u32), u64>;

    fn check(pairs: &mut Pairs, reference: &ReferenceCounts) {
        let merged = pairs.merge_log().iter();
        let merged: Vec<_> = merged
            .map(|(key, count)| {
                let (before, slab) = slabs(*key);
                ((before.0, slab.0), *count)
            })
            .collect();
        let all: Vec<_> = reference
            .iter()
            .map(|(key, count)| (*key, *count))
            .collect();
        assert_eq!(merged, all);
        let mut counts: Vec<u64> = reference.values().copied().collect();
        counts.sort_unstable();
        let middle = counts.get(counts.len() / 2).copied().unwrap_or(0);
        assert_eq!(pairs.median(), middle);
    }

    #[test]
    fn pairs_are_counted_replaced_and_renumbered_as_in_a_map() {
        let mut pairs = Pairs::default();
        let (mut reference, mut seed) = (ReferenceCounts::new(), 0x9E37_79B9u32);
        check(&mut pairs, &reference);
        for round in 1..6 {
            for _ in 0..MIN_LOG {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let (before, slab) = (seed >> 16 & 0xFF, 1 + (seed >> 24));
                for (before, slab) in [(before, slab), (7, 9)] {
                    pairs.add(SlabId(before), SlabId(slab));
                    *reference.entry((before, slab)).or_default() += 1;
                }
            }
            check(&mut pairs, &reference);
            let threshold = pairs.median();
            let replacement = |slab, count| {
                if count > threshold {
                    slab
                } else {
                    slab / round % 40
                }
            };
            pairs.replace_slabs(|slab, count| SlabId(replacement(slab.0, count)));
            let mut replaced = ReferenceCounts::new();
            for ((before, slab), count) in reference {
                let slab = replacement(slab, count);
                if slab != 0 {
                    *replaced.entry((before, slab)).or_default() += count;
                }
            }
            reference = replaced;
            check(&mut pairs, &reference);
        }
        pairs.renumber(|slab| SlabId(2 * slab.0));
        let doubled = reference
            .iter()
            .map(|((before, slab), count)| ((2 * before, 2 * slab), *count));
        check(&mut pairs, &doubled.collect());
    }
}
