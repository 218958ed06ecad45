//! A run of programs built to collect loops: the slab forests of its functions, and the path
//! profile that is computed from them.

use rustc_hash::FxHashMap;

use holloway_format::{Count, FunctionForest, ImageMap, LoopsProfile, LoopsStats};

use super::kipf::{Kipf, Source, Stats};
use super::left;
use super::sealed::paths;
use crate::run::{FunctionId, ModuleId, RunProfile};

/// A run of programs built to collect loops.
#[derive(Debug)]
pub struct LoopsRun {
    /// The profile of paths, in the form that all other views use.
    pub run: RunProfile,
    /// The functions with known sequences, by id.
    pub functions: Vec<Sequences>,
    /// Sums over all processes.
    pub stats: LoopsStats,
}

/// The sequences of a function.
#[derive(Debug)]
pub struct Sequences {
    /// The function.
    pub id: FunctionId,
    /// Maximum number of paths in a sequence: the smallest K of the function's forests.
    pub k: u32,
    forests: Vec<FunctionForest>,
}

impl LoopsRun {
    /// Joins the images of a run. Each image comes with its path map and the profiles of the
    /// processes that ran it.
    pub fn new(images: Vec<(ImageMap, Vec<LoopsProfile>)>) -> LoopsRun {
        let mut stats = LoopsStats::default();
        // By module and counter offset: the smallest K and the forests of the function.
        let mut forests: FxHashMap<(ModuleId, u64), (u32, Vec<FunctionForest>)> =
            FxHashMap::default();
        let (mut path_profiles, mut modules) = (Vec::new(), 0);
        for (map, profiles) in images {
            let image_profiles = profiles.iter().map(paths).collect();
            for profile in profiles {
                stats.add(&profile.head.stats);
                for forest in profile.functions {
                    let Some(function) = map.function(forest.index) else {
                        continue;
                    };
                    let module = ModuleId(modules + forest.index.module);
                    let (k, function_forests) = forests
                        .entry((module, function.counters.offset()))
                        .or_insert((profile.head.k, Vec::new()));
                    *k = profile.head.k.min(*k);
                    function_forests.push(forest);
                }
            }
            modules += map.modules.len() as u32;
            path_profiles.push((map, image_profiles));
        }
        let run = RunProfile::new(path_profiles);
        let functions = run.ids().filter_map(|(id, function)| {
            let key = (function.module, function.map.counters.offset());
            let (k, mut forests) = forests.remove(&key)?;
            left::net(function, &mut forests);
            Some(Sequences { id, k, forests })
        });
        LoopsRun {
            functions: functions.collect(),
            run,
            stats,
        }
    }

    /// Returns the paper's figures for the path forests of all functions.
    pub fn kipf_stats(&self) -> Stats {
        let mut sum = Stats::default();
        for function in &self.functions {
            sum.add(&function.stats());
        }
        sum
    }
}

impl Sequences {
    /// Returns the sequences of up to `k` paths whose known count is at least `min_count`.
    pub fn kipf(&self, k: u32, min_count: Count) -> Kipf {
        Kipf::new(
            &Source::of_function(&self.forests),
            k.min(self.k),
            min_count,
        )
    }

    /// Returns the paper's figures for the function's path forest.
    pub fn stats(&self) -> Stats {
        Source::of_function(&self.forests).stats(self.k)
    }
}
