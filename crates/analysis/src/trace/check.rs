//! Checks that the blocks of a trace file stand for exactly the recorded events.
//!
//! Each block states the hash and the number of its recorded events. The check hashes the block's
//! tokens rule by rule, without expanding them, and compares the hashes. Memory for a trace of any
//! length is bounded, because a fresh block uses no earlier rule.
//!
//! Cost: decoding the tokens, 20-100 ns each. Memory from one fresh block to the next: 4 bytes for
//! each symbol and 32 for each rule.

use holloway_format::error::AssembleError;
use holloway_format::trace::{Block, StringHash, TraceStream};
use holloway_format::{Count, FormatError};

use super::assemble::TokenReader;
use super::{Part, Symbol};

/// The result of a check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checked {
    /// Whether all blocks can be read and each stands for its recorded events.
    pub is_same: bool,
    /// Occurrences of each terminal.
    pub counts: Vec<Count>,
    /// Number of events in the blocks.
    pub events: Count,
    /// Number of rules in the file, before blocks are assembled, plus one start rule for all
    /// blocks.
    pub rules: u64,
    /// Number of symbols on their right sides.
    pub symbols: u64,
    /// The reason why the stream could not be read to its end.
    pub damage: Option<FormatError>,
}

/// Checks a stream.
///
/// # Errors
/// If the blocks do not make a grammar.
pub fn check(stream: &TraceStream<'_>) -> Result<Checked, AssembleError> {
    let mut checked = Checked {
        is_same: true,
        counts: vec![Count::ZERO; stream.terminals.len()],
        events: Count::ZERO,
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
            std::mem::take(&mut group).finish(&mut checked);
        }
        checked.is_same &= group.push(&block, &mut checked)? == block.hash;
        checked.events += Count(block.length);
    }
    group.finish(&mut checked);
    Ok(checked)
}

/// The blocks from a fresh block up to the next fresh block.
#[derive(Default)]
struct Group {
    reader: TokenReader,
    /// Hashes of the rules.
    hashes: Vec<StringHash>,
    /// By rule: number of uses outside of rules.
    uses: Vec<u64>,
}

impl Group {
    /// Appends a block. Returns the hash of its events.
    fn push(&mut self, block: &Block, checked: &mut Checked) -> Result<StringHash, AssembleError> {
        let terminals = checked.counts.len();
        let top = self.reader.read(&block.tokens, |terminal| {
            ((terminal as usize) < terminals)
                .then(|| Symbol::terminal(terminal))
                .ok_or(AssembleError::Terminal { terminal })
        })?;
        for rule in self.hashes.len() as u32..self.reader.rules.len() {
            let hash = self.hash(self.reader.rules.right_side(rule));
            self.hashes.push(hash);
        }
        self.uses.resize(self.hashes.len(), 0);
        count_symbols(&top, 1, &mut self.uses, checked);
        Ok(self.hash(&top))
    }

    fn hash(&self, right_side: &[Symbol]) -> StringHash {
        right_side
            .iter()
            .fold(StringHash::default(), |hash, symbol| {
                hash.then(match symbol.part() {
                    Part::Terminal(id) => StringHash::from_number(id),
                    Part::Rule(rule) => self.hashes[rule as usize],
                })
            })
    }

    /// Adds the counts of the symbols on the right sides of the group's rules.
    fn finish(mut self, checked: &mut Checked) {
        let rules = &self.reader.rules;
        for rule in (0..rules.len()).rev() {
            let times = self.uses[rule as usize];
            count_symbols(rules.right_side(rule), times, &mut self.uses, checked);
        }
        checked.rules += u64::from(rules.len());
    }
}

/// Counts the symbols of a string that occurs `times` times.
fn count_symbols(string: &[Symbol], times: u64, uses: &mut [u64], checked: &mut Checked) {
    checked.symbols += string.len() as u64;
    for symbol in string {
        let sum = match symbol.part() {
            Part::Terminal(id) => &mut checked.counts[id as usize].0,
            Part::Rule(rule) => &mut uses[rule as usize],
        };
        *sum = sum.saturating_add(times);
    }
}
