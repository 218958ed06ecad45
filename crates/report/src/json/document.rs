//! Writes JSON documents: one object and a newline.

use std::io::{self, BufWriter, Write};

use serde::Serialize;

/// Version of the documents' schema. Every document contains it.
pub const SCHEMA: u32 = 1;

/// Writes a document.
///
/// # Errors
/// If writing to `out` fails.
pub(crate) fn write(document: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    serde_json::to_writer(&mut out, document)?;
    writeln!(out)?;
    out.flush()
}
