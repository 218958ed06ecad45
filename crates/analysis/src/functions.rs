//! Ranks functions by their executed paths, blocks, or instructions.
//!
//! Cost: linear in counted paths and blocks, after each function's [`Flow`](crate::flow::Flow).

use holloway_format::Count;
use std::cmp::Reverse;

use holloway_flow::PathId;

use crate::glue::is_glue;
use crate::paths::Sort;
use crate::run::{Function, FunctionId, RunProfile};
use holloway_abi::Unit;

/// A function that ran.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Summary {
    /// The function.
    pub function: FunctionId,
    /// Times the function was entered.
    pub calls: Count,
    /// Executions of blocks with instructions, the blocks that [`crate::blocks::hottest`] ranks.
    pub blocks: Count,
    /// Instructions run.
    pub instructions: Count,
    /// The paths that ran; `None` if edges were counted.
    pub paths: Option<Paths>,
}

/// The paths run in a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Paths {
    /// Executions of all paths.
    pub executions: Count,
    /// Different paths that ran.
    pub distinct: u64,
    /// Paths in the function's graph.
    pub possible: u64,
    /// The path that ran most often, with its executions.
    pub hottest: (PathId, Count),
}

/// The measure by which functions are ranked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Weight {
    /// Path executions.
    Paths,
    /// Block executions: used if edges were counted in any function.
    Blocks,
    /// Executed instructions.
    Instructions,
}

impl Weight {
    /// Returns the measure for a run: one that is known for all of its functions.
    pub fn of(run: &RunProfile, sort: Sort) -> Weight {
        let by_edges = |function: &Function| function.ran() && function.unit() == Unit::Edges;
        match sort {
            Sort::Instructions => Weight::Instructions,
            Sort::Count if run.functions.iter().any(by_edges) => Weight::Blocks,
            Sort::Count => Weight::Paths,
        }
    }
}

impl Summary {
    /// The value of the measure for this function.
    pub fn weight(&self, weight: Weight) -> Count {
        match weight {
            Weight::Paths => self.paths.map_or(Count::ZERO, |paths| paths.executions),
            Weight::Blocks => self.blocks,
            Weight::Instructions => self.instructions,
        }
    }
}

/// The hottest functions, with the total that their shares refer to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ranking {
    /// Hottest first, but [glue](crate::glue) after all others. Functions of equal weight are in the
    /// order of the run.
    pub functions: Vec<Summary>,
    /// Number of functions that ran and that `keep` accepts.
    pub ranked: u64,
    /// The measure that ranks the functions.
    pub weight: Weight,
    /// Weight of all functions of the run.
    pub total: Count,
}

/// Ranks the functions that `keep` accepts. Returns at most `top` of them, or all if `top` is
/// `None`.
pub fn hottest(
    run: &RunProfile,
    sort: Sort,
    top: Option<usize>,
    keep: &dyn Fn(FunctionId) -> bool,
) -> Ranking {
    let weight = Weight::of(run, sort);
    let mut total = Count::ZERO;
    let mut functions = Vec::new();
    for (id, function) in run.ids() {
        let Some(summary) = summary(id, function) else {
            continue;
        };
        total = total.saturating_add(summary.weight(weight));
        if keep(id) {
            functions.push(summary);
        }
    }
    let ranked = functions.len() as u64;
    // The sort is stable: functions of equal weight stay in the order of their ids.
    functions.sort_by_cached_key(|summary| {
        let is_glue = is_glue(&run.function(summary.function).map);
        (is_glue, Reverse(summary.weight(weight)))
    });
    functions.truncate(top.unwrap_or(usize::MAX));
    Ranking {
        functions,
        ranked,
        weight,
        total,
    }
}

/// Sums up the executions of a function; `None` if it did not run.
pub fn summary(id: FunctionId, function: &Function) -> Option<Summary> {
    if !function.ran() {
        return None;
    }
    let flow = function.flow();
    let blocks = (0u32..).zip(function.map.blocks.iter().zip(&flow.blocks));
    let code_blocks =
        blocks.filter(|(id, (map, _))| *id != function.map.exit && map.instructions > 0);
    Some(Summary {
        function: id,
        calls: flow.calls,
        blocks: code_blocks.fold(Count::ZERO, |sum, (_, (_, &count))| {
            sum.saturating_add(count)
        }),
        instructions: flow.instructions,
        paths: paths(function),
    })
}

fn paths(function: &Function) -> Option<Paths> {
    let &(path, count) = function
        .counts
        .iter()
        .max_by_key(|&&(path, count)| (count, Reverse(path)))?;
    Some(Paths {
        executions: function.executions(),
        distinct: function.counts.len() as u64,
        possible: function.map.path_count,
        hottest: (path, count),
    })
}
