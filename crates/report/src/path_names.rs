//! The short names of paths, as reports show them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use holloway_abi::Unit;
use holloway_analysis::overlap::{Both, Overlap};
use holloway_analysis::path_name::PathName;
use holloway_analysis::trace::pattern::{Candidates, NameError};
use holloway_analysis::{Function, RunProfile};
use holloway_format::{Count, PathId};

use crate::filter::Filter;
use crate::options::Options;

/// The short name of a path, to be put after the name of its function: `#3fa2`. Empty if the
/// function has no such path.
pub(crate) fn short_name(function: &Function, path: PathId) -> String {
    let name = function.path_name(path);
    name.map_or_else(String::new, |name| name.to_string())
}

/// The number of a path and its short name: `p12#3fa2`.
pub(crate) fn numbered_name(function: &Function, path: PathId) -> String {
    format!("{path}{}", short_name(function, path))
}

/// The full name of a path, for JSON documents: 16 hexadecimal digits. Empty if the function has no
/// such path.
pub fn full_name(function: &Function, path: PathId) -> String {
    function
        .path_name(path)
        .map_or_else(String::new, PathName::full)
}

/// Checks that just one path that ran has the name that the user wants, if the user wants one. Two
/// copies of a function have the same paths.
///
/// # Errors
/// If no path that ran has the name, or several have it.
pub(crate) fn check_path(runs: &[&RunProfile], options: &Options<'_>) -> Result<(), NameError> {
    let Some(choice) = &options.path else {
        return Ok(());
    };
    let names = Filter::new(options);
    let mut ran: BTreeMap<PathName, (Count, PathId)> = BTreeMap::new();
    let mut is_known = false;
    for run in runs {
        for (_, function) in run.ids().filter(|&(id, _)| names.keeps(run, id)) {
            is_known = true;
            for &(path, count) in &function.counts {
                if let Some(name) = function.path_name(path) {
                    let known = ran.entry(name).or_insert((Count::ZERO, path));
                    known.0 = known.0.saturating_add(count);
                }
            }
        }
    }
    let matching = ran.iter().filter(|(name, _)| choice.prefix.matches(**name));
    let matching: BTreeMap<PathName, PathId> =
        matching.map(|(name, (_, path))| (*name, *path)).collect();
    let name = choice.function.clone();
    let digits = choice.prefix;
    match matching.len() {
        0 if is_known => {
            let mut hottest: Vec<_> = ran.into_iter().collect();
            hottest.sort_by_key(|(_, (count, _))| Reverse(*count));
            let paths = hottest.into_iter().map(|(name, (_, path))| (name, path));
            let candidates = distinguished(&paths.collect::<Vec<_>>());
            Err(NameError::NoPathWithName {
                name,
                digits,
                candidates,
            })
        }
        0 | 1 => Ok(()),
        _ => {
            let candidates = distinguished(&matching.into_iter().collect::<Vec<_>>());
            Err(NameError::AmbiguousPath {
                name,
                digits,
                candidates,
            })
        }
    }
}

/// Leaves only the differences of the path that the filter keeps.
pub(crate) fn keep_chosen_path(overlap: &mut Overlap, runs: Both<&RunProfile>, names: &Filter<'_>) {
    if overlap.unit == Unit::Paths {
        overlap.differences.retain(|difference| {
            let function = runs[difference.side].function(difference.function);
            names.keeps_path(function, PathId(difference.number))
        });
    }
}

/// Maximum number of paths that a list has.
const MAX_PATHS: usize = 8;

/// Returns the names of paths with their numbers, such as `#3fa2 (p1)`. The names have enough
/// digits to distinguish them. The end of a long list is left out.
pub(crate) fn distinguished(paths: &[(PathName, PathId)]) -> Candidates {
    let mut names: Vec<PathName> = paths.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    // The most similar names are neighbors.
    let neighbors = |name: PathName| {
        let index = names.partition_point(|other| *other < name);
        let before = index.checked_sub(1).and_then(|before| names.get(before));
        before.into_iter().chain(names.get(index + 1))
    };
    let listed = paths.iter().take(MAX_PATHS);
    let listed: Vec<String> = listed
        .map(|&(name, path)| {
            let name = neighbors(name).fold(name, |name, other| name.distinguished_from(*other));
            format!("{name} ({path})")
        })
        .collect();
    Candidates {
        left_out: paths.len() - listed.len(),
        paths: listed,
    }
}
