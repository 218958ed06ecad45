//! Assembles the blocks of a trace into one grammar in which every rule is used at least twice.
//!
//! Each block is a string of symbols: terminals, and rules of this block or earlier blocks. The
//! concatenation of these strings generates the trace, but it still contains repetitions, because
//! the recording builder works quickly ([`Depth::Quick`]). So a second builder with
//! [`Depth::Full`] processes the concatenation. Its terminals are the symbols of the blocks. Then
//! each rule that is used once is replaced by its right side.
//!
//! Cost: linear in the tokens, about 100 ns for each token.

use holloway_format::error::AssembleError;
use holloway_format::trace::{Block, Step, Token};

use super::builder::{Depth, GrammarBuilder, Limits};
use super::grammar::{Grammar, Part, Symbol};

/// The right sides of rules, by rule number. A rule comes after the rules that it uses.
#[derive(Default)]
pub(super) struct RuleList {
    /// All right sides, one after the other.
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

/// Reads the tokens of blocks, and lists the rules that they contain.
#[derive(Default)]
pub(super) struct TokenReader {
    pub(super) rules: RuleList,
    /// Number in the list of the first rule that tokens may use.
    first_usable: u32,
    /// The symbols outside of rules, and then the open right sides, one after the other.
    open: Vec<Symbol>,
    /// Start of each open right side in `open`.
    starts: Vec<usize>,
}

/// Maximum number of rules, and of terminals. The full builder's terminals have 30 bits: the number
/// of a rule or terminal, and one bit that distinguishes rules from terminals.
const MAX_RULES: u32 = 1 << 29;
/// Maximum number of tokens to assemble, and of symbols in rules: 4 GiB.
pub(super) const MAX_TOKENS: usize = 1 << 30;

impl TokenReader {
    /// Begins a fresh block: later tokens cannot use the rules so far.
    pub(super) fn forget_rules(&mut self) {
        self.first_usable = self.rules.len();
    }

    /// Reads the tokens of a block. Adds the rules to the list, and returns the symbols outside of
    /// rules. `terminal` returns the symbol for the number of a terminal.
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
        if !self.starts.is_empty() {
            return Err(AssembleError::Unbalanced);
        }
        Ok(std::mem::take(&mut self.open))
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
    full_blocks: Vec<Block>,
    /// Number of tokens and of terminals in the assembled blocks.
    tokens: usize,
    terminals: usize,
}

impl Default for Assembler {
    fn default() -> Self {
        Self {
            reader: TokenReader::default(),
            full_builder: GrammarBuilder::new(Limits::default(), Depth::Full),
            full_blocks: Vec::new(),
            tokens: 0,
            terminals: 0,
        }
    }
}

impl Assembler {
    /// Appends a block.
    ///
    /// # Errors
    /// If the block is not well formed, or the trace is too large.
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
        let full_blocks = &mut self.full_blocks;
        self.full_builder
            .extend(&codes, |block| full_blocks.push(block));
        Ok(())
    }

    /// Returns the grammar of all blocks.
    ///
    /// # Errors
    /// If the grammar is too large.
    pub fn finish(mut self) -> Result<Grammar, AssembleError> {
        self.full_blocks.extend(self.full_builder.flush());
        let mut top = Vec::new();
        for block in std::mem::take(&mut self.full_blocks) {
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

/// Builds a grammar of the start rule `top` and the rules. Leaves out rules that are used less than
/// twice, and rules of one symbol: their right sides replace them in their users. In the grammar, a
/// rule comes before the rules that it uses.
///
/// # Errors
/// If the grammar is too large.
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
            // The only symbol replaces the rule in all its uses.
            (times, 1) => count_uses(right_side, times, &mut uses),
            _ => count_uses(right_side, 1, &mut uses),
        }
    }
    let is_rule_in_grammar =
        |rule: u32| uses[rule as usize] > 1 && rules.right_side(rule).len() != 1;
    let mut numbers = vec![0; rules.ends.len()];
    let rules_in_grammar = (0..rules.len())
        .rev()
        .filter(|&rule| is_rule_in_grammar(rule));
    for (number, rule) in (1..).zip(rules_in_grammar) {
        numbers[rule as usize] = number;
    }
    let (mut symbols, mut starts) = (Vec::new(), vec![0]);
    let mut write = |right_side: &[Symbol]| {
        // The right side, and the right sides that replace rules in it.
        let mut stack = vec![right_side.iter()];
        while let Some(symbols_to_write) = stack.last_mut() {
            let symbol = symbols_to_write.next();
            match symbol.map(|symbol| (symbol.part(), *symbol)) {
                None => drop(stack.pop()),
                Some((Part::Rule(rule), _)) if is_rule_in_grammar(rule) => {
                    symbols.push(Symbol::rule(numbers[rule as usize]));
                }
                Some((Part::Rule(rule), _)) => stack.push(rules.right_side(rule).iter()),
                Some((Part::Terminal(_), symbol)) => symbols.push(symbol),
            }
        }
        starts.push(symbols.len() as u64);
    };
    write(top);
    for rule in (0..rules.len())
        .rev()
        .filter(|&rule| is_rule_in_grammar(rule))
    {
        write(rules.right_side(rule));
    }
    Grammar::from_parts(symbols, starts).map_err(|_| AssembleError::Large)
}
