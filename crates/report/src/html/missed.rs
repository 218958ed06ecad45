//! The paths that the edge counts alone predict wrong, and the list of the worst of them.

use std::cmp::Reverse;

use holloway_analysis::functions::Summary;
use holloway_analysis::predict::predict_paths;
use holloway_analysis::{Function, FunctionId, RunProfile};
use holloway_format::{Count, PathId};
use serde::Serialize;

use super::exact::Exact;
use super::hot::Routes;
use crate::options::Options;

/// Number of paths in the list of missed paths.
const LISTED: usize = 200;

/// The functions of the page, the hottest first, with the paths that their edge counts predict.
pub(super) struct RanFunctions {
    pub(super) summaries: Vec<Summary>,
    /// By function: its predicted paths, by number.
    predicted: Vec<Vec<(PathId, Count)>>,
}

/// The path executions of a function that are predicted right, and the instructions of the others.
pub(super) struct Missed {
    pub(super) right: Count,
    pub(super) instructions: Count,
}

impl RanFunctions {
    pub(super) fn new(run: &RunProfile, summaries: Vec<Summary>) -> RanFunctions {
        let predicted = summaries.iter().map(|summary| {
            let paths = predict_paths(run.function(summary.function)).into_iter();
            let mut paths: Vec<_> = paths.map(|path| (path.path, path.count)).collect();
            paths.sort_unstable();
            paths
        });
        RanFunctions {
            predicted: predicted.collect(),
            summaries,
        }
    }

    pub(super) fn ids(&self) -> Vec<FunctionId> {
        let summaries = self.summaries.iter();
        summaries.map(|summary| summary.function).collect()
    }

    /// The predicted paths of a function of the page, by number.
    pub(super) fn predicted(&self, index: usize) -> &[(PathId, Count)] {
        &self.predicted[index]
    }

    /// The executions of a function of the page that are predicted right, and the others.
    pub(super) fn missed(&self, function: &Function, index: usize) -> Missed {
        let mut missed = Missed {
            right: Count::ZERO,
            instructions: Count::ZERO,
        };
        self.compare(function, index, |path| {
            missed.right = missed.right.saturating_add(path.count.min(path.predicted));
            missed.instructions = missed.instructions.saturating_add(path.missed());
        });
        missed
    }

    /// Calls `visit` for each path of a function that ran.
    fn compare(&self, function: &Function, index: usize, mut visit: impl FnMut(ComparedPath)) {
        let predicted = self.predicted(index);
        let Some(graph) = function.graph() else {
            return;
        };
        graph.measure(&function.map, &function.counts, |path| {
            let at = predicted.binary_search_by_key(&path.path, |&(id, _)| id);
            visit(ComparedPath {
                path: path.path,
                count: path.count,
                predicted: at.map_or(Count::ZERO, |at| predicted[at].1),
                instructions: path.instructions,
            });
        });
    }
}

/// A path that ran, with its prediction.
struct ComparedPath {
    path: PathId,
    count: Count,
    predicted: Count,
    /// Instructions of one execution.
    instructions: u64,
}

impl ComparedPath {
    /// Instructions of the executions that are not predicted.
    fn missed(&self) -> Count {
        let executions = Count(self.count.0.saturating_sub(self.predicted.0));
        executions.saturating_mul(self.instructions)
    }

    /// Whether the edge counts predict less than half of the executions.
    fn is_missed(&self) -> bool {
        u128::from(self.predicted.0) * 2 < u128::from(self.count.0)
    }
}

/// The missed paths: edge counts predict less than half of their executions. Paths with the most
/// instructions in executions that are not predicted come first. Each field has a value for each
/// path.
#[derive(Serialize, Default)]
pub(super) struct MissedPaths {
    functions: Vec<usize>,
    numbers: Vec<Exact>,
    routes: Vec<String>,
    counts: Vec<Exact>,
    predicted: Vec<Exact>,
    instructions: Vec<Exact>,
    /// The number of all missed paths. The list has the first of them.
    all: usize,
}

impl MissedPaths {
    /// The missed paths of the functions of the page. They name functions by their index.
    pub(super) fn new(run: &RunProfile, ran: &RanFunctions, options: &Options<'_>) -> MissedPaths {
        let mut paths = Vec::new();
        let ids = ran.ids();
        for (index, &id) in ids.iter().enumerate() {
            ran.compare(run.function(id), index, |path| {
                if path.is_missed() {
                    paths.push((Reverse(path.missed()), index, path));
                }
            });
        }
        paths.sort_by_key(|&(missed, index, ref path)| (missed, index, path.path));
        let mut missed = MissedPaths {
            all: paths.len(),
            ..MissedPaths::default()
        };
        let routes = Routes::new(run, options);
        for (_, index, path) in paths.into_iter().take(LISTED) {
            missed.functions.push(index);
            missed.numbers.push(path.path.0.into());
            missed.routes.push(routes.route(ids[index], path.path));
            missed.counts.push(path.count.into());
            missed.predicted.push(path.predicted.into());
            missed.instructions.push(path.instructions.into());
        }
        missed
    }
}
