//! The k-iteration path forest of a trace, for any `k`, from its grammar (D'Elia, Demetrescu, Finocchi 2013; Larus 1999).
//!
//! An activation's paths are a string of their own; the forest holds all sequences of up to `k` of them. `frames` takes the trace apart
//! into activations, [`grams`](super::grams) counts the windows of each: a window is counted in the rule in which it first lies whole, as often as
//! the rule occurs. So the string is never expanded, and `k` need not be known when the program runs.
//!
//! Cost: at most `k` steps for each symbol of the grammar and each piece of an activation in it, and one for each different sequence.

use super::Grammar;
use super::code::Event;
use super::frames::{Fold, fold_frames};
use super::grams::{Ends, Grams, TooMany, Windows};

/// Counts all sequences of up to `k` paths that follow one another in one activation; symbols are terminals.
///
/// # Errors
/// If there are more than `limit` different ones, or calls nest too deeply.
pub fn loops(
    grammar: &Grammar,
    events: &[Event],
    k: usize,
    limit: usize,
) -> Result<Grams, TooMany> {
    let mut windows = Windows::new(k, limit);
    fold_frames(grammar, events, &mut windows, |windows| {
        windows.grams.check()
    })?;
    windows.grams.sum_up();
    Ok(windows.grams)
}

impl Fold for Windows {
    type Body = Ends;

    fn push(&mut self, body: &mut Ends, terminal: u32, weight: u64) {
        Windows::push(self, body, terminal, weight);
    }

    fn append(&mut self, body: &mut Ends, later: &Ends, weight: u64) {
        Windows::append(self, body, later, weight);
    }

    fn end(&mut self, body: &mut Ends, weight: u64) {
        Windows::end(self, body, weight);
    }

    fn fall(&mut self, _: &mut Ends, _: Option<&mut Ends>, _: u64) {}

    fn begin(&mut self, _: &mut Ends, _: Option<&mut Ends>, _: u64) {}

    fn settle(&mut self, _: &mut Ends, _: Option<u32>, _: u64) {}
}
