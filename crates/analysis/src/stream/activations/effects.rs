//! The *effects* of pieces of a stream on the stack of open activations, each computed once.
//!
//! A piece is a sequence of words, or of other pieces (`trace::level`). Its effect consists of the
//! activations that must be open before it, and the activations that are open after it. For
//! example, the piece `g:loop→exit  f:call→call  h:entry→loop` needs `g` on top and `f` below it.
//! After the piece, `g` is closed and `h` is open on top of `f`. A piece that recurs has the same
//! effect again, so a long stream costs a few comparisons for each piece. If the effect of a piece
//! depends on more than open activations (on frames that were left, or on words of no function),
//! the piece is read word by word.

use holloway_format::Count;
use std::mem;

use super::{Activation, Activations, bottom};
use crate::stream::words::{CATCHES, CLOSES, FLAG_BITS, OPENS, Words};

/// The effects of pieces, by piece number. Functions are function indices + 1, as in the stack of
/// open activations.
#[derive(Default, Debug)]
pub(crate) struct Effects {
    /// The start of each effect in `items`.
    starts: Vec<u32>,
    /// The fields of each effect: `length`, the lengths of `closed` and `opened`, `continued`,
    /// `closed`, and `opened` (see [`Effect`]).
    items: Vec<u32>,
    /// The fields of the effect under construction.
    length: u32,
    continued: u32,
    closed: Vec<u32>,
    opened: Vec<u32>,
}

/// A value of `continued` that matches no function: the piece must be read part by part.
const NEVER: u32 = u32::MAX;
/// The maximum number of activations that a piece may open and close. A piece that opens and closes
/// more is read part by part, so that effects take little memory.
const MAX_ACTIVATIONS: usize = 16;

/// The effect of a piece.
#[derive(Clone, Copy, Debug)]
struct Effect<'a> {
    /// Number of words in the piece.
    length: u32,
    /// The function that must be on top of the stack once the activations of `closed` are removed;
    /// 0: any function.
    continued: u32,
    /// Functions of the activations that must be open and that the piece closes, innermost first.
    closed: &'a [u32],
    /// Functions of the activations that are open after the piece, lowest first. Each is followed
    /// by the index of its first word in the piece.
    opened: &'a [u32],
}

impl Effects {
    /// Number of pieces.
    pub(crate) fn len(&self) -> usize {
        self.starts.len()
    }

    /// Number of words in a piece.
    pub(crate) fn length(&self, piece: u32) -> usize {
        self.items[self.starts[piece as usize] as usize] as usize
    }

    /// Removes all effects.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Adds a piece that consists of words.
    pub(crate) fn push_words(&mut self, words: &mut Words, piece: &[u32]) {
        for &word in piece {
            let entry = words.entry(word);
            let function = entry >> FLAG_BITS;
            let opened = [function, 0];
            let mut effect = Effect {
                length: 1,
                continued: 0,
                closed: &[],
                opened: &[],
            };
            let (opens, closes) = (entry & OPENS != 0, entry & CLOSES != 0);
            let may_resolve_doubt = opens && entry & CATCHES != 0 && self.opened.is_empty();
            match (opens, closes) {
                _ if function == 0 || may_resolve_doubt => effect.continued = NEVER,
                (true, true) => {}
                (true, false) => effect.opened = &opened,
                (false, true) => effect.closed = &opened[..1],
                (false, false) => effect.continued = function,
            }
            self.append(effect);
        }
        self.finish();
    }

    /// Adds a piece that consists of pieces of the level below.
    pub(crate) fn push_pieces(&mut self, below: &Effects, piece: &[u32]) {
        for &part in piece {
            self.append(below.get(part));
        }
        self.finish();
    }

    /// Appends another effect to the effect under construction.
    #[inline]
    fn append(&mut self, next: Effect<'_>) {
        let mut fits = self.continued != NEVER;
        for &function in next.closed {
            if let [.., top, _] = self.opened[..] {
                fits &= top == function;
                self.opened.truncate(self.opened.len() - 2);
            } else {
                fits &= self.continued == 0 || self.continued == function;
                self.closed.push(function);
                self.continued = 0;
            }
        }
        match self.opened[..] {
            _ if next.continued == 0 => {}
            [.., top, _] => fits &= top == next.continued,
            _ if self.continued == 0 => self.continued = next.continued,
            _ => fits &= self.continued == next.continued,
        }
        for opening in next.opened.chunks_exact(2) {
            self.opened.extend([opening[0], self.length + opening[1]]);
        }
        self.length += next.length;
        if !fits {
            self.continued = NEVER;
        }
    }

    fn finish(&mut self) {
        if self.closed.len() + self.opened.len() / 2 > MAX_ACTIVATIONS {
            self.continued = NEVER;
        }
        if self.continued == NEVER {
            self.closed.clear();
            self.opened.clear();
        }
        let start = u32::try_from(self.items.len());
        let start = start.expect("a grammar knows fewer than 2^26 pieces");
        self.starts.push(start);
        let [closed, opened] = [&self.closed, &self.opened].map(|list| list.len() as u32);
        self.items.extend([
            mem::take(&mut self.length),
            closed,
            opened,
            mem::take(&mut self.continued),
        ]);
        self.items.append(&mut self.closed);
        self.items.append(&mut self.opened);
    }

    #[inline]
    fn get(&self, number: u32) -> Effect<'_> {
        let items = &self.items[self.starts[number as usize] as usize..];
        let [length, closed_len, opened_len, continued] = *items
            .first_chunk()
            .expect("each effect begins with these four fields");
        let (closed, after_closed) = items[4..].split_at(closed_len as usize);
        Effect {
            length,
            continued,
            closed,
            opened: &after_closed[..opened_len as usize],
        }
    }
}

impl<S: Copy + Default> Activations<S> {
    /// Applies the effect of a piece, if the activations that it requires are open. Returns
    /// whether they are. `start` is the position of the piece in the stream, in bytes. Listeners
    /// receive no calls.
    #[inline]
    pub(crate) fn apply(&mut self, effects: &Effects, piece: u32, start: u64) -> bool {
        let Effect {
            continued,
            closed,
            opened,
            ..
        } = effects.get(piece);
        if closed.is_empty() {
            if continued != 0 && continued != self.top.function {
                return false;
            }
        } else if !self.close(closed, continued) {
            return false;
        }
        for opening in opened.chunks_exact(2) {
            self.below.push(self.top);
            self.top = Activation {
                start: start.wrapping_add(4 * u64::from(opening[1])),
                function: opening[0],
                state: S::default(),
            };
        }
        true
    }

    /// Closes the activations of the functions in `closed`, innermost first, if they are on top of
    /// the stack and an activation of `continued` is below them. Returns whether they are.
    #[inline]
    fn close(&mut self, closed: &[u32], continued: u32) -> bool {
        let mut lower = self.below.iter().rev();
        let mut top = Some(&self.top);
        for &function in closed {
            if top.is_none_or(|top| top.function != function) {
                return false;
            }
            top = lower.next();
        }
        if continued != 0 && top.is_none_or(|top| top.function != continued) {
            return false;
        }
        self.top = top.copied().unwrap_or_else(bottom);
        let remaining = self.below.len().saturating_sub(closed.len());
        self.below.truncate(remaining);
        true
    }

    /// Records that pieces with this many paths were read, and the position of the next word.
    pub(crate) fn advance(&mut self, paths: u64, next_position: u64) {
        self.counts.paths += Count(paths);
        self.next_position = Some(next_position);
    }
}
