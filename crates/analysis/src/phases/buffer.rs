//! The branch behavior buffer: counts the branches that execute now (Merten et al. 1999, section
//! 2.1.1).
//!
//! The buffer is organized like a cache: the index of a branch chooses a set, and each set has a
//! few ways. A branch that finds no free way is dropped. So a frequent branch is never replaced by
//! a rare one; refreshing makes room.
//!
//! Cost: a comparison for each way.

use super::parameters::Parameters;
use crate::branch_stream::Direction;

/// The key of a free entry.
const FREE: u64 = u64::MAX;

/// An entry of the buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    pub(super) key: u64,
    pub(super) executed: u32,
    pub(super) taken: u32,
    pub(super) is_candidate: bool,
}

impl Entry {
    const EMPTY: Entry = Entry {
        key: FREE,
        executed: 0,
        taken: 0,
        is_candidate: false,
    };
}

/// The branch behavior buffer.
#[derive(Clone, Debug)]
pub(super) struct BranchBuffer {
    /// The ways of the first set, then of the second, and so on.
    entries: Vec<Entry>,
    ways: usize,
    sets: u64,
    maximum: u32,
    candidate_threshold: u32,
}

impl BranchBuffer {
    pub(super) fn new(parameters: &Parameters) -> BranchBuffer {
        BranchBuffer {
            entries: vec![Entry::EMPTY; parameters.entries as usize],
            ways: parameters.ways as usize,
            sets: u64::from(parameters.entries / parameters.ways),
            maximum: parameters.counter_maximum(),
            candidate_threshold: parameters.candidate_threshold,
        }
    }

    /// Counts an execution. Returns whether it is a candidate's. The execution that reaches the
    /// threshold is a candidate's, too. A dropped branch is no candidate.
    #[inline]
    pub(super) fn execute(&mut self, index: u64, key: u64, direction: Direction) -> bool {
        let set = (index % self.sets) as usize * self.ways;
        let ways = &mut self.entries[set..set + self.ways];
        let way = ways
            .iter_mut()
            .find(|way| way.key == key || way.key == FREE);
        let Some(entry) = way else { return false };
        entry.key = key;
        // Both counters stop when `executed` saturates, so that their ratio stays.
        if entry.executed < self.maximum {
            entry.executed += 1;
            entry.taken += u32::from(direction == Direction::Taken);
            entry.is_candidate |= entry.executed >= self.candidate_threshold;
        }
        entry.is_candidate
    }

    /// Clears the entries that are not candidates.
    pub(super) fn refresh(&mut self) {
        for set in self.entries.chunks_exact_mut(self.ways) {
            for entry in set.iter_mut().filter(|entry| !entry.is_candidate) {
                *entry = Entry::EMPTY;
            }
            // Free ways come last, so that a branch is found before a free way.
            set.sort_by_key(|entry| entry.key == FREE);
        }
    }

    /// Clears all entries.
    pub(super) fn clear(&mut self) {
        self.entries.fill(Entry::EMPTY);
    }

    /// All entries, in order of their sets. Free entries have no executions.
    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.key != FREE)
    }

    /// The candidates.
    pub(super) fn candidates(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.is_candidate)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::{BranchBuffer, Direction, Parameters};

    const TAKEN: Direction = Direction::Taken;

    fn buffer() -> BranchBuffer {
        BranchBuffer::new(&Parameters::default())
    }

    #[test]
    fn the_16th_execution_makes_a_candidate() {
        let mut buffer = buffer();
        for execution in 1..=20 {
            assert_eq!(buffer.execute(7, 7, TAKEN), execution >= 16, "{execution}");
        }
    }

    #[test]
    fn counters_saturate_together() {
        let mut buffer = buffer();
        for _ in 0..300 {
            buffer.execute(7, 7, TAKEN);
            buffer.execute(7, 7, Direction::NotTaken);
        }
        let entry = buffer.candidates().next().unwrap();
        assert_eq!((entry.executed, entry.taken), (511, 256));
    }

    /// The branches 1, 1,025, and 2,049 share a set of two ways.
    #[test]
    fn the_third_branch_of_a_set_is_dropped_until_a_refresh_frees_a_way() {
        let mut buffer = buffer();
        for _ in 0..16 {
            buffer.execute(1, 1, TAKEN);
        }
        buffer.execute(1025, 1025, TAKEN);
        for _ in 0..40 {
            assert!(!buffer.execute(2049, 2049, TAKEN));
        }
        buffer.refresh();
        let executions = (0..16).map(|_| buffer.execute(2049, 2049, TAKEN));
        assert_eq!(executions.filter(|&is_candidate| is_candidate).count(), 1);
        let keys: Vec<u64> = buffer.candidates().map(|entry| entry.key).collect();
        assert_eq!(keys, [1, 2049]);
        buffer.clear();
        assert_eq!(buffer.candidates().count(), 0);
    }
}
