//! The steps that are measured in rounds of their own, on top of the steps that were kept: copied
//! paths, prefetches, and the order of functions. Also steps without one function, which is to
//! blame if the whole step does not help.
//!
//! All are extras. If a build with them cannot be linked or fails, a warning says so, and the
//! program is written without them.

use std::collections::HashSet;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use holloway_analysis::paired::{Gain, Verdict};
use holloway_format::{Plan, Text};
use holloway_report::optimize::{
    BlamedFunction, Measurement, OrderStep, PathsStep, PrefetchStep, Step,
};
use object::{Object as _, ObjectSymbol as _};

use super::blame::{self, Dropped};
use super::builds::{Build, Builds, Linker};
use super::first_steps::Plans;
use super::measure::{self, Instructions, Measured};
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
    /// The functions that are left out of steps.
    pub(super) blamed: Vec<BlamedFunction>,
}

impl LaterSteps<'_> {
    /// Tries the first steps that were dropped again without one function.
    pub(super) fn retry(
        &mut self,
        selects: Option<Measurement>,
        late: Option<Measurement>,
        plans: &Plans,
    ) {
        let is_dropped = |step: Option<Measurement>| step.is_some_and(|step| !step.verdict.keeps());
        let Plans {
            plan,
            without_selects,
        } = plans;
        let kept = self.kept;
        if kept == Build::Plain {
            let early = self.plan.clone();
            self.without_one_function(Step::Early, Build::Early, &early, &Plan::default());
        }
        // The builds of the other first steps belong to the build that was kept before.
        if is_dropped(selects) && self.kept == kept {
            let without = self.plan.clone();
            if kept == Build::Late {
                self.without_one_function(Step::Selects, Build::SelectsLate, plan, &without);
            } else {
                let plan = plan.without_late_counts();
                self.without_one_function(Step::Selects, Build::Selects, &plan, &without);
            }
        }
        if is_dropped(late) && self.kept == kept {
            let without = self.plan.clone();
            if kept == Build::Selects {
                self.without_one_function(Step::Late, Build::SelectsLate, plan, &without);
            } else {
                self.without_one_function(Step::Late, Build::Late, without_selects, &without);
            }
        }
    }

    /// Leaves functions out of a step that does not help, one by one, and keeps the rest of the
    /// step if that helps. `plan` is the plan of the step's build, and `without` the plan without
    /// the step.
    fn without_one_function(&mut self, step: Step, build: Build, plan: &Plan, without: &Plan) {
        let result = self.try_without_one_function(step, build, plan, without);
        let title = step.title();
        self.or_warn(
            result,
            &format!("{title}: the step is dropped as a whole, because its parts"),
        );
    }

    fn try_without_one_function(
        &mut self,
        step: Step,
        build: Build,
        plan: &Plan,
        without: &Plan,
    ) -> Result<()> {
        let Some(programs) = self.builds.get(&build) else {
            return Ok(());
        };
        let dropped = Dropped {
            step,
            build,
            programs: programs.clone(),
            plan,
            without,
            noise: self.measured.noise,
        };
        let blamed = blame::find(&dropped, &self.linker, self.args, self.pairs)?;
        let Some(blamed) = blamed else {
            return Ok(());
        };
        let (measurement, _) = self.measure(blamed.build, blamed.programs)?;
        // Other steps are compared with the build before them, which has early counts at least.
        let gain = match step == Step::Early {
            true => self.measured.times.gain(Build::Plain, blamed.build)?,
            false => measurement.gain,
        };
        if measurement.verdict.keeps() {
            self.plan = blamed.plan;
            self.blamed.push(BlamedFunction {
                step,
                function: blamed.function.to_string(),
                gain,
            });
        }
        Ok(())
    }

    /// Copies the blocks of a plan's paths, and keeps that if it helps. The plan has late counts of
    /// the copies, too.
    pub(super) fn paths(&mut self, plan: &Plan, paths: Paths) -> PathsStep {
        if plan.tail_count() == 0 {
            return match paths {
                Paths::Followed => PathsStep::NoPaths,
                Paths::Ignored => PathsStep::NotWanted,
            };
        }
        let plan = self.plan.with_tails_of(plan);
        let step = self.try_plan(Step::Paths, plan, Build::Paths);
        match self.or_warn(step, "copied paths are left out, because they") {
            None => PathsStep::NotMeasured,
            Some(None) => PathsStep::SameProgram,
            Some(Some((step, noise))) => PathsStep::Measured { step, noise },
        }
    }

    /// Adds the prefetches of a plan, and keeps them if they help.
    pub(super) fn prefetch(&mut self, plan: &Plan) -> PrefetchStep {
        if plan.prefetch_count() == 0 {
            return PrefetchStep::NoLoads;
        }
        let plan = self.plan.with_prefetches_of(plan);
        let step = self.try_plan(Step::Prefetch, plan, Build::Prefetch);
        match self.or_warn(step, "prefetches are left out, because they") {
            None => PrefetchStep::NotMeasured,
            Some(None) => PrefetchStep::SameProgram,
            Some(Some((step, noise))) => PrefetchStep::Measured { step, noise },
        }
    }

    /// Measures a step, and keeps it if it helps, or helps without one function.
    fn try_plan(
        &mut self,
        step: Step,
        plan: Plan,
        build: Build,
    ) -> Result<Option<(Measurement, Gain)>> {
        let before = self.builds.get(&self.base);
        let Some(programs) = self.linker.optimized(&plan, build, before)? else {
            return Ok(None);
        };
        let measured = self.measure(build, programs)?;
        if measured.0.verdict.keeps() {
            self.plan = plan;
        } else {
            let without = self.plan.clone();
            self.without_one_function(step, build, &plan, &without);
        }
        Ok(Some(measured))
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
        let (program, _) = self.linker.carried.apply(&self.plan, order, &name)?;
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
        let measured = measure::measure(
            self.linker.carried,
            &compared,
            self.args,
            self.pairs,
            Instructions::NotCounted,
        )?;
        let noise = measured.noise;
        let verdict = Verdict::by_time(measured.times.gain(self.kept, build)?, noise);
        let gain = measured.times.gain(self.base, build)?;
        self.measured = measured;
        self.builds.insert(build, programs);
        if verdict.keeps() {
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

/// The size of the functions with these linkage names, in bytes. `None` if the program has no
/// names.
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
