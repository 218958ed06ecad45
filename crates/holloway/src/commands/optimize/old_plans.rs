//! Plans that were made earlier, perhaps of another version of the program.

use std::path::{Path, PathBuf};

use holloway_analysis::old_plans::{self, CarriedOver, Program};
use holloway_collect::image;
use holloway_format::Plan;
use holloway_format::image::decode_image;

use super::carried::Carried;
use crate::failure::{Context, Failure, Result};
use crate::status;

/// Reads plans, makes each a plan for the program, and adds them up. Warns of marks that have no
/// effect.
///
/// # Errors
/// If a file cannot be read or is no plan, the program cannot be linked, or the plans have no
/// function of the program.
pub(crate) fn carry_over(carried: &Carried, files: &[PathBuf]) -> Result<CarriedOver> {
    let plans = files.iter().map(|file| Ok((file, read_plan(file)?)));
    let plans: Vec<_> = plans.collect::<Result<_>>()?;
    let program = program(carried)?;
    let mut sum = CarriedOver::default();
    for (file, plan) in plans {
        let CarriedOver {
            plan,
            summary,
            no_conditions,
            lost_tails,
        } = old_plans::carry_over(&plan, &program);
        for (function, edge) in no_conditions {
            status::warn(&format!(
                "{}: edge {edge} of {function} is no condition, so `unpredictable {edge}` has no effect: remove the line",
                file.display()
            ));
        }
        if lost_tails > 0 {
            status::warn(&format!(
                "{}: {lost_tails} of its lines `tail` are left out, because their functions have changed: train again",
                file.display()
            ));
        }
        sum.plan.add_plan(plan);
        sum.summary.add(summary);
    }
    if !sum.summary.has_matches() {
        return Err(carried.no_function());
    }
    Ok(sum)
}

/// The functions of the program, from the path map of a build for training.
fn program(carried: &Carried) -> Result<Program> {
    let built = carried.for_training()?;
    let bytes = image::read_map(&built).map_err(Failure::new)?;
    let map =
        decode_image(&bytes).cannot(|| format!("read the path map of {}", built.display()))?;
    let modules = map.modules.iter();
    let functions = modules.flat_map(|placed| &placed.module.functions);
    Ok(functions.collect())
}

/// Reads a plan.
///
/// # Errors
/// If the file cannot be read, or is no plan.
pub(crate) fn read_plan(file: &Path) -> Result<Plan> {
    let bytes = std::fs::read(file).cannot(|| format!("read {}", file.display()))?;
    Plan::parse(&bytes).cannot(|| format!("take {} for a plan", file.display()))
}
