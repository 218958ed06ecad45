//! The hottest paths of the page's functions, and how many paths make up most of the run.

use holloway_analysis::paths::{HotPath, Ranked, hottest};
use holloway_analysis::{Function, FunctionId, RunProfile, Sort};
use holloway_format::{Count, PathId};
use serde::Serialize;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;

use super::branch_words::BranchWords;
use super::exact::Exact;
use crate::filter::Filter;
use crate::options::Options;
use crate::variation::{lines, trail_of};

/// Number of paths in the list of hottest paths.
const LISTED: usize = 1000;
/// The shares of all instructions, in percent.
const SHARES: [u64; 3] = [50, 90, 99];

/// The hottest paths. Each field has a value for each path.
#[derive(Serialize)]
pub(super) struct HotPaths {
    functions: Vec<usize>,
    numbers: Vec<Exact>,
    /// The decision that decides each path, and its lines: `19 → line 22, in lines 12–30`.
    routes: Vec<String>,
    counts: Vec<Exact>,
    instructions: Vec<Exact>,
    /// Executions in the baseline. Absent without one.
    before: Option<Vec<Exact>>,
}

/// The fewest paths that make up a share of all instructions that ran in paths.
#[derive(Serialize)]
pub(super) struct ShareOfPaths {
    percent: u64,
    paths: usize,
}

impl HotPaths {
    /// The hottest paths of these functions. They name functions by their index in `ids`.
    pub(super) fn new(
        run: &RunProfile,
        names: &Filter<'_>,
        ids: &[FunctionId],
        options: &Options<'_>,
        baseline: Option<&RunProfile>,
    ) -> HotPaths {
        let indices: HashMap<FunctionId, usize> = ids.iter().copied().zip(0..).collect();
        let choose = |id: FunctionId| match indices.contains_key(&id) {
            true => names.paths(run, id),
            false => Ranked::None,
        };
        let paths = hottest(run, Sort::Instructions, Some(LISTED), &choose).paths;
        let paths = || paths.iter();
        let routes = Routes::new(run, options);
        let route = |path: &HotPath| routes.route(path.function, path.path);
        HotPaths {
            functions: paths().map(|path| indices[&path.function]).collect(),
            numbers: paths().map(|path| path.path.0.into()).collect(),
            routes: paths().map(route).collect(),
            counts: paths().map(|path| path.count.into()).collect(),
            instructions: paths().map(|path| path.instructions.into()).collect(),
            before: baseline.map(|run| paths().map(|path| before(run, path).into()).collect()),
        }
    }
}

/// The executions of a path in a baseline.
fn before(baseline: &RunProfile, path: &HotPath) -> Count {
    let counts = &baseline.function(path.function).counts;
    let index = counts.binary_search_by_key(&path.path, |&(id, _)| id);
    index.map_or(Count::ZERO, |index| counts[index].1)
}

/// Words paths for lists.
pub(super) struct Routes<'a> {
    run: &'a RunProfile,
    cwd: Option<&'a Path>,
    known: RefCell<HashMap<FunctionId, KnownFunction<'a>>>,
}

/// A function whose paths are described in words.
struct KnownFunction<'a> {
    branches: BranchWords<'a>,
    /// By path that ran: the edge that it takes at the decision that decides it.
    deciding: Vec<Option<u32>>,
}

impl<'a> Routes<'a> {
    pub(super) fn new(run: &'a RunProfile, options: &'a Options<'_>) -> Routes<'a> {
        Routes {
            run,
            cwd: options.cwd.as_deref(),
            known: RefCell::default(),
        }
    }

    /// The decision that decides a path, and its lines.
    pub(super) fn route(&self, id: FunctionId, path: PathId) -> String {
        let function = self.run.function(id);
        let mut known = self.known.borrow_mut();
        let known = known.entry(id).or_insert_with(|| {
            let branches = BranchWords::new(&function.map, self.cwd);
            KnownFunction {
                deciding: branches.deciding(function),
                branches,
            }
        });
        let index = function.counts.binary_search_by_key(&path, |&(id, _)| id);
        let deciding = index.ok().and_then(|index| known.deciding[index]);
        route(function, &known.branches, path, deciding)
    }
}

/// The decision of a path on this edge, and its lines.
fn route(
    function: &Function,
    branches: &BranchWords<'_>,
    path: PathId,
    deciding: Option<u32>,
) -> String {
    let trail = trail_of(function, path);
    let lines = match trail.as_ref().and_then(|trail| lines(function, trail)) {
        Some((file, first, last)) => branches.lines(file, first, last),
        None => path.to_string(),
    };
    let Some(edge) = deciding else {
        return lines;
    };
    let at = branches.branch(edge).map(|line| line + " ");
    let at = at.unwrap_or_default();
    format!("{at}→ {}, in {lines}", branches.way(edge))
}

/// How many of the hottest paths of these functions make up each share.
pub(super) fn shares(run: &RunProfile, ids: &[FunctionId]) -> Vec<ShareOfPaths> {
    let mut weights: Vec<Count> = Vec::new();
    for function in ids.iter().map(|&id| run.function(id)) {
        if let Some(graph) = function.graph() {
            graph.measure(&function.map, &function.counts, |path| {
                weights.push(path.count.saturating_mul(path.instructions));
            });
        }
    }
    weights.sort_unstable_by(|a, b| b.cmp(a));
    let total: u128 = weights.iter().map(|&weight| u128::from(weight)).sum();
    let share = |percent: u64| {
        let mut sum = 0u128;
        let paths = weights.iter().take_while(|&&weight| {
            let is_below = sum * 100 < total * u128::from(percent);
            sum += u128::from(weight);
            is_below
        });
        ShareOfPaths {
            percent,
            paths: paths.count(),
        }
    };
    SHARES.map(share).into()
}
