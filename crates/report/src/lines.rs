//! The lines that a report shows, on the terminal and as JSON.

use std::collections::BTreeMap;

use holloway_analysis::bounds::Bound;
use holloway_analysis::lines::{Lines, bounds, counts};
use holloway_analysis::{Function, RunProfile};
use holloway_format::Scope;

use crate::filter::Filter;

/// Counts of the lines of all functions that were asked for, those inlined elsewhere included, by
/// file.
pub(crate) fn line_counts(run: &RunProfile, names: &Filter<'_>) -> BTreeMap<String, Lines> {
    counts(run, &|function, scope| is_kept(names, function, scope))
}

/// How the counts of these lines may differ from the executions, where they may; by file and line.
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
