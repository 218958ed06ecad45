//! Writes the comparison of two runs, as text or as JSON. [`holloway_analysis::overlap`] computes
//! the comparison.

use std::io::{self, Write};

use holloway_analysis::RunProfile;

use crate::options::Options;

/// Writes the common paths or edges of two runs, and their largest differences.
/// [`Options::function`] limits the comparison to some functions, and [`Options::top`] limits the
/// rows. [`Options::view`] and [`Options::sort`] have no effect.
///
/// # Errors
/// If writing to `out` fails.
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
/// If writing to `out` fails.
pub fn json(
    a: &RunProfile,
    b: &RunProfile,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    crate::json::overlap::write([a, b], options, out)
}
