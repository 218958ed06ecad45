//! The differences between a run and its baseline, another run that the page compares it with. The
//! counts of the baseline are put on the functions of the run ([`project`]), so that they have the
//! form of the run's own counts.

use holloway_abi::Unit;
use holloway_analysis::coverage::coverage;
use holloway_analysis::diff::Pairing;
use holloway_analysis::diff::projection::{Counterpart, Projection, project};
use holloway_analysis::lines::{Lines, counts};
use holloway_analysis::{Function, FunctionId, RunProfile};
use holloway_format::{Count, PathId};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ptr;

use super::exact::Exact;
use super::files::FileTable;
use super::hot::Routes;
use super::indices::FunctionIndices;
use crate::filter::Filter;
use crate::options::Options;
use crate::phases::Phases;
use crate::trace::Stream;

/// Number of paths in the list of paths that differ most.
const LISTED: usize = 1000;

/// The run with which a page compares its run.
#[derive(Clone, Copy)]
pub struct Baseline<'a> {
    /// The name of the run.
    pub title: &'a str,
    /// Its counts.
    pub run: &'a RunProfile,
    /// The document of [`crate::json::loops`], if the run has loops.
    pub loops: Option<&'a str>,
    /// The document of [`crate::json::variation`], if the run has times of paths.
    pub variation: Option<&'a str>,
    /// The document of [`crate::json::samples`], if the run has samples.
    pub samples: Option<&'a str>,
    /// The traces of its threads.
    pub traces: &'a [Stream<'a>],
    /// The phases of the longest trace.
    pub phases: Option<Phases<'a>>,
}

/// A baseline on the functions of a page's run.
pub(super) struct Compared<'a> {
    pub(super) baseline: Baseline<'a>,
    projection: Projection,
}

/// A function's counts in the baseline.
pub(super) struct Before<'a> {
    pub(super) function: &'a Function,
    pub(super) counterpart: Counterpart,
}

/// The baseline in the head of a document.
#[derive(Serialize)]
pub(super) struct BaselineHead<'a> {
    title: &'a str,
    /// Whether paths are compared. Otherwise only edges, blocks, and lines are.
    has_paths: bool,
    instructions: Exact,
    distinct_paths: Exact,
    distinct_edges: Exact,
    functions_run: u64,
    functions: FunctionTable,
    gone: Gone,
    changed: ChangedPaths,
}

/// By function of the page: its counts in the baseline.
#[derive(Serialize, Default)]
struct FunctionTable {
    calls: Vec<Exact>,
    instructions: Vec<Exact>,
    /// How the function was found in the baseline: `same`, `moved`, `renamed`, `changed`, or
    /// `absent`.
    pairing: Vec<&'static str>,
}

/// Functions that ran in the baseline and not in the run.
#[derive(Serialize, Default)]
struct Gone {
    names: Vec<String>,
    files: Vec<usize>,
    lines: Vec<u32>,
    instructions: Vec<Exact>,
    /// Whether the run's build has the function.
    is_known: Vec<u8>,
}

/// The paths whose executed instructions differ most. Each field has a value for each path.
#[derive(Serialize, Default)]
struct ChangedPaths {
    functions: Vec<usize>,
    numbers: Vec<Exact>,
    routes: Vec<String>,
    counts: Vec<Exact>,
    before: Vec<Exact>,
    instructions: Vec<Exact>,
}

impl<'a> Compared<'a> {
    pub(super) fn new(run: &RunProfile, baseline: Baseline<'a>, names: &Filter<'_>) -> Self {
        Compared {
            projection: project(run, baseline.run, &|function| names.name(function)),
            baseline,
        }
    }

    /// The counts of the baseline on the functions of the run.
    pub(super) fn profile(&self) -> &RunProfile {
        &self.projection.profile
    }

    /// The counts of the baseline on the lines of the run's build. A line whose code is another one
    /// in the baseline has none.
    pub(super) fn lines(&self, names: &Filter<'_>) -> BTreeMap<String, Lines> {
        let profile = self.profile();
        let changed = profile.ids().filter(|(id, _)| self.is_changed(*id));
        let changed: HashSet<*const Function> = changed
            .map(|(_, function)| ptr::from_ref(function))
            .collect();
        counts(profile, &|function, scope| {
            !changed.contains(&ptr::from_ref(function))
                && names.keeps_scope(profile, function, scope)
        })
    }

    /// Whether a function has another graph in the baseline.
    fn is_changed(&self, id: FunctionId) -> bool {
        let known = self.counterpart(id);
        known.is_some_and(|known| known.pairing == Pairing::Changed)
    }

    /// What the baseline has of a function. `None` if it does not have it.
    pub(super) fn before(&self, id: FunctionId) -> Option<Before<'_>> {
        Some(Before {
            function: self.function(id),
            counterpart: self.counterpart(id)?,
        })
    }

    /// The functions of the baseline as indices into the page's table of functions, which has
    /// these. Functions with another graph in the run have no index.
    pub(super) fn indices(&self, ids: &[FunctionId]) -> FunctionIndices<'a> {
        self.indices_of(ids, self.projection.matches.iter())
    }

    /// As [`indices`](Self::indices), but functions with another graph in the run have an index,
    /// too.
    pub(super) fn indices_of_totals(&self, ids: &[FunctionId]) -> FunctionIndices<'a> {
        let Projection {
            matches, changed, ..
        } = &self.projection;
        self.indices_of(ids, matches.iter().chain(changed))
    }

    fn indices_of<'m>(
        &self,
        ids: &[FunctionId],
        matches: impl Iterator<Item = &'m (FunctionId, FunctionId)>,
    ) -> FunctionIndices<'a> {
        let indices: HashMap<FunctionId, usize> = ids.iter().copied().zip(0..).collect();
        let pairs = matches.filter_map(|(before, now)| Some((*before, *indices.get(now)?)));
        FunctionIndices::of_pairs(self.baseline.run, pairs)
    }

    fn counterpart(&self, id: FunctionId) -> Option<Counterpart> {
        self.projection.functions[id.index()]
    }

    fn function(&self, id: FunctionId) -> &Function {
        self.projection.profile.function(id)
    }

    fn has_paths(&self, run: &RunProfile) -> bool {
        run.unit() == Unit::Paths && self.baseline.run.unit() == Unit::Paths
    }

    /// The head. `ids` are the functions of the page.
    pub(super) fn head(
        &self,
        run: &RunProfile,
        ids: &[FunctionId],
        names: &Filter<'_>,
        files: &mut FileTable<'_>,
        options: &Options<'_>,
    ) -> BaselineHead<'a> {
        let coverage = coverage(self.baseline.run);
        let mut functions = FunctionTable::default();
        for &id in ids {
            let known = self.counterpart(id);
            let of = |count: fn(Counterpart) -> Count| known.map_or(Count::ZERO, count);
            functions.calls.push(of(|known| known.calls).into());
            functions
                .instructions
                .push(of(|known| known.instructions).into());
            functions.pairing.push(pairing(known));
        }
        BaselineHead {
            title: self.baseline.title,
            has_paths: self.has_paths(run),
            instructions: coverage.instructions.into(),
            distinct_paths: coverage.distinct_paths.into(),
            distinct_edges: coverage.distinct_edges.into(),
            functions_run: coverage.run,
            functions,
            gone: self.gone(run, names, files),
            changed: match self.has_paths(run) {
                true => self.changed(run, ids, options),
                false => ChangedPaths::default(),
            },
        }
    }

    /// The functions that ran only in the baseline, those with the most instructions first.
    fn gone(&self, run: &RunProfile, names: &Filter<'_>, files: &mut FileTable<'_>) -> Gone {
        let baseline = self.baseline.run;
        let without = self.projection.gone.iter();
        let without = without.filter(|id| names.keeps(baseline, **id)).map(|&id| {
            (
                baseline.function(id),
                baseline.function(id).flow().instructions,
                0,
            )
        });
        let quiet = run.ids().filter_map(|(id, function)| {
            let before = self.counterpart(id)?.instructions;
            let is_gone = !function.ran() && before > Count::ZERO && names.keeps(run, id);
            is_gone.then_some((function, before, 1))
        });
        let mut all: Vec<(&Function, Count, u8)> = without.chain(quiet).collect();
        all.sort_by_key(|(_, before, _)| Reverse(*before));
        let mut gone = Gone::default();
        for (function, before, is_known) in all {
            gone.names.push(names.name(function).to_string());
            gone.files.push(files.index(&function.map.file));
            gone.lines.push(function.map.line);
            gone.instructions.push(before.into());
            gone.is_known.push(is_known);
        }
        gone
    }

    fn changed(&self, run: &RunProfile, ids: &[FunctionId], options: &Options<'_>) -> ChangedPaths {
        let mut all = Vec::new();
        for (index, &id) in ids.iter().enumerate() {
            let (now, before) = (run.function(id), self.function(id));
            let Some(graph) = now.graph().filter(|_| !self.is_changed(id)) else {
                continue;
            };
            let merged = merged(&now.counts, &before.counts);
            let paths: Vec<(PathId, Count)> = merged
                .iter()
                .map(|&(path, _)| (path, Count::ZERO))
                .collect();
            let mut both = merged.iter().map(|&(_, counts)| counts);
            graph.measure(&now.map, &paths, |path| {
                let [count, before] = both.next().expect("a count for each path");
                let change = count.0.abs_diff(before.0).saturating_mul(path.instructions);
                if change > 0 {
                    all.push((change, index, path.path, [count, before], path.instructions));
                }
            });
        }
        all.sort_by_key(|&(change, index, path, ..)| (Reverse(change), index, path));
        all.truncate(LISTED);
        let routes = Routes::new(run, options);
        let mut changed = ChangedPaths::default();
        for (_, index, path, [count, before], instructions) in all {
            changed.functions.push(index);
            changed.numbers.push(path.0.into());
            changed.routes.push(routes.route(ids[index], path));
            changed.counts.push(count.into());
            changed.before.push(before.into());
            changed.instructions.push(instructions.into());
        }
        changed
    }
}

/// How a function was found in the baseline.
fn pairing(known: Option<Counterpart>) -> &'static str {
    match known.map_or(Pairing::Absent, |known| known.pairing) {
        Pairing::Same => "same",
        Pairing::Moved => "moved",
        Pairing::Renamed => "renamed",
        Pairing::Changed => "changed",
        Pairing::Absent => "absent",
    }
}

/// The paths of both lists, which are sorted, with their counts in each.
fn merged(a: &[(PathId, Count)], b: &[(PathId, Count)]) -> Vec<(PathId, [Count; 2])> {
    let mut merged = Vec::with_capacity(a.len().max(b.len()));
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    loop {
        let next = [a.peek(), b.peek()]
            .into_iter()
            .flatten()
            .map(|&&(path, _)| path);
        let Some(path) = next.min() else {
            return merged;
        };
        let count =
            |entry: Option<&(PathId, Count)>| entry.map_or(Count::ZERO, |&(_, count)| count);
        let counts = [
            count(a.next_if(|&&(other, _)| other == path)),
            count(b.next_if(|&&(other, _)| other == path)),
        ];
        merged.push((path, counts));
    }
}

#[cfg(test)]
mod tests {
    use super::merged;
    use holloway_format::{Count, PathId};

    #[test]
    fn paths_of_both_lists_are_merged() {
        let list = |paths: &[u64]| -> Vec<(PathId, Count)> {
            paths
                .iter()
                .map(|&path| (PathId(path), Count(10 + path)))
                .collect()
        };
        let merged = merged(&list(&[1, 4]), &list(&[0, 4]));
        let counts = |a, b| [Count(a), Count(b)];
        assert_eq!(
            merged,
            [
                (PathId(0), counts(0, 10)),
                (PathId(1), counts(11, 0)),
                (PathId(4), counts(14, 14))
            ]
        );
    }
}
