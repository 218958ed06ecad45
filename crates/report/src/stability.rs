//! Writes whether the same paths vary in several timed runs, as text or as JSON.

use std::io::{self, Write};

use holloway_analysis::variation::{RankOptions, VariationRun};

use crate::options::Options;

/// Writes the net variation of each run's first-ranked paths in all runs. [`Options::top`] is the
/// number of first paths (default 10).
///
/// # Errors
/// If writing to `out` fails.
pub fn write(
    runs: &[&VariationRun],
    options: &Options<'_>,
    rank_options: RankOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    crate::terminal::stability::write(runs, options, rank_options, out)
}

/// Writes the same numbers as JSON, one object and a newline. Section `stability` of docs/json.md
/// explains the keys.
///
/// # Errors
/// If writing to `out` fails.
pub fn json(
    runs: &[&VariationRun],
    options: &Options<'_>,
    rank_options: RankOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    crate::json::stability::write(runs, options, rank_options, out)
}
