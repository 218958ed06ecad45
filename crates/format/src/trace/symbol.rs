//! The symbols on the right sides of a grammar's rules.

use std::fmt;

/// A symbol on the right side of a rule: the index of a terminal in the trace's table, or the
/// number of a rule.
///
/// In the order of symbols, terminals come before rules.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol(u32);

/// The meaning of a [`Symbol`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The terminal with this number.
    Terminal(u32),
    /// The rule with this number. The symbol stands for the rule's right side.
    Rule(u32),
}

impl Symbol {
    pub(super) const RULE: u32 = 1 << 31;
    /// The first number that neither a terminal nor a rule can have. The symbols of rules with the
    /// four numbers from here on would have the highest 32-bit values. [`Token`](super::Token) uses
    /// such values as marks.
    pub const LIMIT: u32 = Self::RULE - 4;

    /// The terminal with number `id`, below [`Symbol::LIMIT`].
    #[inline]
    pub const fn terminal(id: u32) -> Self {
        debug_assert!(id < Self::LIMIT);
        Self(id)
    }

    /// The rule with number `id`, below [`Symbol::LIMIT`].
    #[inline]
    pub const fn rule(id: u32) -> Self {
        debug_assert!(id < Self::LIMIT);
        Self(id | Self::RULE)
    }

    /// The meaning of the symbol.
    #[inline]
    pub const fn part(self) -> Part {
        if self.0 & Self::RULE == 0 {
            Part::Terminal(self.0)
        } else {
            Part::Rule(self.0 & !Self::RULE)
        }
    }

    /// The symbol as 32 bits: its number, with bit 31 set for a rule.
    #[inline]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// The inverse of [`Symbol::bits`].
    #[inline]
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }
}

impl fmt::Debug for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.part() {
            Part::Terminal(id) => write!(f, "t{id}"),
            Part::Rule(id) => write!(f, "r{id}"),
        }
    }
}
