//! A run whose sequences of paths were counted: its functions with their forests, beside the profile of paths that follows from them.

use rustc_hash::FxHashMap;

use holloway_format::{FunctionForest, ImageMap, LoopsProfile, LoopsStats};

use super::kipf::{Kipf, Source, Stats};
use super::left;
use super::sealed::paths;
use crate::run::{FunctionId, ModuleId, RunProfile};

/// A run of programs built for sequences.
#[derive(Debug)]
pub struct LoopsRun {
    /// What paths ran, as every other view takes it.
    pub run: RunProfile,
    /// The functions of which sequences are known, by id.
    pub functions: Vec<Sequences>,
    /// Sums over all processes.
    pub stats: LoopsStats,
}

/// The sequences of a function.
#[derive(Debug)]
pub struct Sequences {
    /// The function.
    pub id: FunctionId,
    /// Most paths of a sequence: the least k of its forests.
    pub k: u32,
    forests: Vec<FunctionForest>,
}

impl LoopsRun {
    /// Joins images, each with its path map and what the processes that ran it left.
    pub fn new(images: Vec<(ImageMap, Vec<LoopsProfile>)>) -> LoopsRun {
        let mut stats = LoopsStats::default();
        let mut forests: FxHashMap<(ModuleId, u64), (u32, Vec<FunctionForest>)> =
            FxHashMap::default();
        let (mut joined, mut modules) = (Vec::new(), 0);
        for (map, profiles) in images {
            let counted = profiles.iter().map(paths).collect();
            for profile in profiles {
                stats.add(&profile.head.stats);
                for forest in profile.functions {
                    let Some(function) = map.function(forest.module, forest.function) else {
                        continue;
                    };
                    let module = ModuleId(modules + forest.module);
                    let (k, all) = forests
                        .entry((module, function.counters.offset()))
                        .or_insert((profile.head.k, Vec::new()));
                    *k = profile.head.k.min(*k);
                    all.push(forest);
                }
            }
            modules += map.modules.len() as u32;
            joined.push((map, counted));
        }
        let run = RunProfile::new(joined);
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

    /// The paper's figures of the path forests of all functions.
    pub fn kipf_stats(&self) -> Stats {
        let mut sum = Stats::default();
        for function in &self.functions {
            sum.add(&function.stats());
        }
        sum
    }
}

impl Sequences {
    /// Its sequences of up to `k` paths that ran, as far as is known, at least `least` times.
    pub fn kipf(&self, k: u32, least: u64) -> Kipf {
        Kipf::new(&Source::of_function(&self.forests), k.min(self.k), least)
    }

    /// The paper's figures of its path forest.
    pub fn stats(&self) -> Stats {
        Source::of_function(&self.forests).stats(self.k)
    }
}
