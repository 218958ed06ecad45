//! Trains a program: one run counts edges before the optimizer, a second run finds the branches
//! that are hard to predict, and another run counts edges after the optimizer has used the first
//! counts. A last run times the paths of the optimized code, to find the loads that wait for
//! memory.
//!
//! Edge counts only tell candidates: branches with balanced outcomes. The second build records
//! sequences of paths (`--collect loops`) in the functions with candidates, and nothing elsewhere.
//! It is made of the same bitcode at the same point, so its functions have the same graphs, and
//! graphs have the same edges.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::process::Stdio;

use holloway_analysis::RunProfile;
use holloway_analysis::layout::program_order;
use holloway_analysis::tails::{candidates, least_savings, tails};
use holloway_analysis::unpredictable::{least_executions, unpredictable_branches};
use holloway_analysis::variation::advice::prefetches;
use holloway_analysis::variation::{RankOptions, rank};
use holloway_collect::settings::Settings;
use holloway_format::{FunctionPlan, Place, Plan, PrefetchPlan};
use holloway_link::relink::Purpose;

use super::carried::{Carried, plan_of};
use super::names::FunctionNames;
use crate::failure::Result;
use crate::{loading, status};

/// Whether training follows paths, to find those whose blocks are to be copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paths {
    Followed,
    Ignored,
}

impl Paths {
    /// What the option `--paths` says.
    pub(crate) fn of(option: bool) -> Self {
        match option {
            true => Self::Followed,
            false => Self::Ignored,
        }
    }
}

/// Builds a program for training, runs it, and makes a plan of its counts. The program's stdout
/// goes to `stdout`; that of later runs goes nowhere.
///
/// # Errors
/// If the program cannot be linked or run, or fails, or leaves no counts.
pub(crate) fn train(
    carried: &Carried,
    args: &[OsString],
    paths: Paths,
    stdout: Stdio,
) -> Result<Plan> {
    status::line("Training", &carried.program.display().to_string());
    let recorded = carried.record(Purpose::Training, "training", args, stdout)?;
    let run = loading::load(&recorded.run)?;
    let mut plan = plan_of(&run, &FunctionNames::read(&recorded.program)?);
    mark_unpredictable(carried, args, &run, &mut plan)?;
    if paths == Paths::Followed {
        add_tails(carried, args, &run, &mut plan)?;
    }
    train_late(carried, &mut plan, args, "late-training")?;
    // Prefetches are an extra: the counts are complete without them.
    if let Err(error) = add_prefetches(carried, &mut plan, args) {
        status::warn(&format!(
            "no loads to prefetch were found: {}",
            error.message
        ));
    }
    Ok(plan)
}

/// Adds the loads to prefetch: builds the program with the plan, so that it times the paths of its
/// optimized code, and runs it.
fn add_prefetches(carried: &Carried, plan: &mut Plan, args: &[OsString]) -> Result<()> {
    let burst = TIMED_PATHS.parse().expect("two numbers");
    let settings = Settings {
        burst: Some(burst),
        ..Settings::default()
    };
    let bare = plan.without_tails();
    let names = worth_timing(&bare);
    if names.is_empty() {
        return Ok(());
    }
    let program = carried.program.display();
    status::line("Training", &format!("{program} again, for its slow loads"));
    let purpose = Purpose::Timing(&bare, &names);
    let recorded = carried.record_any(purpose, "timing", args, Stdio::null(), settings)?;
    // A program of short functions has nothing to time.
    let Some(recorded) = recorded else {
        return Ok(());
    };
    let run = loading::load_with_streams(&recorded.run)?.into_variation();
    let ranking = rank(&run, RankOptions::default());
    for path in &ranking.paths {
        let function = run.run.function(path.function);
        for (load, turns) in prefetches(function, path, &ranking) {
            let Place { line, column, .. } = load.place;
            let load = PrefetchPlan {
                line,
                column,
                turns,
            };
            plan.add_prefetch(function.map.linkage_name.clone(), load);
        }
    }
    Ok(())
}

/// The functions that are timed, by their linkage names: those with at least one of `RARE`
/// executions of all late counts. Even if each execution of another function waits for memory, it
/// takes less than a hundredth of the run. Timed code is compiled twice, so it pays to time few
/// functions of a large program.
fn worth_timing(plan: &Plan) -> BTreeSet<String> {
    let executions = |function: &FunctionPlan| function.executions().0;
    let all: u64 = plan
        .late()
        .map(|(_, _, function)| executions(function))
        .fold(0, u64::saturating_add);
    let is_frequent =
        |function: &FunctionPlan| function.ran() && executions(function) >= all / RARE;
    plan.late()
        .filter(|(_, _, function)| is_frequent(function))
        .map(|(name, _, _)| name.to_string())
        .collect()
}

/// A function with less than one of so many executions is not timed: a load from main memory takes
/// about as long as hundreds of executions of a block.
const RARE: u64 = 100_000;

/// How many paths are timed in training: one of about so many.
const TIMED_PATHS: &str = "1000:1";

/// Adds late counts and an order of functions to a plan without: builds the program with the plan,
/// so that it counts what its optimized code does, and runs it. `name` names the build.
///
/// # Errors
/// If the program cannot be linked or run, or fails, or leaves no counts.
pub(super) fn train_late(
    carried: &Carried,
    plan: &mut Plan,
    args: &[OsString],
    name: &str,
) -> Result<()> {
    let program = carried.program.display();
    status::line(
        "Training",
        &format!("{program} again, on its optimized code"),
    );
    let early = plan.without_tails();
    let recorded = carried.record(Purpose::LateTraining(&early), name, args, Stdio::null())?;
    let run = loading::load(&recorded.run)?;
    let names = FunctionNames::read(&recorded.program)?;
    if plan.tail_count() > 0 {
        let name = format!("{name}-with-copied-paths");
        let purpose = Purpose::LateTraining(plan);
        let recorded = carried.record(purpose, &name, args, Stdio::null())?;
        let names = FunctionNames::read(&recorded.program)?;
        let copied = plan_of(&loading::load(&recorded.run)?, &names);
        plan.add_late(plan_of(&run, &names));
        plan.add_new_late(copied);
    } else {
        plan.add_late(plan_of(&run, &names));
    }
    plan.set_order(program_order(&run, |target| names.of(target)));
    Ok(())
}

/// Adds the paths whose blocks are to be copied. `run` has the counts of training with the same
/// arguments. Runs nothing if no branch is a candidate.
fn add_tails(
    carried: &Carried,
    args: &[OsString],
    run: &RunProfile,
    plan: &mut Plan,
) -> Result<()> {
    let least = least_savings(run);
    let names: BTreeSet<String> = candidates(run, least)
        .into_iter()
        .map(String::from)
        .collect();
    if names.is_empty() {
        return Ok(());
    }
    let program = carried.program.display();
    status::line("Training", &format!("{program} again, for its paths"));
    let purpose = Purpose::Sequences(&names);
    let recorded = carried.record(purpose, "paths", args, Stdio::null())?;
    let streams = loading::load_with_streams(&recorded.run)?;
    let (sequences, previous_paths) = streams.into_branches();
    for tail in tails(&sequences, &previous_paths, least) {
        plan.add_tail(&tail.function, tail.graph_hash, tail.edges, tail.count);
    }
    Ok(())
}

/// Marks the unpredictable branches of a plan. `run` has the counts of training with the same
/// arguments. Runs nothing if no branch is a candidate.
fn mark_unpredictable(
    carried: &Carried,
    args: &[OsString],
    run: &RunProfile,
    plan: &mut Plan,
) -> Result<()> {
    let least = least_executions(run);
    let candidates = unpredictable_branches(run, None, least);
    let names: BTreeSet<String> = candidates
        .into_iter()
        .map(|candidate| candidate.function.into())
        .collect();
    if names.is_empty() {
        return Ok(());
    }
    let program = carried.program.display();
    status::line(
        "Training",
        &format!("{program} again, for the order of its branches"),
    );
    let purpose = Purpose::Sequences(&names);
    let recorded = carried.record(purpose, "sequences", args, Stdio::null())?;
    let streams = loading::load_with_streams(&recorded.run)?;
    let (sequences, previous_paths) = streams.into_branches();
    for branch in unpredictable_branches(&sequences, Some(&previous_paths), least) {
        let (name, hash) = (&branch.function, branch.graph_hash);
        plan.mark_unpredictable(name, hash, branch.edge, branch.mispredictions);
    }
    Ok(())
}
