//! The meaning of a word in a stream: the function, the path, and whether the path starts at the
//! entry, ends at the exit, or *catches* (runs a landing pad).
//!
//! A word is 1 + the index that the path's counter would have in a block of counters. So an image's
//! words are consecutive, function after function. [`Words`] is a table with one entry for each
//! word. The entry is filled when its word first occurs; after that, a lookup costs one load. If a
//! function's map contains no path numbering, the words of this function are unknown.
//!
//! Cost: four bytes of address space for each possible path (the kernel backs only the pages of
//! words that occur), and regenerating one path for each distinct word.

use std::sync::{Arc, OnceLock};

use holloway_flow::{Path, PathEnd, PathId, PathStart};
use holloway_format::{Counters, FunctionIndex, FunctionMap, ImageMap, Outcome};

use crate::graph::{Graph, check_indices};

/// Limit of the words of an image; it corresponds to 2 GiB of counters for each thread. Functions
/// beyond the limit have no words.
const MAX_WORD: u64 = 1 << 28;

/// Flag of a table entry: the path starts at the function's entry.
pub(super) const OPENS: u32 = 1;
/// Flag of a table entry: the path closes its activation.
pub(super) const CLOSES: u32 = 2;
/// Flag of a table entry: the path runs a landing pad.
pub(super) const CATCHES: u32 = 4;
/// Number of flag bits in a table entry. The function index + 1 is in the bits above the flags.
pub(super) const FLAG_BITS: u32 = 3;
/// Table entry of a word that was looked up and belongs to no function. It differs from 0, the
/// entry of a word that was not looked up yet.
const UNKNOWN_WORD: u32 = CLOSES;

/// The words of an image. Clones share the functions' graphs, but each clone has its own table;
/// each thread uses one clone.
pub struct Words {
    functions: Arc<Functions>,
    /// By word: the function index + 1, shifted left by `FLAG_BITS`, and the flags. An entry below
    /// `1 << FLAG_BITS` has no function.
    table: Vec<u32>,
}

struct Functions {
    map: Arc<ImageMap>,
    /// Ordered by first word; the ranges of words do not overlap.
    list: Vec<WordFunction>,
    /// By module and function. Each graph is made on its first use; `None` if the map has no
    /// numbering.
    graphs: Vec<Vec<OnceLock<Option<Graph>>>>,
}

/// A function of an image, with its range of words.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct WordFunction {
    /// The word of path 0.
    pub first: u32,
    /// Number of paths, at least 1.
    pub paths: u32,
    /// The function in the image's map.
    pub index: FunctionIndex,
}

/// The meaning of one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Word {
    /// The function, as an index into [`Words::functions`].
    pub function: u32,
    /// The path.
    pub path: PathId,
    /// Whether the path starts at the function's entry.
    pub starts_at_entry: bool,
    /// Whether the path ends at the function's exit, and so closes the activation.
    pub ends_at_exit: bool,
    /// Whether the path runs a landing pad.
    pub catches: bool,
}

impl Clone for Words {
    fn clone(&self) -> Words {
        Words {
            functions: Arc::clone(&self.functions),
            table: vec![0; self.table.len()],
        }
    }
}

impl Words {
    /// Creates the words of an image. Functions without an array of path counters have no words.
    pub fn new(map: &Arc<ImageMap>) -> Words {
        let mut list = Vec::new();
        for (module, placed) in (0u32..).zip(&map.modules) {
            for (function, map) in (0u32..).zip(&placed.module.functions) {
                let range = word_range(placed.base, map);
                list.extend(range.map(|(first, paths)| WordFunction {
                    first,
                    paths,
                    index: FunctionIndex { module, function },
                }));
            }
        }
        list.sort();
        let mut end = 0;
        list.retain(|function| {
            let is_disjoint = function.first >= end;
            if is_disjoint {
                end = function.first + function.paths;
            }
            is_disjoint
        });
        let modules = map.modules.iter().map(|placed| &placed.module);
        let graphs =
            modules.map(|module| module.functions.iter().map(|_| OnceLock::new()).collect());
        Words {
            functions: Arc::new(Functions {
                map: Arc::clone(map),
                list,
                graphs: graphs.collect(),
            }),
            table: vec![0; end as usize],
        }
    }

    /// The image's map.
    pub fn image(&self) -> &Arc<ImageMap> {
        &self.functions.map
    }

    /// The functions that have words, in the order of their words.
    pub fn functions(&self) -> impl ExactSizeIterator<Item = WordFunction> {
        self.functions.list.iter().copied()
    }

    /// The map of the function at this index in [`functions`](Self::functions).
    ///
    /// # Panics
    /// If there is no such function.
    pub fn function_map(&self, function: u32) -> &FunctionMap {
        self.functions.map(function as usize)
    }

    /// The function at this index in [`functions`](Self::functions).
    ///
    /// # Panics
    /// If there is no such function.
    pub fn function(&self, function: u32) -> WordFunction {
        self.functions.list[function as usize]
    }

    /// The hash of a function's graph, as its map states it.
    ///
    /// # Panics
    /// If the image has no such function.
    pub fn hash(&self, index: FunctionIndex) -> u64 {
        self.functions.map_of(index).hash
    }

    /// The graph of a function; `None` if the image lacks the function or its map has no
    /// numbering. The graph is made once for all clones.
    pub(crate) fn graph(&self, index: FunctionIndex) -> Option<&Graph> {
        self.functions.graph(index)
    }

    /// The largest word + 1.
    pub fn end(&self) -> u32 {
        self.table.len() as u32
    }

    /// The meaning of a word; `None` if the word belongs to no function of the image.
    pub fn word(&mut self, word: u32) -> Option<Word> {
        let entry = self.entry(word);
        let function = (entry >> FLAG_BITS).checked_sub(1)?;
        let first = self.function(function).first;
        Some(Word {
            function,
            path: PathId(u64::from(word - first)),
            starts_at_entry: entry & OPENS != 0,
            ends_at_exit: entry & CLOSES != 0,
            catches: entry & CATCHES != 0,
        })
    }

    /// The table entry of a word; 0 before the word's lookup.
    #[inline]
    pub(super) fn cached_entry(&self, word: u32) -> u32 {
        self.table.get(word as usize).copied().unwrap_or(0)
    }

    /// The table entry of a word. Looks the word up when it first occurs.
    pub(super) fn entry(&mut self, word: u32) -> u32 {
        let Some(entry) = self.table.get_mut(word as usize) else {
            return UNKNOWN_WORD;
        };
        if *entry == 0 {
            *entry = self.functions.look_up(word).unwrap_or(UNKNOWN_WORD);
        }
        *entry
    }
}

impl Functions {
    fn map(&self, function: usize) -> &FunctionMap {
        self.map_of(self.list[function].index)
    }

    fn map_of(&self, index: FunctionIndex) -> &FunctionMap {
        let module = &self.map.modules[index.module as usize].module;
        &module.functions[index.function as usize]
    }

    fn look_up(&self, word: u32) -> Option<u32> {
        // Number of functions whose first word is at most this word.
        let started = self.list.partition_point(|function| function.first <= word);
        let index = started.checked_sub(1)?;
        let function = self.list[index];
        let path = word - function.first;
        if path >= function.paths {
            return None;
        }
        let graph = self.graph(function.index)?;
        let path = graph.path(PathId(u64::from(path)))?;
        let number = index as u32 + 1;
        Some(number << FLAG_BITS | flags(self.map(index), &path))
    }

    fn graph(&self, index: FunctionIndex) -> Option<&Graph> {
        let map = self.map.function(index)?;
        let graph = &self.graphs[index.module as usize][index.function as usize];
        let graph = graph.get_or_init(|| {
            check_indices(map).ok()?;
            Graph::new(map).ok()
        });
        graph.as_ref()
    }
}

/// The first word and the number of paths of a function that has an array of path counters.
fn word_range(base: u64, map: &FunctionMap) -> Option<(u32, u32)> {
    let Counters::Array { offset, len } = map.counters else {
        return None;
    };
    let paths = map.path_count;
    if map.is_damaged() || paths == 0 || paths > len {
        return None;
    }
    let first = base.checked_add(offset)? / 8 + 1;
    let end = first.checked_add(paths).filter(|&end| end <= MAX_WORD)?;
    Some((first as u32, (end - first) as u32))
}

fn flags(map: &FunctionMap, path: &Path) -> u32 {
    let mut flags = 0;
    if path.start == PathStart::Entry {
        flags |= OPENS;
    }
    if closes(map, path) {
        flags |= CLOSES;
    }
    let mut edges = path.edges.iter().copied().chain([path.end.edge()]);
    if edges.any(|edge| map.edges[edge.index()].outcome == Outcome::Unwind) {
        flags |= CATCHES;
    }
    flags
}

/// Whether a path closes its activation. A path that ends in a call that does not return closes no
/// activation, because a `longjmp` may lead back into the same frame.
pub(crate) fn closes(map: &FunctionMap, path: &Path) -> bool {
    let PathEnd::Exit(edge) = path.end else {
        return false;
    };
    matches!(
        map.edges[edge.index()].outcome,
        Outcome::Return | Outcome::TailCall | Outcome::Resume
    )
}
