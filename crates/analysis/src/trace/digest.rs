//! Finds the longest common prefix of two traces by comparing hashes of prefixes (Karp, Rabin
//! 1987), without expanding the grammars.
//!
//! The hash of a concatenation is computed from the hashes of its parts ([`StringHash`]). So the
//! hash of a rule is computed from the hashes of its symbols.
//!
//! Cost: linear in the symbols of the grammar. The hash of a prefix costs a step for each symbol in
//! the right sides on the way from the start rule down to the prefix's end.

use holloway_format::trace::StringHash;

use super::sweep::prefixes;
use super::{Grammar, Part, Symbol};

/// The hashes of all rules of a grammar.
pub(super) struct RuleHashes<'g> {
    grammar: &'g Grammar,
    /// By terminal: a number that two traces share.
    numbers: &'g [u32],
    /// By rule.
    hashes: Vec<StringHash>,
}

impl<'g> RuleHashes<'g> {
    /// Hashes the rules of a grammar. `numbers` holds the number to hash for each terminal.
    pub(super) fn new(grammar: &'g Grammar, numbers: &'g [u32]) -> RuleHashes<'g> {
        let mut rules = RuleHashes {
            grammar,
            numbers,
            hashes: vec![StringHash::default(); grammar.rules() as usize],
        };
        for rule in (0..grammar.rules()).rev() {
            rules.hashes[rule as usize] =
                rules.append_symbols(StringHash::default(), grammar.rule(rule));
        }
        rules
    }

    /// The hash of a string followed by symbols.
    fn append_symbols(&self, start: StringHash, symbols: &[Symbol]) -> StringHash {
        symbols.iter().fold(start, |hash, symbol| {
            hash.then(match symbol.part() {
                Part::Terminal(id) => StringHash::from_number(self.numbers[id as usize]),
                Part::Rule(rule) => self.hashes[rule as usize],
            })
        })
    }

    /// The hash of the first `end` terminals.
    fn prefix_hash(&self, end: u64) -> StringHash {
        let prefixes = prefixes(self.grammar, end);
        prefixes.iter().fold(StringHash::default(), |hash, prefix| {
            self.append_symbols(hash, prefix)
        })
    }
}

/// Length of the common prefix of two strings, by binary search.
///
/// Cost: one prefix hash for each bit of the length.
pub(super) fn common_prefix_length(a: &RuleHashes<'_>, b: &RuleHashes<'_>) -> u64 {
    // The length of the common prefix is between `min` and `max`.
    let (mut min, mut max) = (0, a.grammar.len().min(b.grammar.len()));
    while min < max {
        let middle = min + (max - min).div_ceil(2);
        if a.prefix_hash(middle) == b.prefix_hash(middle) {
            min = middle;
        } else {
            max = middle - 1;
        }
    }
    min
}
