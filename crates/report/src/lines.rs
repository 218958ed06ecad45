//! Counts of source lines in the selected functions, for the terminal and JSON.

use std::collections::BTreeMap;

use holloway_analysis::bounds::Bound;
use holloway_analysis::lines::{Lines, bounds, counts};
use holloway_analysis::{Function, RunProfile};
use holloway_format::Scope;

use crate::filter::Filter;

/// Counts of the lines of all functions that the filter keeps, by file. The copies of these
/// functions that were inlined into other functions count too.
pub(crate) fn line_counts(run: &RunProfile, names: &Filter<'_>) -> BTreeMap<String, Lines> {
    counts(run, &|function, scope| is_selected(names, function, scope))
}

/// Bounds of the lines whose counts may differ from the executions, by file and line.
pub(crate) fn line_bounds(
    run: &RunProfile,
    names: &Filter<'_>,
) -> BTreeMap<String, BTreeMap<u32, Bound>> {
    bounds(run, &|function, scope| is_selected(names, function, scope))
}

/// Whether the filter keeps the function of a scope: an inlined function, or the function itself.
fn is_selected(names: &Filter<'_>, function: &Function, scope: &Scope) -> bool {
    match scope.parent {
        None => names.matches(&function.map.linkage_name, &function.map.name),
        Some(_) => names.matches(&scope.linkage_name, &scope.name),
    }
}
