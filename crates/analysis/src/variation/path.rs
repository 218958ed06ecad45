//! A path with its times, as it is ranked.

use holloway_flow::PathId;
use holloway_format::Distribution;

use crate::run::FunctionId;

/// Whether the net variation of a path is certain, or why it is not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Certainty {
    /// Several bursts bear it out, and the machine doesn't explain it.
    Certain,
    /// It doesn't vary, as far as the clock can tell.
    Steady,
    /// Nothing is left where the samples of two bursts are left out at either end.
    FewSamples,
    /// So few bursts bear it out that interruptions may have made it.
    FewBursts,
    /// It is no larger than what the machine costs other paths, too.
    Machine,
}

/// A path that was ranked.
#[derive(Clone, PartialEq, Debug)]
pub struct Rank {
    /// Its function.
    pub function: FunctionId,
    /// Its number there.
    pub path: PathId,
    /// The times of its samples, in cycles.
    pub times: Distribution,
    /// Samples whose thread was preempted or moved, whether among these or left out.
    pub disturbed: u64,
    /// Samples in which woven code ran that was not timed, of all.
    pub called: u64,
    /// How often it ran, as estimated.
    pub executions: f64,
    /// Samples whose time can't be told, of all.
    pub unknown: u64,
    /// Its base time, in cycles: the 5 % quantile, and never 0.
    pub base: u64,
    /// Net variation, in cycles.
    pub net: f64,
    /// Whether that is certain.
    pub certainty: Certainty,
    /// What of it is: above what interruptions and sharing the machine explain, in cycles.
    pub sure: f64,
    /// Time above the base as a part of the base time.
    pub loss: f64,
    /// The longest samples, that may have been interrupted from outside: they count only as long as
    /// the longest of the others.
    pub interrupted: u64,
    /// Standard error of that, as a part of it: as an estimate, where not every execution was
    /// timed, and by the clock.
    pub error: f64,
    /// Cycles above the base that are none, as far as the clock can tell.
    pub unresolved: f64,
    /// How far from its base a time of its is still the base time, in cycles.
    pub window: u64,
    /// Paths that were timed in one of its executions, on average.
    pub nested: f64,
    /// Whether its time holds that of other woven code, in any sample.
    pub has_callees: bool,
    /// Time of all its executions, in cycles.
    pub total: f64,
}

impl Rank {
    /// Whether its time varies at all, as far as the clock can tell; or doesn't at all.
    pub fn is_resolved(&self) -> bool {
        self.net > 0.0 || self.unresolved <= 0.0
    }

    /// Whether no sample took longer than its base time, as far as the clock can tell.
    pub(super) fn is_steady(&self) -> bool {
        self.times.largest() <= self.base.saturating_add(self.window)
    }

    /// Whether its net variation is certain.
    pub fn is_certain(&self) -> bool {
        self.certainty == Certainty::Certain
    }

    /// Samples that it was ranked by.
    pub fn samples(&self) -> u64 {
        self.times.count()
    }
}
