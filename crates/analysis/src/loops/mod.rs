//! Counts of path sequences over several loop iterations (D'Elia, Demetrescu, Finocchi 2013).
//!
//! This module counts how often each sequence of up to k paths ran:
//! - [`LoopsBuilder`] reads a thread's stream and builds its [`SlabForest`].
//! - [`SlabForest::merge`] adds the forests of several threads.
//! - [`Kipf`] is computed from forests on request. It is the prefix forest of all sequences, with
//!   their counts.
//! - [`seal`] converts a forest to the form that a file stores.
//! - [`LoopsRun`] joins the files of a run.
//! - [`shape`] finds striking patterns in the run's loops.

mod children;
mod condition;
mod counts;
mod finding;
mod flat;
mod forest;
mod kipf;
pub mod left;
mod limits;
mod pairs;
mod period;
mod prune;
mod run;
mod sealed;
pub mod shape;
mod slab;
mod slabs;
mod sorted;
mod successors;
mod tables;

use crate::stream::{Activations, EndedPath, Listener, StreamCounts, Words};

pub use forest::{K_RANGE, Losses, SlabForest};
pub use kipf::{Kipf, KipfNode, Stats};
pub use limits::Limits;
pub use run::{LoopsRun, Sequences};
pub use sealed::{paths, seal};
use slabs::LOOKUP_BATCH;
use successors::Successors;
use tables::{Position, Tables};

/// Number of words between two checks of the memory limit.
const PIECE_WORDS: usize = 1 << 12;
/// The builder looks up complete slabs if more than one step in this many is a miss: it does not
/// lead to the same slab as last time.
const STEPS_PER_MISS: u64 = 16;
/// Number of pieces that are counted by slab lookup before the builder tries single steps again.
const LOOKUP_PIECES: u32 = 32;

/// Builds the slab forest of one stream, or of several streams one after the other.
pub struct LoopsBuilder {
    words: Words,
    counter: Counter,
    limits: Limits,
}

enum Counter {
    /// For k = 2.
    Paths(Activations<u32>, Successors),
    Slabs(Activations<Position>, Box<SlabCounter>),
}

struct SlabCounter {
    tables: Tables,
    /// Number of paths in a complete slab.
    slab_paths: usize,
    /// Whether complete slabs are looked up, instead of stepping path by path.
    looks_up_slabs: bool,
    /// Number of pieces until the next decision between lookups and steps.
    pieces: u32,
}

impl Listener for SlabCounter {
    type State = Position;

    #[inline(always)]
    fn path(&mut self, path: EndedPath, at: &mut Position) {
        if path.is_first {
            if path.closes {
                self.tables.count_single(path.word);
                return;
            }
            *at = self.tables.begin(path.word);
        } else {
            *at = self.tables.step(*at, path.word);
        }
        if path.closes {
            self.tables.end(*at);
        }
    }

    #[inline(always)]
    fn run(&mut self, words: &[u32], is_next: impl Fn(u32) -> bool, at: &mut Position) -> usize {
        let mut now = *at;
        let mut done = 0;
        while let Some(&word) = words.get(done)
            && is_next(word)
        {
            let slabs = if self.looks_up_slabs && self.tables.begins(now) {
                let ahead = words[done..].iter().take(LOOKUP_BATCH * self.slab_paths);
                ahead.take_while(|word| is_next(**word)).count() / self.slab_paths
            } else {
                0
            };
            if slabs > 0 {
                let end = done + slabs * self.slab_paths;
                now = self.tables.count_slabs(now, &words[done..end]);
                done = end;
            } else {
                now = self.tables.step(now, word);
                done += 1;
            }
        }
        *at = now;
        done
    }

    fn gone(&mut self, at: &mut Position) {
        self.tables.end(*at);
    }
}

impl SlabCounter {
    /// Chooses between steps and lookups, from the number of misses in the last piece.
    fn adapt(&mut self, words: usize) {
        let misses = std::mem::take(&mut self.tables.slabs.misses);
        if self.pieces > 0 {
            self.pieces -= 1;
        } else {
            self.looks_up_slabs = !self.looks_up_slabs && STEPS_PER_MISS * misses > words as u64;
            self.pieces = if self.looks_up_slabs {
                LOOKUP_PIECES
            } else {
                0
            };
        }
    }
}

impl LoopsBuilder {
    /// Creates a builder for the streams of an image. A `k` outside [`K_RANGE`] is clamped to the
    /// range.
    pub fn new(words: Words, k: u32, limits: Limits) -> LoopsBuilder {
        let k = k.clamp(*K_RANGE.start(), *K_RANGE.end());
        let counter = if k == 2 {
            Counter::Paths(Activations::default(), Successors::new(words.end()))
        } else {
            let counter = SlabCounter {
                tables: Tables::new(k, words.end()),
                slab_paths: k as usize - 1,
                looks_up_slabs: false,
                pieces: 0,
            };
            Counter::Slabs(Activations::default(), Box::new(counter))
        };
        LoopsBuilder {
            counter,
            words,
            limits,
        }
    }

    /// Reads a batch of words; `at` is the stream position of the first word, in bytes. If the
    /// batch does not begin where the last batch ended, words are missing in between.
    pub fn feed(&mut self, at: u64, words: &[u32]) {
        let mut at = at;
        for piece in words.chunks(PIECE_WORDS) {
            match &mut self.counter {
                Counter::Paths(activations, successors) => {
                    activations.feed(&mut self.words, successors, at, piece);
                    successors.keep_within(self.limits);
                }
                Counter::Slabs(activations, counter) => {
                    activations.feed(&mut self.words, counter.as_mut(), at, piece);
                    let open = activations.states();
                    counter.tables.keep_within(self.limits, open);
                    counter.adapt(piece.len());
                }
            }
            at = at.wrapping_add(4 * piece.len() as u64);
        }
    }

    /// Sets new limits. They apply from the next batch on.
    pub fn limit(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Number of open activations that have run at least one path of the stream.
    pub fn open(&self) -> u64 {
        match &self.counter {
            Counter::Paths(activations, _) => activations.open(),
            Counter::Slabs(activations, _) => activations.open(),
        }
    }

    /// Numbers of paths, gaps, and other events in the streams so far.
    pub fn stream_counts(&self) -> StreamCounts {
        match &self.counter {
            Counter::Paths(activations, _) => activations.stream_counts(),
            Counter::Slabs(activations, _) => activations.stream_counts(),
        }
    }

    /// Returns the finished forest.
    pub fn finish(self) -> SlabForest {
        match self.counter {
            Counter::Paths(_, successors) => successors.forest(self.limits),
            Counter::Slabs(mut activations, mut counter) => {
                let open = activations.states();
                open.for_each(|at| counter.gone(at));
                counter.tables.forest(self.limits)
            }
        }
    }
}
