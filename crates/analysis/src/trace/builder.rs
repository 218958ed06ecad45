//! Builds the grammar of a long string while the string arrives, at tens to hundreds of millions of
//! symbols a second, in bounded memory.
//!
//! SEQUITUR alone ([`super::sequitur`]) takes 50-100 ns for each symbol and unbounded memory. So
//! the builder works in these steps:
//! 1. The string arrives in *blocks*. A block is cut into pieces at positions that its content
//!    determines (`level`). The sequence of the pieces' numbers is cut again, and so on while a
//!    level finds mostly known pieces. Each piece is a rule. Pieces stay known from block to block.
//! 2. With [`Depth::Full`], the sequence of the last level goes through SEQUITUR(1). It finds the
//!    repetitions that the cuts hide.
//! 3. The block is written depth first as `Token`s. A right side stands where its rule is used
//!    first, but only if the rule is used twice: in this block, or in this block and an earlier
//!    block. Otherwise the right side replaces the rule in its user (the paper's rule utility).
//! 4. When the pieces fill their memory, they are forgotten. Then a *fresh* block begins, which
//!    uses no earlier rule.
//!
//! A piece is hashed when it is first seen. Only the pieces of a block's last level are counted. So
//! a repetition needs no hashing or counting of its own.
//!
//! A trace is recorded with [`Depth::Quick`] and processed further when it is read
//! ([`super::assemble`]). Where paths depend on data, the output of SEQUITUR is harder to predict,
//! and the file would be a third larger (bzip2's sorting: order-0 entropy 5.9 MB after SEQUITUR,
//! file of the pieces 4.9 MB, zstd -19 5.2 MB).
//!
//! Cost: see `examples/grammar.rs`. Memory is 30 to 64 bytes × [`Limits`]; random strings take 64
//! bytes.

mod uses;
mod write;

use std::mem;

use holloway_format::trace::{Block, StringHash, Symbol};

use super::level::{Level, Parsed, Summary};
use super::sequitur::{LookAhead, Sequitur};
use uses::Uses;

/// Bounds of a builder's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Maximum number of symbols in a block. Values are clamped to 1 to 2^20.
    pub block: usize,
    /// Maximum number of symbols in all known pieces.
    pub pieces: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            block: MAX_BLOCK,
            pieces: 1 << 24,
        }
    }
}

/// How thoroughly the builder looks for repetitions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Depth {
    /// Levels of pieces, while most pieces of a level repeat.
    Quick,
    /// Levels of pieces, while many pieces of a level repeat; then SEQUITUR(1).
    Full,
}

impl Depth {
    /// Number of levels that every block is cut on.
    fn required_levels(self) -> usize {
        match self {
            Self::Quick => 1,
            Self::Full => 2,
        }
    }

    /// A level pays if at most one in this number of a block's pieces is new to the level. A level
    /// that is used only for some blocks costs more than it saves: its repeated pieces are then
    /// spelled out in the level below, and predictions of them fail. So when recording, levels from
    /// the third on must be stable.
    fn min_pieces_per_new(self, level: usize) -> usize {
        match self {
            Self::Quick if level < 2 => 16,
            Self::Quick => 128,
            Self::Full => 4,
        }
    }
}

/// Maximum number of symbols in a block. A block has at most three tokens for each symbol, so its
/// tokens stay below the file's limit of 2^22.
const MAX_BLOCK: usize = 1 << 20;
/// Maximum number of levels.
const MAX_LEVELS: usize = 12;
/// A level that did not pay is tried again after this number of blocks.
const RETRY_BLOCKS: usize = 8;
/// A sequence of fewer pieces than this needs no further level.
const MIN_PIECES: usize = 256;

/// The terminals that the symbols of a string stand for. Each symbol is introduced when a new piece
/// contains it, in order.
pub(super) trait Alphabet {
    /// Introduces a symbol. Returns the number of its terminal, below 2^30, and its change to the
    /// number of open activations.
    fn introduce(&mut self, symbol: u32) -> (u32, i64);

    /// The number of the terminal of an introduced symbol.
    fn number(&self, symbol: u32) -> u32;
}

/// Symbols that are the numbers of terminals. They open and close no activations.
struct TerminalSymbols;

impl Alphabet for TerminalSymbols {
    fn introduce(&mut self, symbol: u32) -> (u32, i64) {
        (symbol, 0)
    }

    fn number(&self, symbol: u32) -> u32 {
        symbol
    }
}

/// Builds the blocks of a string.
pub struct GrammarBuilder {
    limits: Limits,
    depth: Depth,
    /// By terminal: number of occurrences in blocks whose counts were added up.
    counts: Vec<u64>,
    /// The open block.
    block: Vec<u32>,
    /// The previous block. Repetitions of it are found by comparison.
    previous: Vec<u32>,
    /// Number of levels of the open block, once it is cut.
    cut_level_count: Option<usize>,
    levels: Vec<Level>,
    uses: Vec<Uses>,
    parsed: Vec<Parsed>,
    sequitur: Sequitur,
    /// Number of rules written since the last fresh block.
    rules: u32,
    is_fresh: bool,
    /// The level that did not pay, and the number of blocks until it is tried again.
    paused_level: (usize, usize),
}

impl GrammarBuilder {
    /// Creates the builder of an empty string.
    pub fn new(mut limits: Limits, depth: Depth) -> Self {
        limits.block = limits.block.clamp(1, MAX_BLOCK);
        let mut builder = Self {
            limits,
            depth,
            counts: Vec::new(),
            block: Vec::new(),
            previous: Vec::new(),
            cut_level_count: None,
            levels: Vec::new(),
            uses: Vec::new(),
            parsed: Vec::new(),
            sequitur: Sequitur::new(LookAhead::One),
            rules: 0,
            is_fresh: true,
            paused_level: (MAX_LEVELS, 0),
        };
        builder.forget_pieces(&TerminalSymbols);
        builder
    }

    /// Changes the limits. The open block keeps room for at least one symbol.
    pub(super) fn limit(&mut self, limits: Limits) {
        let block = limits.block.max(self.length() + 1).min(MAX_BLOCK);
        self.limits = Limits { block, ..limits };
    }

    /// Returns the occurrences of each terminal in closed blocks since the last call.
    pub(super) fn counts(&mut self, alphabet: &impl Alphabet) -> Vec<u64> {
        self.add_up(alphabet);
        mem::take(&mut self.counts)
    }

    /// Turns counts of pieces into counts of terminals.
    fn add_up(&mut self, alphabet: &impl Alphabet) {
        for at in (0..self.levels.len()).rev() {
            let (below, current) = self.levels.split_at_mut(at);
            let current = &mut current[0];
            let counts = current.take_counts();
            let counted = (0u32..).zip(counts).filter(|entry| entry.1 > 0);
            for (piece, times) in counted {
                for &symbol in current.piece(piece) {
                    match below.last_mut() {
                        Some(below) => drop(below.count(symbol, times)),
                        None => {
                            let terminal = alphabet.number(symbol) as usize;
                            let known = self.counts.len().max(terminal + 1);
                            self.counts.resize(known, 0);
                            self.counts[terminal] += times;
                        }
                    }
                }
            }
        }
    }

    fn forget_pieces(&mut self, alphabet: &impl Alphabet) {
        self.add_up(alphabet);
        self.levels = (0..MAX_LEVELS).map(|_| Level::new()).collect();
        self.uses = (0..MAX_LEVELS).map(|_| Uses::default()).collect();
        self.parsed = (0..MAX_LEVELS).map(|_| Parsed::default()).collect();
        self.previous.clear();
        self.rules = 0;
        self.is_fresh = true;
        self.paused_level = (MAX_LEVELS, 0);
    }

    /// Appends terminals, whose numbers are below 2^30. Passes each full block to `on_block`.
    pub fn extend(&mut self, mut terminals: &[u32], mut on_block: impl FnMut(Block)) {
        while !terminals.is_empty() {
            terminals = &terminals[self.append(terminals)..];
            if self.room() == 0 {
                on_block(self.close(&mut TerminalSymbols));
            }
        }
    }

    /// Closes the open block, unless it is empty.
    pub fn flush(&mut self) -> Option<Block> {
        (self.length() > 0).then(|| self.close(&mut TerminalSymbols))
    }

    /// Appends symbols until the block is full. Returns the number of appended symbols.
    pub(super) fn append(&mut self, symbols: &[u32]) -> usize {
        let appended = self.room().min(symbols.len());
        self.block.extend_from_slice(&symbols[..appended]);
        appended
    }

    /// Removes the symbols of the open block from `length` on and returns them.
    pub(super) fn take_back(&mut self, length: usize) -> Vec<u32> {
        self.cut_level_count = None;
        self.block.split_off(length)
    }

    /// Number of symbols in the open block.
    pub(super) fn length(&self) -> usize {
        self.block.len()
    }

    /// Number of symbols that the open block still has room for.
    pub(super) fn room(&self) -> usize {
        self.limits.block - self.length()
    }

    /// Cuts the open block, which is not empty, into pieces. Returns whether the pieces of earlier
    /// blocks were forgotten first.
    pub(super) fn cut(&mut self, alphabet: &mut impl Alphabet) -> bool {
        if self.cut_level_count.is_some() {
            return false;
        }
        let forgets = self.levels.iter().map(Level::size).sum::<usize>() > self.limits.pieces;
        if forgets {
            self.forget_pieces(alphabet);
        }
        self.cut_level_count = Some(self.cut_levels(alphabet));
        forgets
    }

    /// The levels of the open block: all known pieces of the level, and the block's pieces on it.
    pub(super) fn levels(&self) -> impl ExactSizeIterator<Item = (&Level, &[u32])> {
        let pieces = self.parsed.iter().map(Parsed::block);
        let levels = self.levels.iter().zip(pieces);
        levels.take(self.cut_level_count.unwrap_or(0))
    }

    /// Closes the open block, which is not empty.
    pub(super) fn close(&mut self, alphabet: &mut impl Alphabet) -> Block {
        self.cut(alphabet);
        let levels = self.cut_level_count.take().expect("it is cut");
        let Summary { hash, change } = self.summarize(levels);
        let mut block = Block {
            is_fresh: mem::take(&mut self.is_fresh),
            length: self.length() as u64,
            hash,
            change,
            ..Block::default()
        };
        let (symbols, starts) = self.top_rules(levels);
        self.count(levels, &symbols);
        let number = |symbol| alphabet.number(symbol);
        self.write(levels, &symbols, &starts, &number, &mut block.tokens);
        self.finish_block();
        block
    }

    /// Counts the block's pieces of the last level, and summarizes the block.
    fn summarize(&mut self, levels: usize) -> Summary {
        let level = &mut self.levels[levels - 1];
        let mut summary = Summary::default();
        for &piece in self.parsed[levels - 1].block() {
            summary = summary.then(level.count(piece, 1));
        }
        summary
    }

    /// The right sides over the pieces of the last level, start rule first.
    fn top_rules(&mut self, levels: usize) -> (Vec<Symbol>, Vec<u64>) {
        let pieces = self.parsed[levels - 1].block();
        match self.depth {
            Depth::Quick => {
                let symbols = pieces.iter().map(|&piece| Symbol::terminal(piece));
                (symbols.collect(), vec![0, pieces.len() as u64])
            }
            Depth::Full => {
                self.sequitur.clear();
                for &piece in pieces {
                    self.sequitur.push(piece);
                }
                self.sequitur.finish_parts()
            }
        }
    }

    /// Cuts the block into pieces, level by level. Returns the number of levels that pay.
    fn cut_levels(&mut self, alphabet: &mut impl Alphabet) -> usize {
        let mut terminals = Vec::new();
        let mut paying = 0;
        self.paused_level.1 = self.paused_level.1.saturating_sub(1);
        let level_limit = if self.paused_level.1 > 0 {
            self.paused_level.0
        } else {
            MAX_LEVELS
        };
        for at in 0..level_limit {
            let (below, current) = self.parsed.split_at_mut(at);
            let (levels_below, level) = self.levels.split_at_mut(at);
            let (level, current) = (&mut level[0], &mut current[0]);
            let known = level.pieces();
            if let (Some(parsed), Some(below)) = (below.last(), levels_below.last()) {
                level.parse(parsed.block(), &[], current);
                let append = |summary: Summary, &piece: &u32| summary.then(below.summary(piece));
                level.summarize_new(|pieces| pieces.iter().fold(Summary::default(), append));
            } else {
                level.parse(&self.block, &self.previous, current);
                level.summarize_new(|symbols| summary(alphabet, symbols, &mut terminals));
            }
            let new = level.pieces() - known;
            let pays = self.depth.min_pieces_per_new(at) * new <= current.block().len();
            if at >= self.depth.required_levels() && !pays {
                self.paused_level = (at, RETRY_BLOCKS);
                break;
            }
            paying = at + 1;
            if current.block().len() < MIN_PIECES {
                break;
            }
        }
        for (uses, level) in self.uses.iter_mut().zip(&self.levels) {
            uses.resize(level.pieces());
        }
        paying
    }

    /// Ends the block: remembers the written pieces, clears their counts, and keeps the block for
    /// comparison with the next one.
    fn finish_block(&mut self) {
        self.parsed[0].start_block();
        mem::swap(&mut self.block, &mut self.previous);
        self.block.clear();
        self.uses.iter_mut().for_each(Uses::end_block);
    }
}

/// The summary of a piece of the string.
fn summary(alphabet: &mut impl Alphabet, symbols: &[u32], terminals: &mut Vec<u32>) -> Summary {
    terminals.clear();
    let mut change = 0;
    for &symbol in symbols {
        let (terminal, symbol_change) = alphabet.introduce(symbol);
        terminals.push(terminal);
        change += symbol_change;
    }
    let hash = StringHash::from_numbers(terminals);
    Summary { hash, change }
}
