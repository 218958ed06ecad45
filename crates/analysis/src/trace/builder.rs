//! A grammar of a long string while it comes, at tens to hundreds of millions of symbols a second, in bounded memory.
//!
//! SEQUITUR alone ([`super::sequitur`]) takes 50-100 ns a symbol and all memory there is. So:
//! 1. The string comes in *blocks*. Each is cut into pieces where its content says (`level`), the numbers of the pieces again, and so on
//!    while a level finds mostly pieces it knows. Each piece is a rule. Pieces are known from block to block.
//! 2. With [`Depth::Full`], what is left goes through SEQUITUR(1), which finds the repetitions that the cuts hide.
//! 3. The block is written down depth first as `Token`s: a right side stands where its rule is used first, and only if it is used twice, in the
//!    block or since an earlier one; otherwise it is put back into its user (the paper's rule utility).
//! 4. When the pieces fill their memory they are forgotten: a *fresh* block begins, which uses no rule from before.
//!
//! Hashes and counts are taken of pieces, when each is seen first and of those that a block ends up as: what repeats has none of its own.
//!
//! A trace is recorded with [`Depth::Quick`] and deepened when it is read ([`super::assemble`]): where paths depend on data, what SEQUITUR leaves is
//! harder to predict, and the file would be a third larger (bzip2's sorting: order-0 entropy 5.9 MB behind SEQUITUR, file of the pieces 4.9 MB, zstd
//! -19 5.2 MB).
//!
//! Cost: see `examples/grammar.rs`; memory is [`Limits`] times 30 to 64 bytes, the latter of a string at random.

mod uses;
mod write;

use std::mem;

use holloway_format::trace::{Block, StringHash, Symbol};

use super::level::{Level, Parsed, Sum};
use super::sequitur::{LookAhead, Sequitur};
use uses::Uses;

/// Bounds of a builder's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Symbols of a block, 1 to 2^20: what is outside counts as the nearer of these.
    pub block: usize,
    /// Symbols of all known pieces.
    pub pieces: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            block: MOST_SYMBOLS,
            pieces: 1 << 24,
        }
    }
}

/// How far repetitions are followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Depth {
    /// Pieces, as far as they come again often.
    Quick,
    /// Pieces, as far as they come again, then SEQUITUR(1).
    Full,
}

impl Depth {
    /// Levels that every block goes through.
    fn sure(self) -> usize {
        match self {
            Self::Quick => 1,
            Self::Full => 2,
        }
    }

    /// A level pays if at most one in so many of a block's pieces is new to it. One that is used for some blocks and not for others costs more than it saves: its
    /// pieces are spelt in the level below when they come again, and what was foretold there isn't any more. So when recording, from the third on, a level
    /// must be one that stays.
    fn pays(self, level: usize) -> usize {
        match self {
            Self::Quick if level < 2 => 16,
            Self::Quick => 128,
            Self::Full => 4,
        }
    }
}

/// Most symbols of a block: so its tokens, three a symbol at worst, are below the file's 2^22.
const MOST_SYMBOLS: usize = 1 << 20;
/// Most levels of pieces.
const LEVELS: usize = 12;
/// A level that didn't pay is tried again once in so many blocks.
const PATIENCE: usize = 8;
/// So few pieces need no further level.
const FEW: usize = 256;

/// What the symbols of a string stand for: some stretch of it is asked for when it is met first, in order.
pub(super) trait Alphabet {
    /// The number of a symbol's terminal, below 2^30, and by how much it changes the number of open activations.
    fn meet(&mut self, symbol: u32) -> (u32, i64);

    /// The number of the terminal of a symbol that was met.
    fn number(&self, symbol: u32) -> u32;
}

/// Symbols that are numbers of terminals, which open and close nothing.
struct Plain;

impl Alphabet for Plain {
    fn meet(&mut self, symbol: u32) -> (u32, i64) {
        (symbol, 0)
    }

    fn number(&self, symbol: u32) -> u32 {
        symbol
    }
}

/// Makes blocks of a string.
pub struct GrammarBuilder {
    limits: Limits,
    depth: Depth,
    /// By terminal: how often it stood in blocks whose pieces' counts were added up.
    counts: Vec<u64>,
    /// The block that isn't full yet.
    block: Vec<u32>,
    /// The block before, to be compared with.
    before: Vec<u32>,
    /// Levels on which the block is cut into pieces, once it is.
    cut: Option<usize>,
    levels: Vec<Level>,
    uses: Vec<Uses>,
    parsed: Vec<Parsed>,
    sequitur: Sequitur,
    /// Rules written since the last fresh block.
    rules: u32,
    is_fresh: bool,
    /// The level that didn't pay, and blocks until it is tried again.
    idle: (usize, usize),
}

impl GrammarBuilder {
    /// The builder of an empty string.
    pub fn new(mut limits: Limits, depth: Depth) -> Self {
        limits.block = limits.block.clamp(1, MOST_SYMBOLS);
        let mut builder = Self {
            limits,
            depth,
            counts: Vec::new(),
            block: Vec::new(),
            before: Vec::new(),
            cut: None,
            levels: Vec::new(),
            uses: Vec::new(),
            parsed: Vec::new(),
            sequitur: Sequitur::new(LookAhead::One),
            rules: 0,
            is_fresh: true,
            idle: (LEVELS, 0),
        };
        builder.forget(&Plain);
        builder
    }

    /// Bounds it anew. The open block has room for a symbol in any case.
    pub(super) fn limit(&mut self, limits: Limits) {
        let block = limits.block.max(self.length() + 1).min(MOST_SYMBOLS);
        self.limits = Limits { block, ..limits };
    }

    /// How often each terminal stood in the blocks since this was asked last.
    pub(super) fn counts(&mut self, alphabet: &impl Alphabet) -> Vec<u64> {
        self.add_up(alphabet);
        mem::take(&mut self.counts)
    }

    /// Counts of pieces become counts of terminals.
    fn add_up(&mut self, alphabet: &impl Alphabet) {
        for at in (0..self.levels.len()).rev() {
            let (below, here) = self.levels.split_at_mut(at);
            let here = &mut here[0];
            let counts = here.take_counts();
            let stood = (0u32..).zip(counts).filter(|one| one.1 > 0);
            for (piece, times) in stood {
                for &symbol in here.piece(piece) {
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

    fn forget(&mut self, alphabet: &impl Alphabet) {
        self.add_up(alphabet);
        self.levels = (0..LEVELS).map(|_| Level::new()).collect();
        self.uses = (0..LEVELS).map(|_| Uses::default()).collect();
        self.parsed = (0..LEVELS).map(|_| Parsed::default()).collect();
        self.before.clear();
        self.rules = 0;
        self.is_fresh = true;
        self.idle = (LEVELS, 0);
    }

    /// Appends terminals, whose numbers are below 2^30; `done` gets each block that is full.
    pub fn extend(&mut self, mut terminals: &[u32], mut done: impl FnMut(Block)) {
        while !terminals.is_empty() {
            terminals = &terminals[self.append(terminals)..];
            if self.room() == 0 {
                done(self.close(&mut Plain));
            }
        }
    }

    /// The block of what was appended since the last one, if there is anything.
    pub fn flush(&mut self) -> Option<Block> {
        (self.length() > 0).then(|| self.close(&mut Plain))
    }

    /// Appends as many symbols as the block has room for; gives their number.
    pub(super) fn append(&mut self, symbols: &[u32]) -> usize {
        let now = self.room().min(symbols.len());
        self.block.extend_from_slice(&symbols[..now]);
        now
    }

    /// Takes back the symbols of the block from `length` on.
    pub(super) fn take_back(&mut self, length: usize) -> Vec<u32> {
        self.cut = None;
        self.block.split_off(length)
    }

    /// Symbols since the last block.
    pub(super) fn length(&self) -> usize {
        self.block.len()
    }

    /// Symbols that the block can take still.
    pub(super) fn room(&self) -> usize {
        self.limits.block - self.length()
    }

    /// Cuts the block, of at least one symbol, into pieces; whether the pieces of earlier blocks were forgotten before.
    pub(super) fn cut(&mut self, alphabet: &mut impl Alphabet) -> bool {
        if self.cut.is_some() {
            return false;
        }
        let forgets = self.levels.iter().map(Level::size).sum::<usize>() > self.limits.pieces;
        if forgets {
            self.forget(alphabet);
        }
        self.cut = Some(self.cut_levels(alphabet));
        forgets
    }

    /// The levels on which the block is cut into pieces: what the pieces are, and those of the block.
    pub(super) fn levels(&self) -> impl ExactSizeIterator<Item = (&Level, &[u32])> {
        let pieces = self.parsed.iter().map(Parsed::block);
        let levels = self.levels.iter().zip(pieces);
        levels.take(self.cut.unwrap_or(0))
    }

    /// The block of what was appended since the last one: at least one symbol.
    pub(super) fn close(&mut self, alphabet: &mut impl Alphabet) -> Block {
        self.cut(alphabet);
        let levels = self.cut.take().expect("it is cut");
        let Sum { hash, change } = self.weigh(levels);
        let mut block = Block {
            is_fresh: mem::take(&mut self.is_fresh),
            length: self.length() as u64,
            hash,
            change,
            ..Block::default()
        };
        let (symbols, starts) = self.top(levels);
        self.count(levels, &symbols);
        let number = |symbol| alphabet.number(symbol);
        self.write(levels, &symbols, &starts, &number, &mut block.tokens);
        self.settle();
        block
    }

    /// Counts the pieces that the block ends up as, and sums it up.
    fn weigh(&mut self, levels: usize) -> Sum {
        let level = &mut self.levels[levels - 1];
        let mut sum = Sum::default();
        for &piece in self.parsed[levels - 1].block() {
            sum = sum.then(level.count(piece, 1));
        }
        sum
    }

    /// Right sides over the last level's pieces, the start first.
    fn top(&mut self, levels: usize) -> (Vec<Symbol>, Vec<u64>) {
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

    /// Cuts the block into pieces, level by level; gives the number of levels that pay.
    fn cut_levels(&mut self, alphabet: &mut impl Alphabet) -> usize {
        let mut terminals = Vec::new();
        let mut paying = 0;
        self.idle.1 = self.idle.1.saturating_sub(1);
        let most = if self.idle.1 > 0 { self.idle.0 } else { LEVELS };
        for at in 0..most {
            let (below, here) = self.parsed.split_at_mut(at);
            let (levels_below, level) = self.levels.split_at_mut(at);
            let (level, here) = (&mut level[0], &mut here[0]);
            let known = level.pieces();
            if let (Some(parsed), Some(below)) = (below.last(), levels_below.last()) {
                level.parse(parsed.block(), &[], here);
                let sum = |sum: Sum, &piece: &u32| sum.then(below.sum(piece));
                level.digest(|pieces| pieces.iter().fold(Sum::default(), sum));
            } else {
                level.parse(&self.block, &self.before, here);
                level.digest(|symbols| sum(alphabet, symbols, &mut terminals));
            }
            let new = level.pieces() - known;
            let pays = self.depth.pays(at) * new <= here.block().len();
            if at >= self.depth.sure() && !pays {
                self.idle = (at, PATIENCE);
                break;
            }
            paying = at + 1;
            if here.block().len() < FEW {
                break;
            }
        }
        for (uses, level) in self.uses.iter_mut().zip(&self.levels) {
            uses.know(level.pieces());
        }
        paying
    }

    /// Remembers which pieces were written, and forgets the counts. What the next block is compared with is this one.
    fn settle(&mut self) {
        self.parsed[0].go_on();
        mem::swap(&mut self.block, &mut self.before);
        self.block.clear();
        self.uses.iter_mut().for_each(Uses::settle);
    }
}

/// What a piece of the string stands for.
fn sum(alphabet: &mut impl Alphabet, symbols: &[u32], terminals: &mut Vec<u32>) -> Sum {
    terminals.clear();
    let mut change = 0;
    for &symbol in symbols {
        let (terminal, by) = alphabet.meet(symbol);
        terminals.push(terminal);
        change += by;
    }
    let hash = StringHash::from_numbers(terminals);
    Sum { hash, change }
}
