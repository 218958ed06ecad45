//! The grammar of a trace in a document. The page expands it where the user looks.
//!
//! A grammar that fits is written as it is. Of a larger one, the page has the rules with the
//! longest expansions. Each rule is longer than the rules it uses, so all users of such a rule are
//! there, too. A rule that is left out but used is a *leaf*: the page knows its length and its
//! sums, and not its events. A very long start rule is first divided into *pieces*, so that its
//! beginning does not take all the room.
//!
//! Example: S → A A c, A → a B, B → a b, and room for S and A. The page has S → A A c and A → a 0,
//! where leaf 0 stands for the two events of B.
//!
//! Cost: a pass over the symbols, and one for each row if rules are left out.

use holloway_analysis::trace::{Grammar, Part, RuleId, Symbol};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::HashSet;

use super::exact::Exact;

/// Symbols of a piece of a long start rule.
const PIECE: usize = 256;
/// A terminal takes as much room as this number of symbols.
const TERMINAL: usize = 3;

/// The sums of terminals that the page shows for a part of the trace, by row.
pub(super) struct Rows<'a> {
    /// By terminal: its row.
    pub(super) row_of: &'a [usize],
    /// By terminal: what it adds to its row.
    pub(super) weights: &'a [u64],
    /// Number of rows.
    pub(super) count: usize,
}

/// A grammar.
#[derive(Serialize)]
pub(super) struct GrammarRecord {
    /// By rule of the page: the number of symbols on its right side.
    sizes: Vec<usize>,
    /// The right sides one after the other: 3 × n for terminal n, 3 × n + 1 for rule n of the page,
    /// and 3 × n + 2 for leaf n.
    symbols: Vec<u64>,
    /// By rule of the page: its number in the trace. Pieces of the start rule have numbers from the
    /// number of rules on. Empty if no rule is left out.
    numbers: Vec<RuleId>,
    /// By leaf: its number in the trace, the number of its events, and its sums by row.
    leaves: Vec<Exact>,
}

impl GrammarRecord {
    /// The rules of a grammar that fit into `room`, a number of symbols. What they take is
    /// subtracted from it.
    pub(super) fn new(grammar: &Grammar, rows: &Rows<'_>, room: &mut usize) -> GrammarRecord {
        let all = grammar.size() + TERMINAL * rows.row_of.len();
        if all <= *room {
            *room -= all;
            return GrammarRecord::whole(grammar);
        }
        let divided = Divided::new(grammar);
        let kept = divided.longest(room);
        let mut indices = vec![None; divided.rules() as usize];
        for (index, &rule) in (0u64..).zip(&kept) {
            indices[rule as usize] = Some(index);
        }
        let mut leaves: Vec<RuleId> = Vec::new();
        let mut leaf_indices = vec![None; divided.rules() as usize];
        let mut symbols = Vec::new();
        for &rule in &kept {
            symbols.extend(divided.right_side(rule).map(|symbol| match symbol.part() {
                Part::Terminal(terminal) => 3 * u64::from(terminal),
                Part::Rule(used) => match indices[used as usize] {
                    Some(index) => 3 * index + 1,
                    None => {
                        let leaf = leaf_indices[used as usize].get_or_insert_with(|| {
                            leaves.push(used);
                            leaves.len() as u64 - 1
                        });
                        3 * *leaf + 2
                    }
                },
            }));
        }
        GrammarRecord {
            sizes: kept.iter().map(|&rule| divided.size(rule)).collect(),
            symbols,
            leaves: divided.sums(&leaves, rows),
            numbers: kept,
        }
    }

    fn whole(grammar: &Grammar) -> GrammarRecord {
        let rules = || 0..grammar.rules();
        let symbols = rules().flat_map(|rule| grammar.rule(rule));
        let code = |symbol: &Symbol| match symbol.part() {
            Part::Terminal(terminal) => 3 * u64::from(terminal),
            Part::Rule(rule) => 3 * u64::from(rule) + 1,
        };
        GrammarRecord {
            sizes: rules().map(|rule| grammar.rule(rule).len()).collect(),
            symbols: symbols.map(code).collect(),
            numbers: Vec::new(),
            leaves: Vec::new(),
        }
    }

    /// By terminal: whether the page has the terminal.
    pub(super) fn terminals(&self, count: usize) -> Vec<bool> {
        let mut used = vec![false; count];
        for &symbol in self.symbols.iter().filter(|&&symbol| symbol % 3 == 0) {
            used[(symbol / 3) as usize] = true;
        }
        used
    }
}

/// A grammar whose start rule is divided into pieces.
struct Divided<'a> {
    grammar: &'a Grammar,
    /// The pieces follow the rules of the grammar. There is none if the start rule is short.
    pieces: Vec<&'a [Symbol]>,
}

impl<'a> Divided<'a> {
    fn new(grammar: &'a Grammar) -> Divided<'a> {
        let start = grammar.rule(0);
        let pieces = match start.len() > PIECE {
            true => start.chunks(PIECE).collect(),
            false => Vec::new(),
        };
        Divided { grammar, pieces }
    }

    fn rules(&self) -> RuleId {
        self.grammar.rules() + self.pieces.len() as RuleId
    }

    fn right_side(&self, rule: RuleId) -> Box<dyn Iterator<Item = Symbol> + '_> {
        let rules = self.grammar.rules();
        match rule.checked_sub(rules) {
            Some(piece) => Box::new(self.pieces[piece as usize].iter().copied()),
            None if rule == 0 && !self.pieces.is_empty() => {
                Box::new((rules..self.rules()).map(Symbol::rule))
            }
            None => Box::new(self.grammar.rule(rule).iter().copied()),
        }
    }

    fn size(&self, rule: RuleId) -> usize {
        self.right_side(rule).count()
    }

    /// All rules, each after the rules that it uses.
    fn bottom_up(&self) -> impl Iterator<Item = RuleId> {
        let rules = self.grammar.rules();
        (1..rules).rev().chain(rules..self.rules()).chain([0])
    }

    fn length(&self, rule: RuleId) -> u64 {
        match rule.checked_sub(self.grammar.rules()) {
            None => self.grammar.length(rule),
            Some(piece) => {
                let lengths = self.pieces[piece as usize].iter();
                lengths.map(|&symbol| self.grammar.length_of(symbol)).sum()
            }
        }
    }

    /// The rules with the longest expansions that fit into `room`, the longest first.
    fn longest(&self, room: &mut usize) -> Vec<RuleId> {
        let mut rules: Vec<(u64, RuleId)> = (0..self.rules())
            .map(|rule| (self.length(rule), rule))
            .collect();
        // The start rule comes before a piece, and a rule before the rules it uses, if they are
        // equally long.
        let is_piece = |rule: RuleId| rule >= self.grammar.rules();
        rules.sort_by_key(|&(length, rule)| (rule != 0, Reverse(length), !is_piece(rule), rule));
        let mut terminals: HashSet<u32> = HashSet::new();
        let mut kept = Vec::new();
        for (_, rule) in rules {
            let used = self
                .right_side(rule)
                .filter_map(|symbol| match symbol.part() {
                    Part::Terminal(terminal) => Some(terminal),
                    Part::Rule(_) => None,
                });
            let new = used.filter(|terminal| !terminals.contains(terminal));
            let new: HashSet<u32> = new.collect();
            let size = self.size(rule) + TERMINAL * new.len();
            if size > *room && rule != 0 {
                break;
            }
            *room = room.saturating_sub(size);
            terminals.extend(new);
            kept.push(rule);
        }
        kept
    }

    /// By leaf: its number, its events, and its sums by row.
    fn sums(&self, leaves: &[RuleId], rows: &Rows<'_>) -> Vec<Exact> {
        let width = 2 + rows.count;
        let mut fields = vec![Exact::from(0u64); width * leaves.len()];
        for (leaf, fields) in leaves.iter().zip(fields.chunks_mut(width)) {
            fields[0] = (*leaf).into();
            fields[1] = self.length(*leaf).into();
        }
        let mut sums = vec![0u64; self.rules() as usize];
        for row in 0..rows.count {
            for rule in self.bottom_up() {
                let of = |symbol: Symbol| match symbol.part() {
                    Part::Terminal(terminal) => match rows.row_of[terminal as usize] == row {
                        true => rows.weights[terminal as usize],
                        false => 0,
                    },
                    Part::Rule(used) => sums[used as usize],
                };
                let sum = self.right_side(rule).map(of);
                let sum = sum.fold(0, u64::saturating_add);
                sums[rule as usize] = sum;
            }
            for (leaf, fields) in leaves.iter().zip(fields.chunks_mut(width)) {
                fields[2 + row] = sums[*leaf as usize].into();
            }
        }
        fields
    }
}

#[cfg(test)]
mod tests {
    use super::{GrammarRecord, Rows};
    use holloway_analysis::trace::{Grammar, Symbol};

    /// The record of S → A A c, A → a B, B → a b with this room, as text. The rows are: a and b,
    /// and c.
    fn check(room: usize, expect: &str) {
        let (terminal, rule) = (Symbol::terminal, Symbol::rule);
        let rules = [
            vec![rule(1), rule(1), terminal(2)],
            vec![terminal(0), rule(2)],
            vec![terminal(0), terminal(1)],
        ];
        let rows = Rows {
            row_of: &[0, 0, 1],
            weights: &[10, 1, 7],
            count: 2,
        };
        let grammar = Grammar::new(rules).expect("a grammar");
        let record = GrammarRecord::new(&grammar, &rows, &mut { room });
        let text = serde_json::to_string(&record).expect("a record is JSON");
        assert_eq!(text, expect);
    }

    #[test]
    fn a_small_grammar_is_whole() {
        check(
            16,
            r#"{"sizes":[3,2,2],"symbols":[4,4,6,0,7,0,3],"numbers":[],"leaves":[]}"#,
        );
    }

    #[test]
    fn short_rules_are_left_out_and_their_sums_stay() {
        check(
            15,
            r#"{"sizes":[3,2],"symbols":[4,4,6,0,2],"numbers":[0,1],"leaves":[2,2,11,0]}"#,
        );
        check(
            0,
            r#"{"sizes":[3],"symbols":[2,2,6],"numbers":[0],"leaves":[1,3,21,0]}"#,
        );
    }

    #[test]
    fn a_long_start_rule_has_pieces() {
        let start: Vec<Symbol> = (0..600).map(|_| Symbol::terminal(0)).collect();
        let rows = Rows {
            row_of: &[0],
            weights: &[2],
            count: 1,
        };
        let grammar = Grammar::new([start]).expect("a grammar");
        let record = GrammarRecord::new(&grammar, &rows, &mut 300);
        assert_eq!(record.sizes, [3, 256]);
        assert_eq!(record.symbols[..3], [4, 2, 5]);
        assert_eq!(record.numbers, [0, 1]);
        let leaves = serde_json::to_string(&record.leaves).expect("numbers are JSON");
        assert_eq!(leaves, "[2,256,512,3,88,176]");
    }
}
