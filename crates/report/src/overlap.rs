//! Comparison of two runs, as text and as JSON. [`holloway_analysis::overlap`] computes it.

use std::io::{self, Write};

use holloway_analysis::RunProfile;

use crate::options::Options;

/// Writes what two runs have in common, and their largest differences. [`Options::function`] limits
/// the comparison to some functions, [`Options::top`] limits the rows. View and order have no
/// effect.
///
/// # Errors
/// Whatever `out` fails with.
pub fn write(
    a: &RunProfile,
    b: &RunProfile,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    crate::terminal::overlap::write([a, b], options, out)
}

/// Writes the comparison as JSON (`overlap` of docs/json.md), one object and a newline.
/// [`Options::top`] limits the differences.
///
/// # Errors
/// Whatever `out` fails with.
pub fn json(
    a: &RunProfile,
    b: &RunProfile,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    crate::json::overlap::write([a, b], options, out)
}
