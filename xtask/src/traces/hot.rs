//! Counts minimal hot subpaths by their maximum length (Larus 1999, Figure 9).

use holloway_analysis::trace::Grammar;
use holloway_analysis::trace::code::Event;
use holloway_analysis::trace::hot::{Bounds, figure_7};

/// The maximum lengths of subpaths.
pub(super) const LENGTHS: [usize; 10] = [100, 200, 300, 400, 500, 600, 700, 800, 900, 1000];
/// The minimum costs of subpaths, in instructions.
pub(super) const COSTS: [u64; 2] = [10_000, 100_000];
/// The minimum number of paths in a subpath.
const MIN_LENGTH: usize = 10;

/// Counts the hot subpaths of a trace by the paper's algorithm, for each of [`COSTS`] and each of
/// [`LENGTHS`].
pub(super) fn counts((grammar, events): &(Grammar, Vec<Event>)) -> Vec<Vec<usize>> {
    let cost = |event: &Event| match event {
        Event::Path { instructions, .. } => Some(*instructions),
        Event::Left(_) | Event::Gap => None,
    };
    let costs: Vec<Option<u64>> = events.iter().map(cost).collect();
    let count = |min_cost| {
        let counts = LENGTHS.into_iter().map(|max_len| {
            let bounds = Bounds {
                min_len: MIN_LENGTH,
                max_len,
                min_cost,
            };
            figure_7(grammar, &costs, &bounds).len()
        });
        counts.collect()
    };
    COSTS.into_iter().map(count).collect()
}
