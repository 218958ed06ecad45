//! Computes the path forest of a trace from its grammar, for any `k`: how often each sequence of up
//! to `k` consecutive paths of one activation ran (D'Elia, Demetrescu, Finocchi 2013; Larus 1999).
//!
//! The paths of one activation form a string. `frames` splits the trace into activations, and
//! [`grams`](super::grams) counts the windows of up to `k` paths in each activation. A window is
//! counted in the lowest rule whose expansion contains all of it, as often as the rule occurs. So
//! the trace is never expanded, and `k` need not be known when the program runs.
//!
//! Cost: at most `k` steps for each symbol of the grammar and for each part of an activation
//! (`frames`), and one step for each different sequence.

use super::Grammar;
use super::code::Event;
use super::frames::{Fold, fold_frames};
use super::grams::{Grams, StringEnds, TooMany, Windows};

/// Counts all sequences of up to `k` consecutive paths of one activation. The symbols of a sequence
/// are terminals.
///
/// # Errors
/// If there are more than `limit` different sequences, or calls nest too deeply.
pub fn loops(
    grammar: &Grammar,
    events: &[Event],
    k: usize,
    limit: usize,
) -> Result<Grams, TooMany> {
    let mut windows = Windows::new(k, limit);
    fold_frames(grammar, events, &mut windows, |windows| {
        windows.grams.check_limit()
    })?;
    windows.grams.sum_up();
    Ok(windows.grams)
}

impl Fold for Windows {
    type Body = StringEnds;

    fn push(&mut self, body: &mut StringEnds, terminal: u32, weight: u64) {
        Windows::push(self, body, terminal, weight);
    }

    fn append(&mut self, body: &mut StringEnds, later: &StringEnds, weight: u64) {
        Windows::append(self, body, later, weight);
    }

    fn end(&mut self, body: &mut StringEnds, weight: u64) {
        Windows::end(self, body, weight);
    }

    fn end_above(&mut self, _: &mut StringEnds, _: Option<&mut StringEnds>, _: u64) {}

    fn begin_above(&mut self, _: &mut StringEnds, _: Option<&mut StringEnds>, _: u64) {}

    fn set_function(&mut self, _: &mut StringEnds, _: Option<u32>, _: u64) {}
}
