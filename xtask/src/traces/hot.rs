//! The number of minimal hot subpaths by their longest length (Larus 1999, Figure 9).

use holloway_analysis::trace::Grammar;
use holloway_analysis::trace::code::Event;
use holloway_analysis::trace::hot::{Bounds, as_printed};

/// The longest lengths.
pub(super) const LENGTHS: [usize; 10] = [100, 200, 300, 400, 500, 600, 700, 800, 900, 1000];
/// The smallest costs, in instructions.
pub(super) const COSTS: [u64; 2] = [10_000, 100_000];
/// The number of paths in the shortest subpath.
const SHORTEST: usize = 10;

/// Counts the hot subpaths of a trace by the paper's algorithm, for each of [`COSTS`] and each of
/// [`LENGTHS`].
pub(super) fn counts((grammar, events): &(Grammar, Vec<Event>)) -> Vec<Vec<usize>> {
    let cost = |event: &Event| match event {
        Event::Path { instructions, .. } => Some(*instructions),
        Event::Left(_) | Event::Gap => None,
    };
    let costs: Vec<Option<u64>> = events.iter().map(cost).collect();
    let count = |min_cost| {
        let found = LENGTHS.into_iter().map(|max_len| {
            let bounds = Bounds {
                min_len: SHORTEST,
                max_len,
                min_cost,
            };
            as_printed(grammar, &costs, &bounds).len()
        });
        found.collect()
    };
    COSTS.into_iter().map(count).collect()
}
