//! Counts of lines.

use holloway_analysis::RunProfile;
use serde::Serialize;

use crate::filter::Filter;
use crate::lines::line_counts;

/// A line that has code.
#[derive(Serialize)]
pub(super) struct LineRecord {
    file: String,
    line: u32,
    count: u64,
}

/// All lines with code of the functions shown, by file and number.
pub(super) fn lines(run: &RunProfile, names: &Filter<'_>) -> Vec<LineRecord> {
    let files = line_counts(run, names).into_iter();
    let records = files.flat_map(|(file, lines)| {
        let record = move |(line, count)| LineRecord {
            file: file.clone(),
            line,
            count,
        };
        lines.into_iter().map(record)
    });
    records.collect()
}
