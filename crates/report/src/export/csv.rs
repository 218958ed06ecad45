//! The table of paths and edges as CSV (RFC 4180), with a line of column names.

use std::io::{self, Write};

use super::run::{ExportRun, Result};
use super::table::{COLUMNS, Value, rows};

/// Writes the table.
pub(super) fn write(export: &ExportRun<'_>, out: &mut dyn Write) -> Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    let fail = |error: csv::Error| io::Error::from(error);
    csv.write_record(COLUMNS.each_ref().map(|column| column.name))
        .map_err(fail)?;
    rows(export, |row| {
        let fields = COLUMNS.each_ref().map(|column| match (column.value)(&row) {
            Value::Text(text) => text.unwrap_or_default().to_owned(),
            Value::Number(number) => number.map(|number| number.to_string()).unwrap_or_default(),
            Value::Flag(flag) => flag.map(|flag| flag.to_string()).unwrap_or_default(),
        });
        csv.write_record(fields).map_err(fail)
    })?;
    Ok(csv.flush()?)
}
