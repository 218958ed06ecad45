//! Sums over the parts of a program: its crates, and its files in other languages than Rust.

use std::cmp::Reverse;

use holloway_analysis::functions::{Sums, Weight, sums_by};
use holloway_analysis::{FunctionId, RunProfile};

use crate::code::crate_of;
use crate::filter::Filter;

/// A part of a program.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Part {
    /// A crate, by name. Code without a file belongs to its crate or object file.
    Crate(String),
    /// A file that is not in Rust.
    File(String),
}

/// Sums over the functions that ran and that the filter keeps, by part. The part with the largest
/// weight comes first.
pub(crate) fn sums_by_part(
    run: &RunProfile,
    names: &Filter<'_>,
    weight: Weight,
) -> Vec<(Part, Sums)> {
    let part = |id: FunctionId| names.keeps(run, id).then(|| part_of(run, names, id));
    let mut parts: Vec<(Part, Sums)> = sums_by(run, &part).into_iter().collect();
    // The sort is stable: parts of equal weight stay in the order of their names.
    parts.sort_by_key(|(_, sums)| Reverse(sums.weight(weight)));
    parts
}

fn part_of(run: &RunProfile, names: &Filter<'_>, id: FunctionId) -> Part {
    let function = run.function(id);
    let file = &function.map.file;
    if !file.is_empty() && !file.ends_with(".rs") {
        return Part::File(file.to_string());
    }
    let module = &run.module_of(function).name;
    Part::Crate(crate_of(file, &names.name(function), module))
}
