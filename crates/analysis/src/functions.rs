//! Ranks functions by their executed paths, blocks, or instructions, or by samples of CPU time.
//!
//! Cost: linear in counted paths and blocks, after each function's [`Flow`](crate::flow::Flow).

use holloway_format::Count;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::bounds::Bound;
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
    /// Samples of CPU time ([`RunProfile::samples_of`]).
    pub samples: Option<Count>,
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
    /// Samples of CPU time.
    Time,
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
            Weight::Time => self.samples.unwrap_or(Count::ZERO),
        }
    }
}

/// Sums over functions that ran.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Sums {
    /// Number of functions.
    pub functions: u64,
    /// Times the functions were entered.
    pub calls: Count,
    /// How the calls may differ from the real number.
    pub calls_bound: Bound,
    /// Executions of paths, of the functions whose paths were counted.
    pub path_executions: Count,
    /// Different paths that ran, of the functions whose paths were counted.
    pub distinct_paths: u64,
    /// Executions of blocks with instructions.
    pub blocks: Count,
    /// Instructions run.
    pub instructions: Count,
    /// Samples of CPU time.
    pub samples: Count,
    /// How all sums of counts but the calls may differ from the real numbers.
    pub bound: Bound,
}

impl Sums {
    /// Adds a function.
    fn add(&mut self, function: &Function, summary: &Summary) {
        let bounds = function.bounds();
        let paths = summary.paths;
        let executions = paths.map_or(Count::ZERO, |paths| paths.executions);
        self.functions += 1;
        self.calls = self.calls.saturating_add(summary.calls);
        self.calls_bound = self.calls_bound.and(bounds.calls);
        self.path_executions = self.path_executions.saturating_add(executions);
        self.distinct_paths += paths.map_or(0, |paths| paths.distinct);
        self.blocks = self.blocks.saturating_add(summary.blocks);
        self.instructions = self.instructions.saturating_add(summary.instructions);
        let samples = summary.samples.unwrap_or(Count::ZERO);
        self.samples = self.samples.saturating_add(samples);
        self.bound = self.bound.and(bounds.sum());
    }

    /// The sum of the measure.
    pub fn weight(&self, weight: Weight) -> Count {
        match weight {
            Weight::Paths => self.path_executions,
            Weight::Blocks => self.blocks,
            Weight::Instructions => self.instructions,
            Weight::Time => self.samples,
        }
    }
}

/// Sums over the functions that ran, by group. A function for which `group` returns `None` is left
/// out.
pub fn sums_by<G: Ord>(
    run: &RunProfile,
    group: &dyn Fn(FunctionId) -> Option<G>,
) -> BTreeMap<G, Sums> {
    let mut groups: BTreeMap<G, Sums> = BTreeMap::new();
    for (id, function) in run.ids() {
        if let Some(summary) = summary(run, id)
            && let Some(group) = group(id)
        {
            groups.entry(group).or_default().add(function, &summary);
        }
    }
    groups
}

/// The hottest functions, with the total that their shares refer to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ranking {
    /// Hottest first, but [glue](crate::glue) after all others. Functions of equal weight are in
    /// the order of the run.
    pub functions: Vec<Summary>,
    /// Sums over these functions.
    pub listed: Sums,
    /// Sums over the functions that `keep` accepts and that `top` leaves out.
    pub unlisted: Sums,
    /// Sums over all functions that ran and that `keep` accepts.
    pub ranked: Sums,
    /// The measure that ranks the functions.
    pub weight: Weight,
    /// Weight of all functions of the run. For [`Weight::Time`], all samples, also those of other
    /// code.
    pub total: Count,
}

/// Ranks the functions that `keep` accepts. Returns at most `top` of them, or all if `top` is
/// `None`.
pub fn hottest(
    run: &RunProfile,
    weight: Weight,
    top: Option<usize>,
    keep: &dyn Fn(FunctionId) -> bool,
) -> Ranking {
    let mut total = Count::ZERO;
    let mut functions = Vec::new();
    for (id, _) in run.ids() {
        let Some(summary) = summary(run, id) else {
            continue;
        };
        total = total.saturating_add(summary.weight(weight));
        if keep(id) {
            functions.push(summary);
        }
    }
    if let (Weight::Time, Some(samples)) = (weight, run.samples()) {
        total = samples.total;
    }
    // The sort is stable: functions of equal weight stay in the order of their ids.
    functions.sort_by_cached_key(|summary| {
        let is_glue = is_glue(&run.function(summary.function).map);
        (is_glue, Reverse(summary.weight(weight)))
    });
    let sums = |functions: &[Summary]| {
        let mut sums = Sums::default();
        for summary in functions {
            sums.add(run.function(summary.function), summary);
        }
        sums
    };
    let listed = functions.len().min(top.unwrap_or(usize::MAX));
    let unlisted = sums(&functions[listed..]);
    let ranked = sums(&functions);
    functions.truncate(listed);
    Ranking {
        listed: sums(&functions),
        unlisted,
        ranked,
        functions,
        weight,
        total,
    }
}

/// Sums up the executions of a function; `None` if it did not run.
pub fn summary(run: &RunProfile, id: FunctionId) -> Option<Summary> {
    let function = run.function(id);
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
        samples: run.samples_of(function),
        paths: paths(function),
    })
}

fn paths(function: &Function) -> Option<Paths> {
    if function.counts.is_empty() {
        return None;
    }
    Some(Paths {
        executions: function.executions(),
        distinct: function.counts.len() as u64,
        possible: function.map.path_count,
    })
}
