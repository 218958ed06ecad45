//! `holloway plan train|instrument|from|show|diff|apply`: makes, shows, compares, and uses plans.

use std::io::Write;
use std::process::{ExitCode, Stdio};

use holloway_format::Plan;
use holloway_link::relink::Purpose;
use holloway_report::plan as report;

use crate::cli::optimize::{
    ApplyPlanArgs, DiffPlanArgs, FromProfileArgs, InstrumentArgs, PlanArgs, PlanCommand, TrainArgs,
};
use crate::commands::optimize::carried::{Carried, check_output, copy_program, write_plan};
use crate::commands::optimize::{profiles, read_plans, training};
use crate::failure::Result;
use crate::printing::write_out;
use crate::status;

/// Runs `holloway plan`.
///
/// # Errors
/// If a plan or program cannot be read or written, or training fails.
pub(crate) fn main(args: &PlanArgs) -> Result<ExitCode> {
    match &args.command {
        PlanCommand::Train(args) => train(args)?,
        PlanCommand::Instrument(args) => instrument(args)?,
        PlanCommand::From(args) => from(args)?,
        PlanCommand::Show(args) => {
            let plan = read(&args.plan)?;
            print(|out| report::show(&plan, args.top, out))?;
        }
        PlanCommand::Diff(args) => diff(args)?,
        PlanCommand::Apply(args) => apply(args)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn train(args: &TrainArgs) -> Result<()> {
    check_output(&args.output, [&args.program])?;
    let carried = Carried::unpack(&args.program)?;
    let plan = training::train(&carried, &args.args, Stdio::inherit())?;
    write_plan(&args.output, &plan)
}

fn instrument(args: &InstrumentArgs) -> Result<()> {
    check_output(&args.output, [&args.program])?;
    let carried = Carried::unpack(&args.program)?;
    let name = args.output.file_name().unwrap_or_default();
    let (program, _) = carried.link_as(Purpose::Training, "instrumented", name)?;
    copy_program(&program, &args.output)?;
    status::line("Wrote", &status::shown(&args.output).to_string());
    Ok(())
}

fn from(args: &FromProfileArgs) -> Result<()> {
    check_output(&args.output, args.profiles.iter().chain([&args.program]))?;
    let carried = Carried::unpack(&args.program)?;
    let plan = profiles::plan_from(&carried, &args.profiles)?;
    write_plan(&args.output, &plan)
}

fn diff(args: &DiffPlanArgs) -> Result<()> {
    let (first, second) = (read(&args.first)?, read(&args.second)?);
    print(|out| report::diff(&first, &second, args.top, out))
}

fn apply(args: &ApplyPlanArgs) -> Result<()> {
    check_output(&args.output, args.plan.iter().chain([&args.program]))?;
    let plan = read_plans(&args.plan)?;
    let carried = Carried::unpack(&args.program)?;
    let (optimized, _) = carried.apply(&plan, "optimized")?;
    copy_program(&optimized, &args.output)?;
    status::line("Wrote", &status::shown(&args.output).to_string());
    Ok(())
}

fn read(file: &std::path::Path) -> Result<Plan> {
    read_plans(&[file.to_owned()])
}

fn print(write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<()> {
    write_out(write)
}
