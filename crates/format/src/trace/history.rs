//! The last tokens of a stream, and the repetition that is going on: an earlier occurrence of the
//! last tokens, which predicts the next token (a match model, as in LPAQ).
//!
//! Cost: one cache miss per token, and another when a repetition begins. At most 18 MB.

use super::token::Token;

/// Length of a long repetition. All long repetitions share one probability, and contexts do not
/// learn from their tokens.
pub(super) const LONG: u32 = 32;
/// Minimum length of a repetition. The hash by which repetitions are found covers this number of
/// tokens.
pub(super) const MIN_LENGTH: u32 = 6;
/// Number of tokens that the history keeps, a power of two.
const CAPACITY: usize = 1 << 22;

/// The last tokens, and the current repetition. The position of a token is the number of tokens
/// before it.
pub(super) struct History {
    /// The last tokens, at most [`CAPACITY`]. The token at position p is at index p modulo
    /// [`CAPACITY`].
    tokens: Vec<u32>,
    /// Number of all tokens, including tokens that the history no longer keeps.
    pub(super) token_count: u64,
    /// A hash table, by the hash of the last [`MIN_LENGTH`] tokens. An entry has the position after
    /// the last occurrence of these tokens in its upper half, and the hash in its lower half.
    positions: Vec<u64>,
    /// Position of the token that the repetition predicts.
    pub(super) next: u64,
    /// Length of the current repetition; 0 if there is none.
    pub(super) length: u32,
}

impl History {
    pub(super) fn new() -> Self {
        Self {
            tokens: Vec::new(),
            token_count: 0,
            positions: vec![0; 1 << 10],
            next: 0,
            length: 0,
        }
    }

    /// The token at a position.
    #[inline]
    pub(super) fn token_at(&self, position: u64) -> u32 {
        let token = self.tokens.get(position as usize & (CAPACITY - 1));
        token.copied().unwrap_or(Token::NONE)
    }

    #[inline]
    fn slot(&self, hash: u32) -> usize {
        (hash >> (32 - self.positions.len().trailing_zeros())) as usize
    }

    /// Returns the position after the last occurrence of tokens with this hash, or 0 if the slot
    /// has another hash.
    #[inline]
    pub(super) fn last_position(&self, hash: u32) -> u64 {
        let entry = self.positions[self.slot(hash)];
        if entry as u32 == hash { entry >> 32 } else { 0 }
    }

    /// Returns the token that the repetition predicts, or [`Token::NONE`] if there is no
    /// repetition.
    #[inline]
    pub(super) fn predicted(&self) -> u32 {
        if self.length > 0 {
            self.token_at(self.next)
        } else {
            Token::NONE
        }
    }

    /// Doubles the hash table while it has fewer slots than there were tokens.
    pub(super) fn grow(&mut self) {
        while self.positions.len() < 1 << 18 && (self.positions.len() as u64) < self.token_count {
            self.positions = self
                .positions
                .iter()
                .flat_map(|&entry| [entry; 2])
                .collect();
        }
    }

    /// Records the current position for the hash of the last tokens. If there is no repetition,
    /// looks for one that begins with an earlier occurrence of this hash.
    #[inline]
    pub(super) fn find(&mut self, hash: u32) {
        if self.length >= LONG {
            return;
        }
        let slot = self.slot(hash);
        let entry = self.token_count << 32 | u64::from(hash);
        let previous = std::mem::replace(&mut self.positions[slot], entry);
        if self.length > 0 {
            return;
        }
        self.next = previous >> 32;
        // The earlier tokens must not have been overwritten, and the next append must not overwrite
        // them.
        let is_kept = self.next > 0 && self.next + (CAPACITY as u64 - 1) > self.token_count;
        let is_known = previous as u32 == hash && is_kept && self.token_count < 1 << 32;
        self.length = if is_known { MIN_LENGTH } else { 0 };
    }

    /// Appends a token, without a change to the repetition.
    #[inline]
    pub(super) fn append(&mut self, token: u32) {
        match self
            .tokens
            .get_mut(self.token_count as usize & (CAPACITY - 1))
        {
            Some(old) => *old = token,
            None => self.tokens.push(token),
        }
        self.token_count += 1;
    }

    /// Appends a token. The repetition continues if the token is the `predicted` token.
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
