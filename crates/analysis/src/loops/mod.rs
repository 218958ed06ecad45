//! Counts of path sequences over several loop iterations (D'Elia, Demetrescu, Finocchi 2013).
//!
//! This module counts how often each sequence of up to K consecutive paths ran in one activation.
//! The paper writes k for the limit K.
//!
//! - [`LoopsBuilder`] reads a thread's stream and builds its [`SlabForest`].
//! - [`SlabForest::merge`] adds the forests of several threads.
//! - [`seal`] converts a forest to the form that a file stores.
//! - [`LoopsRun`] joins the files of a run.
//! - [`Kipf`], the path forest, is computed from slab forests on request. It contains all
//!   sequences with their counts.
//! - [`shape`] finds patterns in the loops of a run, for example periods and usual trip counts.

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

/// Number of words in a portion. The memory limit is checked after each portion.
const PORTION_WORDS: usize = 1 << 12;
/// A step from one slab to the next is a miss if it does not lead to the same slab as last time. If
/// more than one step in this number is a miss, the builder looks up complete slabs instead.
const STEPS_PER_MISS: u64 = 16;
/// Number of portions that are counted by slab lookup before the builder tries single steps again.
const LOOKUP_PORTIONS: u32 = 32;

/// Builds the slab forest of one stream, or of several streams one after the other.
pub struct LoopsBuilder {
    words: Words,
    counter: Counter,
    limits: Limits,
}

enum Counter {
    /// Counts pairs of paths: K = 2.
    Paths(Activations<u32>, Successors),
    /// Counts pairs of slabs: K > 2.
    Slabs(Activations<Position>, Box<SlabCounter>),
}

struct SlabCounter {
    tables: Tables,
    /// Number of paths in a complete slab.
    slab_paths: usize,
    /// Whether complete slabs are looked up, instead of stepping path by path.
    looks_up_slabs: bool,
    /// Number of portions until the next decision between lookups and steps.
    portions_to_decision: u32,
}

impl Listener for SlabCounter {
    type State = Position;

    #[inline(always)]
    fn path_ended(&mut self, path: EndedPath, position: &mut Position) {
        if path.is_first {
            if path.closes {
                self.tables.count_single(path.word);
                return;
            }
            *position = self.tables.begin(path.word);
        } else {
            *position = self.tables.step(*position, path.word);
        }
        if path.closes {
            self.tables.end(*position);
        }
    }

    #[inline(always)]
    fn read_ahead(
        &mut self,
        words: &[u32],
        continues: impl Fn(u32) -> bool,
        position: &mut Position,
    ) -> usize {
        // A local copy stays in registers.
        let mut current = *position;
        let mut read = 0;
        while let Some(&word) = words.get(read)
            && continues(word)
        {
            let slabs = if self.looks_up_slabs && self.tables.is_at_slab_end(current) {
                let ahead = words[read..].iter().take(LOOKUP_BATCH * self.slab_paths);
                ahead.take_while(|word| continues(**word)).count() / self.slab_paths
            } else {
                0
            };
            if slabs > 0 {
                let end = read + slabs * self.slab_paths;
                current = self.tables.count_slabs(current, &words[read..end]);
                read = end;
            } else {
                current = self.tables.step(current, word);
                read += 1;
            }
        }
        *position = current;
        read
    }

    fn discarded(&mut self, position: &mut Position) {
        self.tables.end(*position);
    }
}

impl SlabCounter {
    /// Chooses between steps and lookups, from the number of misses in the last portion, which had
    /// `words` words.
    fn choose_steps_or_lookups(&mut self, words: usize) {
        let misses = std::mem::take(&mut self.tables.slabs.misses);
        if self.portions_to_decision > 0 {
            self.portions_to_decision -= 1;
        } else {
            self.looks_up_slabs = !self.looks_up_slabs && STEPS_PER_MISS * misses > words as u64;
            self.portions_to_decision = if self.looks_up_slabs {
                LOOKUP_PORTIONS
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
                portions_to_decision: 0,
            };
            Counter::Slabs(Activations::default(), Box::new(counter))
        };
        LoopsBuilder {
            counter,
            words,
            limits,
        }
    }

    /// Reads a batch of words. `start` is the position of the first word in the stream, in bytes.
    /// If the batch does not begin where the last batch ended, words are missing in between.
    pub fn feed(&mut self, start: u64, words: &[u32]) {
        let mut position = start;
        for portion in words.chunks(PORTION_WORDS) {
            match &mut self.counter {
                Counter::Paths(activations, successors) => {
                    activations.feed(&mut self.words, successors, position, portion);
                    successors.keep_within(self.limits);
                }
                Counter::Slabs(activations, counter) => {
                    activations.feed(&mut self.words, counter.as_mut(), position, portion);
                    let open = activations.states();
                    counter.tables.keep_within(self.limits, open);
                    counter.choose_steps_or_lookups(portion.len());
                }
            }
            position = position.wrapping_add(4 * portion.len() as u64);
        }
    }

    /// Sets new limits. They apply from the next batch on.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Number of open activations that have run at least one path of the stream.
    pub fn open_count(&self) -> u64 {
        match &self.counter {
            Counter::Paths(activations, _) => activations.open_count(),
            Counter::Slabs(activations, _) => activations.open_count(),
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
                for position in activations.states() {
                    counter.tables.end(*position);
                }
                counter.tables.forest(self.limits)
            }
        }
    }
}
