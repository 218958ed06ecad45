//! Counts frequent sequences of terminals exactly, with less memory than counting all sequences.
//!
//! All parts of a frequent sequence are at least as frequent (Agrawal, Srikant 1994). So the
//! algorithm counts one length after the other. A sequence of `n` symbols (a *window*) is counted
//! only if its first `n - 1` symbols and its last `n - 1` symbols are frequent. As in
//! [`grams`](super::grams), a window is counted in the lowest rule whose expansion contains all of
//! it. Of the expansion of each symbol, only the longest frequent prefix and suffix of up to
//! `n - 1` symbols matter.
//!
//! Cost: for each length `n`, a pass over the grammar with at most `n` steps for each symbol.
//! Memory: the candidate sequences of the next length.

use holloway_format::Count;

use super::grams::{EMPTY, Grams, TooMany, fold_rules};
use super::{Grammar, Part};

/// Counts all sequences of up to `k` terminals that occur at least `min_count` times. Only
/// terminals for which `is_included` holds may be part of a sequence.
///
/// # Errors
/// If more than `limit` sequences may be frequent.
pub(super) fn frequent(
    grammar: &Grammar,
    counts: &[Count],
    is_included: impl Fn(u32) -> bool,
    k: usize,
    min_count: Count,
    limit: usize,
) -> Result<Grams, TooMany> {
    let mut grams = Grams::new(limit);
    for (terminal, &count) in (0u32..).zip(counts) {
        if count >= min_count.max(Count(1)) && is_included(terminal) {
            let id = grams.add(EMPTY, terminal, EMPTY);
            grams.count_window(id, count.0);
        }
    }
    for length in 2..=k {
        let shorter_count = grams.nodes().count();
        let mut pass = LengthPass {
            length,
            grams,
            head_symbols: Vec::new(),
        };
        fold_rules(grammar, |ends_of_rules: &[FrequentEnds], rule, weight| {
            let ends = pass.rule(grammar, ends_of_rules, rule, weight);
            pass.grams.check_limit().map(|()| ends)
        })?;
        grams = pass.grams;
        grams.drop_rare(shorter_count, min_count);
        if grams.nodes().count() == shorter_count {
            break;
        }
    }
    Ok(grams)
}

/// The first and last symbols of a string, as sequences of the tree. Frequent windows that extend
/// beyond the string contain only these symbols of it.
#[derive(Clone, Copy, Default)]
struct FrequentEnds {
    /// The longest frequent prefix that is shorter than a window.
    head: u32,
    /// Whether the string is longer than its head.
    is_longer: bool,
    /// The longest frequent suffix that is shorter than a window.
    tail: u32,
}

/// A pass over the grammar that counts the sequences of one length.
struct LengthPass {
    length: usize,
    grams: Grams,
    /// Buffer for the symbols of a head, last symbol first.
    head_symbols: Vec<u32>,
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

    /// Returns the longest frequent suffix of the string after one more symbol. `tail` is the
    /// longest frequent suffix before it. If `tail` and the symbol form a window that may be
    /// frequent, counts the window.
    fn extend_tail(&mut self, tail: u32, symbol: u32, weight: u64) -> u32 {
        let mut suffix = tail;
        if self.grams.length(tail) + 1 == self.length {
            suffix = self.grams.without_first(tail);
            if let Some(window_end) = self.grams.find(suffix, symbol) {
                let known = self.grams.find(tail, symbol);
                let window = known.unwrap_or_else(|| self.grams.add(tail, symbol, window_end));
                self.grams.count_window(window, weight);
                return window_end;
            }
        }
        loop {
            match self.grams.find(suffix, symbol) {
                Some(extended) => return extended,
                None if suffix == EMPTY => return EMPTY,
                None => suffix = self.grams.without_first(suffix),
            }
        }
    }

    /// Appends a symbol to the head.
    fn extend_head(&mut self, ends: &mut FrequentEnds, symbol: u32) {
        if ends.is_longer {
            return;
        }
        let has_room = self.grams.length(ends.head) + 1 < self.length;
        match self.grams.find(ends.head, symbol) {
            Some(head) if has_room => ends.head = head,
            _ => ends.is_longer = true,
        }
    }

    /// Appends a string.
    fn append(&mut self, ends: &mut FrequentEnds, later: &FrequentEnds, weight: u64) {
        let mut head_symbols = std::mem::take(&mut self.head_symbols);
        self.grams.read_backwards(later.head, &mut head_symbols);
        let mut tail = ends.tail;
        // Number of symbols of `tail` that come from this string, not from the later string.
        let mut from_this_string = self.grams.length(tail);
        for (index, &symbol) in head_symbols.iter().rev().enumerate() {
            if from_this_string == 0 {
                break;
            }
            tail = self.extend_tail(tail, symbol, weight);
            from_this_string = self.grams.length(tail).saturating_sub(index + 1);
        }
        // If the later string is longer than its head, a frequent suffix cannot contain all of it:
        // the head with one more symbol is infrequent or as long as a window.
        ends.tail = if from_this_string == 0 || later.is_longer {
            later.tail
        } else {
            tail
        };
        for &symbol in head_symbols.iter().rev() {
            self.extend_head(ends, symbol);
        }
        ends.is_longer |= later.is_longer;
        self.head_symbols = head_symbols;
    }
}
