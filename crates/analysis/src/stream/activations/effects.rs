//! The effects of stretches of words on the open activations, each computed once.
//!
//! A stretch requires certain activations and leaves others. `g:loop→exit  f:call→call
//! h:entry→loop` needs `g` on top and `f` below it, closes `g`, and leaves `f` with an `h` on top.
//! A stretch that recurs has the same effect again, so a long stream costs a few comparisons for
//! each stretch. If the effect of a stretch depends on more than that (on frames that were left, or
//! on words of no function), the stretch is read word by word.

use holloway_format::Count;
use std::mem;

use super::{Activation, Activations, bottom};
use crate::stream::words::{CATCHES, CLOSES, FLAGS, OPENS, Words};

/// The effects of stretches, by number.
#[derive(Default, Debug)]
pub(crate) struct Effects {
    /// The start of each effect in `items`.
    starts: Vec<u32>,
    /// For each effect: its length, the numbers of activations closed and opened, the function that
    /// must be on top after the closing (0: any), the closed functions, and the opened functions,
    /// each with the position of its first word.
    items: Vec<u32>,
    /// The effect under construction.
    length: u32,
    kept: u32,
    closed: Vec<u32>,
    opened: Vec<u32>,
}

/// A value of `kept` that matches no function: the stretch must be read part by part.
const NEVER: u32 = u32::MAX;
/// The maximum number of activations that a stretch may open and close. A stretch that opens and
/// closes more is read part by part, so that effects take little memory.
const MAX_ACTIVATIONS: usize = 16;

/// The effect of a stretch.
#[derive(Clone, Copy, Debug)]
struct Effect<'a> {
    length: u32,
    kept: u32,
    closed: &'a [u32],
    /// Functions and positions, alternating.
    opened: &'a [u32],
}

impl Effects {
    /// Number of stretches.
    pub(crate) fn len(&self) -> usize {
        self.starts.len()
    }

    /// Number of words in a stretch.
    pub(crate) fn length(&self, stretch: u32) -> usize {
        self.items[self.starts[stretch as usize] as usize] as usize
    }

    /// Removes all effects.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Adds a stretch of words.
    pub(crate) fn push_words(&mut self, words: &mut Words, stretch: &[u32]) {
        for &word in stretch {
            let entry = words.entry(word);
            let function = [entry >> FLAGS];
            let opened = [function[0], 0];
            let mut effect = Effect {
                length: 1,
                kept: 0,
                closed: &[],
                opened: &[],
            };
            // A word of no function, or a word that may resolve an activation in doubt.
            let catches = entry & OPENS != 0 && entry & CATCHES != 0 && self.opened.is_empty();
            match (entry & OPENS != 0, entry & CLOSES != 0) {
                _ if function == [0] || catches => effect.kept = NEVER,
                (true, true) => {}
                (true, false) => effect.opened = &opened,
                (false, true) => effect.closed = &function,
                (false, false) => effect.kept = function[0],
            }
            self.append(effect);
        }
        self.finish();
    }

    /// Adds a stretch that consists of other stretches.
    pub(crate) fn push_stretches(&mut self, others: &Effects, stretch: &[u32]) {
        for &part in stretch {
            self.append(others.get(part));
        }
        self.finish();
    }

    /// Appends another effect to the effect under construction.
    #[inline]
    fn append(&mut self, next: Effect<'_>) {
        let mut fits = self.kept != NEVER;
        for &function in next.closed {
            if let [.., top, _] = self.opened[..] {
                fits &= top == function;
                self.opened.truncate(self.opened.len() - 2);
            } else {
                fits &= self.kept == 0 || self.kept == function;
                self.closed.push(function);
                self.kept = 0;
            }
        }
        match self.opened[..] {
            _ if next.kept == 0 => {}
            [.., top, _] => fits &= top == next.kept,
            _ if self.kept == 0 => self.kept = next.kept,
            _ => fits &= self.kept == next.kept,
        }
        for opening in next.opened.chunks_exact(2) {
            self.opened.extend([opening[0], self.length + opening[1]]);
        }
        self.length += next.length;
        if !fits {
            self.kept = NEVER;
        }
    }

    fn finish(&mut self) {
        if self.closed.len() + self.opened.len() / 2 > MAX_ACTIVATIONS {
            self.kept = NEVER;
        }
        if self.kept == NEVER {
            self.closed.clear();
            self.opened.clear();
        }
        let start = u32::try_from(self.items.len());
        let start = start.expect("2^26 stretches are more than a grammar knows");
        self.starts.push(start);
        let [closed, opened] = [&self.closed, &self.opened].map(|list| list.len() as u32);
        self.items.extend([
            mem::take(&mut self.length),
            closed,
            opened,
            mem::take(&mut self.kept),
        ]);
        self.items.append(&mut self.closed);
        self.items.append(&mut self.opened);
    }

    #[inline]
    fn get(&self, number: u32) -> Effect<'_> {
        let items = &self.items[self.starts[number as usize] as usize..];
        let [length, closed, opened, kept] = *items.first_chunk().expect("each begins with these");
        let (closed, rest) = items[4..].split_at(closed as usize);
        Effect {
            length,
            kept,
            closed,
            opened: &rest[..opened as usize],
        }
    }
}

impl<S: Copy + Default> Activations<S> {
    /// Applies a stretch that begins at position `at` (in bytes), if the activations that it
    /// requires are open. Otherwise does nothing and returns `false`. Listeners receive no calls.
    #[inline]
    pub(crate) fn apply(&mut self, effects: &Effects, stretch: u32, at: u64) -> bool {
        let Effect {
            kept,
            closed,
            opened,
            ..
        } = effects.get(stretch);
        if closed.is_empty() {
            if kept != 0 && kept != self.top.function {
                return false;
            }
        } else if !self.close(kept, closed) {
            return false;
        }
        for opening in opened.chunks_exact(2) {
            self.below.push(self.top);
            self.top = Activation {
                at: at.wrapping_add(4 * u64::from(opening[1])),
                function: opening[0],
                state: S::default(),
            };
        }
        true
    }

    /// Closes the activations of these functions, the innermost first, if they are on top of the
    /// stack and an activation of `kept` is below them.
    #[inline]
    fn close(&mut self, kept: u32, closed: &[u32]) -> bool {
        let mut open = self.below.iter().rev();
        let mut top = Some(&self.top);
        for &function in closed {
            if top.is_none_or(|top| top.function != function) {
                return false;
            }
            top = open.next();
        }
        if kept != 0 && top.is_none_or(|top| top.function != kept) {
            return false;
        }
        self.top = top.copied().unwrap_or_else(bottom);
        let left = self.below.len().saturating_sub(closed.len());
        self.below.truncate(left);
        true
    }

    /// Records that stretches with this many paths were read; the next word is at position `next`.
    pub(crate) fn advance(&mut self, paths: u64, next: u64) {
        self.counts.paths += Count(paths);
        self.next = Some(next);
    }
}
