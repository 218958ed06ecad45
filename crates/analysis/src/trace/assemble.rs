//! Assembles the blocks of a trace into one grammar in which every rule is used at least twice.
//!
//! The start rule is the concatenation of the blocks' right sides. A full builder ([`Depth::Full`])
//! finds the repetitions that the quick builder left in it; its terminals are the blocks' symbols.
//! Then each rule that is used once is replaced by its right side.
//!
//! Cost: linear in the tokens, about 100 ns for each token.

use holloway_format::error::AssembleError;
use holloway_format::trace::{Block, Step, Token};

use super::builder::{Depth, GrammarBuilder, Limits};
use super::grammar::{Grammar, Part, Symbol};

/// A list of right sides. Each comes after the rules that it uses.
#[derive(Default)]
pub(super) struct RuleList {
    symbols: Vec<Symbol>,
    /// End of each right side in `symbols`.
    ends: Vec<usize>,
}

impl RuleList {
    pub(super) fn len(&self) -> u32 {
        self.ends.len() as u32
    }

    pub(super) fn right_side(&self, rule: u32) -> &[Symbol] {
        let start = match rule {
            0 => 0,
            _ => self.ends[rule as usize - 1],
        };
        &self.symbols[start..self.ends[rule as usize]]
    }
}

/// Reads tokens. Adds complete right sides to the list of rules, and returns the symbols outside of
/// rules.
#[derive(Default)]
pub(super) struct TokenReader {
    pub(super) rules: RuleList,
    /// Number in the list of the first rule that tokens may use.
    first_usable: u32,
    /// Open right sides, one after the other, and the start of each.
    open: Vec<Symbol>,
    starts: Vec<usize>,
}

/// Maximum number of rules, and of terminals. Such a number and one bit that tells rules from
/// terminals form a terminal of the full builder.
const MAX_RULES: u32 = 1 << 29;
/// Maximum number of tokens to assemble, and of symbols in rules: 4 GiB.
pub(super) const MAX_TOKENS: usize = 1 << 30;

impl TokenReader {
    /// Begins a fresh block: later tokens cannot use the rules so far.
    pub(super) fn forget_rules(&mut self) {
        self.first_usable = self.rules.len();
    }

    pub(super) fn read(
        &mut self,
        tokens: &[Token],
        terminal: impl Fn(u32) -> Result<Symbol, AssembleError>,
    ) -> Result<Vec<Symbol>, AssembleError> {
        for token in tokens {
            match token.step() {
                Step::Open => self.starts.push(self.open.len()),
                Step::Close => self.close()?,
                Step::Symbol(symbol) => self.open.push(match symbol.part() {
                    Part::Terminal(id) => terminal(id)?,
                    Part::Rule(rule) => self.rule(rule)?,
                }),
            }
        }
        match self.starts.is_empty() {
            true => Ok(std::mem::take(&mut self.open)),
            false => Err(AssembleError::Unbalanced),
        }
    }

    fn rule(&self, rule: u32) -> Result<Symbol, AssembleError> {
        let number = rule.checked_add(self.first_usable);
        let usable = number.filter(|&number| number < self.rules.len());
        usable.map(Symbol::rule).ok_or(AssembleError::Rule { rule })
    }

    fn close(&mut self) -> Result<(), AssembleError> {
        let start = self.starts.pop().ok_or(AssembleError::Unbalanced)?;
        let rule = self.rules.len();
        if rule == MAX_RULES || self.rules.symbols.len() > MAX_TOKENS {
            return Err(AssembleError::Large);
        }
        self.rules.symbols.extend(self.open.drain(start..));
        self.rules.ends.push(self.rules.symbols.len());
        self.open.push(Symbol::rule(rule));
        Ok(())
    }
}

/// Assembles the blocks of a trace, one after the other.
pub struct Assembler {
    reader: TokenReader,
    full_builder: GrammarBuilder,
    /// The blocks that the full builder has made so far.
    blocks: Vec<Block>,
    tokens: usize,
    terminals: usize,
}

impl Default for Assembler {
    fn default() -> Self {
        Self {
            reader: TokenReader::default(),
            full_builder: GrammarBuilder::new(Limits::default(), Depth::Full),
            blocks: Vec::new(),
            tokens: 0,
            terminals: 0,
        }
    }
}

impl Assembler {
    /// Appends a block.
    ///
    /// # Errors
    /// The block is not well formed.
    pub fn push(&mut self, block: &Block) -> Result<(), AssembleError> {
        if block.is_fresh {
            self.reader.forget_rules();
        }
        self.terminals += block.terminals.len();
        self.tokens += block.tokens.len();
        if self.terminals > MAX_RULES as usize || self.tokens > MAX_TOKENS {
            return Err(AssembleError::Large);
        }
        let terminal_count = self.terminals;
        let top = self.reader.read(&block.tokens, |terminal| {
            ((terminal as usize) < terminal_count)
                .then(|| Symbol::terminal(terminal))
                .ok_or(AssembleError::Terminal { terminal })
        })?;
        let codes: Vec<u32> = top.into_iter().map(encode).collect();
        let blocks = &mut self.blocks;
        self.full_builder.extend(&codes, |block| blocks.push(block));
        Ok(())
    }

    /// Returns the grammar of all blocks.
    ///
    /// # Errors
    /// The string is too long.
    pub fn finish(mut self) -> Result<Grammar, AssembleError> {
        self.blocks.extend(self.full_builder.flush());
        let mut top = Vec::new();
        for block in std::mem::take(&mut self.blocks) {
            if block.is_fresh {
                self.reader.forget_rules();
            }
            top.extend(self.reader.read(&block.tokens, |code| Ok(decode(code)))?);
        }
        prune(&self.reader.rules, &top)
    }
}

/// Encodes a symbol as a terminal of the full builder.
fn encode(symbol: Symbol) -> u32 {
    match symbol.part() {
        Part::Terminal(id) => id << 1,
        Part::Rule(rule) => rule << 1 | 1,
    }
}

fn decode(code: u32) -> Symbol {
    match code & 1 {
        0 => Symbol::terminal(code >> 1),
        _ => Symbol::rule(code >> 1),
    }
}

/// Builds the grammar without rules that are used less than twice, and without rules of one symbol.
/// A rule comes before the rules that it uses.
pub(super) fn prune(rules: &RuleList, top: &[Symbol]) -> Result<Grammar, AssembleError> {
    let mut uses = vec![0u32; rules.ends.len()];
    let count_uses = |right_side: &[Symbol], times: u32, uses: &mut Vec<u32>| {
        for symbol in right_side {
            if let Part::Rule(rule) = symbol.part() {
                uses[rule as usize] = uses[rule as usize].saturating_add(times);
            }
        }
    };
    count_uses(top, 1, &mut uses);
    for rule in (0..rules.len()).rev() {
        let right_side = rules.right_side(rule);
        match (uses[rule as usize], right_side.len()) {
            (0, _) => {}
            // Its only symbol replaces it wherever it is used.
            (times, 1) => count_uses(right_side, times, &mut uses),
            _ => count_uses(right_side, 1, &mut uses),
        }
    }
    let is_kept = |rule: u32| uses[rule as usize] > 1 && rules.right_side(rule).len() != 1;
    let mut numbers = vec![0; rules.ends.len()];
    let kept = (0..rules.len()).rev().filter(|&rule| is_kept(rule));
    for (number, rule) in (1..).zip(kept) {
        numbers[rule as usize] = number;
    }
    let (mut symbols, mut starts) = (Vec::new(), vec![0]);
    let mut write = |right_side: &[Symbol]| {
        let mut open = vec![right_side.iter()];
        while let Some(rest) = open.last_mut() {
            match rest.next().map(|symbol| (symbol.part(), *symbol)) {
                None => drop(open.pop()),
                Some((Part::Rule(rule), _)) if is_kept(rule) => {
                    symbols.push(Symbol::rule(numbers[rule as usize]));
                }
                Some((Part::Rule(rule), _)) => open.push(rules.right_side(rule).iter()),
                Some((Part::Terminal(_), symbol)) => symbols.push(symbol),
            }
        }
        starts.push(symbols.len() as u64);
    };
    write(top);
    for rule in (0..rules.len()).rev().filter(|&rule| is_kept(rule)) {
        write(rules.right_side(rule));
    }
    Grammar::from_parts(symbols, starts).map_err(|_| AssembleError::Large)
}
