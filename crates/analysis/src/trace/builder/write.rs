//! Writes a block as tokens, once it is cut into pieces.
//!
//! Tokens are written depth first ([`Token`]). Where a rule is used first, its right side is
//! written between an `open` and a `close` token; the `close` gives the rule the next number. Later
//! uses are the rule's number.

use holloway_format::trace::{Symbol, Token};

use super::super::grammar::Part;
use super::GrammarBuilder;
use super::uses::{UNWRITTEN, WRITTEN_INLINE};

impl GrammarBuilder {
    /// Counts the uses of each piece on the right sides that the block will contain. `symbols` are
    /// the right sides over pieces of the last level.
    pub(super) fn count(&mut self, levels: usize, symbols: &[Symbol]) {
        for symbol in symbols {
            if let Part::Terminal(piece) = symbol.part() {
                self.uses[levels - 1].count(piece, 1);
            }
        }
        for level in (1..levels).rev() {
            let (below, current) = self.uses.split_at_mut(level);
            let (below, current) = (&mut below[level - 1], &current[0]);
            for &piece in &current.counted {
                if current.rules[piece as usize] >= WRITTEN_INLINE {
                    match self.levels[level].piece(piece) {
                        // A piece of one part is never a rule, so all its uses are uses of the
                        // part.
                        &[part] => below.count(part, current.counts[piece as usize]),
                        parts => parts.iter().for_each(|&part| below.count(part, 1)),
                    }
                }
            }
        }
    }

    /// Writes the block, beginning with the start rule of SEQUITUR's grammar. `symbols` and
    /// `starts` are the right sides of this grammar. `number` returns the number of a symbol's
    /// terminal.
    pub(super) fn write(
        &mut self,
        levels: usize,
        symbols: &[Symbol],
        starts: &[u64],
        number: &impl Fn(u32) -> u32,
        out: &mut Vec<Token>,
    ) {
        let span = |rule: usize| starts[rule] as usize..starts[rule + 1] as usize;
        let mut numbers = vec![UNWRITTEN; starts.len() - 1];
        // The rules being written, each with the range of its symbols that are not written yet.
        let mut open_rules = vec![(0, span(0))];
        while let Some((rule, unwritten)) = open_rules.last_mut() {
            let Some(index) = unwritten.next() else {
                if *rule != 0 {
                    out.push(Token::close());
                    numbers[*rule] = self.rules;
                    self.rules += 1;
                }
                open_rules.pop();
                continue;
            };
            match symbols[index].part() {
                Part::Terminal(piece) => self.write_piece(levels - 1, piece, number, out),
                Part::Rule(used) if numbers[used as usize] == UNWRITTEN => {
                    out.push(Token::open());
                    open_rules.push((used as usize, span(used as usize)));
                }
                Part::Rule(used) => {
                    out.push(Token::symbol(Symbol::rule(numbers[used as usize])));
                }
            }
        }
    }

    /// Writes a piece: its rule's number if it has a rule, or its right side. The right side
    /// becomes a rule if the piece is used again in this block or was written in an earlier block.
    fn write_piece(
        &mut self,
        level: usize,
        piece: u32,
        number: &impl Fn(u32) -> u32,
        out: &mut Vec<Token>,
    ) {
        let rule = self.uses[level].rules[piece as usize];
        if rule < WRITTEN_INLINE {
            out.push(Token::symbol(Symbol::rule(rule)));
            return;
        }
        let length = self.levels[level].piece(piece).len();
        let is_rule =
            length > 1 && (rule == WRITTEN_INLINE || self.uses[level].counts[piece as usize] > 1);
        if is_rule {
            out.push(Token::open());
        }
        for index in 0..length {
            let part = self.levels[level].piece(piece)[index];
            match level {
                0 => out.push(Token::symbol(Symbol::terminal(number(part)))),
                _ => self.write_piece(level - 1, part, number, out),
            }
        }
        if is_rule {
            out.push(Token::close());
            self.uses[level].rules[piece as usize] = self.rules;
            self.rules += 1;
        }
    }
}
