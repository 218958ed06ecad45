//! A thread's stream of words made into blocks of its trace, while it comes.
//!
//! Terminals are numbered when they are first in a piece: a path of a function, so many frames left at once, or a gap. Another owner
//! of the ring is another thread, whose trace begins with it.
//!
//! What repeats is read once: words go into the block as they are. When it is full and cut into pieces, each that is new is looked up, and what it does
//! to the open activations; then the pieces' effects are applied one after the other. Words that are more than paths, and
//! those behind a piece that doesn't fit what is open, and all that wait to be read before them, are read one by one ([`Activations::feed`]).
//!
//! Cost: 8 bytes for each word the image can have (untouched where no path ran), 20 to 90 a piece, and what [`super::builder`] costs.

use std::collections::HashMap;
use std::mem;

use holloway_format::trace::{Block, Terminal};

use super::builder::{Depth, GrammarBuilder, Limits};
use super::symbols::{Others, Symbols};
use super::walk::Known;
use crate::stream::{Activations, EndedPath, Listener, StreamCounts, Words};

/// What a trace's file gets next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Recorded {
    /// The next block of the thread's trace.
    Block(Block),
    /// The trace of the thread with this id begins.
    Owner(u32),
}

/// Makes a trace of a thread's words.
pub struct TraceBuilder {
    symbols: Symbols,
    activations: Activations<()>,
    /// Where the next word must stand in the stream.
    next: Option<u64>,
    /// Symbols of the open block whose effects were applied; those behind them are words that stand side by side in the stream.
    read: usize,
    known: Known,
    /// Blocks in which words are read one by one, for the last one was cut in vain.
    wary: u32,
    grammar: GrammarBuilder,
    limits: Limits,
    /// Times that paths ran before, by function and number.
    ran: HashMap<(u32, u32), u64>,
    done: Vec<Recorded>,
}

/// The symbols of words that are read one by one.
struct OneByOne<'a> {
    others: &'a mut Others,
    symbols: Vec<u32>,
    /// Threads, and how many of the symbols are before each.
    owners: Vec<(usize, u32)>,
}

impl Listener for OneByOne<'_> {
    type State = ();

    #[inline]
    fn path(&mut self, path: EndedPath, (): &mut ()) {
        self.symbols.push(path.word);
    }

    fn left(&mut self, mut activations: u64) {
        while activations > 0 {
            let count = u32::try_from(activations).unwrap_or(u32::MAX);
            self.symbols.push(self.others.symbol(Terminal::Left(count)));
            activations -= u64::from(count);
        }
    }

    fn gap(&mut self, _activations: u64) {
        self.symbols.push(self.others.symbol(Terminal::Gap));
    }

    fn owner(&mut self, thread: u32, _activations: u64) {
        self.owners.push((self.symbols.len(), thread));
    }
}

/// Words read one by one at a time; so many with one that is no path are.
const BATCH: usize = 1 << 8;
/// Blocks read one by one after one that was cut in vain.
const WARY: u32 = 8;

impl TraceBuilder {
    /// The builder of a stream of an image that `words` knows.
    pub fn new(words: Words, limits: Limits) -> Self {
        Self {
            symbols: Symbols::new(words),
            activations: Activations::default(),
            next: None,
            read: 0,
            known: Known::default(),
            wary: 0,
            grammar: GrammarBuilder::new(limits, Depth::Quick),
            limits,
            ran: HashMap::new(),
            done: Vec::new(),
        }
    }

    /// Bounds it anew, from the next block on: pieces that are more than fit are forgotten when it is cut.
    pub fn limit(&mut self, limits: Limits) {
        self.limits = limits;
        self.grammar.limit(limits);
    }

    /// Reads a batch of words, the first of which stands at position `at` (in bytes) of the stream. One that doesn't begin where
    /// the last one ended comes after a gap.
    pub fn feed(&mut self, mut at: u64, mut batch: &[u32]) {
        let mut follows = self.next.is_none_or(|next| next == at);
        while !batch.is_empty() {
            let plain = match follows && self.wary == 0 {
                true => self.plain(&batch[..batch.len().min(self.grammar.room())]),
                false => 0,
            };
            let taken = if plain > 0 {
                self.grammar.append(&batch[..plain])
            } else {
                self.catch_up();
                let count = batch.len().min(BATCH);
                self.read_each(at, &batch[..count]);
                count
            };
            at = at.wrapping_add(4 * taken as u64);
            self.next = Some(at);
            batch = &batch[taken..];
            follows = true;
            if self.grammar.room() == 0 {
                self.fill();
            }
        }
    }

    /// What was made of the words so far, as far as it fills blocks; each thing is given once.
    pub fn take(&mut self) -> Vec<Recorded> {
        mem::take(&mut self.done)
    }

    /// How often each path ran since this was asked last, as far as it was given in blocks, in all threads that owned the ring, by place of its function in the map and number.
    pub fn counts(&mut self) -> HashMap<(u32, u32), u64> {
        self.add_up();
        mem::take(&mut self.ran)
    }

    /// Numbers of paths and of other events in the stream, up to the last block that was given or
    /// slightly after it.
    pub fn stream_counts(&self) -> StreamCounts {
        self.activations.stream_counts()
    }

    /// The rest, which fills no block. More words may follow.
    pub fn flush(&mut self) -> Vec<Recorded> {
        self.end();
        self.take()
    }

    /// Closes the open block, whatever its length.
    fn end(&mut self) {
        if self.grammar.length() > 0 {
            self.fill();
        }
        if self.grammar.length() > 0 {
            self.close();
        }
    }

    /// Closes the open block, if all of it fits what is open; else it is not what it was, and may have been closed on the way.
    fn fill(&mut self) {
        if self.cut() {
            self.close();
        } else {
            self.catch_up();
            self.wary = WARY;
        }
    }

    /// Number of words in front that may be paths, and are nothing else.
    fn plain(&self, words: &[u32]) -> usize {
        const STEP: usize = 16;
        let last = self.symbols.words.end().saturating_sub(1);
        let is_path = |word: &u32| word.wrapping_sub(1) < last;
        let steps = words.chunks_exact(STEP);
        let all = |step: &&[u32]| step.iter().fold(true, |all, word| all & is_path(word));
        let count = STEP * steps.take_while(all).count();
        let rest = words[count..].iter();
        count + rest.take_while(|word| is_path(word)).count()
    }

    /// Cuts the open block and reads its pieces; whether all fit.
    fn cut(&mut self) -> bool {
        self.cut_only();
        if let Some(end) = self.next
            && self.read < self.grammar.length()
        {
            let (symbols, activations) = (&mut self.symbols, &mut self.activations);
            let known = &self.known;
            self.read = known.read(&self.grammar, symbols, activations, self.read, end);
        }
        self.read == self.grammar.length()
    }

    fn cut_only(&mut self) {
        if self.grammar.cut(&mut self.symbols) {
            self.known.clear();
        }
        self.known.learn(&self.grammar, &mut self.symbols);
    }

    /// Reads one by one the words of the open block that weren't read.
    fn catch_up(&mut self) {
        if let Some(next) = self.next
            && self.read < self.grammar.length()
        {
            let words = self.grammar.take_back(self.read);
            self.read_each(next.wrapping_sub(4 * words.len() as u64), &words);
        }
    }

    /// Reads words one by one; all before them were read.
    fn read_each(&mut self, at: u64, words: &[u32]) {
        let mut each = OneByOne {
            others: &mut self.symbols.others,
            symbols: Vec::with_capacity(words.len() + 1),
            owners: Vec::new(),
        };
        self.activations
            .feed(&mut self.symbols.words, &mut each, at, words);
        let OneByOne {
            symbols, owners, ..
        } = each;
        let mut done = 0;
        for (before, thread) in owners {
            self.append_read(&symbols[done..before]);
            self.begin_thread(thread);
            done = before;
        }
        self.append_read(&symbols[done..]);
    }

    /// Appends symbols that were read.
    fn append_read(&mut self, mut symbols: &[u32]) {
        while !symbols.is_empty() {
            symbols = &symbols[self.grammar.append(symbols)..];
            self.read = self.grammar.length();
            if self.grammar.room() == 0 {
                self.close();
            }
        }
    }

    /// Another thread goes on. All was read.
    fn begin_thread(&mut self, thread: u32) {
        if self.grammar.length() > 0 {
            self.close();
        }
        self.done.push(Recorded::Owner(thread));
        self.add_up();
        self.symbols.clear();
        self.grammar = GrammarBuilder::new(self.limits, Depth::Quick);
        self.known.clear();
    }

    /// Closes the open block, of which all was read.
    fn close(&mut self) {
        self.cut_only();
        let mut block = self.grammar.close(&mut self.symbols);
        block.terminals = self.symbols.give();
        self.done.push(Recorded::Block(block));
        self.read = 0;
        self.wary = self.wary.saturating_sub(1);
    }

    /// Adds up what ran, as far as it is in blocks.
    fn add_up(&mut self) {
        let counts = self.grammar.counts(&self.symbols);
        for (terminal, count) in self.symbols.terminals.iter().zip(counts) {
            if let Terminal::Path { function, path } = *terminal
                && count > 0
            {
                *self.ran.entry((function, path)).or_default() += count;
            }
        }
    }
}
