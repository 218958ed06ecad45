//! Tokens: the serialized form of a grammar.

use super::symbol::Symbol;

/// A token of a grammar that is written depth first. A token is a symbol, or the start or end of a
/// right side. A rule's right side replaces the first use of the rule. Example, with `(` and `)`
/// for the start and the end of a right side:
///
/// ```text
/// grammar  S → A c A, A → a b
/// tokens   ( a b ) c A
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

    /// The right side of a rule begins. This is the first use of the rule.
    pub const fn open() -> Self {
        Self(Self::OPEN)
    }

    /// The innermost open right side ends. Its rule gets the next number.
    pub const fn close() -> Self {
        Self(Self::CLOSE)
    }

    pub(super) const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    pub(super) const fn bits(self) -> u32 {
        self.0
    }

    /// A terminal, or a later use of a rule.
    pub const fn symbol(symbol: Symbol) -> Self {
        Self(symbol.bits())
    }
}

/// The meaning of a [`Token`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The start of a right side ([`Token::open`]).
    Open,
    /// The end of a right side ([`Token::close`]).
    Close,
    /// A symbol ([`Token::symbol`]).
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
