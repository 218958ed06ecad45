//! How steady the time of paths is over several runs, for people and for programs.

use std::io::{self, Write};

use holloway_analysis::variation::{RankOptions, VariationRun};

use crate::options::Options;

/// Writes how the first paths of each run vary in all runs. [`Options::top`] gives the number of
/// first paths (10).
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

/// Writes the same as JSON (docs/json.md, "stability"), one object and a newline.
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
