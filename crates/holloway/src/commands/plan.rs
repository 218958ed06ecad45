//! `holloway plan train|instrument|from|show|diff|apply`: makes, shows, compares, and uses plans.

use std::io::Write;
use std::process::{ExitCode, Stdio};

use holloway_analysis::old_plans::CarriedOver;
use holloway_link::relink::Purpose;
use holloway_report::plan as report;

use crate::cli::optimize::{
    ApplyPlanArgs, DiffPlanArgs, FromProfileArgs, InstrumentArgs, PlanArgs, PlanCommand, TrainArgs,
};
use crate::commands::optimize::carried::{Carried, check_output, copy_program, write_plan};
use crate::commands::optimize::old_plans::{self, read_plan};
use crate::commands::optimize::profiles;
use crate::commands::optimize::training::{self, Paths};
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
            let plan = read_plan(&args.plan)?;
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
    let plan = training::train(
        &carried,
        &args.args,
        Paths::of(args.paths),
        Stdio::inherit(),
    )?;
    write_plan(&args.output, &plan)
}

fn instrument(args: &InstrumentArgs) -> Result<()> {
    check_output(&args.output, [&args.program])?;
    let carried = Carried::unpack(&args.program)?;
    let name = args.output.file_name().unwrap_or_default();
    let (program, _) = carried.link_as(Purpose::Training, &[], "instrumented", name)?;
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
    let (first, second) = (read_plan(&args.first)?, read_plan(&args.second)?);
    print(|out| report::diff(&first, &second, args.top, out))
}

fn apply(args: &ApplyPlanArgs) -> Result<()> {
    check_output(&args.output, args.plan.iter().chain([&args.program]))?;
    let carried = Carried::unpack(&args.program)?;
    let CarriedOver { plan, summary, .. } = old_plans::carry_over(&carried, &args.plan)?;
    status::line("Matched", &report::matched(&summary));
    let order = match carried.takes_order() {
        true => plan.order(),
        false => &[],
    };
    let optimized = carried.apply(&plan, order, "optimized");
    // The order is an extra.
    let (optimized, _) = match optimized {
        Err(_) if !order.is_empty() => carried.apply(&plan, &[], "optimized")?,
        optimized => optimized?,
    };
    if !plan.order().is_empty() && order.is_empty() {
        status::warn("the plan's order of functions is left out, because the linker takes none");
    }
    copy_program(&optimized, &args.output)?;
    status::line("Wrote", &status::shown(&args.output).to_string());
    Ok(())
}

fn print(write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<()> {
    write_out(write)
}
