//! The steps in which a grammar is written down.

use super::symbol::Symbol;

/// A step in writing a grammar down, depth first. A token is a symbol, or a bound of a right side.
/// A rule's right side is written where the rule is used first.
///
/// ```text
/// S → A c A, A → a b      ( a b ) c A
/// ```
/// Rules are numbered in the order in which their right sides end, so a rule uses only rules with
/// lower numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Token(u32);

impl Token {
    pub(super) const RULE: u32 = Symbol::RULE;
    pub(super) const OPEN: u32 = u32::MAX;
    pub(super) const CLOSE: u32 = u32::MAX - 1;
    pub(super) const NONE: u32 = u32::MAX - 2;

    /// A rule is used for the first time, and its right side begins.
    pub const fn open() -> Self {
        Self(Self::OPEN)
    }

    /// The innermost right side ends. Its rule gets the next number.
    pub const fn close() -> Self {
        Self(Self::CLOSE)
    }

    pub(super) const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    pub(super) const fn bits(self) -> u32 {
        self.0
    }

    /// A terminal, or a rule that was used before.
    pub const fn symbol(symbol: Symbol) -> Self {
        Self(symbol.bits())
    }
}

/// The meaning of a [`Token`].
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
    /// The meaning of the token.
    pub const fn step(self) -> Step {
        match self.0 {
            Self::OPEN => Step::Open,
            Self::CLOSE => Step::Close,
            bits => Step::Symbol(Symbol::from_bits(bits)),
        }
    }
}
