//! Whole program paths on disk: what a trace is made of, and its file `*.hwt` (Larus 1999, sections
//! 2 and 3).
//!
//! A trace is a string of *terminals*, what one thread did in one image, held as a grammar that generates just that string:
//! each rule's right side is a string of [`Symbol`]s.

mod coder;
mod context;
mod file;
mod hash;
mod history;
mod model;
mod writer;

use std::fmt;

pub(crate) use file::repair;
pub use file::{Before, Blocks, Head, TraceFile, TraceStream};
pub use hash::StringHash;
pub use writer::{StreamId, TraceWriter};

/// A terminal (by its place in the trace's table) or a rule (by its number) on the right side of a rule.
///
/// Terminals sort before rules.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol(u32);

/// What a [`Symbol`] stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The terminal with this number.
    Terminal(u32),
    /// The right side of the rule with this number.
    Rule(u32),
}

impl Symbol {
    const RULE: u32 = 1 << 31;
    /// First number that neither a terminal nor a rule can have.
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

    /// Which of the two it is.
    #[inline]
    pub const fn part(self) -> Part {
        if self.0 & Self::RULE == 0 {
            Part::Terminal(self.0)
        } else {
            Part::Rule(self.0 & !Self::RULE)
        }
    }

    /// The number and the kind in 32 bits: a rule has bit 31 set.
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

/// One event of a trace.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Terminal {
    /// A path ended.
    Path {
        /// Its function, by its place among all functions of the image's map.
        function: u32,
        /// Its number in the function.
        path: u32,
    },
    /// So many frames were left without a path to their exit (an exception, a `longjmp`).
    Left(u32),
    /// Something is missing here: words that were dropped, or paths of a function whose map is damaged.
    Gap,
}

/// A step in writing a grammar down, depth first: a symbol, or the bounds of a right side that stands where its rule is used first.
///
/// ```text
/// S → A c A, A → a b      ( a b ) c A
/// ```
/// Rules are numbered in the order in which their right sides end: a rule uses rules with lower numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Token(u32);

impl Token {
    const RULE: u32 = Symbol::RULE;
    const OPEN: u32 = u32::MAX;
    const CLOSE: u32 = u32::MAX - 1;
    const NONE: u32 = u32::MAX - 2;

    /// A rule is used here for the first time, and its right side begins.
    pub const fn open() -> Self {
        Self(Self::OPEN)
    }

    /// The right side that began last ends; the next number is its rule's.
    pub const fn close() -> Self {
        Self(Self::CLOSE)
    }

    const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    const fn bits(self) -> u32 {
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

/// What was added to a thread's trace since the block before.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Block {
    /// Rules of earlier blocks are not used from here on, and numbers begin at 0 again. So in the first block of a stream.
    pub is_fresh: bool,
    /// Terminals that appear for the first time; their numbers go on from those of earlier blocks, fresh or not.
    pub terminals: Vec<Terminal>,
    /// A right side, with those of its new rules.
    pub tokens: Vec<Token>,
    /// Number of terminals that it stands for.
    pub length: u64,
    /// Hash of their numbers.
    pub hash: StringHash,
    /// By how much they change the number of open activations.
    pub change: i64,
}
