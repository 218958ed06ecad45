//! A hash table of complete slabs. The words of each slab are contiguous.
//!
//! In a trie, a new slab costs a lookup and a cache miss for each of its paths. Here a slab costs
//! one lookup and one cache miss. [`RecentSlabs`] is a smaller table, which fits into the private
//! cache of a core. Several slabs are looked up in one call: `touch` first loads the memory that
//! the lookups will read, so that cache misses overlap instead of following one another.
//!
//! Cost: for each slab, the words, 20 bytes for the node, and 32 to 64 bytes of table.

use std::hint::black_box;

use super::slab::SlabId;

/// Number of words in the table of recent slabs. They take 512 KiB, half of a core's private cache.
const RECENT_WORDS: usize = 1 << 17;

/// Complete slabs by their words.
#[derive(Debug, Default)]
pub(super) struct Flat {
    words: Vec<u32>,
    /// A hash table with open addressing, at most half full.
    slots: Vec<Slot>,
    used: usize,
}

/// A slab; the slot is free if `slab` is [`SlabId::NONE`].
#[derive(Clone, Copy, Default, Debug)]
struct Slot {
    hash: u32,
    slab: SlabId,
    /// Start and number of the slab's words.
    start: u32,
    len: u32,
}

/// The hash of a slab's words.
#[inline]
pub(super) fn hash(words: &[u32]) -> u32 {
    let mut hash = 0u64;
    for &word in words {
        hash = hash.rotate_left(11) ^ u64::from(word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
    let hash = (hash ^ hash >> 32).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (hash >> 32) as u32
}

impl Flat {
    /// Number of slabs.
    pub(super) fn len(&self) -> usize {
        self.used
    }

    /// Number of words of all slabs.
    pub(super) fn word_count(&self) -> usize {
        self.words.len()
    }

    /// The `len` words of the slab that begins at `start`.
    #[inline]
    pub(super) fn words(&self, start: u32, len: usize) -> &[u32] {
        &self.words[start as usize..][..len]
    }

    /// Loads the memory that a search for each of these hashes reads first.
    #[inline]
    pub(super) fn touch(&self, hashes: impl Iterator<Item = u32> + Clone) {
        let Some(mask) = self.slots.len().checked_sub(1) else {
            return;
        };
        let slot = |hash: u32| self.slots[hash as usize & mask];
        // The sums have no meaning. They only keep the compiler from removing the loads.
        let starts = hashes.map(|hash| slot(hash).start as usize);
        black_box(starts.clone().fold(0, |sum, start| sum ^ start));
        let words = starts.map(|start| self.words.get(start).copied().unwrap_or(0));
        black_box(words.fold(0, |sum, word| sum ^ word));
    }

    /// Returns the slab of these words, or [`SlabId::NONE`].
    #[inline]
    pub(super) fn find(&self, hash: u32, words: &[u32]) -> SlabId {
        let Some(mask) = self.slots.len().checked_sub(1) else {
            return SlabId::NONE;
        };
        let mut index = hash as usize & mask;
        loop {
            let slot = self.slots[index];
            let may_match = slot.hash == hash && slot.len as usize == words.len();
            if slot.slab == SlabId::NONE
                || may_match && self.words(slot.start, words.len()) == words
            {
                return slot.slab;
            }
            index = (index + 1) & mask;
        }
    }

    /// Adds a slab and returns the start of its words. The table must not contain the slab yet.
    pub(super) fn add(&mut self, hash: u32, words: &[u32], slab: SlabId) -> u32 {
        let start = u32::try_from(self.words.len()).expect("fewer than 2^32 words");
        self.words.extend_from_slice(words);
        if 2 * (self.used + 1) > self.slots.len() {
            let new_len = (2 * self.slots.len()).max(64);
            let old = std::mem::replace(&mut self.slots, vec![Slot::default(); new_len]);
            for slot in old.into_iter().filter(|slot| slot.slab != SlabId::NONE) {
                self.fill_slot(slot);
            }
        }
        self.used += 1;
        self.fill_slot(Slot {
            hash,
            slab,
            start,
            len: words.len() as u32,
        });
        start
    }

    fn fill_slot(&mut self, slot: Slot) {
        let mask = self.slots.len() - 1;
        let mut index = slot.hash as usize & mask;
        while self.slots[index].slab != SlabId::NONE {
            index = (index + 1) & mask;
        }
        self.slots[index] = slot;
    }
}

/// A cache of recently used complete slabs. The hash of a slab's words determines its slot, and a
/// new slab replaces the slab in its slot.
#[derive(Debug)]
pub(super) struct RecentSlabs {
    /// Number of words in each slab.
    slab_len: usize,
    /// By slot; empty until the first use.
    slabs: Vec<SlabId>,
    /// The words of the slabs, `slab_len` for each slot.
    words: Vec<u32>,
}

impl RecentSlabs {
    /// Creates a table for slabs of `slab_len` words.
    pub(super) fn new(slab_len: usize) -> RecentSlabs {
        RecentSlabs {
            slab_len,
            slabs: Vec::new(),
            words: Vec::new(),
        }
    }

    /// Loads the memory that lookups of these hashes will read.
    #[inline]
    pub(super) fn touch(&mut self, hashes: &[u32]) {
        if self.slabs.is_empty() {
            let slots = (RECENT_WORDS / self.slab_len)
                .max(1 << 6)
                .next_power_of_two();
            self.slabs = vec![SlabId::NONE; slots];
            self.words = vec![0; slots * self.slab_len];
        }
        // The sum has no meaning. It only keeps the compiler from removing the loads.
        let mut sum = 0;
        for &hash in hashes {
            let slot = self.slot(hash);
            sum ^= self.slabs[slot].0 ^ self.words[slot * self.slab_len];
        }
        black_box(sum);
    }

    /// The slot of slabs with this hash.
    #[inline]
    fn slot(&self, hash: u32) -> usize {
        hash as usize & (self.slabs.len() - 1)
    }

    /// Returns the slab of these words if the table contains it, or [`SlabId::NONE`]. Call
    /// [`touch`](Self::touch) first.
    #[inline]
    pub(super) fn slab(&self, hash: u32, words: &[u32]) -> SlabId {
        let slot = self.slot(hash);
        let stored_words = &self.words[slot * self.slab_len..][..self.slab_len];
        // Without branches: whether the words differ is hard to predict.
        let mut different_bits = 0;
        for (stored, word) in stored_words.iter().zip(words) {
            different_bits |= stored ^ word;
        }
        let slab = self.slabs[slot];
        if different_bits == 0 {
            slab
        } else {
            SlabId::NONE
        }
    }

    /// Stores a slab. Call [`touch`](Self::touch) first.
    pub(super) fn put(&mut self, hash: u32, words: &[u32], slab: SlabId) {
        let slot = self.slot(hash);
        self.slabs[slot] = slab;
        self.words[slot * self.slab_len..][..self.slab_len].copy_from_slice(words);
    }
}
