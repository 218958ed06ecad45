//! An optimization, and what its steps gained.

use holloway_analysis::old_plans::Summary;
use holloway_analysis::paired::{Gain, Instructions, Verdict};

/// The name of the step that uses the counts before the optimizer.
pub(super) const EARLY: &str = "early";
/// The name of the step that makes selects of unpredictable branches.
pub(super) const SELECTS: &str = "selects";
/// The name of the step that uses the counts after the optimizer.
pub(super) const LATE: &str = "late";
/// The step that copies paths, as JSON names it.
pub(super) const PATHS: &str = "paths";
/// The step that prefetches, as JSON names it.
pub(super) const PREFETCH: &str = "prefetch";
/// The step that orders functions, as JSON names it.
pub(super) const ORDER: &str = "order";

/// An optimization of a program, and its measurement.
#[derive(Clone, Debug)]
pub struct Optimization {
    /// The program, as the user named it.
    pub program: String,
    /// The file that was written.
    pub output: String,
    /// Where the counts come from.
    pub source: PlanSource,
    /// Functions of the plan.
    pub functions: usize,
    /// Functions of the plan that ran.
    pub functions_that_ran: usize,
    /// Functions of the program that got counts of the plan.
    pub planned_functions: u64,
    /// The size of the recipe that the program carries, in bytes.
    pub recipe_size: usize,
    /// The number of pairs of runs.
    pub pairs: usize,
    /// The gain of the program over itself.
    pub noise: Gain,
    /// The step that uses early counts: its gain over the program.
    pub early: Measurement,
    /// The step that makes selects of unpredictable branches: its gain over the program with early
    /// counts. `None` if it changes nothing, so that it was not measured.
    pub selects: Option<Measurement>,
    /// The step that uses late counts: its gain over the program with early counts, and with selects
    /// if these are kept. `None` if it was not measured.
    pub late: Option<Measurement>,
    /// The step that copies paths.
    pub paths: PathsStep,
    /// The step that prefetches.
    pub prefetch: PrefetchStep,
    /// The step that orders functions.
    pub order: OrderStep,
    /// The gain of all kept steps over the program. `None` if none is kept.
    pub kept: Option<Gain>,
    /// The instructions that the program and the one with early counts execute, if they were
    /// counted.
    pub instructions: Option<Instructions>,
    /// The instructions that the program executes without late counts, and with them, if they were
    /// counted: not if selects are kept.
    pub late_instructions: Option<Instructions>,
    /// The unpredictable branches.
    pub unpredictable_branches: usize,
    /// Functions of the plan with late counts.
    pub late_functions: usize,
    /// The plan's paths whose blocks are copied.
    pub tails: usize,
    /// The plan's loads to prefetch.
    pub prefetches: usize,
}

/// What became of the paths whose blocks are copied.
#[derive(Clone, Copy, Debug)]
pub enum PathsStep {
    /// The copies were measured.
    Measured {
        /// Their gain over the program with the steps that are kept before them, but at least with
        /// early counts.
        step: Measurement,
        /// The noise of their rounds.
        noise: Gain,
    },
    /// Nobody asked for copies.
    NotWanted,
    /// No path decides a branch.
    NoPaths,
    /// The compiler makes the same program.
    SameProgram,
    /// The measurement failed, as a warning said.
    NotMeasured,
}

impl PathsStep {
    pub(super) fn measurement(self) -> Option<Measurement> {
        match self {
            Self::Measured { step, .. } => Some(step),
            Self::NotWanted | Self::NoPaths | Self::SameProgram | Self::NotMeasured => None,
        }
    }
}

/// What became of the loads to prefetch.
#[derive(Clone, Copy, Debug)]
pub enum PrefetchStep {
    /// The prefetches were measured.
    Measured {
        /// Their gain over the program with the steps that are kept before them, but at least with
        /// early counts.
        step: Measurement,
        /// The noise of their rounds.
        noise: Gain,
    },
    /// The plan has no loads to prefetch.
    NoLoads,
    /// The compiler makes the same program.
    SameProgram,
    /// The measurement failed, as a warning said.
    NotMeasured,
}

impl PrefetchStep {
    pub(super) fn measurement(self) -> Option<Measurement> {
        match self {
            Self::Measured { step, .. } => Some(step),
            Self::NoLoads | Self::SameProgram | Self::NotMeasured => None,
        }
    }
}

/// What became of the order of functions.
#[derive(Clone, Copy, Debug)]
pub enum OrderStep {
    /// It was measured.
    Measured {
        /// Its gain over the program with the steps that are kept before it, but at least with early
        /// counts.
        step: Measurement,
        /// The noise of its rounds.
        noise: Gain,
    },
    /// The plan has no order.
    NoOrder,
    /// The program's linker takes no order.
    LinkerTakesNone,
    /// The functions fit in the instruction cache.
    FitsInCache {
        /// Their size.
        bytes: u64,
    },
    /// The measurement failed, as a warning said.
    NotMeasured,
}

impl OrderStep {
    pub(super) fn measurement(self) -> Option<Measurement> {
        match self {
            Self::Measured { step, .. } => Some(step),
            Self::NoOrder
            | Self::LinkerTakesNone
            | Self::FitsInCache { .. }
            | Self::NotMeasured => None,
        }
    }
}

/// The measurement of a step.
#[derive(Clone, Copy, Debug)]
pub struct Measurement {
    /// The step's own gain.
    pub gain: Gain,
    /// Whether the step is kept, and why.
    pub verdict: Verdict,
}

impl Optimization {
    /// The names of the steps that were measured, and whether each is kept.
    pub(super) fn steps(&self) -> impl Iterator<Item = (&'static str, bool)> {
        let is_kept = |step: Option<Measurement>| step.map(|step| step.verdict.keeps());
        let steps = [
            // Early counts are part of every other step.
            (EARLY, Some(self.is_optimized())),
            (SELECTS, is_kept(self.selects)),
            (LATE, is_kept(self.late)),
            (PATHS, is_kept(self.paths.measurement())),
            (PREFETCH, is_kept(self.prefetch.measurement())),
            (ORDER, is_kept(self.order.measurement())),
        ];
        steps
            .into_iter()
            .filter_map(|(name, step)| Some((name, step?)))
    }

    /// Whether the output is optimized.
    pub(super) fn is_optimized(&self) -> bool {
        self.kept.is_some()
    }
}

/// Where the counts of a plan come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanSource {
    /// A run of the program.
    Training,
    /// Files: plans and profiles.
    Given {
        /// The number of plans.
        plans: usize,
        /// The number of profiles.
        profiles: usize,
        /// The functions and counts of the plans that were found again in the program.
        summary: Summary,
    },
}
