//! Whether the same paths vary in several runs, as text and as JSON.

use std::io::{self, Write};

use holloway_analysis::variation::{RankOptions, VariationRun};

use crate::options::Options;

/// Writes the net variation of each run's first paths in all runs. [`Options::top`] gives the
/// number of first paths (10).
///
/// # Errors
/// Whatever `out` fails with.
pub fn write(
    runs: &[&VariationRun],
    options: &Options<'_>,
    how: RankOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    crate::terminal::stability::write(runs, options, how, out)
}

/// Writes the same figures as JSON (docs/json.md, "stability"), one object and a newline.
///
/// # Errors
/// Whatever `out` fails with.
pub fn json(
    runs: &[&VariationRun],
    options: &Options<'_>,
    how: RankOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    crate::json::stability::write(runs, options, how, out)
}
