//! What ran in each function.
//!
//! Cost: linear in counted paths, after each function's [`Flow`](crate::graph::Flow).

use std::cmp::Reverse;

use holloway_flow::PathId;

use crate::paths::Sort;
use crate::run::{Function, FunctionId, RunProfile};

/// A function that ran.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Summary {
    /// The function.
    pub function: FunctionId,
    /// Times it was entered.
    pub calls: u64,
    /// Paths run in it.
    pub executions: u64,
    /// Different ones among them.
    pub distinct: u64,
    /// Paths its graph has.
    pub possible: u64,
    /// Instructions run.
    pub instructions: u64,
    /// Its path that ran most often, and how often.
    pub hottest: (PathId, u64),
}

impl Summary {
    /// What it is ranked by.
    pub fn weight(&self, sort: Sort) -> u64 {
        match sort {
            Sort::Count => self.executions,
            Sort::Instructions => self.instructions,
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
    let mut total = 0u64;
    let mut functions = Vec::new();
    for (id, function) in run.ids() {
        let Some(summary) = summary(id, function) else {
            continue;
        };
        total = total.saturating_add(summary.weight(sort));
        if keep(id) {
            functions.push(summary);
        }
    }
    let ranked = functions.len() as u64;
    // Stable: equal ones stay by id.
    functions.sort_by_key(|summary| Reverse(summary.weight(sort)));
    functions.truncate(top.unwrap_or(usize::MAX));
    Ranking {
        functions,
        ranked,
        total,
    }
}

/// What ran in a function; nothing if it didn't run.
pub fn summary(id: FunctionId, function: &Function) -> Option<Summary> {
    let &(path, count) = function
        .counts
        .iter()
        .max_by_key(|&&(path, count)| (count, Reverse(path)))?;
    let flow = function.flow();
    Some(Summary {
        function: id,
        calls: flow.calls,
        executions: function.executions(),
        distinct: function.counts.len() as u64,
        possible: function.map.path_count,
        instructions: flow.instructions,
        hottest: (PathId(path), count),
    })
}
