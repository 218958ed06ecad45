//! Whether a file's blocks stand for just the events that came, block by block: a trace of any length is checked in the memory of its rules
//! between two fresh blocks.
//!
//! Each block says the hash and the length of the events it was made of. What its tokens stand for is hashed rule by rule, nothing is expanded.
//!
//! Cost: decoding the tokens, 20-100 ns each; of rules, from one fresh block to the next, 4 bytes a symbol and 32 a rule.

use holloway_format::FormatError;
use holloway_format::error::AssembleError;
use holloway_format::trace::{Block, StringHash, TraceStream};

use super::assemble::Reader;
use super::{Part, Symbol};

/// What was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checked {
    /// Whether the blocks can all be read, and each stands for the events that it was made of.
    pub is_same: bool,
    /// How often each terminal occurs.
    pub counts: Vec<u64>,
    /// Events in the blocks.
    pub events: u64,
    /// Rules in the file, and one that stands for all: before blocks are put together.
    pub rules: u64,
    /// Symbols on their right sides.
    pub symbols: u64,
    /// Why the stream could not be read to its end.
    pub damage: Option<FormatError>,
}

/// Checks a stream.
///
/// # Errors
/// Its blocks do not make a grammar.
pub fn check(stream: &TraceStream<'_>) -> Result<Checked, AssembleError> {
    let mut checked = Checked {
        is_same: true,
        counts: vec![0; stream.terminals.len()],
        events: 0,
        rules: 1,
        symbols: 0,
        damage: None,
    };
    let mut group = Group::default();
    for block in stream.blocks() {
        let block = match block {
            Ok(block) => block,
            Err(error) => {
                checked.is_same = false;
                checked.damage = Some(error);
                break;
            }
        };
        if block.is_fresh {
            std::mem::take(&mut group).end(&mut checked);
        }
        checked.is_same &= group.push(&block, &mut checked)? == block.hash;
        checked.events += block.length;
    }
    group.end(&mut checked);
    Ok(checked)
}

/// Blocks from a fresh one on.
#[derive(Default)]
struct Group {
    reader: Reader,
    /// Of the rules.
    hashes: Vec<StringHash>,
    /// How often each is used outside of rules.
    uses: Vec<u64>,
}

impl Group {
    /// Appends a block. Gives the hash of what it stands for.
    fn push(&mut self, block: &Block, checked: &mut Checked) -> Result<StringHash, AssembleError> {
        let terminals = checked.counts.len();
        let top = self.reader.read(&block.tokens, |terminal| {
            ((terminal as usize) < terminals)
                .then(|| Symbol::terminal(terminal))
                .ok_or(AssembleError::Terminal { terminal })
        })?;
        for rule in self.hashes.len() as u32..self.reader.rules.len() {
            let hash = self.hash(self.reader.rules.side(rule));
            self.hashes.push(hash);
        }
        self.uses.resize(self.hashes.len(), 0);
        count(&top, 1, &mut self.uses, checked);
        Ok(self.hash(&top))
    }

    fn hash(&self, side: &[Symbol]) -> StringHash {
        side.iter().fold(StringHash::default(), |hash, symbol| {
            hash.then(match symbol.part() {
                Part::Terminal(id) => StringHash::from_number(id),
                Part::Rule(rule) => self.hashes[rule as usize],
            })
        })
    }

    /// Adds what the rules amount to.
    fn end(mut self, checked: &mut Checked) {
        let rules = &self.reader.rules;
        for rule in (0..rules.len()).rev() {
            let times = self.uses[rule as usize];
            count(rules.side(rule), times, &mut self.uses, checked);
        }
        checked.rules += u64::from(rules.len());
    }
}

/// Counts what stands in a string that occurs so often.
fn count(string: &[Symbol], times: u64, uses: &mut [u64], checked: &mut Checked) {
    checked.symbols += string.len() as u64;
    for symbol in string {
        let sum = match symbol.part() {
            Part::Terminal(id) => &mut checked.counts[id as usize],
            Part::Rule(rule) => &mut uses[rule as usize],
        };
        *sum = sum.saturating_add(times);
    }
}
