//! The hottest paths of the page's functions, and how many paths make up most of the run.

use holloway_analysis::paths::{HotPath, Ranked, hottest};
use holloway_analysis::trail::is_choice;
use holloway_analysis::{Function, FunctionId, RunProfile, Sort};
use holloway_format::{Count, PathId};
use serde::Serialize;
use std::collections::HashMap;
use std::path::Path;

use super::exact::Exact;
use crate::filter::Filter;
use crate::options::Options;
use crate::terminal::branches::{Branches, KnownBranches};
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
    /// The lines of each path, and its rarest outcome: `lines 12–30, 19 → line 22`.
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
    known: KnownBranches<'a>,
}

impl<'a> Routes<'a> {
    pub(super) fn new(run: &'a RunProfile, options: &'a Options<'_>) -> Routes<'a> {
        Routes {
            run,
            cwd: options.cwd.as_deref(),
            known: KnownBranches::default(),
        }
    }

    pub(super) fn route(&self, function: FunctionId, path: PathId) -> String {
        let function = self.run.function(function);
        let branches = self.known.branches(&function.map, self.cwd);
        route(function, &branches, path)
    }
}

/// The lines of a path and its rarest outcome: that of its decisions which the run took least
/// often, compared with the other ways of the same block.
fn route(function: &Function, branches: &Branches<'_>, path: PathId) -> String {
    let trail = trail_of(function, path);
    let lines = match trail.as_ref().and_then(|trail| lines(function, trail)) {
        Some((_, first, last)) if first == last => format!("line {first}"),
        Some((_, first, last)) => format!("lines {first}–{last}"),
        None => path.to_string(),
    };
    let flow = function.flow();
    let edges = &function.map.edges;
    let taken = |edge: usize| u64::try_from(flow.edges[edge]).unwrap_or(0);
    let path = function.graph().and_then(|graph| graph.path(path));
    let decided = path.iter().flat_map(|path| &path.edges).filter(|edge| {
        let from = edges[edge.index()].from as usize;
        is_choice(edges[edge.index()].outcome) && taken(edge.index()) < u64::from(flow.blocks[from])
    });
    let share = |edge: usize| {
        let whole = u64::from(flow.blocks[edges[edge].from as usize]).max(1);
        u128::from(taken(edge)) * 1_000_000 / u128::from(whole)
    };
    match decided
        .map(|edge| edge.index())
        .min_by_key(|&edge| share(edge))
    {
        None => lines,
        Some(edge) => {
            let place = edges[edge].place;
            let at = place.map_or(String::new(), |place| format!("{} ", place.line));
            let number = u32::try_from(edge).unwrap_or(u32::MAX);
            let word = branches.word(place, &branches.destination(number));
            format!("{lines}, {at}→ {word}")
        }
    }
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
