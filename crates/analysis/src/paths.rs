//! Ranks the hottest paths of a run.
//!
//! Cost: ranking by count takes one pass over the counted paths and a selection; only the selected
//! paths are regenerated. Ranking by instructions walks the paths of each function (see
//! [`graph`](crate::graph)). If only paths through inlined code are ranked, each path of the
//! functions with such code is regenerated. Functions whose edges were counted have no paths to
//! rank: their [`counts`](Function::counts) are empty.

use std::cmp::Reverse;

use holloway_flow::{Path, PathId};
use holloway_format::{Count, FunctionMap, Place, Scope};

use crate::glue::is_glue;
use crate::path_name::NamePrefix;
use crate::run::{Function, FunctionId, RunProfile};
use crate::trail::frames;

/// The measure by which paths, functions, blocks, and edges are ranked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Sort {
    /// Executions.
    Count,
    /// Executed instructions: the instructions of the path times its count. A short path that runs
    /// often does not outrank the paths in which the program spends its time.
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
    /// Hottest first, but paths of [glue](crate::glue) after all others. Paths of equal weight are
    /// in the order of functions and numbers.
    pub paths: Vec<HotPath>,
    /// Number of distinct paths that were ranked.
    pub ranked: u64,
    /// Weight of all paths of the run, whether ranked or not.
    pub total: Count,
}

/// The paths of a function that are ranked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ranked {
    /// All paths.
    All,
    /// The paths through at least one of these blocks, by block.
    Through(Vec<bool>),
    /// The path whose name begins with these digits.
    Named(NamePrefix),
    /// No path.
    None,
}

impl Ranked {
    /// The paths of a function that run through the scopes that `keep` accepts: all paths if it
    /// accepts the function itself, else the paths through code that was inlined from these
    /// scopes. `keep` receives the number of a scope.
    pub fn through_scopes(map: &FunctionMap, keep: &dyn Fn(u32) -> bool) -> Ranked {
        let scopes = (0u32..).take(map.scopes.len());
        let kept: Vec<bool> = scopes.map(keep).collect();
        let is_own = |(scope, &kept): (&Scope, &bool)| kept && scope.parent.is_none();
        if map.scopes.iter().zip(&kept).any(is_own) {
            return Ranked::All;
        }
        if !kept.contains(&true) {
            return Ranked::None;
        }
        let is_kept = |place: &Place| frames(map, place).any(|frame| kept[frame.scope as usize]);
        let blocks = map.blocks.iter();
        let through: Vec<bool> = blocks
            .map(|block| block.places.iter().any(is_kept))
            .collect();
        match through.contains(&true) {
            true => Ranked::Through(through),
            false => Ranked::None,
        }
    }

    fn contains(&self, function: &Function, path: PathId) -> bool {
        match self {
            Ranked::All => true,
            Ranked::None => false,
            Ranked::Named(prefix) => {
                let name = function.path_name(path);
                name.is_some_and(|name| prefix.matches(name))
            }
            Ranked::Through(blocks) => regenerate(function, path)
                .is_some_and(|path| path.blocks.iter().any(|block| blocks[block.index()])),
        }
    }
}

/// Ranks the paths that `choose` chooses in each function. Returns at most `top` of them, or all if
/// `top` is `None`.
pub fn hottest(
    run: &RunProfile,
    sort: Sort,
    top: Option<usize>,
    choose: &dyn Fn(FunctionId) -> Ranked,
) -> Ranking {
    match sort {
        Sort::Count => by_count(run, top, choose),
        Sort::Instructions => by_instructions(run, top, choose),
    }
}

/// The hottest path of a function, with its part of the weight of all paths of the function. `None`
/// if the function has no paths.
pub fn hottest_of(function: &Function, sort: Sort) -> Option<(PathId, Ratio)> {
    let mut whole = Count::ZERO;
    let mut hottest: Option<(Count, Reverse<PathId>)> = None;
    let graph = function.graph()?;
    graph.measure(&function.map, &function.counts, |measured| {
        let weight = match sort {
            Sort::Count => measured.count,
            Sort::Instructions => measured.count.saturating_mul(measured.instructions),
        };
        whole = whole.saturating_add(weight);
        hottest = hottest.max(Some((weight, Reverse(measured.path))));
    });
    let (part, Reverse(path)) = hottest?;
    Some((path, Ratio { part, whole }))
}

/// A part of a sum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ratio {
    /// The part.
    pub part: Count,
    /// The sum.
    pub whole: Count,
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

fn by_count(
    run: &RunProfile,
    top: Option<usize>,
    choose: &dyn Fn(FunctionId) -> Ranked,
) -> Ranking {
    let mut total = Count::ZERO;
    let mut ranked: Vec<(bool, Reverse<Count>, FunctionId, PathId)> = Vec::new();
    for (id, function) in run.ids() {
        total = total.saturating_add(function.executions());
        let chosen = choose(id);
        let counts = function.counts.iter();
        let counts = counts.filter(|&&(path, _)| chosen.contains(function, path));
        let is_glue = is_glue(&function.map);
        ranked.extend(counts.map(|&(path, count)| (is_glue, Reverse(count), id, path)));
    }
    let distinct = ranked.len() as u64;
    keep_smallest(&mut ranked, top);
    let paths = ranked.into_iter().map(|(_, Reverse(count), id, path)| {
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
    choose: &dyn Fn(FunctionId) -> Ranked,
) -> Ranking {
    let mut total = Count::ZERO;
    let mut ranked: Vec<(bool, Reverse<Count>, FunctionId, PathId, Count, u64)> = Vec::new();
    for (id, function) in run.ids() {
        let Some(graph) = function.graph() else {
            continue;
        };
        let chosen = choose(id);
        let is_glue = is_glue(&function.map);
        graph.measure(&function.map, &function.counts, |measured| {
            let weight = measured.count.saturating_mul(measured.instructions);
            total = total.saturating_add(weight);
            if chosen.contains(function, measured.path) {
                let (path, count) = (measured.path, measured.count);
                let instructions = measured.instructions;
                ranked.push((is_glue, Reverse(weight), id, path, count, instructions));
            }
        });
    }
    let distinct = ranked.len() as u64;
    keep_smallest(&mut ranked, top);
    let paths = ranked
        .into_iter()
        .map(|(_, _, function, path, count, instructions)| HotPath {
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
