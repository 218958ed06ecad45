//! The slabs that occur in pairs or alone, sorted by their words.
//!
//! Cost: a copy of the words, and a sort.

use super::pairs::slabs;
use super::slab::SlabId;
use super::slabs::Slabs;

/// The slabs by rank. Ranks begin at 1. Slabs with the same words have the same rank.
#[derive(Debug)]
pub(super) struct SortedSlabs {
    words: Vec<u32>,
    /// By rank − 1: start and length of the slab's words.
    pub(super) order: Vec<(usize, usize)>,
    /// The rank of each slab; 0 if the slab is not counted.
    ranks: Vec<u32>,
}

impl SortedSlabs {
    /// Sorts the slabs of these pairs, and the slabs of activations of one path.
    pub(super) fn new(all: &Slabs, pairs: &[(u64, u64)], singles: &[(SlabId, u64)]) -> SortedSlabs {
        let mut is_counted = vec![false; all.len() + 1];
        for (before, slab) in pairs.iter().map(|(key, _)| slabs(*key)) {
            is_counted[before.index()] = true;
            is_counted[slab.index()] = true;
        }
        for (slab, _) in singles {
            is_counted[slab.index()] = true;
        }
        // Sort keys: the first two words packed into one number, the start and length of all words,
        // and the slab.
        let (mut words, mut keys) = (Vec::new(), Vec::new());
        for slab in (1..)
            .zip(&is_counted[1..])
            .filter(|(_, counted)| **counted)
            .map(|(slab, _)| SlabId(slab))
        {
            let start = words.len();
            all.words(slab, &mut words);
            let word = |index: usize| u64::from(words.get(start + index).copied().unwrap_or(0));
            keys.push((word(0) << 32 | word(1), start, words.len() - start, slab));
        }
        let words_of = |start: usize, len: usize| &words[start..][..len];
        keys.sort_unstable_by(|a, b| {
            let compare_words = || words_of(a.1, a.2).cmp(words_of(b.1, b.2));
            a.0.cmp(&b.0).then_with(compare_words)
        });
        let mut order: Vec<(usize, usize)> = Vec::with_capacity(keys.len());
        let mut ranks = vec![0; all.len() + 1];
        for (_, start, len, slab) in keys {
            let is_new = order
                .last()
                .is_none_or(|last| words_of(last.0, last.1) != words_of(start, len));
            if is_new {
                order.push((start, len));
            }
            ranks[slab.index()] = order.len() as u32;
        }
        SortedSlabs {
            words,
            order,
            ranks,
        }
    }

    /// The rank of a slab; 0 for no slab.
    pub(super) fn rank(&self, slab: SlabId) -> u32 {
        self.ranks[slab.index()]
    }

    /// The words of the slab with this rank.
    pub(super) fn words(&self, rank: u32) -> &[u32] {
        let (start, len) = self.order[rank as usize - 1];
        &self.words[start..][..len]
    }
}
