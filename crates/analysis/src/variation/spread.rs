//! Why the times of a function's paths differ.
//!
//! There are two reasons:
//! - *Choice*: of the paths that begin at the same place, one takes longer than another. Its figure
//!   is the base time above the smallest base time of these paths, times the executions.
//! - Net variation: the same path sometimes takes longer.
//!
//! The corresponding variances (of the paths' means, and about the means) are reported too. They
//! weight long outliers by their squares.

use holloway_flow::PathStart;
use rustc_hash::FxHashMap;

use super::path::Rank;
use super::rank::{Ranking, larger};
use super::run::VariationRun;
use crate::run::FunctionId;

impl Ranking {
    /// Returns the reasons why times differ, for each function. The function with the largest
    /// difference comes first.
    pub fn spreads(&self, run: &VariationRun) -> Vec<Spread> {
        let mut groups: FxHashMap<(FunctionId, PathStart), Vec<&Rank>> = FxHashMap::default();
        for rank in &self.paths {
            let graph = run.run.function(rank.function).graph();
            if let Some(path) = graph.and_then(|graph| graph.path(rank.path)) {
                let group = groups.entry((rank.function, path.start)).or_default();
                group.push(rank);
            }
        }
        let mut spreads: FxHashMap<FunctionId, Spread> = FxHashMap::default();
        for ((function, _), ranks) in groups {
            let spread = spreads
                .entry(function)
                .or_insert_with(|| Spread::new(function));
            spread.add(&ranks);
        }
        let mut spreads: Vec<Spread> = spreads.into_values().collect();
        spreads.sort_by(|a, b| {
            larger(a.choice + a.same, b.choice + b.same).then(a.function.cmp(&b.function))
        });
        spreads
    }
}

/// Why the times of a function's paths differ.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Spread {
    /// The function.
    pub function: FunctionId,
    /// Number of ranked paths.
    pub paths: u64,
    /// Cycles that paths took, at their base time, above the fastest path that begins at the same
    /// place.
    pub choice: f64,
    /// Cycles that paths took above their own base time: their net variation, if it is certain.
    pub same: f64,
    /// Variance of the average times of paths that begin at the same place, weighted by executions;
    /// in square cycles.
    pub between: f64,
    /// Variance of times about the average of their path, weighted in the same way.
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

    /// Adds the paths that begin at one place.
    fn add(&mut self, ranks: &[&Rank]) {
        let least = ranks.iter().map(|rank| rank.base).min().unwrap_or_default();
        let executions: f64 = ranks.iter().map(|rank| rank.executions).sum();
        let total: f64 = ranks.iter().map(|rank| rank.total).sum();
        let mean = total / executions.max(f64::MIN_POSITIVE);
        let (mut between, mut within) = (0.0, 0.0);
        for rank in ranks {
            self.paths += 1;
            let over = Some(rank.base - least).filter(|over| *over > rank.window);
            self.choice += rank.executions * over.unwrap_or_default().to_f64();
            if rank.is_certain() {
                self.same += rank.net;
            }
            between += rank.executions * (rank.times.mean() - mean).powi(2);
            within += rank.executions * rank.times.variance();
        }
        let all = self.executions + executions;
        if all > 0.0 {
            self.between = (self.between * self.executions + between) / all;
            self.within = (self.within * self.executions + within) / all;
        }
        self.executions = all;
    }

    /// The share of choice in the total difference.
    pub fn by_choice(&self) -> f64 {
        let all = self.choice + self.same;
        if all > 0.0 { self.choice / all } else { 0.0 }
    }
}
