//! A ranked path with its times.

use holloway_flow::PathId;
use holloway_format::{Count, Cycles, Distribution};

use crate::run::FunctionId;

/// Whether the net variation of a path is certain, or why it is not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Certainty {
    /// Several bursts confirm it, and the machine does not explain it.
    Certain,
    /// The path does not vary, as far as the clock can tell.
    Steady,
    /// No sample remains after the samples of two bursts at either end are left out.
    FewSamples,
    /// So few bursts confirm it that interruptions may have caused it.
    FewBursts,
    /// It is no larger than the loss that the machine causes in other paths, too.
    Machine,
}

/// A ranked path.
#[derive(Clone, PartialEq, Debug)]
pub struct Rank {
    /// The path's function.
    pub function: FunctionId,
    /// The path's number in its function.
    pub path: PathId,
    /// The times of the path's samples, in cycles.
    pub times: Distribution,
    /// Number of samples whose thread was preempted or moved, whether `times` includes them or not.
    pub disturbed: Count,
    /// Number of samples in which woven code ran that was not timed.
    pub called: Count,
    /// Estimated number of executions.
    pub executions: f64,
    /// Number of samples with an unknown time.
    pub unknown: Count,
    /// The base time, in cycles: the 5 % quantile, and at least 1.
    pub base: Cycles,
    /// Net variation, in cycles.
    pub net: f64,
    /// Whether the net variation is certain.
    pub certainty: Certainty,
    /// The certain part of the net variation, in cycles: the part that neither interruptions nor
    /// sharing the machine explain.
    pub certain_net: f64,
    /// Time above the base, relative to the base time.
    pub loss: f64,
    /// Number of longest samples that may have been interrupted from outside. They count only as
    /// long as the longest of the other samples.
    pub interrupted: Count,
    /// Standard error of the net variation, relative to it. It includes the error of the estimate,
    /// unless all executions were timed, and the error of the clock.
    pub error: f64,
    /// Cycles above the base that the clock cannot distinguish from the base time.
    pub unresolved: f64,
    /// How far above the base a time still counts as the base time, in cycles.
    pub window: Cycles,
    /// Number of paths that were timed inside an execution of this path, on average.
    pub nested: f64,
    /// Whether the path's time includes other woven code in any sample.
    pub has_callees: bool,
    /// Time of all executions, in cycles.
    pub total: f64,
}

impl Rank {
    /// Whether the time varies as far as the clock can tell, or does not vary at all.
    pub fn is_resolved(&self) -> bool {
        self.net > 0.0 || self.unresolved <= 0.0
    }

    /// Whether no sample took longer than the base time, as far as the clock can tell.
    pub(super) fn is_steady(&self) -> bool {
        self.times.largest() <= self.base.saturating_add(self.window)
    }

    /// Whether the net variation is certain.
    pub fn is_certain(&self) -> bool {
        self.certainty == Certainty::Certain
    }

    /// Number of samples that the rank is based on.
    pub fn samples(&self) -> Count {
        self.times.count()
    }
}
