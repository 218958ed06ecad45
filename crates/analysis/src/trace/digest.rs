//! Compares two strings, and prefixes of them, without expanding their grammars (Karp, Rabin 1987).
//! The hash composes ([`StringHash`]): the hash of a rule follows from the hashes of its symbols.
//!
//! Cost: linear in the symbols of the grammar. The hash of a prefix is linear in the right sides on
//! the way down to its end.

use holloway_format::trace::StringHash;

use super::sweep::prefixes;
use super::{Grammar, Part, Symbol};

/// The hashes of all rules of a grammar. Terminals are hashed by numbers that two traces share.
pub(super) struct Digests<'g> {
    grammar: &'g Grammar,
    symbols: &'g [u32],
    rules: Vec<StringHash>,
}

impl<'g> Digests<'g> {
    /// `symbols` holds the number to hash for each terminal.
    pub(super) fn new(grammar: &'g Grammar, symbols: &'g [u32]) -> Digests<'g> {
        let mut digests = Digests {
            grammar,
            symbols,
            rules: vec![StringHash::default(); grammar.rules() as usize],
        };
        for rule in (0..grammar.rules()).rev() {
            digests.rules[rule as usize] =
                digests.append_symbols(StringHash::default(), grammar.rule(rule));
        }
        digests
    }

    fn append_symbols(&self, start: StringHash, symbols: &[Symbol]) -> StringHash {
        symbols.iter().fold(start, |digest, symbol| {
            digest.then(match symbol.part() {
                Part::Terminal(id) => StringHash::from_number(self.symbols[id as usize]),
                Part::Rule(rule) => self.rules[rule as usize],
            })
        })
    }

    /// The hash of the first `end` terminals.
    fn prefix_hash(&self, end: u64) -> StringHash {
        let prefixes = prefixes(self.grammar, end);
        let prefixes = prefixes.iter();
        prefixes.fold(StringHash::default(), |hash, prefix| {
            self.append_symbols(hash, prefix)
        })
    }
}

/// Length of the common prefix of two strings, by binary search.
///
/// Cost: one prefix hash for each bit of the length.
pub(super) fn common_prefix_length(a: &Digests<'_>, b: &Digests<'_>) -> u64 {
    let (mut same, mut end) = (0, a.grammar.len().min(b.grammar.len()));
    while same < end {
        // The strings are equal up to `same`; the search goes up to `end`.
        let middle = same + (end - same).div_ceil(2);
        if a.prefix_hash(middle) == b.prefix_hash(middle) {
            same = middle;
        } else {
            end = middle - 1;
        }
    }
    same
}
