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
//!    They become selects in another build. Last, train a build that uses the plan, for late
//!    counts. Another run finds the loads that wait for memory. `profiles` makes the plan of
//!    profiles instead, without a run. A plan that is given is first turned into one of this
//!    program by `old_plans`.
//! 3. `builds`: link each build in several orders of functions. `measure`: run the builds in
//!    interleaved rounds, after pairs of the program with itself. Compare what they print, and
//!    count their instructions. `first_steps`: early counts, selects, and late counts, all in the
//!    same rounds.
//! 4. `later_steps`: measure copied paths, prefetches, and the order of functions in rounds of
//!    their own, on top of the steps that were kept.
//! 5. `blame`: if a step does not help, look for one function without which it does.
//! 6. `holloway_analysis::paired` decides, and `holloway_report::optimize` reports.

mod blame;
mod builds;
pub(crate) mod carried;
mod first_steps;
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
use holloway_format::{Plan, Text};
use holloway_report::optimize::{self, Optimization, PlanSource};

use crate::cli::OutputFormat;
use crate::cli::optimize::{OptimizeArgs, OptimizeOptions};
use crate::failure::{Failure, Result};
use crate::printing::write_out;
use crate::status;
use builds::{Build, Linker};
use carried::Carried;
use first_steps::{Decision, FirstSteps, Plans};
use later_steps::LaterSteps;
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
    let order = plan.order().to_vec();
    let plans = Plans {
        plan: plan.without_tails(),
        without_selects: without_selects.without_tails(),
    };
    let FirstSteps {
        builds,
        planned_functions,
        measured,
        decision,
    } = FirstSteps::measure(&linker, &plans, args, options.pairs)?;
    let Decision {
        kept,
        early,
        selects,
        late,
        late_instructions,
    } = decision;
    let noise = measured.noise;
    let instructions = measured.instructions(Build::Plain, Build::Early);
    let (base, plan_of_base) = match kept {
        Build::Late => (kept, plans.without_selects.clone()),
        Build::Selects => (kept, plans.plan.without_late_counts()),
        Build::SelectsLate => (kept, plans.plan.clone()),
        Build::Plain
        | Build::Early
        | Build::Paths
        | Build::Prefetch
        | Build::Order
        | Build::Without(..) => (Build::Early, plans.without_selects.without_late_counts()),
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
        blamed: Vec::new(),
    };
    steps.retry(selects, late, &plans);
    let paths = steps.paths(&whole_plan, Paths::of(options.paths));
    let prefetch = steps.prefetch(&whole_plan);
    let order = steps.order(&order);
    let kept_gain = match steps.kept {
        Build::Plain => None,
        kept => Some(steps.measured.times.gain(Build::Plain, kept)?),
    };
    carried::copy_program(&steps.builds[&steps.kept][0], output)?;
    let optimization = Optimization {
        program: program.display().to_string(),
        output: output.display().to_string(),
        source,
        functions: plans.plan.functions().len(),
        planned_functions,
        functions_that_ran: plans.plan.functions().filter(|(_, _, f)| f.ran()).count(),
        recipe_size: carried.recipe_size(),
        pairs: options.pairs.get(),
        noise,
        early,
        selects,
        late,
        paths,
        prefetch,
        order,
        blamed: steps.blamed,
        kept: kept_gain,
        instructions,
        late_instructions,
        unpredictable_branches: branches,
        late_functions: plans.plan.late_functions(),
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
