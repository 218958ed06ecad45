//! Turns a thread's stream of words into blocks of its trace while the words arrive.
//!
//! The events of a trace depend on the open activations: only a change to their stack shows that
//! frames were left. So each word must be *read*, which means that its effect is applied to the
//! stack ([`Activations`]). When another thread takes over the ring, that thread's trace begins.
//!
//! To read most words quickly, the builder appends words to the open block unread. When the block
//! is full, it is cut into pieces: sequences that often recur (`level`). For each new piece, the
//! builder looks up its terminals and its effect on the open activations (`walk`). Then it applies
//! the effects of the block's pieces in order. Some words are read one by one instead
//! ([`Activations::feed`]):
//!
//! - batches with words that are not paths
//! - the words after a piece whose effect requires other open activations (it *does not fit*)
//! - all unread words before these
//!
//! Cost: 8 bytes of address space for each possible word of the image (the kernel backs only the
//! pages of words that occur), 20 to 90 bytes for each piece, and the cost of [`super::builder`].

use std::collections::HashMap;
use std::mem;

use holloway_format::Count;
use holloway_format::trace::{Block, Terminal};

use super::builder::{Depth, GrammarBuilder, Limits};
use super::symbols::{OtherSymbols, Symbols};
use super::walk::KnownEffects;
use crate::stream::{Activations, EndedPath, Listener, StreamCounts, Words};

/// The next entry of a trace file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Recorded {
    /// The next block of the thread's trace.
    Block(Block),
    /// The trace of the thread with this id begins.
    Owner(u32),
}

/// Builds a trace from a thread's words.
pub struct TraceBuilder {
    symbols: Symbols,
    activations: Activations<()>,
    /// Position after the last word of the stream, in bytes; `None` before the first word.
    next_position: Option<u64>,
    /// Number of symbols of the open block that are read. The symbols after them are words that are
    /// adjacent in the stream.
    read_count: usize,
    effects: KnownEffects,
    /// Number of further blocks to read word by word, because the pieces of a recent block did not
    /// fit.
    blocks_word_by_word: u32,
    grammar: GrammarBuilder,
    limits: Limits,
    /// By function and path number: executions in completed blocks that [`counts`](Self::counts)
    /// did not return yet.
    path_counts: HashMap<(u32, u32), Count>,
    /// The completed blocks that [`take`](Self::take) did not return yet.
    completed: Vec<Recorded>,
}

/// Collects the symbols of words that are read one by one.
struct WordReader<'a> {
    others: &'a mut OtherSymbols,
    symbols: Vec<u32>,
    /// New owners of the ring: the number of symbols before the change, and the thread.
    owners: Vec<(usize, u32)>,
}

impl Listener for WordReader<'_> {
    type State = ();

    #[inline]
    fn path_ended(&mut self, path: EndedPath, (): &mut ()) {
        self.symbols.push(path.word);
    }

    fn frames_left(&mut self, mut activations: u64) {
        while activations > 0 {
            let count = u32::try_from(activations).unwrap_or(u32::MAX);
            self.symbols.push(self.others.symbol(Terminal::Left(count)));
            activations -= u64::from(count);
        }
    }

    fn gap(&mut self, _activations: u64) {
        self.symbols.push(self.others.symbol(Terminal::Gap));
    }

    fn new_owner(&mut self, thread: u32, _activations: u64) {
        self.owners.push((self.symbols.len(), thread));
    }
}

/// Batch size for reading word by word, used when a batch contains a word that is not a path.
const BATCH: usize = 1 << 8;
/// Number of blocks to read word by word after a block whose pieces did not fit.
const WORD_BY_WORD_BLOCKS: u32 = 8;

impl TraceBuilder {
    /// Creates the builder for a stream of the image that `words` describes.
    pub fn new(words: Words, limits: Limits) -> Self {
        Self {
            symbols: Symbols::new(words),
            activations: Activations::default(),
            next_position: None,
            read_count: 0,
            effects: KnownEffects::default(),
            blocks_word_by_word: 0,
            grammar: GrammarBuilder::new(limits, Depth::Quick),
            limits,
            path_counts: HashMap::new(),
            completed: Vec::new(),
        }
    }

    /// Changes the limits from the next block on. If the known pieces exceed the new limits, they
    /// are forgotten when that block is cut.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
        self.grammar.set_limits(limits);
    }

    /// Adds a batch of words. `start` is the position of the first word in the stream, in bytes. If
    /// the batch does not begin where the previous batch ended, a gap comes before it.
    pub fn feed(&mut self, start: u64, mut batch: &[u32]) {
        let mut position = start;
        let mut has_gap = self.next_position.is_some_and(|next| next != start);
        while !batch.is_empty() {
            let leading_paths = if has_gap || self.blocks_word_by_word > 0 {
                0
            } else {
                self.leading_paths(&batch[..batch.len().min(self.grammar.room())])
            };
            let added = if leading_paths > 0 {
                self.grammar.append(&batch[..leading_paths])
            } else {
                self.catch_up();
                let count = batch.len().min(BATCH);
                self.read_word_by_word(position, &batch[..count]);
                count
            };
            position = position.wrapping_add(4 * added as u64);
            self.next_position = Some(position);
            batch = &batch[added..];
            has_gap = false;
            if self.grammar.room() == 0 {
                self.close_full_block();
            }
        }
    }

    /// Returns the blocks completed since the last call.
    pub fn take(&mut self) -> Vec<Recorded> {
        mem::take(&mut self.completed)
    }

    /// Returns the number of executions of each path since the last call. The keys are the index of
    /// the function in the map and the path number. Only words in completed blocks count. The
    /// words of all threads that owned the ring count together.
    pub fn counts(&mut self) -> HashMap<(u32, u32), Count> {
        self.add_up();
        mem::take(&mut self.path_counts)
    }

    /// Numbers of paths and of other events in the stream so far. Unread words of the open block do
    /// not count yet.
    pub fn stream_counts(&self) -> StreamCounts {
        self.activations.stream_counts()
    }

    /// Returns the completed blocks and the incomplete last block. More words may follow.
    pub fn flush(&mut self) -> Vec<Recorded> {
        if self.grammar.length() > 0 {
            self.close_full_block();
        }
        // The block is still open if its words were read word by word.
        if self.grammar.length() > 0 {
            self.close();
        }
        self.take()
    }

    /// Closes the open block if all its pieces fit the open activations. If a piece does not fit,
    /// reads the words from this piece on word by word. This changes the block, and may close it in
    /// between.
    fn close_full_block(&mut self) {
        if self.cut() {
            self.close();
        } else {
            self.catch_up();
            self.blocks_word_by_word = WORD_BY_WORD_BLOCKS;
        }
    }

    /// Number of words at the front of a batch that are in the range of path words.
    fn leading_paths(&self, words: &[u32]) -> usize {
        const STEP: usize = 16;
        let last = self.symbols.words.end().saturating_sub(1);
        let is_path = |word: &u32| word.wrapping_sub(1) < last;
        let steps = words.chunks_exact(STEP);
        // Without branches within a step, so that the compiler vectorizes the loop.
        let are_paths = |step: &&[u32]| step.iter().fold(true, |all, word| all & is_path(word));
        let count = STEP * steps.take_while(are_paths).count();
        let last_step = words[count..].iter();
        count + last_step.take_while(|word| is_path(word)).count()
    }

    /// Cuts the open block and applies the effects of its pieces. Returns whether all pieces fit.
    fn cut(&mut self) -> bool {
        self.cut_pieces();
        if let Some(end) = self.next_position
            && self.read_count < self.grammar.length()
        {
            let (symbols, activations) = (&mut self.symbols, &mut self.activations);
            let effects = &self.effects;
            self.read_count =
                effects.read(&self.grammar, symbols, activations, self.read_count, end);
        }
        self.read_count == self.grammar.length()
    }

    /// Cuts the open block, and computes the effects of its new pieces.
    fn cut_pieces(&mut self) {
        if self.grammar.cut(&mut self.symbols) {
            self.effects.clear();
        }
        self.effects.learn(&self.grammar, &mut self.symbols);
    }

    /// Reads the unread words of the open block one by one.
    fn catch_up(&mut self) {
        if let Some(end) = self.next_position
            && self.read_count < self.grammar.length()
        {
            let words = self.grammar.take_back(self.read_count);
            let start = end.wrapping_sub(4 * words.len() as u64);
            self.read_word_by_word(start, &words);
        }
    }

    /// Reads words one by one and appends their symbols. `start` is the position of the first word.
    /// All words before them must be read.
    fn read_word_by_word(&mut self, start: u64, words: &[u32]) {
        let mut reader = WordReader {
            others: &mut self.symbols.others,
            symbols: Vec::with_capacity(words.len() + 1),
            owners: Vec::new(),
        };
        self.activations
            .feed(&mut self.symbols.words, &mut reader, start, words);
        let WordReader {
            symbols, owners, ..
        } = reader;
        let mut appended = 0;
        for (symbols_before, thread) in owners {
            self.append_read(&symbols[appended..symbols_before]);
            self.start_thread(thread);
            appended = symbols_before;
        }
        self.append_read(&symbols[appended..]);
    }

    /// Appends the symbols of words that are read.
    fn append_read(&mut self, mut symbols: &[u32]) {
        while !symbols.is_empty() {
            symbols = &symbols[self.grammar.append(symbols)..];
            self.read_count = self.grammar.length();
            if self.grammar.room() == 0 {
                self.close();
            }
        }
    }

    /// Begins the trace of another thread. All words of the previous thread must be read.
    fn start_thread(&mut self, thread: u32) {
        if self.grammar.length() > 0 {
            self.close();
        }
        self.completed.push(Recorded::Owner(thread));
        self.add_up();
        self.symbols.clear();
        self.grammar = GrammarBuilder::new(self.limits, Depth::Quick);
        self.effects.clear();
    }

    /// Closes the open block. All its words must be read.
    fn close(&mut self) {
        self.cut_pieces();
        let mut block = self.grammar.close(&mut self.symbols);
        block.terminals = self.symbols.take_new_terminals();
        self.completed.push(Recorded::Block(block));
        self.read_count = 0;
        self.blocks_word_by_word = self.blocks_word_by_word.saturating_sub(1);
    }

    /// Adds up the executions of paths in completed blocks.
    fn add_up(&mut self) {
        let counts = self.grammar.counts(&self.symbols);
        for (terminal, count) in self.symbols.terminals.iter().zip(counts) {
            if let Terminal::Path { function, path } = *terminal
                && count > 0
            {
                *self.path_counts.entry((function, path)).or_default() += Count(count);
            }
        }
    }
}
