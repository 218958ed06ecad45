//! Contexts: the last token, and the last two tokens. Each context keeps the three tokens that
//! followed it last, and how well they predicted (symbol ranking, Fenwick 1996).
//!
//! The model codes a token's rank among these three. The probabilities of ranks are learned per
//! course of recent ranks, not per context, so that a new context costs little (indirect modeling,
//! as in PAQ).
//!
//! Cost: 16 bytes per context, and a cache miss if it was not used recently. No branch depends on
//! the token.

use super::token::Token;

/// Number of tokens that a context keeps.
pub(super) const WAYS: usize = 3;
/// Number of courses. A course is the last four ranks of a context, two bits each, below a 1 that
/// marks how many there are.
pub(super) const COURSES: usize = 1 << 9;

/// The tokens that followed a context.
#[derive(Clone, Copy)]
pub(super) struct Context {
    /// The tokens, the latest first.
    pub(super) tokens: [u32; WAYS],
    course: u16,
    /// Part of the hash, which tells most contexts of one slot apart.
    check: u16,
}

impl Context {
    const fn new(check: u16) -> Self {
        Self {
            tokens: [Token::NONE; WAYS],
            course: 1,
            check,
        }
    }

    /// Below [`COURSES`].
    #[inline]
    pub(super) fn course(&self) -> usize {
        usize::from(self.course)
    }

    /// The rank of a token; [`WAYS`] if it is not among the three.
    #[inline]
    pub(super) fn rank(&self, token: u32) -> usize {
        let [first, second, third] = self.tokens;
        let mut rank = WAYS;
        rank = if token == third { 2 } else { rank };
        rank = if token == second { 1 } else { rank };
        if token == first { 0 } else { rank }
    }

    /// Learns that this token followed.
    #[inline]
    pub(super) fn learn(&mut self, token: u32) {
        let rank = self.rank(token);
        let [first, second, third] = self.tokens;
        self.tokens = [
            token,
            if rank == 0 { second } else { first },
            if rank <= 1 { third } else { second },
        ];
        let course = self.course << 2 | rank as u16;
        // Drops the eldest rank and keeps the 1.
        self.course = if course >= COURSES as u16 {
            (course & (COURSES as u16 / 2 - 1)) | (COURSES as u16 / 2)
        } else {
            course
        };
    }
}

/// Contexts of one order.
pub(super) struct Contexts {
    /// A power of two. A context's slot is the highest bits of its hash, so that a doubled table
    /// keeps its contents.
    slots: Vec<Context>,
    most: usize,
}

impl Contexts {
    /// A table that grows up to `2^bits` slots.
    pub(super) fn new(bits: u32) -> Self {
        Self {
            slots: vec![Context::new(0); 1 << 10],
            most: 1 << bits,
        }
    }

    /// Doubles the table while it has fewer slots than the tokens `seen`.
    pub(super) fn fit(&mut self, seen: u64) {
        while self.slots.len() < self.most && (self.slots.len() as u64) < seen {
            self.slots = self.slots.iter().flat_map(|&slot| [slot; 2]).collect();
        }
    }

    #[inline]
    fn slot(&self, hash: u32) -> usize {
        (hash >> (32 - self.slots.len().trailing_zeros())) as usize
    }

    /// Reads from the slot of the context with this hash, to load it into the cache.
    #[inline]
    pub(super) fn look(&self, hash: u32) -> u32 {
        self.slots[self.slot(hash)].tokens[0]
    }

    /// The context with this hash.
    #[inline]
    pub(super) fn at(&mut self, hash: u32) -> &mut Context {
        let slot = self.slot(hash);
        let context = &mut self.slots[slot];
        if context.check != hash as u16 {
            *context = Context::new(hash as u16);
        }
        context
    }
}
