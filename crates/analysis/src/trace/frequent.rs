//! Sequences that occur often, exactly, where all there are would be too many.
//!
//! All parts of a frequent sequence are as frequent (Agrawal, Srikant 1994). So lengths are counted one after the other: of `n` symbols, only those whose first and whose last
//! `n - 1` are frequent. As in [`grams`](super::grams) a window is met in the rule in which it first lies whole; of a string only the longest frequent beginning and
//! end matter, up to `n - 1` symbols.
//!
//! Cost: for each length a pass over the grammar, at most that many steps a symbol; memory for the sequences of the next length that may be frequent.

use super::grams::{EMPTY, Grams, TooMany, fold};
use super::{Grammar, Part};

/// Counts all sequences of up to `k` terminals that occur at least `least` times, made of those that `kept` holds for.
///
/// # Errors
/// If more than `limit` may be.
pub(super) fn frequent(
    grammar: &Grammar,
    counts: &[u64],
    kept: impl Fn(u32) -> bool,
    k: usize,
    least: u64,
    limit: usize,
) -> Result<Grams, TooMany> {
    let mut grams = Grams::new(limit);
    for (terminal, &count) in (0u32..).zip(counts) {
        if count >= least.max(1) && kept(terminal) {
            let id = grams.add(EMPTY, terminal, EMPTY);
            grams.count_window(id, count);
        }
    }
    for length in 2..=k {
        let known = grams.nodes().count();
        let mut level = Level {
            length,
            grams,
            head: Vec::new(),
        };
        fold(grammar, |parts: &[Ends], rule, weight| {
            let ends = level.rule(grammar, parts, rule, weight);
            level.grams.check().map(|()| ends)
        })?;
        grams = level.grams;
        grams.drop_rare(known, least);
        if grams.nodes().count() == known {
            break;
        }
    }
    Ok(grams)
}

/// A string as windows that reach over its ends see it.
#[derive(Clone, Copy, Default)]
struct Ends {
    /// Its longest frequent beginning that is shorter than a window.
    head: u32,
    /// There is more than that.
    cut: bool,
    /// Its longest frequent end that is shorter than a window.
    tail: u32,
}

/// The sequences of one length on their way into the tree.
struct Level {
    length: usize,
    grams: Grams,
    /// Symbols of a head, the last first.
    head: Vec<u32>,
}

impl Level {
    fn rule(&mut self, grammar: &Grammar, parts: &[Ends], rule: u32, weight: u64) -> Ends {
        let mut ends = Ends::default();
        for symbol in grammar.rule(rule) {
            match symbol.part() {
                Part::Terminal(id) => {
                    ends.tail = self.step(ends.tail, id, weight);
                    self.begin(&mut ends, id);
                }
                Part::Rule(used) => self.append(&mut ends, &parts[used as usize], weight),
            }
        }
        ends
    }

    /// The longest frequent end behind one more symbol; a window that may be frequent is counted.
    fn step(&mut self, id: u32, symbol: u32, weight: u64) -> u32 {
        let mut from = id;
        if self.grams.length(id) + 1 == self.length {
            from = self.grams.shorter(id);
            if let Some(rest) = self.grams.find(from, symbol) {
                let known = self.grams.find(id, symbol);
                let window = known.unwrap_or_else(|| self.grams.add(id, symbol, rest));
                self.grams.count_window(window, weight);
                return rest;
            }
        }
        loop {
            match self.grams.find(from, symbol) {
                Some(next) => return next,
                None if from == EMPTY => return EMPTY,
                None => from = self.grams.shorter(from),
            }
        }
    }

    /// Appends a symbol to the beginning.
    fn begin(&mut self, ends: &mut Ends, symbol: u32) {
        if ends.cut {
            return;
        }
        let room = self.grams.length(ends.head) + 1 < self.length;
        match self.grams.find(ends.head, symbol).filter(|_| room) {
            Some(head) => ends.head = head,
            None => ends.cut = true,
        }
    }

    fn append(&mut self, ends: &mut Ends, later: &Ends, weight: u64) {
        let mut head = std::mem::take(&mut self.head);
        self.grams.read(later.head, &mut head);
        let mut tail = ends.tail;
        // Symbols of the tail that are from before.
        let mut before = self.grams.length(tail);
        for (index, &symbol) in head.iter().rev().enumerate() {
            if before == 0 {
                break;
            }
            tail = self.step(tail, symbol, weight);
            before = self.grams.length(tail).saturating_sub(index + 1);
        }
        // What is frequent does not reach over a beginning that isn't.
        ends.tail = if before == 0 || later.cut {
            later.tail
        } else {
            tail
        };
        for &symbol in head.iter().rev() {
            self.begin(ends, symbol);
        }
        ends.cut |= later.cut;
        self.head = head;
    }
}
