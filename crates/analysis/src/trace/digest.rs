//! A hash of strings that composes ([`StringHash`]): that of a rule follows from those of its parts. So two strings and beginnings of them are
//! compared without expanding any (Karp, Rabin 1987).
//!
//! Cost: linear in the symbols of the grammar; a beginning, linear in the right sides on the way down.

use holloway_format::trace::StringHash;

use super::sweep::pieces;
use super::{Grammar, Part, Symbol};

/// Hashes of all rules of a grammar whose terminals are known by other numbers.
pub(super) struct Digests<'g> {
    grammar: &'g Grammar,
    symbols: &'g [u32],
    rules: Vec<StringHash>,
}

impl<'g> Digests<'g> {
    /// `symbols` gives the number that each terminal is hashed as.
    pub(super) fn new(grammar: &'g Grammar, symbols: &'g [u32]) -> Digests<'g> {
        let mut digests = Digests {
            grammar,
            symbols,
            rules: vec![StringHash::default(); grammar.rules() as usize],
        };
        for rule in (0..grammar.rules()).rev() {
            digests.rules[rule as usize] =
                digests.string(StringHash::default(), grammar.rule(rule));
        }
        digests
    }

    fn string(&self, before: StringHash, symbols: &[Symbol]) -> StringHash {
        symbols.iter().fold(before, |digest, symbol| {
            digest.then(match symbol.part() {
                Part::Terminal(id) => StringHash::from_number(self.symbols[id as usize]),
                Part::Rule(rule) => self.rules[rule as usize],
            })
        })
    }

    /// The hash of the first `end` terminals.
    fn before(&self, end: u64) -> StringHash {
        let pieces = pieces(self.grammar, end);
        let pieces = pieces.iter();
        pieces.fold(StringHash::default(), |hash, piece| {
            self.string(hash, piece)
        })
    }
}

/// How many terminals two strings have in common from their beginning.
///
/// Cost: as many beginnings as the length has bits.
pub(super) fn common_beginning(a: &Digests<'_>, b: &Digests<'_>) -> u64 {
    let (mut same, mut end) = (0, a.grammar.len().min(b.grammar.len()));
    while same < end {
        // Equal up to `same`; looked for up to `end`.
        let middle = same + (end - same).div_ceil(2);
        if a.before(middle) == b.before(middle) {
            same = middle;
        } else {
            end = middle - 1;
        }
    }
    same
}
