//! Counts of source lines, for the terminal and JSON.

use std::collections::BTreeMap;

use holloway_analysis::bounds::Bound;
use holloway_analysis::lines::{Lines, bounds, counts};
use holloway_analysis::{Function, RunProfile};
use holloway_format::Scope;

use crate::filter::Filter;

/// Counts of the lines of all functions that the filter keeps, by file. Copies of these functions
/// inlined into other functions count too.
pub(crate) fn line_counts(run: &RunProfile, names: &Filter<'_>) -> BTreeMap<String, Lines> {
    counts(run, &|function, scope| is_kept(names, function, scope))
}

/// Bounds of the lines whose counts may differ from the executions, by file and line.
pub(crate) fn line_bounds(
    run: &RunProfile,
    names: &Filter<'_>,
) -> BTreeMap<String, BTreeMap<u32, Bound>> {
    bounds(run, &|function, scope| is_kept(names, function, scope))
}

fn is_kept(names: &Filter<'_>, function: &Function, scope: &Scope) -> bool {
    match scope.parent {
        None => names.matches(&function.map.linkage_name, &function.map.name),
        Some(_) => names.matches(&scope.linkage_name, &scope.name),
    }
}
