//! Loads that wait for memory: on a path whose time varies for certain, or whose median time is
//! longer than its instructions take.
//!
//! The rule and the loads are those of [`waiting_loads`]. `holloway optimize` inserts prefetches
//! for most of them. A person may also change the data: place members that are used together in one
//! cache line, or use an array in place of a list.
//!
//! Bound: the larger one of the path's certain net variation, and the median's cycles above one for
//! each instruction, times the executions; but no more than the path's time.

use holloway_format::{Count, Cycles, Load};

use super::cost::{Saving, Unit};
use super::evidence::{Evidence, Found};
use crate::paths::{instructions, regenerate};
use crate::variation::advice::waiting_loads;
use crate::variation::rank::Ranking;
use crate::variation::{RankOptions, RankedPath, rank};

/// The evidence.
#[derive(Clone, PartialEq, Debug)]
pub struct WaitingLoads {
    /// The path.
    pub path: holloway_flow::PathId,
    /// The loads, most promising first.
    pub loads: Vec<Load>,
    /// Estimated executions of the path.
    pub executions: Count,
    /// Instructions of the path.
    pub instructions: u64,
    /// Median time of an execution.
    pub median: Cycles,
}

/// Finds the loads that wait.
pub fn find<'a>(evidence: &Evidence<'a>) -> Vec<Found<'a, WaitingLoads>> {
    let Some(variation) = evidence.variation else {
        return Vec::new();
    };
    let ranking = rank(variation, RankOptions::default());
    let mut pieces = Vec::new();
    for path in &ranking.paths {
        let function = variation.run.function(path.function);
        let loads = waiting_loads(function, path, &ranking);
        let loads: Vec<Load> = loads.into_iter().map(|(load, _)| load).collect();
        let Some(first) = loads.first() else {
            continue;
        };
        let instructions =
            regenerate(function, path.path).map_or(0, |path| instructions(function, &path));
        let place = first.place;
        let finding = WaitingLoads {
            path: path.path,
            executions: Count(path.executions.round() as u64),
            instructions,
            median: path.times.quantile(0.5),
            loads,
        };
        pieces.push(Found {
            function,
            place: Some(place),
            finding,
            saving: saving(path, instructions, &ranking),
        });
    }
    pieces
}

fn saving(path: &RankedPath, instructions: u64, ranking: &Ranking) -> Saving {
    let above = path
        .times
        .quantile(0.5)
        .saturating_sub(Cycles(instructions));
    let waited = above.to_f64() * path.executions;
    let cycles = path.certain_net.max(waited).clamp(0.0, path.total.max(0.0));
    Saving {
        amount: Count(cycles as u64),
        unit: Unit::Cycles,
        share: ranking.share(cycles),
    }
}
