//! What stretches of words do to the activations that are open, each worked out once.
//!
//! A stretch finds some activations and leaves others: `g:loop→exit  f:call→call  h:entry→loop` needs `g` on top and `f` under it, closes `g`, and
//! leaves `f` with an `h` on top. A stretch that comes again does the same again, so a long stream is read at the cost of a few comparisons for each
//! stretch. What a stretch can't say by itself (frames left, words that are nobody's) is read word by word.

use super::words::{CATCHES, CLOSES, FLAGS, OPENS};
use super::{Activation, Activations, Words, bottom};

/// Effects of stretches of at most 255 words, by number.
#[derive(Default, Debug)]
pub(crate) struct Effects {
    /// Where each begins in `items`.
    starts: Vec<u32>,
    /// Of each: numbers of activations closed and opened, the function on top of which nothing is closed (0: any), the functions
    /// closed, then functions opened, each with the place of its first word.
    items: Vec<u32>,
    open: Vec<(u32, u32)>,
    closed: Vec<u32>,
}

/// Needed on top by a stretch that must be read word by word: no function.
const NEVER: u32 = u32::MAX;

/// What a stretch does.
#[derive(Clone, Copy, Debug)]
struct Effect<'a> {
    kept: u32,
    closed: &'a [u32],
    opened: &'a [u32],
}

impl Effects {
    /// Number of stretches.
    pub(crate) fn len(&self) -> usize {
        self.starts.len()
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Adds a stretch.
    pub(crate) fn push(&mut self, words: &mut Words, stretch: &[u32]) {
        let kept = self.read(words, stretch);
        let start = u32::try_from(self.items.len()).expect("pieces are forgotten before");
        self.starts.push(start);
        let counts = self.closed.len() << 8 | self.open.len();
        self.items.extend([counts as u32, kept]);
        self.items.extend_from_slice(&self.closed);
        let opened = self.open.iter();
        self.items
            .extend(opened.flat_map(|&(function, place)| [function, place]));
    }

    /// Finds what a stretch closes and opens; gives what it needs on top besides.
    fn read(&mut self, words: &mut Words, stretch: &[u32]) -> u32 {
        self.open.clear();
        self.closed.clear();
        let mut kept = 0;
        for (place, &word) in (0u32..).zip(stretch) {
            let entry = words.entry(word);
            let function = entry >> FLAGS;
            let is_outer = self.open.is_empty();
            let is_regular = if entry & OPENS != 0 {
                // An activation in doubt may be there.
                function != 0 && !(is_outer && entry & CATCHES != 0)
            } else {
                let top = self.open.last().map_or(kept, |top| top.0);
                function != 0 && (function == top || is_outer && top == 0)
            };
            if !is_regular {
                return NEVER;
            }
            match (entry & OPENS != 0, entry & CLOSES != 0) {
                (true, true) => {}
                (true, false) => self.open.push((function, place)),
                (false, false) if is_outer => kept = function,
                (false, false) => {}
                (false, true) => {
                    if self.open.pop().is_none() {
                        self.closed.push(function);
                        kept = 0;
                    }
                }
            }
        }
        kept
    }

    #[inline]
    fn get(&self, number: u32) -> Effect<'_> {
        let items = &self.items[self.starts[number as usize] as usize..];
        let (closed, opened) = ((items[0] >> 8) as usize, (items[0] & 0xFF) as usize);
        let (closed, rest) = items[2..].split_at(closed);
        Effect {
            kept: items[1],
            closed,
            opened: &rest[..2 * opened],
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
