//! The lines that a report shows, on the terminal and as JSON.

use std::collections::BTreeMap;

use holloway_analysis::RunProfile;
use holloway_analysis::lines::{Lines, counts};

use crate::filter::Filter;

/// Counts of the lines of all functions that were asked for, those inlined elsewhere included, by
/// file.
pub(crate) fn line_counts(run: &RunProfile, names: &Filter<'_>) -> BTreeMap<String, Lines> {
    counts(run, &|function, scope| match scope.parent {
        None => names.matches(&function.map.linkage_name, &function.map.name),
        Some(_) => names.matches(&scope.linkage_name, &scope.name),
    })
}
