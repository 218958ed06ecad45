//! Two runs against each other, for people and for programs: what [`holloway_analysis::overlap`] found.

use std::io::{self, Write};

use holloway_analysis::RunProfile;

use crate::options::Options;

/// Writes what two runs have in common, and where they differ most. [`Options::function`] limits the comparison to some
/// functions, [`Options::top`] the rows; the view and the order don't matter.
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

/// Writes the same as JSON (docs/json.md, "overlap"), one object and a newline. [`Options::top`] limits the differences.
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
