//! The contexts in which the model predicts a token: the last token, and the last two tokens. Each
//! context keeps the last three different tokens that followed it (symbol ranking, Fenwick 1996).
//!
//! The model codes a token's rank among these three tokens. A context also keeps its last four
//! ranks. The model learns a table of probabilities for each such *rank history*, not for each
//! context (indirect modeling, as in PAQ). So a new context predicts well from its first tokens on.
//!
//! Cost: 16 bytes for each context, and a cache miss if the context was not used recently. No
//! branch depends on the token.

use super::token::Token;

/// Number of tokens that a context keeps.
pub(super) const CANDIDATES: usize = 3;
/// Number of rank histories. A rank history has the last ranks of a context, at most four, with two
/// bits for each. A bit 1 above them marks how many ranks there are.
pub(super) const RANK_HISTORIES: usize = 1 << 9;

/// The tokens that followed a context.
#[derive(Clone, Copy)]
pub(super) struct Context {
    /// The tokens, the latest first.
    pub(super) tokens: [u32; CANDIDATES],
    rank_history: u16,
    /// The low bits of the context's hash, which distinguish most contexts with the same slot.
    hash_check: u16,
}

impl Context {
    const fn new(hash_check: u16) -> Self {
        Self {
            tokens: [Token::NONE; CANDIDATES],
            rank_history: 1,
            hash_check,
        }
    }

    /// The rank history, below [`RANK_HISTORIES`].
    #[inline]
    pub(super) fn rank_history(&self) -> usize {
        usize::from(self.rank_history)
    }

    /// Returns the rank of a token, or [`CANDIDATES`] if the token is not among the context's
    /// tokens.
    #[inline]
    pub(super) fn rank(&self, token: u32) -> usize {
        let [first, second, third] = self.tokens;
        let mut rank = CANDIDATES;
        rank = if token == third { 2 } else { rank };
        rank = if token == second { 1 } else { rank };
        if token == first { 0 } else { rank }
    }

    /// Makes `token` the latest token that followed the context.
    #[inline]
    pub(super) fn learn(&mut self, token: u32) {
        let rank = self.rank(token);
        let [first, second, third] = self.tokens;
        self.tokens = [
            token,
            if rank == 0 { second } else { first },
            if rank <= 1 { third } else { second },
        ];
        let rank_history = self.rank_history << 2 | rank as u16;
        // Removes the oldest rank, and keeps the marking 1.
        self.rank_history = if rank_history >= RANK_HISTORIES as u16 {
            (rank_history & (RANK_HISTORIES as u16 / 2 - 1)) | (RANK_HISTORIES as u16 / 2)
        } else {
            rank_history
        };
    }
}

/// A hash table of contexts with the same number of tokens.
pub(super) struct Contexts {
    /// The contexts. Their number is a power of two. The highest bits of a context's hash are its
    /// slot, so a doubled table keeps its contents.
    slots: Vec<Context>,
    max_slots: usize,
}

impl Contexts {
    /// A table that grows up to `2^bits` slots.
    pub(super) fn new(bits: u32) -> Self {
        Self {
            slots: vec![Context::new(0); 1 << 10],
            max_slots: 1 << bits,
        }
    }

    /// Doubles the table while it has fewer slots than there were tokens.
    pub(super) fn grow(&mut self, token_count: u64) {
        while self.slots.len() < self.max_slots && (self.slots.len() as u64) < token_count {
            self.slots = self.slots.iter().flat_map(|&slot| [slot; 2]).collect();
        }
    }

    #[inline]
    fn slot(&self, hash: u32) -> usize {
        (hash >> (32 - self.slots.len().trailing_zeros())) as usize
    }

    /// Reads from the slot of the context with this hash, to load the slot into the cache.
    #[inline]
    pub(super) fn prefetch(&self, hash: u32) -> u32 {
        self.slots[self.slot(hash)].tokens[0]
    }

    /// Returns the context with this hash. A new context replaces another one in the slot.
    #[inline]
    pub(super) fn get_or_create(&mut self, hash: u32) -> &mut Context {
        let slot = self.slot(hash);
        let context = &mut self.slots[slot];
        if context.hash_check != hash as u16 {
            *context = Context::new(hash as u16);
        }
        context
    }
}
