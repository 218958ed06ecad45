//! The counts for K = 2: how often each path followed each other path.
//!
//! With K = 2, a slab is one path. Its id is the path's word, so neither lookups nor a trie are
//! necessary. The position of an activation is its last path. Words enter a trie ([`Tables`]) only
//! when the forest is made.
//!
//! Example, stream a b a: the counted pairs are (none, a), (a, b), (b, a), once each.
//!
//! Cost: an increment in a table that fits into the cache for each path; 16 bytes for each pair.

use super::forest::{Losses, SlabForest};
use super::limits::{Limits, MIN_NODES};
use super::pairs::Pairs;
use super::slab::SlabId;
use super::tables::{SuccessorCounts, Tables};
use crate::stream::{EndedPath, Listener};

/// How often each path followed each other path.
#[derive(Debug)]
pub(super) struct Successors {
    pairs: Pairs,
    /// Number of activations of just one path, by word.
    singles: Vec<u64>,
    /// Executions of paths whose pairs were dropped, by word; may be empty.
    dropped: Vec<u64>,
    losses: Losses,
}

impl Listener for Successors {
    /// The word of the activation's last path; 0 before the first path.
    type State = u32;

    #[inline(always)]
    fn path_ended(&mut self, path: EndedPath, last: &mut u32) {
        if path.is_first && path.closes {
            self.singles[path.word as usize] += 1;
            return;
        }
        let before = if path.is_first { 0 } else { *last };
        self.pairs.add(SlabId(before), SlabId(path.word));
        *last = path.word;
    }

    #[inline(always)]
    fn read_ahead(
        &mut self,
        words: &[u32],
        continues: impl Fn(u32) -> bool,
        last: &mut u32,
    ) -> usize {
        let mut before = *last;
        let mut read = 0;
        while let Some(&word) = words.get(read)
            && continues(word)
        {
            self.pairs.add(SlabId(before), SlabId(word));
            before = word;
            read += 1;
        }
        *last = before;
        read
    }
}

impl Successors {
    /// Creates a table for words below `end`.
    pub(super) fn new(end: u32) -> Successors {
        Successors {
            pairs: Pairs::default(),
            singles: vec![0; end as usize],
            dropped: Vec::new(),
            losses: Losses::default(),
        }
    }

    /// Merges the counts when they may exceed the limit's memory. If there are still too many
    /// pairs, drops the colder half.
    pub(super) fn keep_within(&mut self, limits: Limits) {
        let max = limits.nodes.max(MIN_NODES);
        if self.pairs.is_full(max) && self.pairs.merge_log().len() > max {
            self.drop_cold_pairs();
        }
    }

    fn drop_cold_pairs(&mut self) {
        let threshold = self.pairs.median();
        self.dropped.resize(self.singles.len(), 0);
        self.pairs.replace_slabs(|word, count| {
            if count > threshold {
                return word;
            }
            self.dropped[word.index()] += count;
            self.losses.nodes += 1;
            self.losses.words += count;
            self.losses.slabs += count;
            SlabId::NONE
        });
        self.losses.prunings += 1;
    }

    /// Returns the forest.
    pub(super) fn forest(mut self, limits: Limits) -> SlabForest {
        let counted = SuccessorCounts {
            pairs: self.pairs.merge_log(),
            singles: self.singles,
            dropped: self.dropped,
            losses: self.losses,
        };
        Tables::from_successors(counted).forest(limits)
    }
}
