//! How often each slab came after which.
//!
//! The pairs met lately have counters in a small table, one a place; another pair of the same place puts the counter into a *log*. A full log is sorted and
//! joined with the pairs that were logged before. So a pair that comes again and again costs an increment in the cache, and one that never comes
//! again no miss: the log and what it is joined with are gone through from beginning to end.
//!
//! Cost: 16 bytes a pair.

use super::slabs::Slab;

/// Places of the small table: 128 KiB.
const PLACES: usize = 1 << 13;
/// Shortest log.
const LOG: usize = 1 << 16;

/// Counts by pair. A pair is a number: the slab before (0: none), shifted, and the slab.
#[derive(Debug)]
pub(super) struct Pairs {
    /// A free place has the pair 0.
    places: Vec<(u64, u64)>,
    log: Vec<(u64, u64)>,
    /// Ascending, each pair once.
    sorted: Vec<(u64, u64)>,
    /// Length of a full log.
    most: usize,
}

/// The pair of a slab and the one before.
#[inline(always)]
pub(super) fn pair(before: Slab, slab: Slab) -> u64 {
    u64::from(before) << 32 | u64::from(slab)
}

/// The slab before, and the slab.
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

    /// Whether the log ought to be joined; `most` is the longest that fits.
    pub(super) fn is_full(&self, most: usize) -> bool {
        self.log.len() >= self.most.min(most)
    }

    /// All pairs, ascending, with their counts.
    pub(super) fn settle(&mut self) -> &[(u64, u64)] {
        let counted = self.places.iter_mut().filter(|place| place.0 != 0);
        self.log.extend(counted.map(std::mem::take));
        if self.log.is_empty() {
            return &self.sorted;
        }
        sum_up(&mut self.log);
        if self.sorted.is_empty() {
            self.sorted = std::mem::take(&mut self.log);
        } else {
            self.sorted = joined(&self.sorted, &self.log);
            self.log.clear();
        }
        self.most = LOG.max(self.sorted.len() / 2);
        &self.sorted
    }

    /// Puts these in the place of all: some in order, and more in any order.
    pub(super) fn replace(&mut self, kept: Vec<(u64, u64)>, mut more: Vec<(u64, u64)>) {
        sum_up(&mut more);
        self.sorted = if more.is_empty() {
            kept
        } else {
            joined(&kept, &more)
        };
        self.most = LOG.max(self.sorted.len() / 2);
    }
}

/// Sorts pairs and counts equal ones together.
fn sum_up(pairs: &mut Vec<(u64, u64)>) {
    pairs.sort_unstable_by_key(|(pair, _)| *pair);
    pairs.dedup_by(|more, sum| {
        let same = more.0 == sum.0;
        sum.1 += if same { more.1 } else { 0 };
        same
    });
}

/// The pairs of both.
fn joined(one: &[(u64, u64)], other: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut all = Vec::with_capacity(one.len() + other.len());
    let (mut one, mut other) = (one, other);
    while let (Some((first, rest)), Some((second, remainder))) =
        (one.split_first(), other.split_first())
    {
        // Without branches: which is next can't be foreseen.
        let (is_first, is_second) = (first.0 <= second.0, second.0 <= first.0);
        let counts = (u64::from(is_first) * first.1) + (u64::from(is_second) * second.1);
        all.push((first.0.min(second.0), counts));
        one = if is_first { rest } else { one };
        other = if is_second { remainder } else { other };
    }
    all.extend_from_slice(one);
    all.extend_from_slice(other);
    all
}
