//! `holloway optimize -o OUT PROGRAM -- ARGS`: trains a program on a command, builds it again with
//! the counts, and keeps the result if it measurably helps.
//!
//! The program carries its unoptimized bitcode and the recipe of its link (`--embed`). The stages,
//! with their modules:
//!
//! 1. `carried`: unpack the recipe, link the program for training, run it, and turn the counts of
//!    all its processes into a plan; link the program with the plan.
//! 2. `training`: make the plan, with the `names` of the functions that indirect calls have called.
//!    If a branch may be hard to predict, train a second time and mark such branches in the plan.
//!    They become selects in another build. Last, train a build that uses the plan, for late counts.
//!    Another run finds the loads that wait for memory.
//!    `profiles` makes the plan of profiles instead, without a run.
//! 3. `measure`: run the program and its optimized builds in interleaved rounds, after pairs of the
//!    program with itself. Compare what they print, and count their instructions. Prefetches are
//!    measured in rounds of their own, on top of the steps that were kept.
//! 4. `holloway_analysis::paired` decides, and `holloway_report::optimize` reports.

pub(crate) mod carried;
mod measure;
mod names;
pub(crate) mod profiles;
pub(crate) mod training;

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};

use holloway_analysis::paired::{Instructions, Verdict};
use holloway_format::Plan;
use holloway_report::optimize::{self, Measurement, Optimization, PlanSource};

use crate::cli::OutputFormat;
use crate::cli::optimize::{OptimizeArgs, OptimizeOptions};
use crate::failure::{Context, Failure, Result};
use crate::printing::write_out;
use crate::status;
use carried::Carried;
use measure::{Build, Builds, Measured};

/// Runs `holloway optimize`.
///
/// # Errors
/// If [`optimize`] fails.
pub(crate) fn main(args: &OptimizeArgs) -> Result<ExitCode> {
    optimize(&args.program, &args.args, &args.output, &args.options)
}

/// Optimizes a program for a command, writes the better program to `output`, and reports.
///
/// # Errors
/// If the program carries no recipe, it fails in training, its output differs from run to run, the
/// optimized program prints something else, or a file cannot be written.
pub(crate) fn optimize(
    program: &Path,
    args: &[OsString],
    output: &Path,
    options: &OptimizeOptions,
) -> Result<ExitCode> {
    let carried = Carried::unpack(program)?;
    let program_path = program.to_owned();
    let inputs = || options.plan.iter().chain([&program_path]);
    carried::check_output(output, inputs())?;
    if let Some(file) = &options.write_plan {
        carried::check_output(file, inputs())?;
        if std::path::absolute(file).ok() == std::path::absolute(output).ok() {
            return Err(Failure::usage(format_args!(
                "--write-plan and -o name the same file {}: give two names",
                output.display()
            )));
        }
    }
    let (plan, source) = match (options.plan.as_slice(), options.profile.as_slice()) {
        ([], []) => (
            training::train(&carried, args, Stdio::null())?,
            PlanSource::Training,
        ),
        (files, profiles) => {
            let mut plan = read_plans(files)?;
            plan.add_plan(profiles::plan_from(&carried, profiles)?);
            let source = PlanSource::Given {
                plans: files.len(),
                profiles: profiles.len(),
            };
            (plan, source)
        }
    };
    if let Some(file) = &options.write_plan {
        carried::write_plan(file, &plan)?;
    }
    let branches = plan.unpredictable_branches();
    let prefetches = plan.prefetch_count();
    let with_prefetches = plan;
    let plan = with_prefetches.without_prefetches();
    let mut without_selects = plan.without_unpredictable();
    if branches > 0 && source == PlanSource::Training {
        without_selects = without_selects.without_late_counts();
        let name = "late-training-without-selects";
        training::train_late(&carried, &mut without_selects, args, name)?;
    }
    let (mut builds, planned_functions) = build(&carried, &without_selects, &plan)?;
    let mut measured = measure::measure(&carried, &builds, args, options.pairs)?;
    let Decision {
        mut kept,
        early,
        selects,
        late,
        late_instructions,
    } = decide(&measured)?;
    let noise = measured.noise;
    let instructions = measured.instructions(Build::Plain, Build::Early);
    let mut prefetch = None;
    if prefetches > 0 {
        let (base, plan) = match kept {
            Build::Late => (kept, without_selects),
            Build::Selects => (kept, plan.without_late_counts()),
            Build::SelectsLate => (kept, plan.clone()),
            Build::Plain | Build::Early | Build::Prefetch => {
                (Build::Early, without_selects.without_late_counts())
            }
        };
        let plan = plan.with_prefetches_of(&with_prefetches);
        match measure_prefetches(&carried, &builds, base, &plan, args, options.pairs) {
            Ok(None) => {}
            Ok(Some((program, times))) => {
                let noise = times.noise;
                let verdict = Verdict::by_time(times.gain(kept, Build::Prefetch)?, noise);
                let gain = times.gain(base, Build::Prefetch)?;
                prefetch = Some((Measurement { gain, verdict }, noise));
                builds.insert(Build::Prefetch, program);
                measured = times;
                if verdict.keeps() {
                    kept = Build::Prefetch;
                }
            }
            Err(error) => status::warn(&format!(
                "prefetches are left out, because they could not be measured: {}",
                error.message
            )),
        }
    }
    let kept_gain = match kept {
        Build::Plain => None,
        Build::Early | Build::Late | Build::Selects | Build::SelectsLate | Build::Prefetch => {
            Some(measured.gain(Build::Plain, kept)?)
        }
    };
    let kept_program = builds.get(&kept).expect("a build that was measured");
    carried::copy_program(kept_program, output)?;
    let optimization = Optimization {
        program: program.display().to_string(),
        output: output.display().to_string(),
        source,
        functions: plan.functions().len(),
        planned_functions,
        functions_that_ran: plan.functions().filter(|(_, _, f)| f.ran()).count(),
        recipe_size: carried.recipe_size(),
        pairs: options.pairs.get(),
        noise,
        early,
        selects,
        late,
        prefetch,
        kept: kept_gain,
        instructions,
        late_instructions,
        unpredictable_branches: branches,
        late_functions: plan.late_functions(),
        prefetches,
    };
    write_out(|out| match options.format {
        OutputFormat::Text => optimize::write(&optimization, out),
        OutputFormat::Json => optimize::json(&optimization, out),
    })?;
    status::line("Wrote", &status::shown(output).to_string());
    Ok(ExitCode::SUCCESS)
}

/// Builds the program with prefetches, and measures it against the program and the build `base`.
/// Returns `None` if the compiler makes the same program.
///
/// # Errors
/// If the program cannot be linked, or a run fails or prints something else.
fn measure_prefetches(
    carried: &Carried,
    builds: &Builds,
    base: Build,
    plan: &Plan,
    args: &[OsString],
    pairs: NonZeroUsize,
) -> Result<Option<(PathBuf, Measured)>> {
    let (program, _) = carried.apply(plan, Build::Prefetch.name())?;
    if is_same_file(&program, &builds[&base]) {
        return Ok(None);
    }
    let compared = [Build::Plain, base].map(|build| (build, builds[&build].clone()));
    let mut compared = Builds::from(compared);
    compared.insert(Build::Prefetch, program.clone());
    let measured = measure::measure(carried, &compared, args, pairs)?;
    Ok(Some((program, measured)))
}

/// Builds the program with each step. A step that makes the same program as the steps before it has
/// no build. Returns the builds, and the number of functions that the plan knows.
///
/// # Errors
/// If the program cannot be linked, or the plan has no function of the program.
fn build(carried: &Carried, without_selects: &Plan, plan: &Plan) -> Result<(Builds, u64)> {
    let mut builds = Builds::from([(Build::Plain, carried.executable.clone())]);
    let (early, planned_functions) =
        carried.apply(&without_selects.without_late_counts(), Build::Early.name())?;
    builds.insert(Build::Early, early);
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
        let (program, _) = carried.apply(plan, build.name())?;
        if !is_same_file(&program, before) {
            builds.insert(build, program);
        }
    }
    Ok((builds, planned_functions))
}

/// Whether two builds are the same program.
fn is_same_file(one: &Path, other: &Path) -> bool {
    let [one, other] = [one, other].map(std::fs::read);
    matches!((one, other), (Ok(one), Ok(other)) if one == other)
}

/// What the measurement says about each step, and the build that is kept.
struct Decision {
    kept: Build,
    early: Measurement,
    /// `None` if the step was not measured.
    selects: Option<Measurement>,
    late: Option<Measurement>,
    late_instructions: Option<Instructions>,
}

/// Decides about the steps in turn: early counts, selects, late counts. The build with each step is
/// compared with the last build that was kept.
///
/// # Errors
/// If the builds take no measurable time.
fn decide(measured: &Measured) -> Result<Decision> {
    let noise = measured.noise;
    let mut kept = Build::Plain;
    let gain = measured.gain(kept, Build::Early)?;
    let instructions = measured.instructions(kept, Build::Early);
    let verdict = Verdict::new(gain, noise, instructions);
    let early = Measurement { gain, verdict };
    if verdict.keeps() {
        kept = Build::Early;
    }
    let mut selects = None;
    if measured.has(Build::Selects) {
        let verdict = Verdict::by_time(measured.gain(kept, Build::Selects)?, noise);
        let gain = measured.gain(Build::Early, Build::Selects)?;
        selects = Some(Measurement { gain, verdict });
        if verdict.keeps() {
            kept = Build::Selects;
        }
    }
    let (before, build) = match kept {
        Build::Selects => (Build::Selects, Build::SelectsLate),
        Build::Plain | Build::Early | Build::Late | Build::SelectsLate | Build::Prefetch => {
            (Build::Early, Build::Late)
        }
    };
    let mut late = None;
    if measured.has(build) {
        let instructions = measured.instructions(kept, build);
        let verdict = Verdict::new(measured.gain(kept, build)?, noise, instructions);
        let gain = measured.gain(before, build)?;
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

/// Reads plans, and adds up their counts.
///
/// # Errors
/// If a file cannot be read, or is no plan.
pub(crate) fn read_plans(files: &[std::path::PathBuf]) -> Result<Plan> {
    let mut sum = Plan::default();
    for file in files {
        let bytes = std::fs::read(file).cannot(|| format!("read {}", file.display()))?;
        let plan = Plan::parse(&bytes).cannot(|| format!("take {} for a plan", file.display()))?;
        sum.add_plan(plan);
    }
    Ok(sum)
}
