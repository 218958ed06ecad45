//! Blocks put together: one grammar in which every rule is used twice or more.
//!
//! The right sides of the blocks, one after the other, are the start's; what a quick builder left repeated in it is found by a full one
//! ([`Depth::Full`]), whose terminals are the blocks' symbols. Then rules that are used once are put back.
//!
//! Cost: linear in the tokens; about 100 ns each.

use holloway_format::error::AssembleError;
use holloway_format::trace::{Block, Step, Token};

use super::builder::{Depth, GrammarBuilder, Limits};
use super::grammar::{Grammar, Part, Symbol};

/// Right sides, each after those it uses.
#[derive(Default)]
pub(super) struct Rules {
    symbols: Vec<Symbol>,
    /// Where each ends in `symbols`.
    ends: Vec<usize>,
}

impl Rules {
    pub(super) fn len(&self) -> u32 {
        self.ends.len() as u32
    }

    pub(super) fn side(&self, rule: u32) -> &[Symbol] {
        let start = match rule {
            0 => 0,
            _ => self.ends[rule as usize - 1],
        };
        &self.symbols[start..self.ends[rule as usize]]
    }
}

/// Reads tokens: rules whose right sides end go to the list, what stands outside is appended to `top`.
#[derive(Default)]
pub(super) struct Reader {
    pub(super) rules: Rules,
    /// Number in the list of the first rule that tokens may use.
    first: u32,
    /// Right sides that are open, one after the other, and where each begins.
    open: Vec<Symbol>,
    starts: Vec<usize>,
}

/// Most rules, and most terminals: they and a bit to tell them apart are a terminal of the full builder.
const MOST: u32 = 1 << 29;
/// Most tokens that are put together, and most symbols of rules: 4 GiB.
pub(super) const MOST_TOKENS: usize = 1 << 30;

impl Reader {
    /// No rule so far may be used by what follows.
    pub(super) fn begin(&mut self) {
        self.first = self.rules.len();
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
        let number = rule.checked_add(self.first);
        let known = number.filter(|&number| number < self.rules.len());
        known.map(Symbol::rule).ok_or(AssembleError::Rule { rule })
    }

    fn close(&mut self) -> Result<(), AssembleError> {
        let start = self.starts.pop().ok_or(AssembleError::Unbalanced)?;
        let rule = self.rules.len();
        if rule == MOST || self.rules.symbols.len() > MOST_TOKENS {
            return Err(AssembleError::Large);
        }
        self.rules.symbols.extend(self.open.drain(start..));
        self.rules.ends.push(self.rules.symbols.len());
        self.open.push(Symbol::rule(rule));
        Ok(())
    }
}

/// Puts the blocks of a trace together, one after the other.
pub struct Assembler {
    reader: Reader,
    deeper: GrammarBuilder,
    /// What the full builder has made of the blocks so far.
    blocks: Vec<Block>,
    tokens: usize,
    terminals: usize,
}

impl Default for Assembler {
    fn default() -> Self {
        Self {
            reader: Reader::default(),
            deeper: GrammarBuilder::new(Limits::default(), Depth::Full),
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
    /// It is not well formed.
    pub fn push(&mut self, block: &Block) -> Result<(), AssembleError> {
        if block.is_fresh {
            self.reader.begin();
        }
        self.terminals += block.terminals.len();
        self.tokens += block.tokens.len();
        if self.terminals > MOST as usize || self.tokens > MOST_TOKENS {
            return Err(AssembleError::Large);
        }
        let known = self.terminals;
        let top = self.reader.read(&block.tokens, |terminal| {
            ((terminal as usize) < known)
                .then(|| Symbol::terminal(terminal))
                .ok_or(AssembleError::Terminal { terminal })
        })?;
        let codes: Vec<u32> = top.into_iter().map(encode).collect();
        let blocks = &mut self.blocks;
        self.deeper.extend(&codes, |block| blocks.push(block));
        Ok(())
    }

    /// The grammar of all blocks.
    ///
    /// # Errors
    /// The string is too long.
    pub fn finish(mut self) -> Result<Grammar, AssembleError> {
        self.blocks.extend(self.deeper.flush());
        let mut top = Vec::new();
        for block in std::mem::take(&mut self.blocks) {
            if block.is_fresh {
                self.reader.begin();
            }
            top.extend(self.reader.read(&block.tokens, |code| Ok(decode(code)))?);
        }
        prune(&self.reader.rules, &top)
    }
}

/// A symbol as a terminal of the full builder.
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

/// The grammar without rules that are used once or not at all, and without those of one symbol; users first.
pub(super) fn prune(rules: &Rules, top: &[Symbol]) -> Result<Grammar, AssembleError> {
    let mut uses = vec![0u32; rules.ends.len()];
    let count = |side: &[Symbol], times: u32, uses: &mut Vec<u32>| {
        for symbol in side {
            if let Part::Rule(rule) = symbol.part() {
                uses[rule as usize] = uses[rule as usize].saturating_add(times);
            }
        }
    };
    count(top, 1, &mut uses);
    for rule in (0..rules.len()).rev() {
        let side = rules.side(rule);
        match (uses[rule as usize], side.len()) {
            (0, _) => {}
            // Its symbol will stand wherever it does.
            (times, 1) => count(side, times, &mut uses),
            _ => count(side, 1, &mut uses),
        }
    }
    let stays = |rule: u32| uses[rule as usize] > 1 && rules.side(rule).len() != 1;
    let mut numbers = vec![0; rules.ends.len()];
    let kept = (0..rules.len()).rev().filter(|&rule| stays(rule));
    for (number, rule) in (1..).zip(kept) {
        numbers[rule as usize] = number;
    }
    let (mut symbols, mut starts) = (Vec::new(), vec![0]);
    let mut write = |side: &[Symbol]| {
        let mut open = vec![side.iter()];
        while let Some(rest) = open.last_mut() {
            match rest.next().map(|symbol| (symbol.part(), *symbol)) {
                None => drop(open.pop()),
                Some((Part::Rule(rule), _)) if stays(rule) => {
                    symbols.push(Symbol::rule(numbers[rule as usize]));
                }
                Some((Part::Rule(rule), _)) => open.push(rules.side(rule).iter()),
                Some((Part::Terminal(_), symbol)) => symbols.push(symbol),
            }
        }
        starts.push(symbols.len() as u64);
    };
    write(top);
    for rule in (0..rules.len()).rev().filter(|&rule| stays(rule)) {
        write(rules.side(rule));
    }
    Grammar::from_parts(symbols, starts).map_err(|_| AssembleError::Large)
}
