//! The steps that are measured together: early counts, selects, and late counts.

use std::ffi::OsString;
use std::num::NonZeroUsize;

use holloway_analysis::paired::{self, Verdict};
use holloway_format::Plan;
use holloway_report::optimize::Measurement;

use super::builds::{Build, Builds, Linker};
use super::measure::{self, Instructions, Measured};
use crate::failure::Result;

/// The plans of the builds.
pub(super) struct Plans {
    /// With everything.
    pub(super) plan: Plan,
    /// Without selects. The late counts are those of this plan's early counts.
    pub(super) without_selects: Plan,
}

/// The builds with early counts, selects, and late counts; their times; and which of them to keep.
pub(super) struct FirstSteps {
    pub(super) builds: Builds,
    /// The number of functions that the plan knows.
    pub(super) planned_functions: u64,
    pub(super) measured: Measured,
    pub(super) decision: Decision,
}

impl FirstSteps {
    /// Builds and measures the steps, and decides about them.
    ///
    /// # Errors
    /// If a build or a run fails, or the plan has no function of the program.
    pub(super) fn measure(
        linker: &Linker<'_>,
        plans: &Plans,
        args: &[OsString],
        pairs: NonZeroUsize,
    ) -> Result<Self> {
        let (builds, planned_functions) = build(linker, plans)?;
        let counted = Instructions::Counted;
        let measured = measure::measure(linker.carried, &builds, args, pairs, counted)?;
        let decision = decide(&measured)?;
        Ok(Self {
            builds,
            planned_functions,
            measured,
            decision,
        })
    }
}

/// Builds the program with each step. A step that makes the same program as the steps before it has
/// no build. Returns the builds, and the number of functions that the plan knows.
///
/// # Errors
/// If the program cannot be linked, or the plan has no function of the program.
fn build(linker: &Linker<'_>, plans: &Plans) -> Result<(Builds, u64)> {
    let Plans {
        plan,
        without_selects,
    } = plans;
    let early = without_selects.without_late_counts();
    let (_, planned_functions) = linker.carried.apply(&early, &[], &Build::Early.name())?;
    let early = linker.optimized(&early, Build::Early, None)?;
    let early = early.expect("a program that is compared with none");
    let mut builds = Builds::from([(Build::Plain, linker.plain()?), (Build::Early, early)]);
    let selects = plan.without_late_counts();
    let (has_selects, has_late_counts) =
        (plan.unpredictable_branches() > 0, plan.late_functions() > 0);
    let steps = [
        (Build::Late, has_late_counts, without_selects, Build::Early),
        (Build::Selects, has_selects, &selects, Build::Early),
        (Build::SelectsLate, has_late_counts, plan, Build::Selects),
    ];
    for (build, is_wanted, plan, before) in steps {
        let Some(before) = builds.get(&before).filter(|_| is_wanted) else {
            continue;
        };
        if let Some(programs) = linker.optimized(plan, build, Some(before))? {
            builds.insert(build, programs);
        }
    }
    Ok((builds, planned_functions))
}

/// What the measurement says about each step, and the build that is kept.
pub(super) struct Decision {
    pub(super) kept: Build,
    pub(super) early: Measurement,
    /// `None` if the step was not measured.
    pub(super) selects: Option<Measurement>,
    pub(super) late: Option<Measurement>,
    pub(super) late_instructions: Option<paired::Instructions>,
}

/// Decides about the steps in turn: early counts, selects, late counts. The build with each step is
/// compared with the last build that was kept.
///
/// # Errors
/// If the builds take no measurable time.
fn decide(measured: &Measured) -> Result<Decision> {
    let noise = measured.noise;
    let mut kept = Build::Plain;
    let gain = measured.times.gain(kept, Build::Early)?;
    let instructions = measured.instructions(kept, Build::Early);
    let verdict = Verdict::new(gain, noise, instructions);
    let early = Measurement { gain, verdict };
    if verdict.keeps() {
        kept = Build::Early;
    }
    let mut selects = None;
    if measured.times.has(Build::Selects) {
        let verdict = Verdict::by_time(measured.times.gain(kept, Build::Selects)?, noise);
        let gain = measured.times.gain(Build::Early, Build::Selects)?;
        selects = Some(Measurement { gain, verdict });
        if verdict.keeps() {
            kept = Build::Selects;
        }
    }
    let (before, build) = match kept {
        Build::Selects => (Build::Selects, Build::SelectsLate),
        Build::Plain
        | Build::Early
        | Build::Late
        | Build::SelectsLate
        | Build::Paths
        | Build::Prefetch
        | Build::Order
        | Build::Without(..) => (Build::Early, Build::Late),
    };
    let mut late = None;
    if measured.times.has(build) {
        let instructions = measured.instructions(kept, build);
        let verdict = Verdict::new(measured.times.gain(kept, build)?, noise, instructions);
        let gain = measured.times.gain(before, build)?;
        late = Some(Measurement { gain, verdict });
        if verdict.keeps() {
            kept = build;
        }
    }
    Ok(Decision {
        kept,
        early,
        selects,
        late,
        late_instructions: measured.instructions(before, build),
    })
}
