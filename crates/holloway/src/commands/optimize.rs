//! `holloway optimize -o OUT PROGRAM -- ARGS`: trains a program on a command, builds it again with
//! the counts, and keeps the result if it measurably helps.
//!
//! The program carries its unoptimized bitcode and the recipe of its link (`--embed`). The stages,
//! with their modules:
//!
//! 1. `carried`: unpack the recipe, link the program for training, run it, and turn the counts of
//!    all its processes into a plan; link the program with the plan.
//! 2. `measure`: run the program and the optimized program in interleaved pairs, after pairs of the
//!    program with itself. Compare what they print, and count their instructions.
//! 3. `holloway_analysis::paired` decides, and `holloway_report::optimize` reports.

pub(crate) mod carried;
mod measure;

use std::ffi::OsString;
use std::path::Path;
use std::process::{ExitCode, Stdio};

use holloway_analysis::paired::Verdict;
use holloway_format::Plan;
use holloway_report::optimize::{self, Optimization, PlanSource};

use crate::cli::OutputFormat;
use crate::cli::optimize::{OptimizeArgs, OptimizeOptions};
use crate::failure::{Context, Failure, Result};
use crate::printing::write_out;
use crate::status;
use carried::Carried;
use measure::Measured;

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
        [] => (carried.train(args, Stdio::null())?, PlanSource::Training),
        files => (read_plans(files)?, PlanSource::Files(files.len())),
    };
    if let Some(file) = &options.write_plan {
        carried::write_plan(file, &plan)?;
    }
    let (optimized, planned) = carried.apply(&plan)?;
    let Measured {
        noise,
        gain,
        instructions,
    } = measure::measure(&carried, &optimized, args, options.pairs)?;
    let verdict = Verdict::new(gain, noise, instructions);
    let kept = if verdict.keeps() {
        &optimized
    } else {
        &carried.program
    };
    carried::copy_program(kept, output)?;
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
    };
    write_out(|out| match options.format {
        OutputFormat::Text => optimize::write(&optimization, out),
        OutputFormat::Json => optimize::json(&optimization, out),
    })?;
    status::line("Wrote", &status::shown(output).to_string());
    Ok(ExitCode::SUCCESS)
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
