//! The steps in which a grammar is written down.

use super::symbol::Symbol;

/// A step in writing a grammar down, depth first: a symbol, or the bounds of a right side that stands where its rule is used first.
///
/// ```text
/// S → A c A, A → a b      ( a b ) c A
/// ```
/// Rules are numbered in the order in which their right sides end: a rule uses rules with lower numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Token(u32);

impl Token {
    pub(super) const RULE: u32 = Symbol::RULE;
    pub(super) const OPEN: u32 = u32::MAX;
    pub(super) const CLOSE: u32 = u32::MAX - 1;
    pub(super) const NONE: u32 = u32::MAX - 2;

    /// A rule is used here for the first time, and its right side begins.
    pub const fn open() -> Self {
        Self(Self::OPEN)
    }

    /// The right side that began last ends; the next number is its rule's.
    pub const fn close() -> Self {
        Self(Self::CLOSE)
    }

    pub(super) const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    pub(super) const fn bits(self) -> u32 {
        self.0
    }

    /// A terminal, or a rule that stood before.
    pub const fn symbol(symbol: Symbol) -> Self {
        Self(symbol.bits())
    }
}

/// What [`Token`] stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// See [`Token::open`].
    Open,
    /// See [`Token::close`].
    Close,
    /// See [`Token::symbol`].
    Symbol(Symbol),
}

impl Token {
    /// Which of the three it is.
    pub const fn step(self) -> Step {
        match self.0 {
            Self::OPEN => Step::Open,
            Self::CLOSE => Step::Close,
            bits => Step::Symbol(Symbol::from_bits(bits)),
        }
    }
}
