//! Writes the counts of source lines as JSON.

use std::cmp::Reverse;

use holloway_analysis::RunProfile;
use holloway_analysis::bounds::Bound;
use holloway_format::Count;
use serde::Serialize;

use super::fields::bound;
use crate::filter::Filter;
use crate::lines::{line_bounds, line_counts, lines_of_glue};

/// A line that has code.
#[derive(Serialize)]
pub(super) struct LineRecord {
    file: String,
    line: u32,
    count: Count,
    #[serde(skip_serializing_if = "Option::is_none")]
    bound: Option<&'static str>,
}

/// The lines with code of the functions that the filter keeps, ordered by file and line number. If
/// `top` is given, only that many lines: those with the highest counts, but lines of glue last.
pub(super) fn lines(run: &RunProfile, names: &Filter<'_>, top: Option<usize>) -> Vec<LineRecord> {
    let bounds = line_bounds(run, names);
    let bound_of = |file: &str, line: u32| {
        let line_bound = bounds.get(file).and_then(|lines| lines.get(&line));
        bound(line_bound.copied().unwrap_or(Bound::Exact))
    };
    let mut records = Vec::new();
    for (file, lines) in line_counts(run, names) {
        for (line, count) in lines {
            records.push(LineRecord {
                bound: bound_of(&file, line),
                file: file.clone(),
                line,
                count,
            });
        }
    }
    let Some(top) = top else { return records };
    let glue = lines_of_glue(run, names);
    let is_glue = |record: &LineRecord| {
        let lines = glue.get(&record.file);
        lines.is_some_and(|lines| lines.contains(&record.line))
    };
    // The sort is stable: lines with equal counts stay in the order of files and lines.
    records.sort_by_cached_key(|record| (is_glue(record), Reverse(record.count)));
    records.truncate(top);
    records.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    records
}
