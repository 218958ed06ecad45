//! Looks for the one function that spoils a step: a step that does not help may help without what
//! it does to that function.
//!
//! The functions with the most executions are left out of the step one by one. These builds run in
//! turn with the build of the whole step, so this needs no pairs of the program with itself. The
//! build that was chosen is measured again, because the best of several looks better than it is.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use holloway_analysis::paired::{self, Gain};
use holloway_format::{Plan, Text};
use holloway_report::optimize::Step;

use super::builds::{Build, Builds, Linker};
use super::measure;
use crate::failure::Result;

/// So many functions are left out, one by one. Each costs a run in each round.
const SUSPECTS: usize = 3;
/// So many builds are made at most: without some functions, the program may be the same.
const BUILDS: usize = 8;

/// A step that does not help.
pub(super) struct Dropped<'a> {
    pub(super) step: Step,
    pub(super) build: Build,
    pub(super) programs: Vec<PathBuf>,
    /// The plan of the build.
    pub(super) plan: &'a Plan,
    /// The plan without the step.
    pub(super) without: &'a Plan,
    /// The gain of the program over itself, when the step was measured.
    pub(super) noise: Gain,
}

impl Dropped<'_> {
    /// The functions that the step changes, most executions first.
    fn functions(&self) -> Vec<Text> {
        match self.step {
            // The late counts of the two plans come from two runs, so they may differ anywhere.
            Step::Selects => {
                let without = self.without.without_late_counts();
                self.plan.without_late_counts().functions_unlike(&without)
            }
            Step::Early | Step::Late | Step::Paths | Step::Prefetch | Step::Order => {
                self.plan.functions_unlike(self.without)
            }
        }
    }
}

/// A function that spoils a step, and the build of the step without it.
pub(super) struct Blamed {
    pub(super) function: Text,
    pub(super) plan: Plan,
    pub(super) build: Build,
    pub(super) programs: Vec<PathBuf>,
}

/// Finds the function that is to blame. Returns `None` if time cannot tell any of them from noise,
/// or the step changes fewer than two functions.
///
/// # Errors
/// If a build or a run fails, or the builds take no time.
pub(super) fn find(
    step: &Dropped<'_>,
    linker: &Linker<'_>,
    args: &[OsString],
    pairs: NonZeroUsize,
) -> Result<Option<Blamed>> {
    let functions = step.functions();
    if functions.len() < 2 {
        return Ok(None);
    }
    let mut suspects = Vec::new();
    for (number, function) in functions.into_iter().take(BUILDS).enumerate() {
        if suspects.len() == SUSPECTS {
            break;
        }
        let plan = step.plan.with_function_of(step.without, &function);
        let build = Build::Without(step.step, number);
        if let Some(programs) = linker.optimized(&plan, build, Some(&step.programs))? {
            suspects.push(Blamed {
                function,
                plan,
                build,
                programs,
            });
        }
    }
    if suspects.is_empty() {
        return Ok(None);
    }
    let mut builds = Builds::from([(step.build, step.programs.clone())]);
    builds.extend(suspects.iter().map(|s| (s.build, s.programs.clone())));
    let times = measure::times(linker.carried, &builds, args, pairs)?;
    let gains = suspects.iter().map(|s| times.gain(step.build, s.build));
    let gains: Vec<Gain> = gains.collect::<Result<_>>()?;
    let blamed = paired::blamed(&gains, step.noise);
    Ok(blamed.map(|index| suspects.swap_remove(index)))
}
