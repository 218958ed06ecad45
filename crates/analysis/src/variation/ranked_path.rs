//! A ranked path with its times.

use holloway_flow::PathId;
use holloway_format::{Count, Cycles, Distribution};

use crate::run::FunctionId;

/// Whether the net variation of a path is certain, or why it is not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Certainty {
    /// Several bursts confirm it, and the machine does not explain it.
    Certain,
    /// The path does not vary by more than the clock can resolve.
    Steady,
    /// No sample remains after the samples of the two shortest and the two longest bursts are left
    /// out.
    FewSamples,
    /// Only a few bursts confirm it, so interruptions may have caused it.
    FewBursts,
    /// Other paths of the run lose as much time, so sharing the machine may have caused it.
    Machine,
}

/// A path of the ranking, with the statistics of its samples.
#[derive(Clone, PartialEq, Debug)]
pub struct RankedPath {
    /// The path's function.
    pub function: FunctionId,
    /// The path's number in its function.
    pub path: PathId,
    /// The times of the path's samples, in cycles.
    pub times: Distribution,
    /// Number of samples whose thread was preempted or moved to another processor. `times` includes
    /// them only if the options ask for them.
    pub disturbed: Count,
    /// Number of samples that called instrumented code without timing it.
    pub with_untimed_callees: Count,
    /// Estimated number of executions.
    pub executions: f64,
    /// Number of samples whose time is unknown.
    pub unknown: Count,
    /// The base time, in cycles: the 5 % quantile, and at least 1.
    pub base: Cycles,
    /// The net variation of all executions, in cycles.
    pub net: f64,
    /// Whether the net variation is certain.
    pub certainty: Certainty,
    /// The certain part of the net variation, in cycles: the part that neither interruptions nor
    /// sharing the machine explain.
    pub certain_net: f64,
    /// The loss: time above the base time, relative to the base time.
    pub loss: f64,
    /// Number of samples that may have been interrupted from outside. The longest samples are
    /// assumed to be these, and count only as long as the longest of the others.
    pub interrupted: Count,
    /// Standard error of the net variation, relative to the net variation. It includes the error of
    /// the clock and, unless all executions were timed, the error of the estimate.
    pub error: f64,
    /// Cycles above the base time that are below the clock's resolution.
    pub unresolved: f64,
    /// A time up to this many cycles above the base time still counts as the base time.
    pub window: Cycles,
    /// Number of paths that were timed inside an execution of this path, on average.
    pub nested: f64,
    /// Whether any sample's time includes other instrumented code.
    pub has_callees: bool,
    /// Time of all executions, in cycles.
    pub total: f64,
}

impl RankedPath {
    /// Whether the clock can resolve the path's variation, or the path does not vary at all.
    pub fn is_resolved(&self) -> bool {
        self.net > 0.0 || self.unresolved <= 0.0
    }

    /// Whether no sample exceeds the base time by more than the clock can resolve.
    pub(super) fn is_steady(&self) -> bool {
        self.times.largest() <= self.base.saturating_add(self.window)
    }

    /// Whether the net variation is certain.
    pub fn is_certain(&self) -> bool {
        self.certainty == Certainty::Certain
    }

    /// Number of samples in `times`.
    pub fn samples(&self) -> Count {
        self.times.count()
    }
}
