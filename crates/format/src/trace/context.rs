//! Contexts of the last one and two tokens, each with the three tokens that followed last, and how well they foretold (symbol ranking, Fenwick 1996).
//!
//! What is coded is a token's rank among them; its chances are learnt for each recent course of ranks, not for each context,
//! so that a new context costs little (indirect modelling, as in PAQ).
//!
//! Cost: 16 bytes a context, one miss of the cache where it was not used lately; no branch depends on the token.

use super::token::Token;

/// Tokens kept of a context.
pub(super) const WAYS: usize = 3;
/// Courses of a context: the last four ranks, two bits each, below a 1 that says how many there were.
pub(super) const COURSES: usize = 1 << 9;

/// What followed in a context.
#[derive(Clone, Copy)]
pub(super) struct Context {
    /// The latest first.
    pub(super) tokens: [u32; WAYS],
    course: u16,
    /// Tells contexts in one slot apart, mostly.
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

    /// The rank of a token: [`WAYS`] if it isn't there.
    #[inline]
    pub(super) fn rank(&self, token: u32) -> usize {
        let [first, second, third] = self.tokens;
        let mut rank = WAYS;
        rank = if token == third { 2 } else { rank };
        rank = if token == second { 1 } else { rank };
        if token == first { 0 } else { rank }
    }

    /// The token followed.
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
        // The eldest rank goes, the 1 stays.
        self.course = if course >= COURSES as u16 {
            (course & (COURSES as u16 / 2 - 1)) | (COURSES as u16 / 2)
        } else {
            course
        };
    }
}

/// Contexts of one order.
pub(super) struct Contexts {
    /// A power of two; a context's slot is the highest bits of its hash, so that a table doubled keeps what it knows.
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

    /// Doubles the table if it has fewer slots than tokens were `seen`.
    pub(super) fn fit(&mut self, seen: u64) {
        while self.slots.len() < self.most && (self.slots.len() as u64) < seen {
            self.slots = self.slots.iter().flat_map(|&slot| [slot; 2]).collect();
        }
    }

    #[inline]
    fn slot(&self, hash: u32) -> usize {
        (hash >> (32 - self.slots.len().trailing_zeros())) as usize
    }

    /// Something of the context with this hash.
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
