//! Symbols of a trace's string, and the terminals that they stand for.

use std::collections::HashMap;
use std::mem;

use holloway_format::trace::Terminal;

use super::builder::Alphabet;
use crate::stream::Words;

/// Symbols of the grammar: a path's is its word, below [`OTHERS`].
pub(super) struct Symbols {
    pub(super) words: Words,
    /// By function: the word of its path 0, and its place among all functions of the image's map.
    functions: Vec<(u32, u32)>,
    /// By word: number of its terminal + 1.
    by_word: Vec<u32>,
    pub(super) others: Others,
    /// By number: the thread's terminals.
    pub(super) terminals: Vec<Terminal>,
    /// Terminals that blocks have.
    given: usize,
}

/// Symbols of what is no path.
#[derive(Default)]
pub(super) struct Others {
    symbols: HashMap<Terminal, u32>,
    /// By symbol, from [`OTHERS`] on: what it stands for, and that terminal's number + 1.
    list: Vec<(Terminal, u32)>,
}

impl Others {
    /// The symbol of what is no path.
    pub(super) fn symbol(&mut self, terminal: Terminal) -> u32 {
        *self.symbols.entry(terminal).or_insert_with(|| {
            self.list.push((terminal, 0));
            OTHERS + self.list.len() as u32 - 1
        })
    }
}

/// The first symbol that is no word: an image has at most 2^28.
const OTHERS: u32 = 1 << 29;

impl Alphabet for Symbols {
    fn meet(&mut self, symbol: u32) -> (u32, i64) {
        let next = u32::try_from(self.terminals.len());
        let next = next.expect("there are fewer kinds of events than words");
        let (terminal, number, change) = match symbol.checked_sub(OTHERS) {
            Some(other) => {
                let (terminal, number) = &mut self.others.list[other as usize];
                let change = match *terminal {
                    Terminal::Left(count) => -i64::from(count),
                    Terminal::Path { .. } | Terminal::Gap => 0,
                };
                (*terminal, number, change)
            }
            // Nobody's word: read one by one, it won't be here any more.
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
        let number = match symbol.checked_sub(OTHERS) {
            Some(other) => self.others.list[other as usize].1,
            None => self.by_word[symbol as usize],
        };
        number - 1
    }
}

impl Symbols {
    pub(super) fn new(words: Words) -> Self {
        Self {
            functions: places(&words),
            by_word: vec![0; words.end() as usize],
            words,
            others: Others::default(),
            terminals: Vec::new(),
            given: 0,
        }
    }

    /// The terminals that no block has.
    pub(super) fn give(&mut self) -> Vec<Terminal> {
        let given = mem::replace(&mut self.given, self.terminals.len());
        self.terminals[given..].to_vec()
    }

    /// Another thread's terminals begin.
    pub(super) fn clear(&mut self) {
        // Fresh memory: filled with zeros the old one would take room for words that never come.
        self.by_word = vec![0; self.by_word.len()];
        self.others.list.iter_mut().for_each(|other| other.1 = 0);
        self.terminals.clear();
        self.given = 0;
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
