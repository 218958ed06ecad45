//! The hottest paths of the page's functions, and how many paths make up most of the run.

use holloway_analysis::paths::{Ranked, hottest};
use holloway_analysis::{FunctionId, RunProfile, Sort};
use holloway_format::Count;
use serde::Serialize;
use std::collections::HashMap;

use super::exact::Exact;
use crate::filter::Filter;
use crate::path_names::short_name;

/// Number of paths in the list of hottest paths.
const LISTED: usize = 1000;
/// The shares of all instructions, in percent.
const SHARES: [u64; 3] = [50, 90, 99];

/// The hottest paths. Each field has a value for each path.
#[derive(Serialize)]
pub(super) struct HotPaths {
    functions: Vec<usize>,
    numbers: Vec<Exact>,
    names: Vec<String>,
    counts: Vec<Exact>,
    instructions: Vec<Exact>,
}

/// The fewest paths that make up a share of all instructions that ran in paths.
#[derive(Serialize)]
pub(super) struct ShareOfPaths {
    percent: u64,
    paths: usize,
}

impl HotPaths {
    /// The hottest paths of these functions. They name functions by their index in `ids`.
    pub(super) fn new(run: &RunProfile, names: &Filter<'_>, ids: &[FunctionId]) -> HotPaths {
        let indices: HashMap<FunctionId, usize> = ids.iter().copied().zip(0..).collect();
        let choose = |id: FunctionId| match indices.contains_key(&id) {
            true => names.paths(run, id),
            false => Ranked::None,
        };
        let paths = hottest(run, Sort::Instructions, Some(LISTED), &choose).paths;
        let paths = || paths.iter();
        let name = |path: &holloway_analysis::paths::HotPath| {
            short_name(run.function(path.function), path.path)
        };
        HotPaths {
            functions: paths().map(|path| indices[&path.function]).collect(),
            numbers: paths().map(|path| path.path.0.into()).collect(),
            names: paths().map(name).collect(),
            counts: paths().map(|path| path.count.into()).collect(),
            instructions: paths().map(|path| path.instructions.into()).collect(),
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
