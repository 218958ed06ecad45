//! The steps that are measured in rounds of their own, on top of the steps that were kept: copied
//! paths, prefetches, and the order of functions.
//!
//! All are extras. If a build with them cannot be linked or fails, a warning says so, and the
//! program is written without them.

use std::collections::HashSet;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use holloway_analysis::paired::{Gain, Verdict};
use holloway_format::{Plan, Text};
use holloway_report::optimize::{Measurement, OrderStep, PathsStep, PrefetchStep};
use object::{Object as _, ObjectSymbol as _};

use super::builds::{Build, Builds, Linker};
use super::measure::{self, Measured};
use super::training::Paths;
use crate::failure::Result;
use crate::status;

/// The size of the instruction cache of current processors, in bytes. If all code that runs fits,
/// its order does not matter.
const INSTRUCTION_CACHE: u64 = 32 << 10;

/// What is known before a later step, and then after it.
pub(super) struct LaterSteps<'a> {
    pub(super) linker: Linker<'a>,
    pub(super) args: &'a [OsString],
    pub(super) pairs: NonZeroUsize,
    /// The build that is kept.
    pub(super) kept: Build,
    /// The build to which a later step is added: the kept one, or that with early counts.
    pub(super) base: Build,
    /// The plan of the build `base`.
    pub(super) plan: Plan,
    pub(super) builds: Builds,
    /// The measurement that contains the kept build.
    pub(super) measured: Measured,
}

impl LaterSteps<'_> {
    /// Copies the blocks of a plan's paths, and keeps that if it helps. The plan has late counts of the
    /// copies, too.
    pub(super) fn paths(&mut self, plan: &Plan, paths: Paths) -> PathsStep {
        if plan.tail_count() == 0 {
            return match paths {
                Paths::Followed => PathsStep::NoPaths,
                Paths::Ignored => PathsStep::NotWanted,
            };
        }
        let plan = self.plan.with_tails_of(plan);
        let step = self.try_plan(&plan, Build::Paths);
        match self.or_warn(step, "copied paths are left out, because they") {
            None => PathsStep::NotMeasured,
            Some(None) => PathsStep::SameProgram,
            Some(Some((step, noise))) => {
                if step.verdict.keeps() {
                    self.plan = plan;
                }
                PathsStep::Measured { step, noise }
            }
        }
    }

    /// Adds the prefetches of a plan, and keeps them if they help.
    pub(super) fn prefetch(&mut self, plan: &Plan) -> PrefetchStep {
        if plan.prefetch_count() == 0 {
            return PrefetchStep::NoLoads;
        }
        let plan = self.plan.with_prefetches_of(plan);
        let step = self.try_plan(&plan, Build::Prefetch);
        match self.or_warn(step, "prefetches are left out, because they") {
            None => PrefetchStep::NotMeasured,
            Some(None) => PrefetchStep::SameProgram,
            Some(Some((step, noise))) => {
                if step.verdict.keeps() {
                    self.plan = plan;
                }
                PrefetchStep::Measured { step, noise }
            }
        }
    }

    fn try_plan(&mut self, plan: &Plan, build: Build) -> Result<Option<(Measurement, Gain)>> {
        let before = self.builds.get(&self.base);
        let programs = self.linker.optimized(plan, build, before)?;
        let step = programs.map(|programs| self.measure(build, programs));
        step.transpose()
    }

    /// Links the functions in this order, and keeps that if it helps.
    pub(super) fn order(&mut self, order: &[Text]) -> OrderStep {
        if order.is_empty() {
            return OrderStep::NoOrder;
        }
        if !self.linker.carried.takes_order() {
            return OrderStep::LinkerTakesNone;
        }
        let own = &self.builds[&self.base][0];
        if let Some(bytes) = code_size(own, order)
            && bytes <= INSTRUCTION_CACHE
        {
            return OrderStep::FitsInCache { bytes };
        }
        let step = self.try_order(order);
        match self.or_warn(step, "the order of functions is left out, because it") {
            Some((step, noise)) => OrderStep::Measured { step, noise },
            None => OrderStep::NotMeasured,
        }
    }

    fn try_order(&mut self, order: &[Text]) -> Result<(Measurement, Gain)> {
        let name = Build::Order.name();
        let (program, _) = self.linker.carried.apply(&self.plan, order, name)?;
        // This step is about the order, so all builds keep theirs.
        self.builds
            .values_mut()
            .for_each(|programs| programs.truncate(1));
        self.measure(Build::Order, vec![program])
    }

    /// Measures a build together with the plain build, the base, and the build that is kept. If the
    /// new build is faster than the kept one, the new build is kept from then on, and the next step
    /// adds to it.
    fn measure(&mut self, build: Build, programs: Vec<PathBuf>) -> Result<(Measurement, Gain)> {
        let compared = [Build::Plain, self.base, self.kept];
        let compared = compared.map(|build| (build, self.builds[&build].clone()));
        let mut compared = Builds::from(compared);
        compared.insert(build, programs.clone());
        let times = measure::measure(self.linker.carried, &compared, self.args, self.pairs)?;
        let noise = times.noise;
        let verdict = Verdict::by_time(times.gain(self.kept, build)?, noise);
        let gain = times.gain(self.base, build)?;
        self.measured = times;
        if verdict.keeps() {
            self.builds.insert(build, programs);
            (self.kept, self.base) = (build, build);
        }
        Ok((Measurement { gain, verdict }, noise))
    }

    /// The result of a step. If it failed, warns with `subject`, and returns `None`.
    fn or_warn<T>(&self, step: Result<T>, subject: &str) -> Option<T> {
        step.inspect_err(|error| {
            status::warn(&format!(
                "{subject} could not be measured: {}",
                error.message
            ));
        })
        .ok()
    }
}

/// The size of the functions with these linkage names, in bytes. `None` if the program has no names.
fn code_size(program: &Path, names: &[Text]) -> Option<u64> {
    let bytes = std::fs::read(program).ok()?;
    let elf = object::File::parse(&*bytes).ok()?;
    let names: HashSet<&str> = names.iter().map(|name| &**name).collect();
    let functions = elf.symbols().filter(|symbol| {
        let name = symbol.name();
        symbol.is_definition() && name.is_ok_and(|name| names.contains(name))
    });
    let size: u64 = functions.map(|symbol| symbol.size()).sum();
    (size > 0).then_some(size)
}
