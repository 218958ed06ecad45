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
//!    A plan that is given is first turned into one of this program by `old_plans`.
//! 3. `builds`: link each build in several orders of functions. `measure`: run the builds in
//!    interleaved rounds, after pairs of the program with itself. Compare what they print, and count
//!    their instructions.
//! 4. `later_steps`: measure copied paths, prefetches, and the order of functions in rounds of their
//!    own, on top of the steps that were kept.
//! 5. `holloway_analysis::paired` decides, and `holloway_report::optimize` reports.

mod builds;
pub(crate) mod carried;
mod later_steps;
mod measure;
mod names;
pub(crate) mod old_plans;
pub(crate) mod profiles;
pub(crate) mod training;

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::{ExitCode, Stdio};

use holloway_analysis::layout::random_orders;
use holloway_analysis::old_plans::CarriedOver;
use holloway_analysis::paired::{Instructions, Verdict};
use holloway_format::{Plan, Text};
use holloway_report::optimize::{self, Measurement, Optimization, PlanSource};

use crate::cli::OutputFormat;
use crate::cli::optimize::{OptimizeArgs, OptimizeOptions};
use crate::failure::{Failure, Result};
use crate::printing::write_out;
use crate::status;
use builds::{Build, Builds, Linker};
use carried::Carried;
use later_steps::LaterSteps;
use measure::Measured;
use training::Paths;

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
    let inputs = || {
        let profiles = options.plan.iter().chain(&options.profile);
        profiles.chain([&program_path])
    };
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
            training::train(&carried, args, Paths::of(options.paths), Stdio::null())?,
            PlanSource::Training,
        ),
        (files, profiles) => {
            let CarriedOver {
                mut plan, summary, ..
            } = match files {
                [] => CarriedOver::default(),
                files => old_plans::carry_over(&carried, files)?,
            };
            plan.add_plan(profiles::plan_from(&carried, profiles)?);
            let source = PlanSource::Given {
                plans: files.len(),
                profiles: profiles.len(),
                summary,
            };
            (plan, source)
        }
    };
    if let Some(file) = &options.write_plan {
        carried::write_plan(file, &plan)?;
    }
    let branches = plan.unpredictable_branches();
    let prefetches = plan.prefetch_count();
    let tails = plan.tail_count();
    let whole_plan = plan;
    let plan = whole_plan.without_prefetches();
    let mut without_selects = plan.without_unpredictable();
    if branches > 0 && source == PlanSource::Training {
        without_selects = without_selects.without_late_counts();
        let name = "late-training-without-selects";
        training::train_late(&carried, &mut without_selects, args, name)?;
    }
    let linker = linker(&carried, &plan, options.orders);
    let [plan, without_selects] = [plan, without_selects].map(|plan| plan.without_tails());
    let (builds, planned_functions) = build(&linker, &without_selects, &plan)?;
    let measured = measure::measure(&carried, &builds, args, options.pairs)?;
    let Decision {
        kept,
        early,
        selects,
        late,
        late_instructions,
    } = decide(&measured)?;
    let noise = measured.noise;
    let instructions = measured.instructions(Build::Plain, Build::Early);
    let (base, plan_of_base) = match kept {
        Build::Late => (kept, without_selects),
        Build::Selects => (kept, plan.without_late_counts()),
        Build::SelectsLate => (kept, plan.clone()),
        Build::Plain | Build::Early | Build::Paths | Build::Prefetch | Build::Order => {
            (Build::Early, without_selects.without_late_counts())
        }
    };
    let mut steps = LaterSteps {
        linker,
        args,
        pairs: options.pairs,
        kept,
        base,
        plan: plan_of_base,
        builds,
        measured,
    };
    let paths = steps.paths(&whole_plan, Paths::of(options.paths));
    let prefetch = steps.prefetch(&whole_plan);
    let order = steps.order(plan.order());
    let kept_gain = match steps.kept {
        Build::Plain => None,
        kept => Some(steps.measured.gain(Build::Plain, kept)?),
    };
    carried::copy_program(&steps.builds[&steps.kept][0], output)?;
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
        paths,
        prefetch,
        order,
        kept: kept_gain,
        instructions,
        late_instructions,
        unpredictable_branches: branches,
        late_functions: plan.late_functions(),
        tails,
        prefetches,
    };
    write_out(|out| match options.format {
        OutputFormat::Text => optimize::write(&optimization, out),
        OutputFormat::Json => optimize::json(&optimization, out),
    })?;
    status::line("Wrote", &status::shown(output).to_string());
    Ok(ExitCode::SUCCESS)
}

/// The linker of the builds that are measured, with random orders of the functions that ran. Has no
/// such orders if the program's own linker takes none.
fn linker<'a>(carried: &'a Carried, plan: &Plan, orders: NonZeroUsize) -> Linker<'a> {
    let ran = plan.functions().filter(|(_, _, function)| function.ran());
    let names: Vec<Text> = ran.map(|(name, _, _)| name.clone()).collect();
    let count = match orders.get() - 1 {
        count if count > 0 && carried.takes_order() => count,
        _ => 0,
    };
    Linker::new(carried, random_orders(&names, count))
}

/// Builds the program with each step. A step that makes the same program as the steps before it has
/// no build. Returns the builds, and the number of functions that the plan knows.
///
/// # Errors
/// If the program cannot be linked, or the plan has no function of the program.
fn build(linker: &Linker<'_>, without_selects: &Plan, plan: &Plan) -> Result<(Builds, u64)> {
    let early = without_selects.without_late_counts();
    let (_, planned_functions) = linker.carried.apply(&early, &[], Build::Early.name())?;
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
        Build::Plain
        | Build::Early
        | Build::Late
        | Build::SelectsLate
        | Build::Paths
        | Build::Prefetch
        | Build::Order => (Build::Early, Build::Late),
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
