//! The symbols that a grammar builder reads while a trace is recorded, and the terminals of the
//! trace file that they stand for.
//!
//! The symbol of a path is its word. All other events have symbols from `FIRST_OTHER` on. A
//! terminal gets its number when its symbol first occurs, so terminals are numbered in order of
//! first appearance.

use std::collections::HashMap;
use std::mem;

use holloway_format::trace::Terminal;

use super::builder::Alphabet;
use crate::stream::Words;

/// The symbols of one thread's trace.
pub(super) struct Symbols {
    pub(super) words: Words,
    /// By function with words: the word of its path 0, and its index among all functions of the
    /// image's map.
    functions: Vec<(u32, u32)>,
    /// By word: the number of its terminal + 1; 0 if the word has no terminal yet.
    terminals_by_word: Vec<u32>,
    pub(super) others: OtherSymbols,
    /// The terminals of the thread, by number.
    pub(super) terminals: Vec<Terminal>,
    /// Number of terminals that completed blocks contain.
    written_terminals: usize,
}

/// The symbols of terminals that are not paths.
#[derive(Default)]
pub(super) struct OtherSymbols {
    symbols: HashMap<Terminal, u32>,
    /// By symbol − [`FIRST_OTHER`]: its terminal, and the terminal's number + 1 (0: no number yet).
    terminals_by_symbol: Vec<(Terminal, u32)>,
}

impl OtherSymbols {
    /// The symbol of a terminal that is not a path.
    pub(super) fn symbol(&mut self, terminal: Terminal) -> u32 {
        *self.symbols.entry(terminal).or_insert_with(|| {
            self.terminals_by_symbol.push((terminal, 0));
            FIRST_OTHER + self.terminals_by_symbol.len() as u32 - 1
        })
    }
}

/// The first symbol that is not a word: an image has at most 2^28 words.
const FIRST_OTHER: u32 = 1 << 29;

impl Alphabet for Symbols {
    fn introduce(&mut self, symbol: u32) -> (u32, i64) {
        let next = u32::try_from(self.terminals.len());
        let next = next.expect("there are fewer kinds of events than words");
        let (terminal, number_plus_1, change) = match symbol.checked_sub(FIRST_OTHER) {
            Some(other) => {
                let (terminal, number) = &mut self.others.terminals_by_symbol[other as usize];
                let change = match *terminal {
                    Terminal::Left(count) => -i64::from(count),
                    Terminal::Path { .. } | Terminal::Gap => 0,
                };
                (*terminal, number, change)
            }
            None => {
                // If the word belongs to no function, the result does not matter: the block is
                // read again word by word, which removes this word.
                let Some(word) = self.words.word(symbol) else {
                    return (0, 0);
                };
                let (first, function) = self.functions[word.function as usize];
                let path = symbol - first;
                let number = &mut self.terminals_by_word[symbol as usize];
                let change = i64::from(word.starts_at_entry) - i64::from(word.ends_at_exit);
                (Terminal::Path { function, path }, number, change)
            }
        };
        if *number_plus_1 == 0 {
            *number_plus_1 = next + 1;
            self.terminals.push(terminal);
        }
        (*number_plus_1 - 1, change)
    }

    #[inline]
    fn number(&self, symbol: u32) -> u32 {
        let number_plus_1 = match symbol.checked_sub(FIRST_OTHER) {
            Some(other) => self.others.terminals_by_symbol[other as usize].1,
            None => self.terminals_by_word[symbol as usize],
        };
        number_plus_1 - 1
    }
}

impl Symbols {
    pub(super) fn new(words: Words) -> Self {
        Self {
            functions: function_words(&words),
            terminals_by_word: vec![0; words.end() as usize],
            words,
            others: OtherSymbols::default(),
            terminals: Vec::new(),
            written_terminals: 0,
        }
    }

    /// Returns the terminals that no completed block contains yet. They belong to the next block.
    pub(super) fn take_new_terminals(&mut self) -> Vec<Terminal> {
        let written = mem::replace(&mut self.written_terminals, self.terminals.len());
        self.terminals[written..].to_vec()
    }

    /// Forgets all terminals, because the trace of another thread begins.
    pub(super) fn clear(&mut self) {
        // Allocate fresh memory. Filling the old memory with zeros would touch the pages of words
        // that never occur.
        self.terminals_by_word = vec![0; self.terminals_by_word.len()];
        self.others
            .terminals_by_symbol
            .iter_mut()
            .for_each(|other| other.1 = 0);
        self.terminals.clear();
        self.written_terminals = 0;
    }
}

/// Computes [`Symbols::functions`].
fn function_words(words: &Words) -> Vec<(u32, u32)> {
    let mut next = 0;
    let modules = words.image().modules.iter();
    let first_functions: Vec<u32> = modules
        .map(|placed| {
            let first = next;
            next += placed.module.functions.len() as u32;
            first
        })
        .collect();
    let functions = words.functions();
    functions
        .map(|function| {
            (
                function.first,
                first_functions[function.index.module as usize] + function.index.function,
            )
        })
        .collect()
}
