//! Ranks the hottest paths of a run.
//!
//! Cost: ranking by count takes one pass over the counted paths and a selection; only the selected
//! paths are regenerated. Ranking by instructions walks the paths of each function (see
//! [`graph`](crate::graph)). Functions whose edges were counted have no paths to rank.

use holloway_format::Count;
use std::cmp::Reverse;

use holloway_flow::{Path, PathId};

use crate::run::{Function, FunctionId, RunProfile};

/// The measure by which paths are ranked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Sort {
    /// Executions.
    Count,
    /// Executed instructions: the instructions of the path times its count. A short path that runs often does not
    /// outrank the paths in which the program spends its time.
    #[default]
    Instructions,
}

/// A path that ran.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HotPath {
    /// The function that contains the path.
    pub function: FunctionId,
    /// The path number in that function.
    pub path: PathId,
    /// Executions of the path.
    pub count: Count,
    /// Instructions of one execution.
    pub instructions: u64,
}

impl HotPath {
    /// Instructions of all executions.
    pub fn total_instructions(&self) -> Count {
        self.count.saturating_mul(self.instructions)
    }

    /// The weight that ranks the path.
    pub fn weight(&self, sort: Sort) -> Count {
        match sort {
            Sort::Count => self.count,
            Sort::Instructions => self.total_instructions(),
        }
    }
}

/// The hottest paths, with the total that their shares refer to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ranking {
    /// Hottest first. Paths of equal weight are in the order of functions and numbers.
    pub paths: Vec<HotPath>,
    /// Number of distinct paths that were ranked.
    pub ranked: u64,
    /// Weight of all paths of the run, whether ranked or not.
    pub total: Count,
}

/// Ranks the paths of the functions that `keep` accepts. Returns at most `top` of them, or all if
/// `top` is `None`.
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

/// Regenerates a path from its number.
pub fn regenerate(function: &Function, path: PathId) -> Option<Path> {
    function.graph()?.path(path)
}

/// Counts the instructions of a path.
pub fn instructions(function: &Function, path: &Path) -> u64 {
    path.blocks
        .iter()
        .map(|block| u64::from(function.map.blocks[block.0 as usize].instructions))
        .sum()
}

fn by_count(run: &RunProfile, top: Option<usize>, keep: &dyn Fn(FunctionId) -> bool) -> Ranking {
    let mut total = Count::ZERO;
    let mut ranked: Vec<(Reverse<Count>, FunctionId, PathId)> = Vec::new();
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
    keep_smallest(&mut ranked, top);
    let paths = ranked.into_iter().map(|(Reverse(count), id, path)| {
        let function = run.function(id);
        let instructions =
            regenerate(function, path).map_or(0, |path| instructions(function, &path));
        HotPath {
            function: id,
            path,
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
    let mut total = Count::ZERO;
    let mut ranked: Vec<(Reverse<Count>, FunctionId, PathId, Count, u64)> = Vec::new();
    for (id, function) in run.ids() {
        let Some(graph) = function.graph() else {
            continue;
        };
        let is_accepted = keep(id);
        graph.measure(&function.map, &function.counts, |measured| {
            let weight = measured.count.saturating_mul(measured.instructions);
            total = total.saturating_add(weight);
            if is_accepted {
                let (path, count) = (measured.path, measured.count);
                ranked.push((Reverse(weight), id, path, count, measured.instructions));
            }
        });
    }
    let distinct = ranked.len() as u64;
    keep_smallest(&mut ranked, top);
    let paths = ranked
        .into_iter()
        .map(|(_, function, path, count, instructions)| HotPath {
            function,
            path,
            count,
            instructions,
        });
    Ranking {
        paths: paths.collect(),
        ranked: distinct,
        total,
    }
}

/// Keeps the `top` smallest items and sorts them.
fn keep_smallest<T: Ord>(items: &mut Vec<T>, top: Option<usize>) {
    if let Some(top) = top
        && top < items.len()
    {
        items.select_nth_unstable(top);
        items.truncate(top);
    }
    items.sort_unstable();
}
