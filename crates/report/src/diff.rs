//! Writes the changes from one run to another, as text or as JSON. [`holloway_analysis::diff`]
//! computes them.

use std::io::{self, Write};

use crate::options::Options;

pub use crate::changes::Changes;

/// Writes the changes as text. [`Options::top`] limits the rows.
///
/// # Errors
/// If writing to `out` fails.
pub fn write(changes: &Changes<'_>, options: &Options<'_>, out: &mut dyn Write) -> io::Result<()> {
    crate::terminal::diff::write(changes, options, out)
}

/// Writes the changes as JSON (`diff` of docs/json.md), one object and a newline. [`Options::top`]
/// limits the paths.
///
/// # Errors
/// If writing to `out` fails.
pub fn json(changes: &Changes<'_>, options: &Options<'_>, out: &mut dyn Write) -> io::Result<()> {
    crate::json::diff::write(changes, options, out)
}
