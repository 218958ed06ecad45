//! What ran in each function.
//!
//! Cost: linear in counted paths and blocks, after each function's [`Flow`](crate::flow::Flow).

use std::cmp::Reverse;

use holloway_flow::PathId;

use crate::paths::Sort;
use crate::run::{Function, FunctionId, RunProfile};
use holloway_abi::Unit;

/// A function that ran.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Summary {
    /// The function.
    pub function: FunctionId,
    /// Times it was entered.
    pub calls: u64,
    /// Blocks run in it, as [`crate::blocks::hottest`] ranks them: those with instructions.
    pub blocks: u64,
    /// Instructions run.
    pub instructions: u64,
    /// Its paths; none where edges were counted.
    pub paths: Option<Paths>,
}

/// The paths run in a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Paths {
    /// Paths run.
    pub executions: u64,
    /// Different ones among them.
    pub distinct: u64,
    /// Paths its graph has.
    pub possible: u64,
    /// The path that ran most often, and how often.
    pub hottest: (PathId, u64),
}

/// What functions are ranked by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Weight {
    /// Paths run.
    Paths,
    /// Blocks run: where edges were counted in any function.
    Blocks,
    /// Instructions run.
    Instructions,
}

impl Weight {
    /// What the functions of a run are ranked by: it must be known of all of them.
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
    /// What it is ranked by.
    pub fn weight(&self, weight: Weight) -> u64 {
        match weight {
            Weight::Paths => self.paths.map_or(0, |paths| paths.executions),
            Weight::Blocks => self.blocks,
            Weight::Instructions => self.instructions,
        }
    }
}

/// The hottest functions, and what they are a share of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ranking {
    /// Hottest first; equal ones in the order of the run.
    pub functions: Vec<Summary>,
    /// Functions that ran, of those kept.
    pub ranked: u64,
    /// What they are ranked by.
    pub weight: Weight,
    /// Weight of all functions of the run.
    pub total: u64,
}

/// Ranks the functions that `keep` holds for; at most `top`, all without.
pub fn hottest(
    run: &RunProfile,
    sort: Sort,
    top: Option<usize>,
    keep: &dyn Fn(FunctionId) -> bool,
) -> Ranking {
    let weight = Weight::of(run, sort);
    let mut total = 0u64;
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
    // Stable: equal ones stay by id.
    functions.sort_by_key(|summary| Reverse(summary.weight(weight)));
    functions.truncate(top.unwrap_or(usize::MAX));
    Ranking {
        functions,
        ranked,
        weight,
        total,
    }
}

/// What ran in a function; nothing if it didn't run.
pub fn summary(id: FunctionId, function: &Function) -> Option<Summary> {
    if !function.ran() {
        return None;
    }
    let flow = function.flow();
    let inside = (0u32..).zip(function.map.blocks.iter().zip(&flow.blocks));
    let inside = inside.filter(|(id, (map, _))| *id != function.map.exit && map.instructions > 0);
    Some(Summary {
        function: id,
        calls: flow.calls,
        blocks: inside.fold(0, |sum, (_, (_, &count))| sum.saturating_add(count)),
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
        hottest: (PathId(path), count),
    })
}
