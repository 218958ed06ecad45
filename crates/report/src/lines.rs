//! Counts of source lines in the selected functions, for the terminal and JSON.

use std::collections::{BTreeMap, BTreeSet};

use holloway_analysis::RunProfile;
use holloway_analysis::bounds::Bound;
use holloway_analysis::glue_lines::glue_lines;
use holloway_analysis::lines::{Lines, bounds, counts};

use crate::filter::Filter;

/// Counts of the lines of all functions that the filter keeps, by file. The copies of these
/// functions that were inlined into other functions count too.
pub(crate) fn line_counts(run: &RunProfile, names: &Filter<'_>) -> BTreeMap<String, Lines> {
    counts(run, &|function, scope| {
        names.keeps_scope(run, function, scope)
    })
}

/// Bounds of the lines whose counts may differ from the executions, by file and line.
pub(crate) fn line_bounds(
    run: &RunProfile,
    names: &Filter<'_>,
) -> BTreeMap<String, BTreeMap<u32, Bound>> {
    bounds(run, &|function, scope| {
        names.keeps_scope(run, function, scope)
    })
}

/// The lines whose code is only in glue, by file. Lists of the hottest lines have them last.
pub(crate) fn lines_of_glue(
    run: &RunProfile,
    names: &Filter<'_>,
) -> BTreeMap<String, BTreeSet<u32>> {
    glue_lines(run, &|function, scope| {
        names.keeps_scope(run, function, scope)
    })
}
