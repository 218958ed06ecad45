//! Counts of path sequences over several loop iterations (D'Elia, Demetrescu, Finocchi 2013).
//!
//! The modules answer how often each sequence of up to k paths ran:
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
mod spelt;
mod tables;
mod two;

use crate::stream::{Activations, Ended, Listener, Met, Words};

pub use forest::{K_RANGE, Losses, SlabForest};
pub use kipf::{Kipf, KipfNode, Stats};
pub use limits::Limits;
pub use run::{LoopsRun, Sequences};
pub use sealed::{paths, seal};
use slabs::TOGETHER;
use tables::{Position, Tables};
use two::Successors;

/// Number of words between two checks of the memory limit.
const PIECE: usize = 1 << 12;
/// The builder looks up complete slabs if more than one step in this many is a miss: it does not
/// lead to the same slab as last time.
const OFTEN: u64 = 16;
/// Number of pieces that are counted by slab lookup before the builder tries single steps again.
const LOOKED_UP: u32 = 32;

/// Builds the slab forest of one stream, or of several streams one after the other.
pub struct LoopsBuilder {
    words: Words,
    counting: Counting,
    limits: Limits,
}

enum Counting {
    /// For k = 2.
    Two(Activations<u32>, Successors),
    More(Activations<Position>, Box<Growing>),
}

struct Growing {
    tables: Tables,
    /// Number of paths in a complete slab.
    slab: usize,
    /// Whether complete slabs are looked up, instead of stepping path by path.
    whole: bool,
    /// Number of pieces until the next decision between lookups and steps.
    pieces: u32,
}

impl Listener for Growing {
    type State = Position;

    #[inline(always)]
    fn path(&mut self, path: Ended, at: &mut Position) {
        if path.is_first {
            if path.closes {
                self.tables.alone(path.word);
                return;
            }
            *at = self.tables.first(path.word);
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
            let slabs = if self.whole && self.tables.begins(now) {
                let ahead = words[done..].iter().take(TOGETHER * self.slab);
                ahead.take_while(|word| is_next(**word)).count() / self.slab
            } else {
                0
            };
            if slabs > 0 {
                let end = done + slabs * self.slab;
                now = self.tables.wholes(now, &words[done..end]);
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

impl Growing {
    /// Chooses between steps and lookups, from the number of misses in the last piece.
    fn adapt(&mut self, words: usize) {
        let misses = std::mem::take(&mut self.tables.slabs.misses);
        if self.pieces > 0 {
            self.pieces -= 1;
        } else {
            self.whole = !self.whole && OFTEN * misses > words as u64;
            self.pieces = if self.whole { LOOKED_UP } else { 0 };
        }
    }
}

impl LoopsBuilder {
    /// Creates a builder for the streams of an image. A `k` outside [`K_RANGE`] is clamped to the
    /// range.
    pub fn new(words: Words, k: u32, limits: Limits) -> LoopsBuilder {
        let k = k.clamp(*K_RANGE.start(), *K_RANGE.end());
        let counting = if k == 2 {
            Counting::Two(Activations::default(), Successors::new(words.end()))
        } else {
            let growing = Growing {
                tables: Tables::new(k, words.end()),
                slab: k as usize - 1,
                whole: false,
                pieces: 0,
            };
            Counting::More(Activations::default(), Box::new(growing))
        };
        LoopsBuilder {
            counting,
            words,
            limits,
        }
    }

    /// Reads a batch of words; `at` is the stream position of the first word, in bytes. If the
    /// batch does not begin where the last batch ended, words are missing in between.
    pub fn feed(&mut self, at: u64, words: &[u32]) {
        let mut at = at;
        for piece in words.chunks(PIECE) {
            match &mut self.counting {
                Counting::Two(activations, successors) => {
                    activations.feed(&mut self.words, successors, at, piece);
                    successors.keep_within(self.limits);
                }
                Counting::More(activations, growing) => {
                    activations.feed(&mut self.words, growing.as_mut(), at, piece);
                    let open = activations.states();
                    growing.tables.keep_within(self.limits, open);
                    growing.adapt(piece.len());
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
        match &self.counting {
            Counting::Two(activations, _) => activations.open(),
            Counting::More(activations, _) => activations.open(),
        }
    }

    /// Numbers of paths, gaps, and other events in the streams so far.
    pub fn met(&self) -> Met {
        match &self.counting {
            Counting::Two(activations, _) => activations.met(),
            Counting::More(activations, _) => activations.met(),
        }
    }

    /// Returns the finished forest.
    pub fn finish(self) -> SlabForest {
        match self.counting {
            Counting::Two(_, successors) => successors.forest(self.limits),
            Counting::More(mut activations, mut growing) => {
                let open = activations.states();
                open.for_each(|at| growing.gone(at));
                growing.tables.forest(self.limits)
            }
        }
    }
}
