//! An optimization, and what its steps gained.

use holloway_analysis::old_plans::Summary;
use holloway_analysis::paired::{Gain, Instructions, Verdict};

/// A step of an optimization.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// The counts before the optimizer.
    Early,
    /// Selects of unpredictable branches.
    Selects,
    /// The counts after the optimizer.
    Late,
    /// Copied paths.
    Paths,
    /// Prefetches.
    Prefetch,
    /// The order of functions.
    Order,
}

impl Step {
    /// The name in JSON and on the file system.
    pub fn name(self) -> &'static str {
        match self {
            Self::Early => "early",
            Self::Selects => "selects",
            Self::Late => "late",
            Self::Paths => "paths",
            Self::Prefetch => "prefetch",
            Self::Order => "order",
        }
    }

    /// The name in text.
    pub fn title(self) -> &'static str {
        match self {
            Self::Early => "early counts",
            Self::Selects => "selects",
            Self::Late => "late counts",
            Self::Paths => "paths",
            Self::Prefetch => "prefetches",
            Self::Order => "order",
        }
    }
}

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
    /// The step that uses late counts: its gain over the program with early counts, and with
    /// selects if these are kept. `None` if it was not measured.
    pub late: Option<Measurement>,
    /// The step that copies paths.
    pub paths: PathsStep,
    /// The step that prefetches.
    pub prefetch: PrefetchStep,
    /// The step that orders functions.
    pub order: OrderStep,
    /// The functions that are left out of steps which do not help with them.
    pub blamed: Vec<BlamedFunction>,
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
        /// Its gain over the program with the steps that are kept before it, but at least with
        /// early counts.
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

/// A function that is left out of a step: the step helps without it.
#[derive(Clone, Debug)]
pub struct BlamedFunction {
    /// The step.
    pub step: Step,
    /// The linkage name of the function.
    pub function: String,
    /// What the step gains without the function.
    pub gain: Gain,
}

impl Optimization {
    /// The steps that were measured, and whether each is kept.
    pub(super) fn steps(&self) -> impl Iterator<Item = (Step, bool)> {
        let is_kept = |step: Option<Measurement>| step.map(|step| step.verdict.keeps());
        let steps = [
            // Early counts are part of every other step.
            (Step::Early, Some(self.is_optimized())),
            (Step::Selects, is_kept(self.selects)),
            (Step::Late, is_kept(self.late)),
            (Step::Paths, is_kept(self.paths.measurement())),
            (Step::Prefetch, is_kept(self.prefetch.measurement())),
            (Step::Order, is_kept(self.order.measurement())),
        ];
        steps.into_iter().filter_map(|(step, is_kept)| {
            let is_kept = is_kept? || self.blamed_for(step).is_some();
            Some((step, is_kept))
        })
    }

    /// The function that is left out of a step.
    pub(super) fn blamed_for(&self, step: Step) -> Option<&BlamedFunction> {
        self.blamed.iter().find(|blamed| blamed.step == step)
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
