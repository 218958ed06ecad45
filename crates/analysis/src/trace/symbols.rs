//! The symbols of a trace's string, and the terminals that they stand for.

use std::collections::HashMap;
use std::mem;

use holloway_format::trace::Terminal;

use super::builder::Alphabet;
use crate::stream::Words;

/// The symbols of the grammar. The symbol of a path is its word, below [`FIRST_OTHER`].
pub(super) struct Symbols {
    pub(super) words: Words,
    /// By function: the word of its path 0, and its index among all functions of the image's map.
    functions: Vec<(u32, u32)>,
    /// By word: the number of its terminal + 1; 0 if it has none yet.
    by_word: Vec<u32>,
    pub(super) others: OtherSymbols,
    /// By number: the terminals of the thread.
    pub(super) terminals: Vec<Terminal>,
    /// Number of terminals that completed blocks contain.
    taken: usize,
}

/// The symbols of terminals that are not paths.
#[derive(Default)]
pub(super) struct OtherSymbols {
    symbols: HashMap<Terminal, u32>,
    /// By symbol, from [`FIRST_OTHER`] on: its terminal, and the terminal's number + 1.
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
        let (terminal, number, change) = match symbol.checked_sub(FIRST_OTHER) {
            Some(other) => {
                let (terminal, number) = &mut self.others.terminals_by_symbol[other as usize];
                let change = match *terminal {
                    Terminal::Left(count) => -i64::from(count),
                    Terminal::Path { .. } | Terminal::Gap => 0,
                };
                (*terminal, number, change)
            }
            // The word belongs to no function. Reading word by word later removes it from the
            // block.
            None => {
                let Some(word) = self.words.word(symbol) else {
                    return (0, 0);
                };
                let (first, function) = self.functions[word.function as usize];
                let path = symbol - first;
                let number = &mut self.by_word[symbol as usize];
                let change = i64::from(word.starts_at_entry) - i64::from(word.ends_at_exit);
                (Terminal::Path { function, path }, number, change)
            }
        };
        if *number == 0 {
            *number = next + 1;
            self.terminals.push(terminal);
        }
        (*number - 1, change)
    }

    #[inline]
    fn number(&self, symbol: u32) -> u32 {
        let number = match symbol.checked_sub(FIRST_OTHER) {
            Some(other) => self.others.terminals_by_symbol[other as usize].1,
            None => self.by_word[symbol as usize],
        };
        number - 1
    }
}

impl Symbols {
    pub(super) fn new(words: Words) -> Self {
        Self {
            functions: function_words(&words),
            by_word: vec![0; words.end() as usize],
            words,
            others: OtherSymbols::default(),
            terminals: Vec::new(),
            taken: 0,
        }
    }

    /// Returns the terminals that no block contains yet.
    pub(super) fn take_new_terminals(&mut self) -> Vec<Terminal> {
        let taken = mem::replace(&mut self.taken, self.terminals.len());
        self.terminals[taken..].to_vec()
    }

    /// Starts the terminals of another thread.
    pub(super) fn clear(&mut self) {
        // Allocate fresh memory. Filling the old memory with zeros would touch the pages of words
        // that never occur.
        self.by_word = vec![0; self.by_word.len()];
        self.others
            .terminals_by_symbol
            .iter_mut()
            .for_each(|other| other.1 = 0);
        self.terminals.clear();
        self.taken = 0;
    }
}

/// By function with words: the word of its path 0, and its index among all functions of the image's
/// map.
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
                first_functions[function.module as usize] + function.function,
            )
        })
        .collect()
}
