//! The tokens so far, and where among them what comes now stood before (a match model, as in LPAQ).
//!
//! Cost: one miss of the cache a token, another where a repetition begins; 18 MB at most.

use super::token::Token;

/// Repetitions of that length are all alike; contexts learn nothing from them.
pub(super) const LONG: u32 = 32;
/// Tokens that a repetition must have had to be believed: those that the hash is of.
pub(super) const TRUSTED: u32 = 6;
/// Tokens kept for repetitions, a power of two.
const KEPT: usize = 1 << 22;

/// Tokens so far, and where in them a repetition goes on.
pub(super) struct History {
    /// A ring once it has [`KEPT`] tokens.
    tokens: Vec<u32>,
    pub(super) seen: u64,
    /// By hash of the last tokens: how many were seen when it stood last, above the hash.
    places: Vec<u64>,
    /// The repetition: the place of what should come next, and its length so far.
    pub(super) next: u64,
    pub(super) length: u32,
}

impl History {
    pub(super) fn new() -> Self {
        Self {
            tokens: Vec::new(),
            seen: 0,
            places: vec![0; 1 << 10],
            next: 0,
            length: 0,
        }
    }

    #[inline]
    pub(super) fn at(&self, place: u64) -> u32 {
        let token = self.tokens.get(place as usize & (KEPT - 1));
        token.copied().unwrap_or(Token::NONE)
    }

    #[inline]
    fn slot(&self, hash: u32) -> usize {
        (hash >> (32 - self.places.len().trailing_zeros())) as usize
    }

    /// Where tokens of this hash stood last; the start where others of its slot did, since nobody looks there then.
    #[inline]
    pub(super) fn place(&self, hash: u32) -> u64 {
        let place = self.places[self.slot(hash)];
        if place as u32 == hash { place >> 32 } else { 0 }
    }

    /// What the repetition goes on with, if there is one.
    #[inline]
    pub(super) fn foretold(&self) -> u32 {
        if self.length > 0 {
            self.at(self.next)
        } else {
            Token::NONE
        }
    }

    pub(super) fn fit(&mut self) {
        while self.places.len() < 1 << 18 && (self.places.len() as u64) < self.seen {
            self.places = self.places.iter().flat_map(|&place| [place; 2]).collect();
        }
    }

    /// Looks for a repetition, if none goes on, by the hash of the last tokens.
    #[inline]
    pub(super) fn find(&mut self, hash: u32) {
        if self.length >= LONG {
            return;
        }
        let slot = self.slot(hash);
        let here = self.seen << 32 | u64::from(hash);
        let before = std::mem::replace(&mut self.places[slot], here);
        if self.length > 0 {
            return;
        }
        self.next = before >> 32;
        // What is overwritten is not to be looked at, nor what is overwritten next.
        let is_kept = self.next > 0 && self.next + (KEPT as u64 - 1) > self.seen;
        let is_known = before as u32 == hash && is_kept && self.seen < 1 << 32;
        self.length = if is_known { TRUSTED } else { 0 };
    }

    #[inline]
    pub(super) fn append(&mut self, token: u32) {
        match self.tokens.get_mut(self.seen as usize & (KEPT - 1)) {
            Some(old) => *old = token,
            None => self.tokens.push(token),
        }
        self.seen += 1;
    }

    #[inline]
    pub(super) fn push(&mut self, token: u32, foretold: u32) {
        self.append(token);
        self.next += 1;
        self.length = if token == foretold {
            self.length + 1
        } else {
            0
        };
    }
}
