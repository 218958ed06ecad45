//! A grammar that generates one string: Larus's DAG, with one node for each rule and ordered edges
//! (Larus 1999, sections 3 and 4).
//!
//! All right sides are in one array, one after the other. A rule uses only rules with higher
//! numbers, so the graph has no cycle. A pass over the rules in order reaches each rule after all
//! its users; a pass in reverse order reaches it before them. So sums over the DAG need neither
//! recursion nor sorting.
//!
//! Cost: 4 bytes for each symbol, 16 bytes for each rule. To find a position of the string, a step
//! for each symbol in the right sides on the way from the start rule down to the position.

use std::fmt;
use std::ops::Range;

pub use holloway_format::trace::{Part, Symbol};

/// Number of a rule; 0 is the start rule.
pub type RuleId = u32;

/// A grammar without cycles that generates exactly one string; rule 0 is the start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Grammar {
    symbols: Vec<Symbol>,
    /// Start of each rule in `symbols`, and the end of the last rule.
    starts: Vec<u64>,
    /// Number of terminals in each rule's expansion.
    lengths: Vec<u64>,
}

/// The reason why a set of rules is not a [`Grammar`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GrammarError {
    /// There is no rule.
    Empty,
    /// A rule uses itself, an earlier rule, or a rule that does not exist.
    Rule {
        /// The rule.
        user: RuleId,
        /// The rule that it uses.
        used: RuleId,
    },
    /// A rule's expansion has 2^63 terminals or more.
    Long {
        /// The rule.
        rule: RuleId,
    },
}

impl fmt::Display for GrammarError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("a grammar without rules"),
            Self::Rule { user, used } => {
                write!(f, "rule {user} uses rule {used}, which does not follow it")
            }
            Self::Long { rule } => write!(f, "rule {rule} stands for 2^63 events or more"),
        }
    }
}

impl std::error::Error for GrammarError {}

impl Grammar {
    /// Creates a grammar of these right sides, start rule first.
    ///
    /// # Errors
    /// If there is no right side, a right side uses a rule that does not follow it, or an expansion
    /// is too long.
    pub fn new<R: AsRef<[Symbol]>>(
        rules: impl IntoIterator<Item = R>,
    ) -> Result<Self, GrammarError> {
        let (mut symbols, mut starts) = (Vec::new(), vec![0]);
        for rule in rules {
            symbols.extend_from_slice(rule.as_ref());
            starts.push(symbols.len() as u64);
        }
        Self::from_parts(symbols, starts)
    }

    /// Creates a grammar from one array of right sides: rule `r` is
    /// `symbols[starts[r]..starts[r + 1]]`.
    ///
    /// # Errors
    /// If [`Grammar::new`] would return an error for these right sides.
    ///
    /// # Panics
    /// If `starts` does not ascend from 0 to the number of symbols.
    pub fn from_parts(symbols: Vec<Symbol>, starts: Vec<u64>) -> Result<Self, GrammarError> {
        assert_eq!(starts.first(), Some(&0), "starts begin at 0");
        assert_eq!(
            starts.last(),
            Some(&(symbols.len() as u64)),
            "starts end at the end"
        );
        let mut grammar = Self {
            lengths: vec![0; starts.len() - 1],
            symbols,
            starts,
        };
        if grammar.lengths.is_empty() {
            return Err(GrammarError::Empty);
        }
        for rule in (0..grammar.rules()).rev() {
            grammar.lengths[rule as usize] = grammar.measure(rule)?;
        }
        Ok(grammar)
    }

    /// Computes the length of a rule's expansion. The lengths of the rules that it uses are known.
    fn measure(&self, user: RuleId) -> Result<u64, GrammarError> {
        let mut length = 0u64;
        for &symbol in self.rule(user) {
            if let Part::Rule(used) = symbol.part()
                && (used <= user || used >= self.rules())
            {
                return Err(GrammarError::Rule { user, used });
            }
            length = length
                .checked_add(self.length_of(symbol))
                .filter(|&sum| sum < 1 << 63)
                .ok_or(GrammarError::Long { rule: user })?;
        }
        Ok(length)
    }

    /// Number of rules, including the start rule.
    pub fn rules(&self) -> RuleId {
        self.lengths.len() as RuleId
    }

    /// Number of symbols on all right sides.
    pub fn size(&self) -> usize {
        self.symbols.len()
    }

    /// The right side of a rule.
    pub fn rule(&self, rule: RuleId) -> &[Symbol] {
        &self.symbols[self.span(rule)]
    }

    fn span(&self, rule: RuleId) -> Range<usize> {
        self.starts[rule as usize] as usize..self.starts[rule as usize + 1] as usize
    }

    /// Length of the string.
    pub fn len(&self) -> u64 {
        self.lengths[0]
    }

    /// Whether the string is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of terminals in a rule's expansion.
    pub fn length(&self, rule: RuleId) -> u64 {
        self.lengths[rule as usize]
    }

    /// Number of terminals that a symbol stands for.
    pub fn length_of(&self, symbol: Symbol) -> u64 {
        match symbol.part() {
            Part::Terminal(_) => 1,
            Part::Rule(rule) => self.lengths[rule as usize],
        }
    }

    /// Number of occurrences of each rule in the string: the number of ways from the start rule to
    /// the rule in the DAG (Larus 1999, section 3.3).
    pub fn frequencies(&self) -> Vec<u64> {
        let mut counts = vec![0u64; self.lengths.len()];
        counts[0] = 1;
        for rule in 0..self.rules() {
            let count = counts[rule as usize];
            for &symbol in self.rule(rule) {
                if let Part::Rule(used) = symbol.part() {
                    // A rule with an empty expansion may occur more often than the string is long.
                    counts[used as usize] = counts[used as usize].saturating_add(count);
                }
            }
        }
        counts
    }

    /// The terminals of the string from `position` on. The terminals before it are not expanded.
    pub fn expand_from(&self, position: u64) -> Expansion<'_> {
        self.expand_rule(0, position)
    }

    /// The terminals of the string.
    pub fn expand(&self) -> Expansion<'_> {
        self.expand_from(0)
    }

    /// The terminals of a rule's expansion from `skip` on.
    pub fn expand_rule(&self, rule: RuleId, skip: u64) -> Expansion<'_> {
        let mut expansion = Expansion {
            grammar: self,
            stack: vec![self.span(rule)],
        };
        expansion.skip_terminals(skip);
        expansion
    }
}

/// Iterator over the terminals of an expansion, by their numbers.
#[derive(Clone, Debug)]
pub struct Expansion<'a> {
    grammar: &'a Grammar,
    /// The unread part of each right side on the way from the start rule down to the current
    /// position, as ranges in the array of symbols.
    stack: Vec<Range<usize>>,
}

impl Expansion<'_> {
    /// Skips the next `count` terminals. A rule that fits into `count` is skipped in one step.
    fn skip_terminals(&mut self, mut count: u64) {
        while count > 0 {
            let Some(top) = self.stack.last_mut() else {
                return;
            };
            let Some(index) = top.next() else {
                self.stack.pop();
                continue;
            };
            let symbol = self.grammar.symbols[index];
            let length = self.grammar.length_of(symbol);
            if length <= count {
                count -= length;
            } else if let Part::Rule(rule) = symbol.part() {
                self.stack.push(self.grammar.span(rule));
            }
        }
    }
}

impl Iterator for Expansion<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        loop {
            let top = self.stack.last_mut()?;
            let Some(index) = top.next() else {
                self.stack.pop();
                continue;
            };
            match self.grammar.symbols[index].part() {
                Part::Terminal(id) => return Some(id),
                Part::Rule(rule) => {
                    if top.start == top.end {
                        // The rule replaces its exhausted user on the stack, so right recursion
                        // needs no depth.
                        *top = self.grammar.span(rule);
                    } else {
                        self.stack.push(self.grammar.span(rule));
                    }
                }
            }
        }
    }
}
