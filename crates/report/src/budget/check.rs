//! Computes the figures of limits.

use holloway_abi::Unit;
use holloway_analysis::bounds::Bound;
use holloway_analysis::covered::{Evidence, Ratio};
use holloway_analysis::functions::{Ranking, Sums, Weight, hottest};
use holloway_analysis::loops::LoopsRun;
use holloway_analysis::overlap::{Both, Overlap, overlap};
use holloway_analysis::paths::{Sort, hottest as hottest_paths};
use holloway_analysis::trace::pattern::NameError;
use holloway_analysis::variation::rank::rank;
use holloway_analysis::variation::{RankOptions, VariationRun};
use holloway_analysis::{Function, RunProfile};
use holloway_format::Count;

use super::limit::{Checked, Limit, NotMeasured, Value};
use super::measure::Measure;
use crate::covered::{self, without_conditions};
use crate::filter::Filter;
use crate::options::Options;
use crate::selection::{SelectionError, check_selection};

/// The runs that a limit is about.
#[derive(Clone, Copy)]
pub struct Runs<'a> {
    /// The run to check.
    pub run: &'a RunProfile,
    /// The same run with its times, if it has times of paths.
    pub times: Option<&'a VariationRun>,
    /// The same run with its sequences of paths, if it has them.
    pub loops: Option<&'a LoopsRun>,
    /// An earlier run.
    pub baseline: Option<&'a RunProfile>,
}

impl<'a> Runs<'a> {
    fn evidence(self) -> Evidence<'a> {
        Evidence {
            run: self.run,
            loops: self.loops,
        }
    }
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
    /// The limit is about conditions of the source.
    #[error("{0} needs the graph of the source: build with --graph source")]
    NeedsSourceGraph(&'static str),
    /// The limit is about sequences of paths.
    #[error("{0} needs sequences of paths: build with --collect loops")]
    NeedsLoops(&'static str),
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
    /// The limit names a path, but its figure is about functions.
    #[error(
        "{0} counts whole functions: leave out the path, or limit instructions, instruction-share, or path-executions"
    )]
    WholeFunctions(&'static str),
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
        path: limit.path.clone(),
        code: limit.code.clone(),
        cwd: options.cwd.clone(),
        ..Options::new(options.source)
    };
    // A crate or file that does not exist makes a limit meaningless, even if others do.
    let missing = match check_selection(&[runs.run], &options) {
        // The path has no executions, which may be what the limit wants.
        Err(SelectionError::Path(NameError::NoPathWithName { .. })) => Vec::new(),
        missing => missing?,
    };
    if let Some(error) = missing.into_iter().next() {
        return Err(error.into());
    }
    let compares_functions = matches!(limit.measure, Measure::Overlap | Measure::NewPaths);
    if compares_functions && limit.code.is_given() {
        return Err(BudgetError::OnlyFunctions(limit.measure.name()));
    }
    if limit.path.is_some() && !limit.measure.is_of_paths() {
        return Err(BudgetError::WholeFunctions(limit.measure.name()));
    }
    let names = Filter::new(&options);
    for run in [Some(runs.run), runs.baseline].into_iter().flatten() {
        if !limit.measure.is_coverage() && !run.ids().any(|(id, _)| names.keeps(run, id)) {
            return Err(BudgetError::NotCounted(limit.measure.name()));
        }
    }
    let (value, not_measured) = value(limit.measure, runs, &names, &options)?;
    let place = limit
        .function
        .as_ref()
        .and_then(|_| place(runs.run, &names));
    Ok(Checked {
        limit: limit.clone(),
        value,
        not_measured,
        place,
    })
}

/// The figure of the runs, in the functions and the code that the filter keeps, and what it leaves
/// out.
fn value(
    measure: Measure,
    runs: Runs<'_>,
    names: &Filter<'_>,
    options: &Options<'_>,
) -> Result<(Value, NotMeasured), BudgetError> {
    let name = measure.name();
    let sums = |run| match options.path {
        Some(_) => sums_of_path(run, names),
        None => ranking(run, names).ranked,
    };
    let baseline = || runs.baseline.ok_or(BudgetError::NeedsBaseline(name));
    let needs_paths = || match runs.run.unit() {
        Unit::Paths => Ok(()),
        Unit::Edges => Err(BudgetError::NeedsPaths(name)),
    };
    let coverage = || covered::of_run(runs.evidence(), names, options, 0);
    let covered = |ratio: Ratio| {
        share(ratio.covered as f64, ratio.possible as f64).ok_or(BudgetError::Nothing(name))
    };
    let mut not_measured = NotMeasured::default();
    let value = match measure {
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
            let part = sums(runs.run).instructions.0 as f64;
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
        Measure::FunctionsCovered => covered(coverage().totals.functions)?,
        Measure::LinesCovered => covered(coverage().totals.lines)?,
        Measure::BranchesCovered => covered(coverage().totals.branches)?,
        Measure::PathsCovered => {
            needs_paths()?;
            covered(coverage().totals.paths)?
        }
        Measure::ConditionsCovered => {
            needs_paths()?;
            let coverage = coverage();
            if without_conditions(&coverage).is_some() {
                return Err(BudgetError::NeedsSourceGraph(name));
            }
            let cut = coverage.decisions.iter().filter(|one| !one.is_measured);
            not_measured.decisions = cut.count() as u64 + coverage.large_decisions;
            covered(coverage.totals.conditions)?
        }
        Measure::PrimePathsCovered => {
            let coverage = coverage();
            let uncounted = coverage.uncounted_primes;
            let uncounted = uncounted.ok_or(BudgetError::NeedsLoops(name))?;
            not_measured.functions = uncounted.functions;
            not_measured.long_paths = uncounted.long_paths;
            covered(coverage.totals.prime_paths)?
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
    };
    Ok((value, not_measured))
}

/// The sums of the path that the filter keeps.
fn sums_of_path(run: &RunProfile, names: &Filter<'_>) -> Sums {
    let paths = hottest_paths(run, Sort::Instructions, None, &|id| names.paths(run, id));
    let of_functions = ranking(run, names).ranked;
    let mut sums = Sums {
        path_executions: Count::ZERO,
        instructions: Count::ZERO,
        distinct_paths: paths.ranked,
        ..of_functions
    };
    for path in &paths.paths {
        sums.path_executions = sums.path_executions.saturating_add(path.count);
        sums.instructions = sums.instructions.saturating_add(path.total_instructions());
    }
    sums
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
