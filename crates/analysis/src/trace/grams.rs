//! Counts each sequence of up to `k` symbols of a string exactly, from the string's grammar.
//!
//! At each position of the string begins one *window* of `k` symbols; windows at the end of the
//! string are shorter. A sequence occurs as often as windows begin with it. So the algorithm counts
//! windows in a prefix tree, and adds up the counts once at the end. Each occurrence of a window is
//! counted in one rule: the lowest rule of the DAG whose expansion contains all of it. There, it
//! spans at least two symbols of the right side. So only the first and the last `k - 1` symbols of
//! each symbol's expansion matter (`StringEnds`). The count of a window is a sum over rules: the
//! rule's frequency × the number of such windows in the rule.
//!
//! The tree contains all sequences of up to `k` symbols. Each sequence has a link to the sequence
//! without its first symbol (as in a suffix tree; Weiner 1973, Ukkonen 1995). So reading one more
//! symbol is a step down the tree and, from a full window, a step along this link. If the tree
//! contains a sequence, it contains all parts of the sequence.
//!
//! Example: S → AAA, A → abbc, k = 2. A occurs three times and contains the windows ab, bb, bc. S
//! contains the window ca twice, between two As. The c at the end begins the short window c.
//! Totals: ab, bb, bc 3 each, ca 2, b 6.
//!
//! Cost: at most `k` steps for each symbol of the grammar, whatever the length of the string, and
//! one step for each different sequence. Memory grows with the number of different sequences, up to
//! a limit.

use std::fmt;

use holloway_format::Count;
use rustc_hash::FxHashMap;

use super::{Grammar, Part};

/// A prefix tree of sequences with their counts. Node 0 is the empty sequence. A node has a higher
/// number than its parent.
#[derive(Clone, Debug)]
pub struct Grams {
    nodes: Vec<Gram>,
    /// By node: the node of the sequence without its first symbol.
    without_first: Vec<u32>,
    /// By parent and symbol ([`key`]): the child.
    children: FxHashMap<u64, u32>,
    /// Maximum number of sequences.
    limit: usize,
}

/// A sequence. It is one symbol longer than its parent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gram {
    /// The sequence without its last symbol.
    pub parent: u32,
    /// The last symbol.
    pub symbol: u32,
    /// Number of symbols in the sequence.
    pub length: u32,
    /// Number of occurrences.
    pub count: Count,
}

/// An analysis exceeded a limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TooMany {
    /// There are more than this number of different sequences.
    Sequences(usize),
    /// There are more than this number of activations open at once.
    Activations(usize),
}

impl fmt::Display for TooMany {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TooMany::Sequences(limit) => write!(
                f,
                "more than {limit} different sequences: ask for shorter ones"
            ),
            TooMany::Activations(limit) => write!(
                f,
                "more than {limit} activations open at once: `holloway trace freq`, `before` and `query` do without them"
            ),
        }
    }
}

impl std::error::Error for TooMany {}

impl Grams {
    /// A tree with only the empty sequence. It may grow to `limit` sequences.
    pub(super) fn new(limit: usize) -> Grams {
        let root = Gram {
            parent: 0,
            symbol: 0,
            length: 0,
            count: Count::ZERO,
        };
        Grams {
            nodes: vec![root],
            without_first: vec![EMPTY],
            children: FxHashMap::default(),
            limit,
        }
    }

    /// All nonempty sequences with their numbers. A sequence comes after all its prefixes.
    pub fn nodes(&self) -> impl Iterator<Item = (u32, &Gram)> {
        (0u32..).zip(&self.nodes).skip(1)
    }

    /// The sequence with this number.
    pub fn node(&self, id: u32) -> &Gram {
        &self.nodes[id as usize]
    }

    /// The symbols of a sequence.
    pub fn symbols(&self, mut id: u32) -> Vec<u32> {
        let mut symbols = Vec::with_capacity(self.node(id).length as usize);
        while id != 0 {
            symbols.push(self.node(id).symbol);
            id = self.node(id).parent;
        }
        symbols.reverse();
        symbols
    }

    /// The number of a sequence extended by a symbol; `None` if the longer sequence does not occur.
    pub fn find(&self, id: u32, symbol: u32) -> Option<u32> {
        self.children.get(&key(id, symbol)).copied()
    }

    /// Number of occurrences of a sequence.
    pub fn count(&self, symbols: &[u32]) -> Count {
        let mut symbols = symbols.iter();
        let end = symbols.try_fold(0, |id, &symbol| self.find(id, symbol));
        end.map_or(Count::ZERO, |id| self.node(id).count)
    }

    pub(super) fn length(&self, id: u32) -> usize {
        self.node(id).length as usize
    }

    /// Returns the sequence extended by a symbol. If the longer sequence is new, adds it and all
    /// its suffixes. If the limit is exceeded, returns the empty sequence.
    fn extend(&mut self, id: u32, symbol: u32) -> u32 {
        let mut result = EMPTY;
        // The last extended suffix, if it is new: its link is not set yet.
        let mut unlinked = None;
        let mut suffix = id;
        loop {
            let known = self.find(suffix, symbol);
            let extended = match known {
                Some(known) => known,
                None if self.nodes.len() > self.limit => return EMPTY,
                None => self.add(suffix, symbol, EMPTY),
            };
            match unlinked {
                Some(unlinked) => self.without_first[unlinked as usize] = extended,
                None => result = extended,
            }
            if known.is_some() || suffix == EMPTY {
                return result;
            }
            unlinked = Some(extended);
            suffix = self.without_first[suffix as usize];
        }
    }

    /// Adds a sequence: `parent` and a symbol. `without_first` is the sequence without its first
    /// symbol.
    pub(super) fn add(&mut self, parent: u32, symbol: u32, without_first: u32) -> u32 {
        let id = self.nodes.len() as u32;
        self.children.insert(key(parent, symbol), id);
        self.nodes.push(Gram {
            parent,
            symbol,
            length: self.node(parent).length + 1,
            count: Count::ZERO,
        });
        self.without_first.push(without_first);
        id
    }

    /// The sequence without its first symbol.
    pub(super) fn without_first(&self, id: u32) -> u32 {
        self.without_first[id as usize]
    }

    /// Removes the sequences that occur fewer than `min_count` times, except among the first
    /// `frequent` sequences. No sequence may have a removed sequence as parent or link.
    pub(super) fn drop_rare(&mut self, frequent: usize, min_count: Count) {
        let mut next = frequent + 1;
        for old in frequent + 1..self.nodes.len() {
            let node = self.nodes[old];
            let key = key(node.parent, node.symbol);
            if node.count < min_count {
                self.children.remove(&key);
                continue;
            }
            self.children.insert(key, next as u32);
            self.nodes[next] = node;
            self.without_first[next] = self.without_first[old];
            next += 1;
        }
        self.nodes.truncate(next);
        self.without_first.truncate(next);
    }

    /// Replaces `symbols` by the symbols of a sequence, last symbol first.
    pub(super) fn read_backwards(&self, mut id: u32, symbols: &mut Vec<u32>) {
        symbols.clear();
        while id != EMPTY {
            let node = self.node(id);
            symbols.push(node.symbol);
            id = node.parent;
        }
    }

    pub(super) fn count_window(&mut self, id: u32, weight: u64) {
        let count = &mut self.nodes[id as usize].count;
        *count = count.saturating_add(Count(weight));
    }

    /// Counts the `number` longest suffixes of a sequence as windows: the windows that begin at its
    /// first `number` symbols and reach its end. Returns the next shorter suffix.
    fn count_suffixes(&mut self, mut id: u32, number: usize, weight: u64) -> u32 {
        for _ in 0..number {
            self.count_window(id, weight);
            id = self.without_first[id as usize];
        }
        id
    }

    /// Checks the limit.
    ///
    /// # Errors
    /// If the tree has more sequences than its limit allows.
    pub(super) fn check_limit(&self) -> Result<(), TooMany> {
        if self.nodes.len() > self.limit {
            return Err(TooMany::Sequences(self.limit));
        }
        Ok(())
    }

    /// Turns the counts of windows into counts of sequences: adds the count of each sequence to its
    /// parent.
    pub(super) fn sum_up(&mut self) {
        for id in (1..self.nodes.len()).rev() {
            let Gram { parent, count, .. } = self.nodes[id];
            let sum = &mut self.nodes[parent as usize].count;
            *sum = sum.saturating_add(count);
        }
    }
}

/// The empty sequence.
pub(super) const EMPTY: u32 = 0;

fn key(id: u32, symbol: u32) -> u64 {
    u64::from(id) << 32 | u64::from(symbol)
}

/// Counts windows of `k` symbols in a prefix tree.
pub(super) struct Windows {
    k: usize,
    /// The prefix tree.
    pub(super) grams: Grams,
    /// Buffer for the symbols of a head, last symbol first.
    head_symbols: Vec<u32>,
}

/// The first and last symbols of a string. Windows that extend beyond the string contain only these
/// symbols of it.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct StringEnds {
    /// The first symbols, at most `k - 1`, as a sequence of the tree.
    head: u32,
    /// The last symbols, at most `k - 1`, as a sequence of the tree. Windows that begin at them are
    /// not counted yet, because they extend beyond the string. Empty if the string is closed.
    tail: u32,
    /// Whether nothing follows the string. All its windows are then counted.
    is_closed: bool,
}

impl Windows {
    pub(super) fn new(k: usize, limit: usize) -> Windows {
        Windows {
            k: k.max(1),
            grams: Grams::new(limit),
            head_symbols: Vec::new(),
        }
    }

    /// Appends a symbol.
    pub(super) fn push(&mut self, ends: &mut StringEnds, symbol: u32, weight: u64) {
        ends.tail = self.extend_window(ends.tail, symbol, weight);
        if self.grams.length(ends.head) + 1 < self.k {
            ends.head = self.grams.extend(ends.head, symbol);
        }
    }

    /// Extends a sequence by a symbol. If the result is a full window, counts it and removes its
    /// first symbol.
    fn extend_window(&mut self, id: u32, symbol: u32, weight: u64) -> u32 {
        let next = self.grams.extend(id, symbol);
        if self.grams.length(next) < self.k {
            return next;
        }
        self.grams.count_suffixes(next, 1, weight)
    }

    /// Appends a string.
    pub(super) fn append(&mut self, ends: &mut StringEnds, later: &StringEnds, weight: u64) {
        let mut head_symbols = std::mem::take(&mut self.head_symbols);
        self.grams.read_backwards(later.head, &mut head_symbols);
        // Count the windows that begin in this string's tail. The windows that begin in the later
        // string are already counted.
        let mut uncounted = self.grams.length(ends.tail);
        let mut tail = ends.tail;
        for &symbol in head_symbols.iter().rev() {
            if uncounted == 0 {
                break;
            }
            let is_full = self.grams.length(tail) + 1 == self.k;
            tail = self.extend_window(tail, symbol, weight);
            uncounted -= usize::from(is_full);
        }
        ends.tail = match uncounted {
            0 => later.tail,
            // The head contains all of the later string, so the windows end with it.
            _ if later.is_closed => {
                self.grams.count_suffixes(tail, uncounted, weight);
                EMPTY
            }
            _ => tail,
        };
        for &symbol in head_symbols.iter().rev() {
            if self.grams.length(ends.head) + 1 >= self.k {
                break;
            }
            ends.head = self.grams.extend(ends.head, symbol);
        }
        ends.is_closed |= later.is_closed;
        self.head_symbols = head_symbols;
    }

    /// Closes the string: counts the windows that begin in its tail, which stay short.
    pub(super) fn end(&mut self, ends: &mut StringEnds, weight: u64) {
        let uncounted = self.grams.length(ends.tail);
        self.grams.count_suffixes(ends.tail, uncounted, weight);
        ends.tail = EMPTY;
        ends.is_closed = true;
    }
}

/// Counts all sequences of up to `k` symbols in the string. `symbols` holds the symbol for each
/// terminal. Terminals with `None` are skipped, as if the string did not contain them.
///
/// # Errors
/// If the string has more than `limit` different sequences.
pub fn grams(
    grammar: &Grammar,
    symbols: &[Option<u32>],
    k: usize,
    limit: usize,
) -> Result<Grams, TooMany> {
    let mut windows = Windows::new(k, limit);
    let last = fold_rules(grammar, |ends_of_rules, rule, weight| {
        let mut ends = StringEnds::default();
        for part in grammar.rule(rule) {
            match part.part() {
                Part::Terminal(id) => {
                    if let Some(symbol) = symbols[id as usize] {
                        windows.push(&mut ends, symbol, weight);
                    }
                }
                Part::Rule(used) => {
                    windows.append(&mut ends, &ends_of_rules[used as usize], weight);
                }
            }
        }
        windows.grams.check_limit()?;
        Ok(ends)
    });
    windows.end(&mut last?, 1);
    windows.grams.check_limit()?;
    windows.grams.sum_up();
    Ok(windows.grams)
}

/// Computes a result for each rule that occurs, and returns the result for the start rule. A rule
/// is processed after all the rules that it uses. `compute` receives the results so far, the rule,
/// and the number of its occurrences. A result is dropped after the last rule that uses it.
///
/// # Errors
/// If `compute` returns an error.
pub(super) fn fold_rules<T: Default, E>(
    grammar: &Grammar,
    mut compute: impl FnMut(&[T], u32, u64) -> Result<T, E>,
) -> Result<T, E> {
    let frequencies = grammar.frequencies();
    let rules = grammar.rules();
    // By rule: its user with the lowest number, which is processed last.
    let mut first_user = vec![u32::MAX; rules as usize];
    for rule in (0..rules)
        .rev()
        .filter(|&rule| frequencies[rule as usize] > 0)
    {
        for symbol in grammar.rule(rule) {
            if let Part::Rule(used) = symbol.part() {
                first_user[used as usize] = rule;
            }
        }
    }
    let mut results: Vec<T> = (0..rules).map(|_| T::default()).collect();
    for rule in (0..rules).rev() {
        let frequency = frequencies[rule as usize];
        if frequency == 0 {
            continue;
        }
        results[rule as usize] = compute(&results, rule, frequency)?;
        for symbol in grammar.rule(rule) {
            if let Part::Rule(used) = symbol.part()
                && first_user[used as usize] == rule
            {
                results[used as usize] = T::default();
            }
        }
    }
    Ok(std::mem::take(&mut results[0]))
}
