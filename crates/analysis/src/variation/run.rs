//! A run whose paths were timed: the timings of its functions, and the path profile that is
//! estimated from them.

use holloway_flow::PathId;
use rustc_hash::FxHashMap;

use holloway_abi::Kind;
use holloway_format::{ImageMap, PathTimings, VariationProfile, VariationStats};

use super::sealed::{executions, paths};
use crate::run::{FunctionId, ModuleId, RunProfile};

/// Two clock readings must be at least this many nanoseconds apart to measure the cycles per
/// second.
const MIN_NANOSECONDS: u64 = 1_000_000;

/// A run of programs built to time paths.
#[derive(Debug)]
pub struct VariationRun {
    /// The profile of paths, in the form that all other views use. The counts are estimates unless
    /// all paths were timed.
    pub run: RunProfile,
    /// The functions with samples, by id.
    pub functions: Vec<TimedFunction>,
    /// Sums over all processes.
    pub stats: VariationStats,
    /// Whether every path was timed, in all processes.
    pub is_exact: bool,
}

/// The timings of a function.
#[derive(Clone, Debug)]
pub struct TimedFunction {
    /// The function.
    pub id: FunctionId,
    /// The function's paths with samples, by number.
    pub paths: Vec<TimedPath>,
}

/// The timings of a path in all processes.
#[derive(Clone, Debug, Default)]
pub struct TimedPath {
    /// The path's number and its times.
    pub timings: PathTimings,
    /// Estimated number of executions.
    pub executions: f64,
}

type ByPath = FxHashMap<PathId, TimedPath>;

impl VariationRun {
    /// Joins the images of a run. Each image comes with its path map and the profiles of the
    /// processes that ran it.
    pub fn new(images: Vec<(ImageMap, Vec<VariationProfile>)>) -> VariationRun {
        let mut stats = VariationStats::default();
        let mut timed: FxHashMap<(ModuleId, u64), ByPath> = FxHashMap::default();
        let (mut joined, mut modules, mut is_exact) = (Vec::new(), 0, true);
        for (map, profiles) in images {
            let counted = profiles.iter().map(paths).collect();
            for profile in profiles {
                let process_stats = profile.head.stats;
                stats.add(&process_stats);
                is_exact &= profile.head.kind == Kind::Times;
                for function_timings in profile.functions {
                    let Some(function) = map.function(function_timings.index) else {
                        continue;
                    };
                    let module = ModuleId(modules + function_timings.index.module);
                    let key = (module, function.counters.offset());
                    let sums = timed.entry(key).or_default();
                    for path in function_timings.paths {
                        let sum = sums.entry(path.path).or_default();
                        sum.executions += executions(&process_stats, path.samples());
                        sum.timings.path = path.path;
                        sum.timings.merge(&path);
                    }
                }
            }
            modules += map.modules.len() as u32;
            joined.push((map, counted));
        }
        let run = RunProfile::new(joined);
        let functions = run.ids().filter_map(|(id, function)| {
            let key = (function.module, function.map.counters.offset());
            let mut paths: Vec<TimedPath> = timed.remove(&key)?.into_values().collect();
            paths.sort_by_key(|path| path.timings.path);
            Some(TimedFunction { id, paths })
        });
        VariationRun {
            functions: functions.collect(),
            run,
            stats,
            is_exact,
        }
    }

    /// Cycles per second, if the first and the last clock reading are far enough apart.
    pub fn frequency(&self) -> Option<f64> {
        let stats = &self.stats;
        let cycles = stats.last_stamp.saturating_sub(stats.first_stamp);
        let time = stats
            .last_nanoseconds
            .saturating_sub(stats.first_nanoseconds);
        (time >= MIN_NANOSECONDS && cycles > 0).then(|| cycles as f64 / (time as f64 / 1e9))
    }
}
