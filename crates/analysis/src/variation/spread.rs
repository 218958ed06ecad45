//! Divides the differences between the times of a function's paths by their reasons.
//!
//! There are two reasons:
//! - *Choice*: of the paths that begin at the same block, one takes longer than another. A path's
//!   choice is its base time minus the smallest base time of these paths, times its executions.
//! - *Net variation*: the same path sometimes takes longer.
//!
//! The variance between the paths' means and the variance within the paths are computed too. They
//! weight long outliers by their squares.

use holloway_flow::PathStart;
use rustc_hash::FxHashMap;

use super::rank::{Ranking, larger};
use super::ranked_path::RankedPath;
use super::run::VariationRun;
use crate::run::FunctionId;

impl Ranking {
    /// Returns the spread of each function. The function with the largest difference comes first.
    pub fn spreads(&self, run: &VariationRun) -> Vec<Spread> {
        let mut groups: FxHashMap<(FunctionId, PathStart), Vec<&RankedPath>> = FxHashMap::default();
        for path in &self.paths {
            let graph = run.run.function(path.function).graph();
            if let Some(decoded) = graph.and_then(|graph| graph.path(path.path)) {
                let group = groups.entry((path.function, decoded.start)).or_default();
                group.push(path);
            }
        }
        let mut spreads: FxHashMap<FunctionId, Spread> = FxHashMap::default();
        for ((function, _), paths) in groups {
            let spread = spreads
                .entry(function)
                .or_insert_with(|| Spread::new(function));
            spread.add(&paths);
        }
        let mut spreads: Vec<Spread> = spreads.into_values().collect();
        spreads.sort_by(|a, b| {
            larger(a.choice + a.same, b.choice + b.same).then(a.function.cmp(&b.function))
        });
        spreads
    }
}

/// How much the times of a function's paths differ, by reason.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Spread {
    /// The function.
    pub function: FunctionId,
    /// Number of ranked paths.
    pub paths: u64,
    /// Cycles of the paths' base times above the fastest path that begins at the same block.
    pub choice: f64,
    /// Cycles of the paths above their own base times: the net variation of the paths for which it
    /// is certain.
    pub same: f64,
    /// Variance of the mean times of paths that begin at the same block, weighted by executions, in
    /// square cycles.
    pub between: f64,
    /// Variance of times about the mean of their path, weighted by executions, in square cycles.
    pub within: f64,
    executions: f64,
}

impl Spread {
    fn new(function: FunctionId) -> Spread {
        Spread {
            function,
            paths: 0,
            choice: 0.0,
            same: 0.0,
            between: 0.0,
            within: 0.0,
            executions: 0.0,
        }
    }

    /// Adds the paths that begin at one block.
    fn add(&mut self, paths: &[&RankedPath]) {
        let least = paths.iter().map(|path| path.base).min().unwrap_or_default();
        let executions: f64 = paths.iter().map(|path| path.executions).sum();
        let total: f64 = paths.iter().map(|path| path.total).sum();
        let mean = total / executions.max(f64::MIN_POSITIVE);
        let (mut between, mut within) = (0.0, 0.0);
        for path in paths {
            self.paths += 1;
            let over = Some(path.base - least).filter(|over| *over > path.window);
            self.choice += path.executions * over.unwrap_or_default().to_f64();
            if path.is_certain() {
                self.same += path.net;
            }
            between += path.executions * (path.times.mean() - mean).powi(2);
            within += path.executions * path.times.variance();
        }
        let executions_of_all = self.executions + executions;
        if executions_of_all > 0.0 {
            self.between = (self.between * self.executions + between) / executions_of_all;
            self.within = (self.within * self.executions + within) / executions_of_all;
        }
        self.executions = executions_of_all;
    }

    /// The share of choice in the total difference.
    pub fn by_choice(&self) -> f64 {
        let all = self.choice + self.same;
        if all > 0.0 { self.choice / all } else { 0.0 }
    }
}
