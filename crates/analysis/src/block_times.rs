//! The CPU time of each block of a program over many watched runs: how runs are combined, how times
//! age, what is left of them after a rebuild, and how much a profile has moved (the long-term store
//! of Morph's manager: Zhang et al. 1997, section 4).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use holloway_format::samples::MonitoredFile;
use holloway_format::{Count, FunctionIndex, ImageMap};

use crate::note::Note;

/// Nanoseconds in a second.
const SECOND: f64 = 1e9;
/// Blocks with less CPU time are forgotten, in nanoseconds.
const LEAST: f64 = 1e3;
/// The profile of a function has moved if the shares of its blocks differ by more than this: half
/// the sum of the differences, from 0 (equal) to 1 (no common block).
pub const MOVED_DISTANCE: f64 = 0.25;
/// Optimizing again pays if the functions whose profiles have moved have more than this share of
/// the program's time.
pub const WORTHWHILE_SHARE: f64 = 0.1;

/// Samples that a profile needs before it is worth acting on.
pub const ENOUGH_SAMPLES: Count = Count(1000);

/// The CPU time of blocks, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockTimes {
    times: BTreeMap<(FunctionIndex, u32), f64>,
}

/// How the times of a new run are combined with the times up to now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Combination {
    /// Times are added. A long run counts more than a short one.
    #[default]
    Sum,
    /// Each run counts as one second.
    Normalized,
    /// Each function of each run counts as one second, so a run in which a function is rare says as
    /// much about its blocks as a run in which it is hot (the *polling* of Fisher and
    /// Freudenberger, 1992, for branches).
    Poll,
}

/// What is left of the times after a rebuild.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CarriedOver {
    /// The times, by the indices of the new build.
    pub times: BlockTimes,
    /// Functions whose graphs are equal in both builds.
    pub kept: usize,
    /// Functions that are gone or have another graph.
    pub dropped: usize,
    /// The dropped share of the time, 0 to 1.
    pub dropped_share: f64,
}

/// A program in a store of profiles.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptProgram {
    /// The path, as the process saw it.
    pub path: String,
    /// Samples of all runs, of this build and earlier ones. They do not age.
    pub samples: Count,
    /// Runs of this build.
    pub runs: u64,
    /// Time since the last run was added.
    pub age: Duration,
    /// Bytes in the store, without the path map.
    pub stored_bytes: u64,
    /// Bytes of machine code. `None` if the program's file was gone.
    pub code_bytes: Option<u64>,
    /// The share of time in functions that moved since the build ([`BlockTimes::moved`]). `None` if
    /// no earlier build is known.
    pub moved: Option<f64>,
    /// What this update took over from an earlier build, without the times.
    pub carried_over: Option<CarriedOver>,
}

/// Whether to optimize a program again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// There are fewer samples than [`ENOUGH_SAMPLES`].
    Wait,
    /// It may pay: no earlier build is known, or more than [`WORTHWHILE_SHARE`] of the time has
    /// moved.
    Optimize,
    /// The profile is as it was.
    Keep,
}

impl KeptProgram {
    /// Whether to optimize the program again.
    pub fn advice(&self) -> Advice {
        match self.moved {
            _ if self.samples < ENOUGH_SAMPLES => Advice::Wait,
            Some(moved) if moved <= WORTHWHILE_SHARE => Advice::Keep,
            Some(_) | None => Advice::Optimize,
        }
    }
}

/// The result of an update of a store.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoreUpdate {
    /// Runs that were added.
    pub runs: u64,
    /// Samples in known blocks that were added.
    pub samples: Count,
    /// Runs that a monitor still writes.
    pub unfinished: u64,
    /// Files that could not be read.
    pub damage: Vec<Note>,
    /// The programs in the store, most samples first.
    pub programs: Vec<KeptProgram>,
    /// Paths of programs that the store had no more room for.
    pub forgotten: Vec<String>,
}

impl BlockTimes {
    /// The times of one run. `frequency`: samples per second of CPU time.
    pub fn of(file: &MonitoredFile, frequency: u64) -> Self {
        let period = SECOND / frequency.max(1) as f64;
        let mut times = Self::default();
        for address in &file.addresses {
            if let Some(block) = address.block {
                *times.times.entry(block).or_default() += address.samples.to_f64() * period;
            }
        }
        times
    }

    /// Times of blocks, in nanoseconds.
    pub fn from_blocks(blocks: impl IntoIterator<Item = ((FunctionIndex, u32), f64)>) -> Self {
        Self {
            times: blocks.into_iter().collect(),
        }
    }

    /// The blocks with their times, in nanoseconds, in order.
    pub fn blocks(&self) -> impl Iterator<Item = ((FunctionIndex, u32), f64)> + '_ {
        self.times.iter().map(|(&block, &time)| (block, time))
    }

    /// Whether no block has a time.
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// The time of all blocks, in nanoseconds.
    pub fn total(&self) -> f64 {
        self.times.values().sum()
    }

    /// The samples that a monitor with this frequency would have taken in each block, without
    /// blocks that have less than half a sample.
    pub fn samples(&self, frequency: u64) -> Vec<((FunctionIndex, u32), Count)> {
        let count = |time: f64| (time * frequency as f64 / SECOND).round() as u64;
        let samples = self
            .blocks()
            .map(|(block, time)| (block, Count(count(time))));
        samples.filter(|&(_, count)| count > Count::ZERO).collect()
    }

    /// Lets times age: they halve in each half-life.
    pub fn age(&mut self, elapsed: Duration, half_life: Duration) {
        let factor = (-elapsed.as_secs_f64() / half_life.as_secs_f64().max(1e-9)).exp2();
        for time in self.times.values_mut() {
            *time *= factor;
        }
        self.times.retain(|_, time| *time >= LEAST);
    }

    /// Combines these times with those of a new run.
    pub fn add(&mut self, run: &Self, combination: Combination) {
        let of_functions = run.of_functions();
        let total = run.total();
        for (block, time) in run.blocks() {
            let whole = match combination {
                Combination::Sum => SECOND,
                Combination::Normalized => total,
                Combination::Poll => of_functions[&block.0],
            };
            if whole > 0.0 {
                *self.times.entry(block).or_default() += time * SECOND / whole;
            }
        }
    }

    /// The times that are still valid after a rebuild: those of functions with equal linkage names
    /// and graphs. `old` and `new` are the maps of both builds.
    pub fn carried_over(&self, old: &ImageMap, new: &ImageMap) -> CarriedOver {
        let mut counterparts: HashMap<(&str, u64), FunctionIndex> = HashMap::new();
        for (module, placed) in (0u32..).zip(&new.modules) {
            for (function, map) in (0u32..).zip(&placed.module.functions) {
                let key = (map.linkage_name.as_str(), map.graph_hash());
                let index = FunctionIndex { module, function };
                counterparts.entry(key).or_insert(index);
            }
        }
        let found: BTreeMap<FunctionIndex, Option<FunctionIndex>> = self
            .of_functions()
            .keys()
            .map(|&index| {
                let map = old.function(index);
                let key = map.map(|map| (map.linkage_name.as_str(), map.graph_hash()));
                (index, key.and_then(|key| counterparts.get(&key).copied()))
            })
            .collect();
        let mut carried = CarriedOver::default();
        let mut dropped = 0.0;
        for ((index, block), time) in self.blocks() {
            match found[&index] {
                Some(index) => *carried.times.times.entry((index, block)).or_default() += time,
                None => dropped += time,
            }
        }
        carried.kept = found.values().flatten().count();
        carried.dropped = found.len() - carried.kept;
        carried.dropped_share = match self.total() {
            0.0 => 0.0,
            total => dropped / total,
        };
        carried
    }

    /// The share of the time in functions whose profiles have moved by more than [`MOVED_DISTANCE`]
    /// since the reference. A function without time in the reference has moved.
    pub fn moved(&self, reference: &Self) -> f64 {
        let (now, before) = (self.of_functions(), reference.of_functions());
        let mut distances: HashMap<FunctionIndex, f64> = HashMap::new();
        let blocks: HashSet<_> = self.times.keys().chain(reference.times.keys()).collect();
        for block in blocks {
            let share = |times: &Self, functions: &BTreeMap<FunctionIndex, f64>| {
                let time = times.times.get(block).copied().unwrap_or(0.0);
                let whole = functions.get(&block.0).copied().unwrap_or(0.0);
                if whole > 0.0 { time / whole } else { 0.0 }
            };
            let difference = share(self, &now) - share(reference, &before);
            *distances.entry(block.0).or_default() += difference.abs() / 2.0;
        }
        let moved = now.iter().filter(|(function, _)| {
            !before.contains_key(function) || distances[function] > MOVED_DISTANCE
        });
        let moved = moved.fold(0.0, |sum, (_, time)| sum + time);
        match self.total() {
            0.0 => 0.0,
            total => moved / total,
        }
    }

    /// The time of each function, in nanoseconds.
    fn of_functions(&self) -> BTreeMap<FunctionIndex, f64> {
        let mut functions = BTreeMap::new();
        for ((function, _), time) in self.blocks() {
            *functions.entry(function).or_default() += time;
        }
        functions
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holloway_format::{BlockMap, EdgeMap, FunctionMap, ModuleMap, PlacedModule};

    const fn index(function: u32) -> FunctionIndex {
        FunctionIndex {
            module: 0,
            function,
        }
    }

    fn times(blocks: &[(u32, u32, f64)]) -> BlockTimes {
        let blocks = blocks.iter();
        BlockTimes::from_blocks(
            blocks.map(|&(function, block, time)| ((index(function), block), time)),
        )
    }

    fn function(name: &str, blocks: usize) -> FunctionMap {
        let edges = (1..blocks as u32).map(|to| EdgeMap {
            from: to - 1,
            to,
            kind: holloway_format::EdgeKind::Plain,
            outcome: holloway_format::Outcome::Jump,
            place: None,
        });
        FunctionMap {
            linkage_name: name.into(),
            blocks: vec![BlockMap::default(); blocks],
            edges: edges.collect(),
            exit: blocks as u32 - 1,
            ..FunctionMap::default()
        }
    }

    fn image(functions: Vec<FunctionMap>) -> ImageMap {
        ImageMap {
            modules: vec![PlacedModule {
                base: 0,
                module: ModuleMap {
                    functions,
                    ..ModuleMap::default()
                },
            }],
            ..ImageMap::default()
        }
    }

    #[test]
    fn times_halve_in_a_half_life_and_small_times_are_forgotten() {
        let mut aged = times(&[(0, 0, 8e6), (0, 1, 3e3)]);
        aged.age(Duration::from_secs(20), Duration::from_secs(10));
        assert_eq!(aged, times(&[(0, 0, 2e6)]));
    }

    #[test]
    fn runs_are_combined_in_three_ways() {
        // A run of 4 s with two functions, and one of 1 s with one function.
        let long = times(&[(0, 0, 2e9), (0, 1, 1e9), (1, 0, 1e9)]);
        let short = times(&[(0, 1, 1e9)]);
        let combined = |combination| {
            let mut sum = BlockTimes::default();
            sum.add(&long, combination);
            sum.add(&short, combination);
            sum
        };
        let sum = times(&[(0, 0, 2e9), (0, 1, 2e9), (1, 0, 1e9)]);
        assert_eq!(combined(Combination::Sum), sum);
        let normalized = times(&[(0, 0, 0.5e9), (0, 1, 1.25e9), (1, 0, 0.25e9)]);
        assert_eq!(combined(Combination::Normalized), normalized);
        let third = 1e9 / 3.0;
        let poll = times(&[(0, 0, 2.0 * third), (0, 1, third + 1e9), (1, 0, 1e9)]);
        let combined = combined(Combination::Poll);
        for (block, time) in poll.blocks() {
            assert!((combined.times[&block] - time).abs() < 1.0, "{combined:?}");
        }
    }

    #[test]
    fn functions_with_the_same_graph_survive_a_rebuild() {
        let old = image(vec![
            function("same", 3),
            function("grown", 3),
            function("gone", 2),
        ]);
        let new = image(vec![
            function("new", 2),
            function("grown", 4),
            function("same", 3),
        ]);
        let before = times(&[(0, 1, 6e9), (1, 0, 1e9), (2, 0, 1e9)]);
        let carried = before.carried_over(&old, &new);
        assert_eq!(carried.times, times(&[(2, 1, 6e9)]));
        assert_eq!((carried.kept, carried.dropped), (1, 2));
        assert!((carried.dropped_share - 0.25).abs() < 1e-9);
    }

    #[test]
    fn a_profile_moves_with_the_shares_of_blocks() {
        let before = times(&[(0, 0, 3e9), (0, 1, 1e9), (1, 0, 4e9)]);
        // Twice as much time in the same blocks is no movement.
        let doubled = times(&[(0, 0, 6e9), (0, 1, 2e9), (1, 0, 4e9)]);
        assert_eq!(doubled.moved(&before), 0.0);
        // Function 0 moved by 1/2, and has a fifth of the time.
        let moved = times(&[(0, 0, 0.25e9), (0, 1, 0.75e9), (1, 0, 4e9)]);
        assert!((moved.moved(&before) - 0.2).abs() < 1e-9);
        // Function 2 is new.
        let new = times(&[(1, 0, 1e9), (2, 0, 3e9)]);
        assert!((new.moved(&before) - 0.75).abs() < 1e-9);
        assert_eq!(BlockTimes::default().moved(&before), 0.0);
    }

    #[test]
    fn samples_are_those_of_the_frequency() {
        let samples = times(&[(0, 0, 10e6), (0, 1, 0.4e6)]).samples(1000);
        assert_eq!(samples, [((index(0), 0), Count(10))]);
    }
}
