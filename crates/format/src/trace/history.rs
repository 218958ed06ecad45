//! The tokens so far, and the earlier occurrence that the next token may repeat (a match model, as
//! in LPAQ).
//!
//! Cost: one cache miss per token, and another where a repetition begins. At most 18 MB.

use super::token::Token;

/// From this length on, all repetitions share one probability, and contexts learn nothing from
/// them.
pub(super) const LONG: u32 = 32;
/// Length from which a repetition is trusted. The hash covers that many tokens.
pub(super) const TRUSTED: u32 = 6;
/// Number of tokens kept, a power of two.
const KEPT: usize = 1 << 22;

/// The tokens so far, and the place in them where the current repetition continues.
pub(super) struct History {
    /// The tokens: a ring once it has [`KEPT`].
    tokens: Vec<u32>,
    /// Number of tokens so far.
    pub(super) seen: u64,
    /// By hash of the last tokens: the number of tokens seen at their last occurrence, in the upper
    /// half, and the hash, in the lower.
    places: Vec<u64>,
    /// Place of the token that the repetition predicts.
    pub(super) next: u64,
    /// Length of the repetition so far.
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

    /// The last place of tokens with this hash. Gives 0 if the slot belongs to another hash,
    /// because that place is not used then.
    #[inline]
    pub(super) fn place(&self, hash: u32) -> u64 {
        let place = self.places[self.slot(hash)];
        if place as u32 == hash { place >> 32 } else { 0 }
    }

    /// The token that the repetition predicts, if there is a repetition.
    #[inline]
    pub(super) fn predicted(&self) -> u32 {
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
        let entry = self.seen << 32 | u64::from(hash);
        let previous = std::mem::replace(&mut self.places[slot], entry);
        if self.length > 0 {
            return;
        }
        self.next = previous >> 32;
        // Tokens that were overwritten, or are overwritten next, must not be read.
        let is_kept = self.next > 0 && self.next + (KEPT as u64 - 1) > self.seen;
        let is_known = previous as u32 == hash && is_kept && self.seen < 1 << 32;
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
    pub(super) fn push(&mut self, token: u32, predicted: u32) {
        self.append(token);
        self.next += 1;
        self.length = if token == predicted {
            self.length + 1
        } else {
            0
        };
    }
}
