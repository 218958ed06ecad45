//! What stretches of words do to the activations that are open, each worked out once.
//!
//! A stretch finds some activations and leaves others: `g:loop→exit  f:call→call  h:entry→loop` needs `g` on top and `f` under it, closes `g`, and
//! leaves `f` with an `h` on top. A stretch that comes again does the same again, so a long stream is read at the cost of a few comparisons for each
//! stretch. What a stretch can't say by itself (frames left, words that are nobody's) is read word by word.

use std::mem;

use super::{Activation, Activations, bottom};
use crate::stream::words::{CATCHES, CLOSES, FLAGS, OPENS, Words};

/// Effects of stretches, by number.
#[derive(Default, Debug)]
pub(crate) struct Effects {
    /// Where each begins in `items`.
    starts: Vec<u32>,
    /// Of each: length, numbers of activations closed and opened, the function on top of which nothing is closed (0: any), the functions
    /// closed, then functions opened, each with the place of its first word.
    items: Vec<u32>,
    /// Of the one that is being worked out.
    length: u32,
    kept: u32,
    closed: Vec<u32>,
    opened: Vec<u32>,
}

/// Needed on top by a stretch that must be read part by part: no function.
const NEVER: u32 = u32::MAX;
/// Most activations that a stretch may open and close for good: what does more is read part by part, and takes little memory.
const MOST: usize = 16;

/// What a stretch does.
#[derive(Clone, Copy, Debug)]
struct Effect<'a> {
    length: u32,
    kept: u32,
    closed: &'a [u32],
    /// Functions and places by turns.
    opened: &'a [u32],
}

impl Effects {
    /// Number of stretches.
    pub(crate) fn len(&self) -> usize {
        self.starts.len()
    }

    /// Words of a stretch.
    pub(crate) fn length(&self, stretch: u32) -> usize {
        self.items[self.starts[stretch as usize] as usize] as usize
    }

    /// Forgets all.
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
            // Nobody's word; or an activation in doubt may be there.
            let catches = entry & OPENS != 0 && entry & CATCHES != 0 && self.opened.is_empty();
            match (entry & OPENS != 0, entry & CLOSES != 0) {
                _ if function == [0] || catches => effect.kept = NEVER,
                (true, true) => {}
                (true, false) => effect.opened = &opened,
                (false, true) => effect.closed = &function,
                (false, false) => effect.kept = function[0],
            }
            self.then(effect);
        }
        self.push();
    }

    /// Adds a stretch of others.
    pub(crate) fn push_stretches(&mut self, others: &Effects, stretch: &[u32]) {
        for &one in stretch {
            self.then(others.get(one));
        }
        self.push();
    }

    /// Works out what comes of it with another behind it.
    #[inline]
    fn then(&mut self, next: Effect<'_>) {
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
        for one in next.opened.chunks_exact(2) {
            self.opened.extend([one[0], self.length + one[1]]);
        }
        self.length += next.length;
        if !fits {
            self.kept = NEVER;
        }
    }

    fn push(&mut self) {
        if self.closed.len() + self.opened.len() / 2 > MOST {
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
    /// Reads a stretch that begins at position `at` (in bytes), if what it needs is there; else nothing is done. Nobody is told.
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
        for one in opened.chunks_exact(2) {
            self.below.push(self.top);
            self.top = Activation {
                at: at.wrapping_add(4 * u64::from(one[1])),
                function: one[0],
                state: S::default(),
            };
        }
        true
    }

    /// Closes the activations of these functions, the innermost first, if they are there and one of `kept` under them.
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

    /// So many words that ended paths were read in stretches; the next stands at `next`.
    pub(crate) fn go_on(&mut self, paths: u64, next: u64) {
        self.met.paths += paths;
        self.next = Some(next);
    }
}
