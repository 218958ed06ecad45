//! Forests of sequences over k iterations from a stored stream, compared with a hash table that
//! only counts paths: their speed, and the paper's figures of their shape.

use super::record::Stored;
use super::stopwatch::{rate, timed};
use holloway_analysis::loops::{Limits, LoopsBuilder, SlabForest, Stats};
use holloway_analysis::stream::Words;

/// The paper's numbers of iterations.
pub(super) const KS: [u32; 7] = [2, 3, 4, 6, 8, 11, 16];

/// The limits of a forest that drops nothing.
const ALL: Limits = Limits { nodes: 1 << 30 };

/// A stream's figures.
#[derive(Debug)]
pub(super) struct Figures {
    /// Million words a second into hashed counters, one counter for each path.
    pub(super) hashed: f64,
    /// The forests, one for each k.
    pub(super) forests: Vec<Forest>,
}

/// The figures of one k.
#[derive(Debug)]
pub(super) struct Forest {
    /// Million words a second, of all words.
    pub(super) rate: f64,
    /// Share of the words in nodes that were dropped to stay within the usual memory.
    pub(super) dropped: f64,
    /// Nodes of the slab forest of the first words.
    pub(super) nodes: u64,
    /// Lookups in the table of roots for each word: the paper's hash operations.
    pub(super) lookups: f64,
    /// The shape of the converted forest.
    pub(super) kipf: Stats,
}

/// Measures the streams of a program. The shape of the forests is that of the first words.
pub(super) fn measure(stored: &Stored, figures: u64) -> Figures {
    let first = stored.first(figures);
    let (counters, time) = timed(|| hashed(stored));
    drop(counters);
    let forest = |k| {
        let (whole, time) = timed(|| build(stored, k, Limits::default()));
        let words = whole.words().max(1) as f64;
        let dropped = whole.losses().words as f64 / words;
        drop(whole);
        let small = build(&first, k, ALL);
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

/// The forests of all streams, joined.
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

/// Counts words in a hash table that grows, as woven code does for functions with too many paths
/// for an array.
fn hashed(stored: &Stored) -> Counters {
    let mut counters = Counters::new(10);
    let pieces = stored.streams.iter().flatten();
    pieces.for_each(|piece| piece.words.iter().for_each(|&word| counters.add(word, 1)));
    counters
}

struct Counters {
    /// Pairs of word + 1 and its count. The number of slots is a power of two.
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
        let mut place = (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - self.bits)) as usize;
        loop {
            let (held, sum) = &mut self.slots[place];
            if *held == key {
                *sum += count;
                return;
            }
            if *held == 0 {
                (*held, *sum) = (key, count);
                break;
            }
            place = (place + 1) & ((1 << self.bits) - 1);
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
