//! Builds the grammar of a long string while the string arrives, at tens to hundreds of millions of
//! symbols a second, in bounded memory.
//!
//! SEQUITUR alone ([`super::sequitur`]) takes 50-100 ns for each symbol and unbounded memory. So
//! the builder works in these steps:
//! 1. The builder collects symbols in a *block*. A full block is cut into *pieces* at positions
//!    that its content determines (`level`). The sequence of the pieces' numbers is the string of
//!    the next *level*, which is cut into pieces again. This continues while a level finds mostly
//!    known pieces: then the level *pays*. Pieces stay known from block to block.
//! 2. With [`Depth::Full`], SEQUITUR(1) processes the sequence of pieces of the last level. It
//!    finds the repetitions that the cuts hide.
//! 3. The block is written depth first as `Token`s. A piece becomes a rule if it is used twice: in
//!    this block, or in this block and an earlier block. The rule's right side is written at the
//!    rule's first use. The right side of any other piece replaces the piece in its user (the
//!    paper's rule utility).
//! 4. When the pieces fill their memory, they are forgotten. Then a *fresh* block begins, which
//!    uses no earlier rule.
//!
//! A piece is summarized (hashed) only when it first occurs. Only the pieces of a block's last
//! level are counted. So the cost of a repetition is the cost of its few large pieces.
//!
//! A trace is recorded with [`Depth::Quick`] and processed further when it is read
//! ([`super::assemble`]). Where paths depend on data, the output of SEQUITUR is harder to compress,
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
    /// Maximum number of symbols in a block. The builder clamps it to the range from 1 to 2^20.
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
    /// Cuts levels of pieces, while most pieces of a level repeat.
    Quick,
    /// Cuts levels of pieces, while many pieces of a level repeat. Then runs SEQUITUR(1).
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
    /// that is used only for some blocks costs more than it saves: in the other blocks, its
    /// repeated pieces are written as sequences of smaller pieces, and the file's compressor cannot
    /// predict them. So during recording, most blocks must use the third and higher levels, or
    /// none.
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
/// Number of blocks after which a level that did not pay is tried again.
const RETRY_BLOCKS: usize = 8;
/// Minimum number of pieces of a block that are cut on a further level.
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
    /// By terminal: number of occurrences that are added up so far. The levels hold the other
    /// occurrences, as counts of pieces.
    counts: Vec<u64>,
    /// The symbols of the open block.
    block: Vec<u32>,
    /// The symbols of the previous block. Repetitions of them are found by comparison.
    previous: Vec<u32>,
    /// Number of levels of the open block; `None` until the block is cut.
    cut_level_count: Option<usize>,
    /// By level: the known pieces.
    levels: Vec<Level>,
    /// By level: the use counts and the rules of the known pieces.
    uses: Vec<Uses>,
    /// By level: the pieces of the open block and of the previous block.
    parsed: Vec<Parsed>,
    sequitur: Sequitur,
    /// Number of rules written since the last fresh block.
    rules: u32,
    is_fresh: bool,
    /// The level that did not pay in a recent block.
    paused_level: usize,
    /// Number of blocks until the paused level is tried again.
    paused_blocks: usize,
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
            paused_level: MAX_LEVELS,
            paused_blocks: 0,
        };
        builder.forget_pieces(&TerminalSymbols);
        builder
    }

    /// Changes the limits. The open block keeps room for at least one symbol.
    pub(super) fn set_limits(&mut self, limits: Limits) {
        let block = limits.block.max(self.length() + 1).min(MAX_BLOCK);
        self.limits = Limits { block, ..limits };
    }

    /// Returns the occurrences of each terminal in closed blocks since the last call.
    pub(super) fn counts(&mut self, alphabet: &impl Alphabet) -> Vec<u64> {
        self.add_up(alphabet);
        mem::take(&mut self.counts)
    }

    /// Turns counts of pieces into counts of terminals, from the highest level down.
    fn add_up(&mut self, alphabet: &impl Alphabet) {
        for level in (0..self.levels.len()).rev() {
            let (below, current) = self.levels.split_at_mut(level);
            let current = &mut current[0];
            let counts = current.take_counts();
            let counted = (0u32..).zip(counts).filter(|entry| entry.1 > 0);
            for (piece, times) in counted {
                for &symbol in current.piece(piece) {
                    match below.last_mut() {
                        Some(below) => drop(below.count(symbol, times)),
                        None => {
                            let terminal = alphabet.number(symbol) as usize;
                            let terminal_count = self.counts.len().max(terminal + 1);
                            self.counts.resize(terminal_count, 0);
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
        self.paused_level = MAX_LEVELS;
        self.paused_blocks = 0;
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

    /// Removes all symbols of the open block after the first `length` symbols, and returns them.
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
        let size: usize = self.levels.iter().map(Level::size).sum();
        let exceeds_limit = size > self.limits.pieces;
        if exceeds_limit {
            self.forget_pieces(alphabet);
        }
        self.cut_level_count = Some(self.cut_levels(alphabet));
        exceeds_limit
    }

    /// The levels of the open block: the known pieces of each level, and the block as a sequence of
    /// these pieces.
    pub(super) fn levels(&self) -> impl ExactSizeIterator<Item = (&Level, &[u32])> {
        let pieces = self.parsed.iter().map(Parsed::block);
        let levels = self.levels.iter().zip(pieces);
        levels.take(self.cut_level_count.unwrap_or(0))
    }

    /// Closes the open block, which is not empty.
    pub(super) fn close(&mut self, alphabet: &mut impl Alphabet) -> Block {
        self.cut(alphabet);
        let levels = self.cut_level_count.take().expect("the block is cut");
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

    /// The rules above the pieces of the last level, start rule first: all right sides one after
    /// the other, and the start of each. Their terminals are pieces.
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
        let mut paying_levels = 0;
        self.paused_blocks = self.paused_blocks.saturating_sub(1);
        let level_limit = if self.paused_blocks > 0 {
            self.paused_level
        } else {
            MAX_LEVELS
        };
        for index in 0..level_limit {
            let (parsed_below, parsed) = self.parsed.split_at_mut(index);
            let (levels_below, level) = self.levels.split_at_mut(index);
            let (level, parsed) = (&mut level[0], &mut parsed[0]);
            let known = level.pieces();
            if let (Some(parsed_below), Some(below)) = (parsed_below.last(), levels_below.last()) {
                level.parse(parsed_below.block(), &[], parsed);
                let append = |summary: Summary, &piece: &u32| summary.then(below.summary(piece));
                level.summarize_new(|pieces| pieces.iter().fold(Summary::default(), append));
            } else {
                level.parse(&self.block, &self.previous, parsed);
                level.summarize_new(|symbols| summary(alphabet, symbols, &mut terminals));
            }
            let new = level.pieces() - known;
            let pays = self.depth.min_pieces_per_new(index) * new <= parsed.block().len();
            if index >= self.depth.required_levels() && !pays {
                self.paused_level = index;
                self.paused_blocks = RETRY_BLOCKS;
                break;
            }
            paying_levels = index + 1;
            if parsed.block().len() < MIN_PIECES {
                break;
            }
        }
        for (uses, level) in self.uses.iter_mut().zip(&self.levels) {
            uses.resize(level.pieces());
        }
        paying_levels
    }

    /// Ends the block: marks its pieces as written, clears their counts, and keeps the block for
    /// comparison with the next block.
    fn finish_block(&mut self) {
        self.parsed[0].start_block();
        mem::swap(&mut self.block, &mut self.previous);
        self.block.clear();
        self.uses.iter_mut().for_each(Uses::end_block);
    }
}

/// Introduces the symbols of a new piece of the lowest level, and returns the piece's summary.
/// `terminals` is a buffer.
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
