//! Counts frequent sequences exactly where counting all sequences would take too much memory.
//!
//! All parts of a frequent sequence are at least as frequent (Agrawal, Srikant 1994). So the
//! algorithm counts one length after the other. A sequence of `n` symbols is counted only if its
//! first and its last `n - 1` symbols are frequent. As in [`grams`](super::grams), a window is
//! counted in the lowest rule whose expansion contains all of it. Of each string, only the longest
//! frequent prefix and suffix of up to `n - 1` symbols matter.
//!
//! Cost: for each length `n`, a pass over the grammar with at most `n` steps for each symbol.
//! Memory: the candidate sequences of the next length.

use super::grams::{EMPTY, Grams, TooMany, fold_rules};
use super::{Grammar, Part};

/// Counts all sequences of up to `k` terminals that occur at least `min_count` times. Only
/// terminals for which `is_included` holds may be part of a sequence.
///
/// # Errors
/// More than `limit` sequences may be frequent.
pub(super) fn frequent(
    grammar: &Grammar,
    counts: &[u64],
    is_included: impl Fn(u32) -> bool,
    k: usize,
    min_count: u64,
    limit: usize,
) -> Result<Grams, TooMany> {
    let mut grams = Grams::new(limit);
    for (terminal, &count) in (0u32..).zip(counts) {
        if count >= min_count.max(1) && is_included(terminal) {
            let id = grams.add(EMPTY, terminal, EMPTY);
            grams.count_window(id, count);
        }
    }
    for length in 2..=k {
        let known = grams.nodes().count();
        let mut pass = LengthPass {
            length,
            grams,
            head: Vec::new(),
        };
        fold_rules(grammar, |ends_of_rules: &[FrequentEnds], rule, weight| {
            let ends = pass.rule(grammar, ends_of_rules, rule, weight);
            pass.grams.check_limit().map(|()| ends)
        })?;
        grams = pass.grams;
        grams.drop_rare(known, min_count);
        if grams.nodes().count() == known {
            break;
        }
    }
    Ok(grams)
}

/// The ends of a string. Frequent windows that extend beyond the string need nothing else of it.
#[derive(Clone, Copy, Default)]
struct FrequentEnds {
    /// Its longest frequent prefix that is shorter than a window.
    head: u32,
    /// Whether the string is longer than its head.
    is_cut: bool,
    /// Its longest frequent suffix that is shorter than a window.
    tail: u32,
}

/// Counts the sequences of one length.
struct LengthPass {
    length: usize,
    grams: Grams,
    /// Buffer for the symbols of a head, last symbol first.
    head: Vec<u32>,
}

impl LengthPass {
    /// Counts the windows of a rule. Returns the ends of its string.
    fn rule(
        &mut self,
        grammar: &Grammar,
        ends_of_rules: &[FrequentEnds],
        rule: u32,
        weight: u64,
    ) -> FrequentEnds {
        let mut ends = FrequentEnds::default();
        for symbol in grammar.rule(rule) {
            match symbol.part() {
                Part::Terminal(id) => {
                    ends.tail = self.extend_tail(ends.tail, id, weight);
                    self.extend_head(&mut ends, id);
                }
                Part::Rule(used) => self.append(&mut ends, &ends_of_rules[used as usize], weight),
            }
        }
        ends
    }

    /// The longest frequent suffix after one more symbol. Counts the window that ends there if it
    /// may be frequent.
    fn extend_tail(&mut self, id: u32, symbol: u32, weight: u64) -> u32 {
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

    /// Appends a symbol to the head.
    fn extend_head(&mut self, ends: &mut FrequentEnds, symbol: u32) {
        if ends.is_cut {
            return;
        }
        let room = self.grams.length(ends.head) + 1 < self.length;
        match self.grams.find(ends.head, symbol).filter(|_| room) {
            Some(head) => ends.head = head,
            None => ends.is_cut = true,
        }
    }

    /// Appends a string.
    fn append(&mut self, ends: &mut FrequentEnds, later: &FrequentEnds, weight: u64) {
        let mut head = std::mem::take(&mut self.head);
        self.grams.read_backwards(later.head, &mut head);
        let mut tail = ends.tail;
        // Number of symbols of the tail that come from the earlier string.
        let mut earlier = self.grams.length(tail);
        for (index, &symbol) in head.iter().rev().enumerate() {
            if earlier == 0 {
                break;
            }
            tail = self.extend_tail(tail, symbol, weight);
            earlier = self.grams.length(tail).saturating_sub(index + 1);
        }
        // No frequent sequence contains an infrequent prefix of the later string.
        ends.tail = if earlier == 0 || later.is_cut {
            later.tail
        } else {
            tail
        };
        for &symbol in head.iter().rev() {
            self.extend_head(ends, symbol);
        }
        ends.is_cut |= later.is_cut;
        self.head = head;
    }
}
