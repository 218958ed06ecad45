//! `holloway optimize -o OUT PROGRAM -- ARGS`: trains a program on a command, builds it again with
//! the counts, and keeps the result if it measurably helps.
//!
//! The program carries its unoptimized bitcode and the recipe of its link (`--embed`). The stages,
//! with their modules:
//!
//! 1. `carried`: unpack the recipe, link the program for training, run it, and turn the counts of
//!    all its processes into a plan; link the program with the plan.
//! 2. `training`: make the plan, with the `names` of the functions that indirect calls have called. If a branch may be hard to predict, train a second time and mark
//!    such branches in the plan. They become selects in another build.
//! 3. `measure`: run the program and its optimized builds in interleaved rounds, after pairs of the
//!    program with itself. Compare what they print, and count their instructions.
//! 4. `holloway_analysis::paired` decides, and `holloway_report::optimize` reports.

pub(crate) mod carried;
mod measure;
mod names;
pub(crate) mod training;

use std::ffi::OsString;
use std::path::Path;
use std::process::{ExitCode, Stdio};

use holloway_analysis::paired::Verdict;
use holloway_format::Plan;
use holloway_report::optimize::{self, Optimization, PlanSource, SelectStep};

use crate::cli::OutputFormat;
use crate::cli::optimize::{OptimizeArgs, OptimizeOptions};
use crate::failure::{Context, Failure, Result};
use crate::printing::write_out;
use crate::status;
use carried::Carried;
use measure::{Builds, Measured, SelectGains};

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
    let (plan, source) = match options.plan.as_slice() {
        [] => (
            training::train(&carried, args, Stdio::null())?,
            PlanSource::Training,
        ),
        files => (read_plans(files)?, PlanSource::Files(files.len())),
    };
    if let Some(file) = &options.write_plan {
        carried::write_plan(file, &plan)?;
    }
    let (early, planned) = carried.apply(&plan.without_unpredictable(), "optimized")?;
    let branches = plan.unpredictable_branches();
    let with_selects = match branches {
        0 => None,
        _ => Some(carried.apply(&plan, "selects")?.0),
    };
    let selects = with_selects.filter(|selects| !is_same_file(&early, selects));
    let builds = Builds {
        early: &early,
        selects: selects.as_deref(),
    };
    let Measured {
        noise,
        early: gain,
        selects: gains,
        instructions,
    } = measure::measure(&carried, &builds, args, options.pairs)?;
    let verdict = Verdict::new(gain, noise, instructions);
    let select_step = match gains {
        None => SelectStep::Unmeasured { branches },
        Some(SelectGains { own, total }) => {
            let rest = if verdict.keeps() { own } else { total };
            SelectStep::Measured {
                branches,
                own,
                total,
                verdict: Verdict::by_time(rest, noise),
            }
        }
    };
    let kept = match selects {
        Some(selects) if select_step.is_kept() => selects,
        _ if verdict.keeps() => early,
        _ => carried.program.clone(),
    };
    carried::copy_program(&kept, output)?;
    let optimization = Optimization {
        program: program.display().to_string(),
        output: output.display().to_string(),
        source,
        functions: plan.functions().len(),
        planned_functions: planned,
        functions_that_ran: plan.functions().filter(|(_, _, f)| f.ran()).count(),
        recipe_size: carried.recipe_size(),
        pairs: options.pairs.get(),
        noise,
        gain,
        instructions,
        verdict,
        selects: select_step,
    };
    write_out(|out| match options.format {
        OutputFormat::Text => optimize::write(&optimization, out),
        OutputFormat::Json => optimize::json(&optimization, out),
    })?;
    status::line("Wrote", &status::shown(output).to_string());
    Ok(ExitCode::SUCCESS)
}

/// Whether two builds are the same program.
fn is_same_file(one: &Path, other: &Path) -> bool {
    let [one, other] = [one, other].map(std::fs::read);
    matches!((one, other), (Ok(one), Ok(other)) if one == other)
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
        for (name, hash, function) in plan.functions() {
            sum.add(name.clone(), hash, function.clone());
        }
    }
    Ok(sum)
}
