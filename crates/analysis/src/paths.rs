//! The hottest paths of a run.
//!
//! Cost: by count, one pass over the counted paths and a selection; only the paths asked for are regenerated. By
//! instructions, a walk of each function's paths (see [`graph`](crate::graph)). Functions whose edges were counted have no
//! paths to rank.

use std::cmp::Reverse;

use holloway_flow::{Path, PathId};

use crate::run::{Function, FunctionId, RunProfile};

/// What makes a path hot.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Sort {
    /// Times it ran.
    #[default]
    Count,
    /// Instructions run on it: those of the path times its count.
    Instructions,
}

/// A path that ran.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HotPath {
    /// The function it is in.
    pub function: FunctionId,
    /// Its number there.
    pub path: PathId,
    /// Times it ran.
    pub count: u64,
    /// Instructions of one run.
    pub instructions: u64,
}

impl HotPath {
    /// Instructions of all its runs.
    pub fn total_instructions(&self) -> u64 {
        self.instructions.saturating_mul(self.count)
    }

    /// What it is ranked by.
    pub fn weight(&self, sort: Sort) -> u64 {
        match sort {
            Sort::Count => self.count,
            Sort::Instructions => self.total_instructions(),
        }
    }
}

/// The hottest paths, and what they are a share of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ranking {
    /// Hottest first; equal ones by function and number.
    pub paths: Vec<HotPath>,
    /// Distinct paths that were ranked.
    pub ranked: u64,
    /// Weight of all paths of the run, whether ranked or not.
    pub total: u64,
}

/// Ranks the paths of the functions that `keep` holds for; at most `top`, all without.
pub fn hottest(
    run: &RunProfile,
    sort: Sort,
    top: Option<usize>,
    keep: &dyn Fn(FunctionId) -> bool,
) -> Ranking {
    match sort {
        Sort::Count => by_count(run, top, keep),
        Sort::Instructions => by_instructions(run, top, keep),
    }
}

/// The path of a number, regenerated.
pub fn regenerate(function: &Function, path: PathId) -> Option<Path> {
    function.graph()?.path(path)
}

/// Instructions on a path.
pub fn instructions(function: &Function, path: &Path) -> u64 {
    path.blocks
        .iter()
        .map(|block| u64::from(function.map.blocks[block.0 as usize].instructions))
        .sum()
}

fn by_count(run: &RunProfile, top: Option<usize>, keep: &dyn Fn(FunctionId) -> bool) -> Ranking {
    let mut total = 0u64;
    let mut ranked: Vec<(Reverse<u64>, FunctionId, u64)> = Vec::new();
    for (id, function) in run.ids() {
        total = total.saturating_add(function.executions());
        if keep(id) {
            ranked.extend(
                function
                    .counts
                    .iter()
                    .map(|&(path, count)| (Reverse(count), id, path)),
            );
        }
    }
    let distinct = ranked.len() as u64;
    select(&mut ranked, top);
    let paths = ranked.into_iter().map(|(Reverse(count), id, path)| {
        let function = run.function(id);
        let instructions =
            regenerate(function, PathId(path)).map_or(0, |path| instructions(function, &path));
        HotPath {
            function: id,
            path: PathId(path),
            count,
            instructions,
        }
    });
    Ranking {
        paths: paths.collect(),
        ranked: distinct,
        total,
    }
}

fn by_instructions(
    run: &RunProfile,
    top: Option<usize>,
    keep: &dyn Fn(FunctionId) -> bool,
) -> Ranking {
    let mut total = 0u64;
    let mut ranked: Vec<(Reverse<u64>, FunctionId, u64, u64, u64)> = Vec::new();
    for (id, function) in run.ids() {
        let Some(graph) = function.graph() else {
            continue;
        };
        let kept = keep(id);
        graph.measure(&function.map, &function.counts, |counted| {
            let weight = counted.instructions.saturating_mul(counted.count);
            total = total.saturating_add(weight);
            if kept {
                let (path, count) = (counted.path.0, counted.count);
                ranked.push((Reverse(weight), id, path, count, counted.instructions));
            }
        });
    }
    let distinct = ranked.len() as u64;
    select(&mut ranked, top);
    let paths = ranked
        .into_iter()
        .map(|(_, function, path, count, instructions)| HotPath {
            function,
            path: PathId(path),
            count,
            instructions,
        });
    Ranking {
        paths: paths.collect(),
        ranked: distinct,
        total,
    }
}

/// Leaves the `top` smallest, sorted.
fn select<T: Ord>(items: &mut Vec<T>, top: Option<usize>) {
    if let Some(top) = top
        && top < items.len()
    {
        items.select_nth_unstable(top);
        items.truncate(top);
    }
    items.sort_unstable();
}
