//! A thread's stream of words made into blocks of its trace, while it comes.
//!
//! Terminals are numbered in the order of their first appearance: a path of a function, so many frames left at once, or a gap. Another owner
//! of the ring is another thread, whose trace begins with it.
//!
//! Cost: 4 bytes for each word the image can have (untouched where no path ran), and what [`super::builder`] costs.

use std::collections::HashMap;

use holloway_format::trace::{Block, Terminal};

use super::builder::{Depth, GrammarBuilder, Limits};
use crate::stream::{Activations, Ended, Listener, Met, Words};

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
    words: Words,
    activations: Activations<()>,
    events: Events,
}

/// The events that the words stand for, on their way into blocks.
struct Events {
    /// By function: the word of its path 0, and its place among all functions of the image's map.
    functions: Vec<(u32, u32)>,
    /// By word: number of its terminal + 1.
    by_word: Vec<u32>,
    others: HashMap<Terminal, u32>,
    /// Terminals that no block has yet.
    new: Vec<Terminal>,
    /// By number: the thread's terminals.
    terminals: Vec<Terminal>,
    /// Times that paths ran before, by function and number.
    ran: HashMap<(u32, u32), u64>,
    /// Numbers of the events that the grammar does not have yet: so many, in front. A batch of words makes as many events at most, and one that is no path before them.
    pending: Box<[u32; 2 * BATCH]>,
    count: usize,
    grammar: GrammarBuilder,
    limits: Limits,
    done: Vec<Recorded>,
}

impl Listener for Events {
    type State = ();

    #[inline]
    fn path(&mut self, path: Ended, (): &mut ()) {
        let known = self.by_word[path.word as usize];
        let number = match known.checked_sub(1) {
            Some(number) => number,
            None => self.add_path(path),
        };
        self.pending[self.count % (2 * BATCH)] = number;
        self.count += 1;
    }

    fn left(&mut self, mut activations: u64) {
        while activations > 0 {
            let count = u32::try_from(activations).unwrap_or(u32::MAX);
            self.other(Terminal::Left(count));
            activations -= u64::from(count);
        }
    }

    fn gap(&mut self, _activations: u64) {
        self.other(Terminal::Gap);
    }

    fn owner(&mut self, thread: u32, _activations: u64) {
        self.end();
        self.done.push(Recorded::Owner(thread));
        // Fresh memory: filled with zeros the old one would take room for words that never come.
        self.by_word = vec![0; self.by_word.len()];
        self.others.clear();
        self.add_up();
        self.terminals.clear();
        self.grammar = GrammarBuilder::new(self.limits, Depth::Quick);
    }
}

impl Events {
    #[cold]
    fn add_path(&mut self, path: Ended) -> u32 {
        let (first, function) = self.functions[path.function as usize];
        let terminal = Terminal::Path {
            function,
            path: path.word - first,
        };
        let change = i64::from(path.starts_at_entry) - i64::from(path.closes);
        let number = self.add(terminal, change);
        self.by_word[path.word as usize] = number + 1;
        number
    }

    fn other(&mut self, terminal: Terminal) {
        let number = match self.others.get(&terminal) {
            Some(&number) => number,
            None => {
                let change = match terminal {
                    Terminal::Left(count) => -i64::from(count),
                    Terminal::Path { .. } | Terminal::Gap => 0,
                };
                let number = self.add(terminal, change);
                self.others.insert(terminal, number);
                number
            }
        };
        self.pass();
        self.pending[0] = number;
        self.count = 1;
    }

    /// A terminal that is new, and by how much it changes the number of open activations.
    fn add(&mut self, terminal: Terminal, change: i64) -> u32 {
        let number = u32::try_from(self.terminals.len())
            .expect("there are fewer kinds of events than words");
        self.terminals.push(terminal);
        self.new.push(terminal);
        self.grammar.next_changes(change);
        number
    }

    /// Adds up what ran, as far as it is in blocks.
    fn add_up(&mut self) {
        for (terminal, count) in self.terminals.iter().zip(self.grammar.counts()) {
            if let Terminal::Path { function, path } = *terminal
                && count > 0
            {
                *self.ran.entry((function, path)).or_default() += count;
            }
        }
    }

    /// Gives the grammar what is pending.
    fn pass(&mut self) {
        let (new, done) = (&mut self.new, &mut self.done);
        let pending = &self.pending[..std::mem::take(&mut self.count)];
        self.grammar.extend(pending, |mut block| {
            block.terminals = std::mem::take(new);
            done.push(Recorded::Block(block));
        });
    }

    /// Ends the last block.
    fn end(&mut self) {
        self.pass();
        if let Some(mut block) = self.grammar.flush() {
            block.terminals = std::mem::take(&mut self.new);
            self.done.push(Recorded::Block(block));
        }
    }
}

/// By function that has words: the word of its path 0, and its place among all functions of the image's map.
fn places(words: &Words) -> Vec<(u32, u32)> {
    let mut next = 0;
    let modules = words.image().modules.iter();
    let begins: Vec<u32> = modules
        .map(|placed| {
            let begin = next;
            next += placed.module.functions.len() as u32;
            begin
        })
        .collect();
    let places = words.functions();
    places
        .map(|one| (one.first, begins[one.module as usize] + one.function))
        .collect()
}

/// Words read at a time: their events stay in the cache.
const BATCH: usize = 1 << 12;

impl TraceBuilder {
    /// The builder of a stream of an image that `words` knows.
    pub fn new(words: Words, limits: Limits) -> Self {
        let events = Events {
            functions: places(&words),
            by_word: vec![0; words.end() as usize],
            others: HashMap::new(),
            new: Vec::new(),
            terminals: Vec::new(),
            ran: HashMap::new(),
            pending: Box::new([0; 2 * BATCH]),
            count: 0,
            grammar: GrammarBuilder::new(limits, Depth::Quick),
            limits,
            done: Vec::new(),
        };
        Self {
            words,
            activations: Activations::default(),
            events,
        }
    }

    /// Reads a batch of words, the first of which stands at position `at` (in bytes) of the stream. One that doesn't begin where
    /// the last one ended comes after a gap.
    pub fn feed(&mut self, at: u64, batch: &[u32]) {
        for (index, batch) in batch.chunks(BATCH).enumerate() {
            let at = at.wrapping_add((4 * BATCH * index) as u64);
            self.activations
                .feed(&mut self.words, &mut self.events, at, batch);
            self.events.pass();
        }
    }

    /// What was made of the words so far, as far as it fills blocks; each thing is given once.
    pub fn take(&mut self) -> Vec<Recorded> {
        std::mem::take(&mut self.events.done)
    }

    /// How often each path ran since this was asked last, as far as it was given in blocks, in all threads that owned the ring, by place of its function in the map and number.
    pub fn counts(&mut self) -> HashMap<(u32, u32), u64> {
        self.events.add_up();
        std::mem::take(&mut self.events.ran)
    }

    /// What was met in the stream besides paths.
    pub fn met(&self) -> Met {
        self.activations.met()
    }

    /// The rest, which fills no block. More words may follow.
    pub fn flush(&mut self) -> Vec<Recorded> {
        self.events.end();
        self.take()
    }
}
