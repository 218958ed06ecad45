//! How often each sequence of up to `k` symbols occurs, exactly, from a grammar (PAPERS: "count(X) = sum over rules of the rule's frequency
//! times the windows equal to X that span at least two symbols of the right side").
//!
//! Each place of the string begins one window of `k` symbols, shorter at the end of the string; a sequence occurs as often as windows begin with it.
//! So windows go into a prefix tree, and sums are made once at the end. A window is met in the one rule in whose right side it first lies whole:
//! only the first and last `k - 1` symbols of each part's expansion matter (`Ends`).
//!
//! The tree holds all sequences of up to `k` symbols, and each knows the one without its first symbol (as in a suffix tree; Weiner 1973, Ukkonen
//! 1995). So reading on by a symbol is a step down and, from a whole window, one across; a sequence that is there has all its parts there.
//!
//! Example: S → AAA, A → abbc, k = 2. In A (three times) the windows ab, bb, bc are whole; in S, between two A, ca. The c at the end begins the
//! window c. Sums: ab, bb, bc 3 each, ca 2, b 6.
//!
//! Cost: at most `k` steps a symbol of the grammar, whatever the length of the string, and one for each different sequence; memory for these, up to a
//! limit.

use std::fmt;

use rustc_hash::FxHashMap;

use super::{Grammar, Part};

/// A prefix tree of sequences with counts. Node 0 is the empty sequence; a node's number is higher than its parent's.
#[derive(Clone, Debug)]
pub struct Grams {
    nodes: Vec<Node>,
    /// By node: the sequence without its first symbol.
    shorter: Vec<u32>,
    steps: FxHashMap<u64, u32>,
    limit: usize,
}

/// A sequence: one symbol more than its parent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Node {
    /// The sequence without its last symbol.
    pub parent: u32,
    /// The last symbol.
    pub symbol: u32,
    /// Symbols of the sequence.
    pub length: u32,
    /// Times it occurs.
    pub count: u64,
}

/// More than can be kept at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TooMany {
    /// Different sequences.
    Sequences(usize),
    /// Activations open at once.
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
    /// No sequence yet, and at most `limit` of them.
    pub(super) fn new(limit: usize) -> Grams {
        let root = Node {
            parent: 0,
            symbol: 0,
            length: 0,
            count: 0,
        };
        Grams {
            nodes: vec![root],
            shorter: vec![EMPTY],
            steps: FxHashMap::default(),
            limit,
        }
    }

    /// All sequences but the empty one, with their numbers; each after those it begins with.
    pub fn nodes(&self) -> impl Iterator<Item = (u32, &Node)> {
        (0u32..).zip(&self.nodes).skip(1)
    }

    /// The sequence of a number.
    pub fn node(&self, id: u32) -> &Node {
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

    /// The sequence one symbol longer, if it occurs.
    pub fn find(&self, id: u32, symbol: u32) -> Option<u32> {
        self.steps.get(&key(id, symbol)).copied()
    }

    /// Times a sequence occurs.
    pub fn count(&self, symbols: &[u32]) -> u64 {
        let mut symbols = symbols.iter();
        let end = symbols.try_fold(0, |id, &symbol| self.find(id, symbol));
        end.map_or(0, |id| self.node(id).count)
    }

    pub(super) fn length(&self, id: u32) -> usize {
        self.node(id).length as usize
    }

    /// The sequence one symbol longer, made if it is new, with all its ends; the empty one where there are too many.
    fn step(&mut self, id: u32, symbol: u32) -> u32 {
        let mut longer = None;
        let mut first = EMPTY;
        let mut begin = id;
        loop {
            let found = self.find(begin, symbol);
            let this = match found {
                Some(known) => known,
                None if self.nodes.len() > self.limit => return EMPTY,
                None => self.add(begin, symbol, EMPTY),
            };
            match longer {
                Some(longer) => self.shorter[longer as usize] = this,
                None => first = this,
            }
            if found.is_some() || begin == EMPTY {
                return first;
            }
            longer = Some(this);
            begin = self.shorter[begin as usize];
        }
    }

    /// Adds a sequence; `shorter` is it without its first symbol.
    pub(super) fn add(&mut self, parent: u32, symbol: u32, shorter: u32) -> u32 {
        let id = self.nodes.len() as u32;
        self.steps.insert(key(parent, symbol), id);
        self.nodes.push(Node {
            parent,
            symbol,
            length: self.node(parent).length + 1,
            count: 0,
        });
        self.shorter.push(shorter);
        id
    }

    /// The sequence without its first symbol.
    pub(super) fn shorter(&self, id: u32) -> u32 {
        self.shorter[id as usize]
    }

    /// Drops those of the longest sequences, which stand behind the first `known`, that are too rare.
    pub(super) fn drop_rare(&mut self, known: usize, least: u64) {
        let mut kept = known + 1;
        for at in known + 1..self.nodes.len() {
            let node = self.nodes[at];
            let key = key(node.parent, node.symbol);
            if node.count < least {
                self.steps.remove(&key);
                continue;
            }
            self.steps.insert(key, kept as u32);
            self.nodes[kept] = node;
            self.shorter[kept] = self.shorter[at];
            kept += 1;
        }
        self.nodes.truncate(kept);
        self.shorter.truncate(kept);
    }

    /// Reads the symbols of a sequence, the last first.
    pub(super) fn read(&self, mut id: u32, symbols: &mut Vec<u32>) {
        symbols.clear();
        while id != EMPTY {
            let node = self.node(id);
            symbols.push(node.symbol);
            id = node.parent;
        }
    }

    pub(super) fn count_window(&mut self, id: u32, weight: u64) {
        let count = &mut self.nodes[id as usize].count;
        *count = count.saturating_add(weight);
    }

    /// Counts the windows that begin with the first `begins` symbols of a sequence and reach to its end; gives what is left of it.
    fn cut(&mut self, mut id: u32, begins: usize, weight: u64) -> u32 {
        for _ in 0..begins {
            self.count_window(id, weight);
            id = self.shorter[id as usize];
        }
        id
    }

    /// Whether there are no more than the limit.
    pub(super) fn check(&self) -> Result<(), TooMany> {
        if self.nodes.len() > self.limit {
            return Err(TooMany::Sequences(self.limit));
        }
        Ok(())
    }

    /// Makes counts of windows those of sequences: adds to each what its extensions have.
    pub(super) fn sum_up(&mut self) {
        for id in (1..self.nodes.len()).rev() {
            let Node { parent, count, .. } = self.nodes[id];
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

/// Windows of `k` symbols on their way into the tree.
pub(super) struct Windows {
    k: usize,
    /// The tree.
    pub(super) grams: Grams,
    /// Symbols of a head.
    head: Vec<u32>,
}

/// A string as windows that reach over its ends see it.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Ends {
    /// The first symbols, at most `k - 1`, as a sequence of the tree.
    head: u32,
    /// The last symbols, at most `k - 1`: the windows that begin there are not whole yet. Empty if the string ended.
    tail: u32,
    /// Nothing follows it: all its windows are counted.
    ended: bool,
}

impl Windows {
    pub(super) fn new(k: usize, limit: usize) -> Windows {
        Windows {
            k: k.max(1),
            grams: Grams::new(limit),
            head: Vec::new(),
        }
    }

    /// Appends a symbol.
    pub(super) fn push(&mut self, ends: &mut Ends, symbol: u32, weight: u64) {
        ends.tail = self.step(ends.tail, symbol, weight);
        if self.grams.length(ends.head) + 1 < self.k {
            ends.head = self.grams.step(ends.head, symbol);
        }
    }

    /// The sequence one symbol longer; of a whole window, which is counted, what is left behind its first symbol.
    fn step(&mut self, id: u32, symbol: u32, weight: u64) -> u32 {
        let next = self.grams.step(id, symbol);
        if self.grams.length(next) < self.k {
            return next;
        }
        self.grams.cut(next, 1, weight)
    }

    /// Appends a string.
    pub(super) fn append(&mut self, ends: &mut Ends, later: &Ends, weight: u64) {
        let mut head = std::mem::take(&mut self.head);
        self.grams.read(later.head, &mut head);
        // Those that begin in the later string are counted already.
        let mut begins = self.grams.length(ends.tail);
        let mut tail = ends.tail;
        for &symbol in head.iter().rev() {
            if begins == 0 {
                break;
            }
            let whole = self.grams.length(tail) + 1 == self.k;
            tail = self.step(tail, symbol, weight);
            begins -= usize::from(whole);
        }
        ends.tail = match begins {
            0 => later.tail,
            // The later string lies whole in its head.
            _ if later.ended => {
                self.grams.cut(tail, begins, weight);
                EMPTY
            }
            _ => tail,
        };
        for &symbol in head.iter().rev() {
            if self.grams.length(ends.head) + 1 >= self.k {
                break;
            }
            ends.head = self.grams.step(ends.head, symbol);
        }
        ends.ended |= later.ended;
        self.head = head;
    }

    /// Says that nothing follows: windows that are not whole stay short.
    pub(super) fn end(&mut self, ends: &mut Ends, weight: u64) {
        let begins = self.grams.length(ends.tail);
        self.grams.cut(ends.tail, begins, weight);
        ends.tail = EMPTY;
        ends.ended = true;
    }
}

/// Counts all sequences of up to `k` symbols in the string. `symbols` says what to take for each terminal; nothing: it is passed over,
/// as if it were not there.
///
/// # Errors
/// If there are more than `limit` different ones.
pub fn grams(
    grammar: &Grammar,
    symbols: &[Option<u32>],
    k: usize,
    limit: usize,
) -> Result<Grams, TooMany> {
    let mut windows = Windows::new(k, limit);
    let last = fold(grammar, |parts, rule, weight| {
        let mut ends = Ends::default();
        for part in grammar.rule(rule) {
            match part.part() {
                Part::Terminal(id) => {
                    if let Some(symbol) = symbols[id as usize] {
                        windows.push(&mut ends, symbol, weight);
                    }
                }
                Part::Rule(used) => windows.append(&mut ends, &parts[used as usize], weight),
            }
        }
        windows.grams.check()?;
        Ok(ends)
    });
    windows.end(&mut last?, 1);
    windows.grams.check()?;
    windows.grams.sum_up();
    Ok(windows.grams)
}

/// Makes something of each rule that occurs, of the rules it uses before it, and gives that of the start. `make` gets what was made so far, the rule, and how
/// often it occurs. What was made of a rule goes when its last user has been made.
pub(super) fn fold<T: Default, E>(
    grammar: &Grammar,
    mut make: impl FnMut(&[T], u32, u64) -> Result<T, E>,
) -> Result<T, E> {
    let frequencies = grammar.frequencies();
    let rules = grammar.rules();
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
    let mut made: Vec<T> = (0..rules).map(|_| T::default()).collect();
    for rule in (0..rules).rev() {
        let frequency = frequencies[rule as usize];
        if frequency == 0 {
            continue;
        }
        made[rule as usize] = make(&made, rule, frequency)?;
        for symbol in grammar.rule(rule) {
            if let Part::Rule(used) = symbol.part()
                && first_user[used as usize] == rule
            {
                made[used as usize] = T::default();
            }
        }
    }
    Ok(std::mem::take(&mut made[0]))
}
