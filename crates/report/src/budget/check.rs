//! Computes the figures of limits.

use holloway_abi::Unit;
use holloway_analysis::bounds::Bound;
use holloway_analysis::functions::{Ranking, Weight, hottest};
use holloway_analysis::overlap::{Both, Overlap, overlap};
use holloway_analysis::uncovered::Uncovered;
use holloway_analysis::variation::rank::rank;
use holloway_analysis::variation::{RankOptions, VariationRun};
use holloway_analysis::{Function, RunProfile};

use super::limit::{Checked, Limit, Value};
use super::measure::Measure;
use crate::filter::Filter;
use crate::options::Options;
use crate::selection::{SelectionError, check_selection};
use crate::uncovered;

/// The runs that a limit is about.
#[derive(Clone, Copy)]
pub struct Runs<'a> {
    /// The run to check.
    pub run: &'a RunProfile,
    /// The same run with its times, if it has times of paths.
    pub times: Option<&'a VariationRun>,
    /// An earlier run.
    pub baseline: Option<&'a RunProfile>,
}

/// Why a limit cannot be checked.
#[derive(Debug, thiserror::Error)]
pub enum BudgetError {
    /// The limit compares the run with another one.
    #[error("{0} needs an earlier run: give one with --baseline RUN")]
    NeedsBaseline(&'static str),
    /// The limit is about times.
    #[error("{0} needs times of paths, and this run has none: build with --collect variation")]
    NeedsTimes(&'static str),
    /// The limit is about paths.
    #[error("{0} needs paths, and this run counted edges: build with --collect paths")]
    NeedsPaths(&'static str),
    /// No function with counters matches.
    #[error(
        "{0} counts functions, and none with counters matches: it is inlined into others, was left out, or is not in the run"
    )]
    NotCounted(&'static str),
    /// The baseline has nothing to compare with.
    #[error("{0} compares with the baseline, which ran no such code")]
    NothingBefore(&'static str),
    /// The paths of the two runs are not the same ones.
    #[error(
        "{0} compares paths, and the two builds end them at different places: build both alike"
    )]
    OtherPaths(&'static str),
    /// The limit is about a share of some code, and the run has no such code.
    #[error("{0} is a share of nothing: no such code is in the run")]
    Nothing(&'static str),
    /// The limit names code, but its figure compares functions.
    #[error("{0} compares functions: use function = REGEX instead of crate and file")]
    OnlyFunctions(&'static str),
    /// The limit names something that does not exist.
    #[error(transparent)]
    Selection(#[from] SelectionError),
}

/// Checks one limit. `options` has the source and the working directory.
///
/// # Errors
/// If the runs do not have the figure.
pub fn check(limit: &Limit, runs: Runs<'_>, options: &Options<'_>) -> Result<Checked, BudgetError> {
    let options = Options {
        function: limit.function.clone(),
        code: limit.code.clone(),
        cwd: options.cwd.clone(),
        ..Options::new(options.source)
    };
    // A crate or file that does not exist makes a limit meaningless, even if others do.
    if let Some(error) = check_selection(&[runs.run], &options)?.into_iter().next() {
        return Err(error.into());
    }
    let compares_functions = matches!(limit.measure, Measure::Overlap | Measure::NewPaths);
    if compares_functions && limit.code.is_given() {
        return Err(BudgetError::OnlyFunctions(limit.measure.name()));
    }
    let names = Filter::new(&options);
    for run in [Some(runs.run), runs.baseline].into_iter().flatten() {
        if !limit.measure.is_coverage() && !run.ids().any(|(id, _)| names.keeps(run, id)) {
            return Err(BudgetError::NotCounted(limit.measure.name()));
        }
    }
    let value = value(limit.measure, runs, &names, &options)?;
    let place = limit
        .function
        .as_ref()
        .and_then(|_| place(runs.run, &names));
    Ok(Checked {
        limit: limit.clone(),
        value,
        place,
    })
}

/// The figure of the runs, in the functions and the code that the filter keeps.
fn value(
    measure: Measure,
    runs: Runs<'_>,
    names: &Filter<'_>,
    options: &Options<'_>,
) -> Result<Value, BudgetError> {
    let name = measure.name();
    let sums = |run| ranking(run, names).ranked;
    let baseline = || runs.baseline.ok_or(BudgetError::NeedsBaseline(name));
    let needs_paths = || match runs.run.unit() {
        Unit::Paths => Ok(()),
        Unit::Edges => Err(BudgetError::NeedsPaths(name)),
    };
    let uncovered = || uncovered::of_run(runs.run, names, options, 0);
    let covered = |part: &dyn Fn(&Uncovered<'_>) -> (u64, u64)| {
        let (ran, all) = part(&uncovered());
        share(ran as f64, all as f64).ok_or(BudgetError::Nothing(name))
    };
    Ok(match measure {
        Measure::Calls => {
            let sums = sums(runs.run);
            Value::Count(sums.calls.0, sums.calls_bound)
        }
        Measure::Instructions => {
            let sums = sums(runs.run);
            Value::Count(sums.instructions.0, sums.bound)
        }
        Measure::InstructionShare => {
            let ranking = ranking(runs.run, names);
            let part = ranking.ranked.instructions.0 as f64;
            share(part, ranking.total.0 as f64).ok_or(BudgetError::Nothing(name))?
        }
        Measure::PathExecutions => {
            needs_paths()?;
            let sums = sums(runs.run);
            Value::Count(sums.path_executions.0, sums.bound)
        }
        Measure::Paths => {
            needs_paths()?;
            let sums = sums(runs.run);
            Value::Count(sums.distinct_paths, sums.bound)
        }
        Measure::FunctionsCovered => {
            let ran = |all: &Uncovered<'_>| all.function_count - all.functions.len() as u64;
            covered(&|uncovered| (ran(uncovered), uncovered.function_count))?
        }
        Measure::LinesCovered => {
            let ran = |all: &Uncovered<'_>| all.line_count - all.uncovered_line_count;
            covered(&|uncovered| (ran(uncovered), uncovered.line_count))?
        }
        Measure::BranchesCovered => {
            let ran = |all: &Uncovered<'_>| all.way_count - all.ways.len() as u64;
            covered(&|uncovered| (ran(uncovered), uncovered.way_count))?
        }
        Measure::PathsCovered => {
            needs_paths()?;
            covered(&|uncovered| (uncovered.paths_run, uncovered.path_count))?
        }
        Measure::Variation => variation(runs.times.ok_or(BudgetError::NeedsTimes(name))?, names),
        Measure::Overlap => {
            let overlap = compare([baseline()?, runs.run], names);
            Value::Ratio(overlap.overlap)
        }
        Measure::NewPaths => {
            needs_paths()?;
            let overlap = compare([baseline()?, runs.run], names);
            if overlap.unit != Unit::Paths {
                return Err(BudgetError::NeedsPaths(name));
            }
            if overlap.ends_at_calls.is_some() || overlap.cut_elsewhere > 0 {
                return Err(BudgetError::OtherPaths(name));
            }
            let new = overlap.sides[1].distinct - overlap.common;
            Value::Count(new, Bound::Exact)
        }
        Measure::InstructionChange => {
            let [before, now] = [baseline()?, runs.run].map(|run| sums(run).instructions.0 as f64);
            share(now - before, before).ok_or(BudgetError::NothingBefore(name))?
        }
    })
}

/// The functions that the filter keeps, most instructions first.
fn ranking(run: &RunProfile, names: &Filter<'_>) -> Ranking {
    hottest(run, Weight::Instructions, None, &|id| names.keeps(run, id))
}

fn compare(runs: Both<&RunProfile>, names: &Filter<'_>) -> Overlap {
    let keep = |function: &Function| names.matches(&function.map.linkage_name, &function.map.name);
    overlap(runs, &keep, &|function| names.name(function))
}

/// The net variation of the paths that the filter keeps and for which it is certain.
fn variation(run: &VariationRun, names: &Filter<'_>) -> Value {
    let ranking = rank(run, RankOptions::default());
    let certain = ranking.paths.iter().take(ranking.certain);
    let kept = certain.filter(|path| names.keeps(&run.run, path.function));
    let net = kept.fold(0.0, |sum, path| sum + path.net);
    Value::Percent(100.0 * ranking.share(net))
}

/// A part in percent of the whole. `None` if the whole is nothing.
fn share(part: f64, whole: f64) -> Option<Value> {
    (whole > 0.0).then(|| Value::Percent(100.0 * part / whole))
}

/// The declaration of the kept function with the most instructions.
fn place(run: &RunProfile, names: &Filter<'_>) -> Option<(String, u32)> {
    let first = *ranking(run, names).functions.first()?;
    let map = &run.function(first.function).map;
    let is_known = !map.file.is_empty() && map.line > 0;
    is_known.then(|| (map.file.to_string(), map.line))
}
