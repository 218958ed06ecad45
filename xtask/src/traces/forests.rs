//! Measures slab forests that are built from stored streams: their speed, compared with a hash
//! table that only counts paths, and the measures of their shape that the paper gives.

use super::record::Stored;
use super::stopwatch::{rate, timed};
use holloway_analysis::loops::{Limits, LoopsBuilder, SlabForest, Stats};
use holloway_analysis::stream::Words;

/// The paper's numbers of iterations.
pub(super) const KS: [u32; 7] = [2, 3, 4, 6, 8, 11, 16];

/// The limits of a forest that drops no nodes.
const UNLIMITED: Limits = Limits { nodes: 1 << 30 };

/// The measurements of a program's streams.
#[derive(Debug)]
pub(super) struct Figures {
    /// The speed of hashed counters, one for each path, in million words per second.
    pub(super) hashed: f64,
    /// The forests for each of [`KS`].
    pub(super) forests: Vec<Forest>,
}

/// The measurements for one k.
#[derive(Debug)]
pub(super) struct Forest {
    /// The speed for all words, in million words per second.
    pub(super) rate: f64,
    /// The share of words in nodes that were dropped because of the default memory limit.
    pub(super) dropped: f64,
    /// The number of nodes of the slab forest of the first words.
    pub(super) nodes: u64,
    /// Lookups in the table of roots per word. The paper calls them hash operations.
    pub(super) lookups: f64,
    /// The shape of the path forest that the slab forest is converted to.
    pub(super) kipf: Stats,
}

/// Measures the streams of a program. The shape of the forests is computed from the first
/// `shape_words` words.
pub(super) fn measure(stored: &Stored, shape_words: u64) -> Figures {
    let first = stored.first(shape_words);
    let (counters, time) = timed(|| hashed(stored));
    drop(counters);
    let forest = |k| {
        let (forest, time) = timed(|| build(stored, k, Limits::default()));
        let words = forest.words().max(1) as f64;
        let dropped = forest.losses().words as f64 / words;
        drop(forest);
        let small = build(&first, k, UNLIMITED);
        Forest {
            rate: rate(stored.words(), time),
            dropped,
            nodes: small.nodes(),
            lookups: small.slabs() as f64 / small.words().max(1) as f64,
            kipf: small.k_ipf(k).stats(),
        }
    };
    Figures {
        hashed: rate(stored.words(), time),
        forests: KS.into_iter().map(forest).collect(),
    }
}

/// Builds the forest of all streams.
fn build(stored: &Stored, k: u32, limits: Limits) -> SlabForest {
    let words = Words::new(&stored.map);
    let mut sum: Option<SlabForest> = None;
    for pieces in &stored.streams {
        let mut builder = LoopsBuilder::new(words.clone(), k, limits);
        for piece in pieces {
            builder.feed(piece.position, &piece.words);
        }
        let forest = builder.finish();
        match &mut sum {
            Some(sum) => sum.merge(&forest),
            None => sum = Some(forest),
        }
    }
    sum.unwrap_or_else(|| SlabForest::new(k, limits))
}

/// Counts words in a hash table that grows. Instrumented code does the same for functions with too
/// many paths for an array.
fn hashed(stored: &Stored) -> Counters {
    let mut counters = Counters::new(10);
    let pieces = stored.streams.iter().flatten();
    pieces.for_each(|piece| piece.words.iter().for_each(|&word| counters.add(word, 1)));
    counters
}

struct Counters {
    /// Each slot holds a word plus 1, and the word's count. The number of slots is a power of two.
    slots: Vec<(u64, u64)>,
    bits: u32,
    used: usize,
}

impl Counters {
    fn new(bits: u32) -> Self {
        Self {
            slots: vec![(0, 0); 1 << bits],
            bits,
            used: 0,
        }
    }

    #[inline]
    fn add(&mut self, word: u32, count: u64) {
        let key = u64::from(word) + 1;
        let mut slot = (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - self.bits)) as usize;
        loop {
            let (slot_key, sum) = &mut self.slots[slot];
            if *slot_key == key {
                *sum += count;
                return;
            }
            if *slot_key == 0 {
                (*slot_key, *sum) = (key, count);
                break;
            }
            slot = (slot + 1) & ((1 << self.bits) - 1);
        }
        self.used += 1;
        if 2 * self.used > self.slots.len() {
            let mut larger = Self::new(self.bits + 1);
            for &(key, count) in self.slots.iter().filter(|(key, _)| *key > 0) {
                larger.add((key - 1) as u32, count);
            }
            *self = larger;
        }
    }
}
