//! Writes the tables of the papers for several runs, as text or as JSON.

use std::io::{self, Write};

use crate::options::Options;

pub use crate::suite_runs::{Suite, SuiteError, SuiteRun};

/// Writes the tables as text.
///
/// # Errors
/// If writing to `out` fails.
pub fn write(suite: &Suite, options: &Options<'_>, out: &mut dyn Write) -> io::Result<()> {
    crate::terminal::suite::write(suite, options, out)
}

/// Writes the tables as JSON (`suite` of docs/json.md), one object and a newline.
///
/// # Errors
/// If writing to `out` fails.
pub fn json(suite: &Suite, out: &mut dyn Write) -> io::Result<()> {
    crate::json::suite::write(suite, out)
}
