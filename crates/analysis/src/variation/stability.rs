//! Compares the paths that vary most in several runs (Perelman, Chilimbi, Calder 2005, section
//! 5.3): the first paths of each run are evaluated on all runs.
//!
//! Two functions are the same if they have the same displayed name, the same file name, and the
//! same graph. Their paths may be numbered differently (`overlap::same`). The net variations of
//! a function's copies are summed.

use holloway_format::Cycles;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use holloway_flow::PathId;
use rustc_hash::FxHashMap;

use super::rank::{RankOptions, larger, rank};
use super::run::VariationRun;
use crate::overlap::same::{Number, numbering};
use crate::run::{Function, FunctionId};

/// How much time each run varies on each run's first paths.
#[derive(Clone, Debug, Default)]
pub struct Stability {
    /// By run: the net variation of all paths for which it is certain, as a share of the run's
    /// cycles.
    pub all: Vec<f64>,
    /// By the run whose first paths are evaluated, and then by the run that they are evaluated on:
    /// net variation of these paths, as a share of the second run's cycles.
    pub shares: Vec<Vec<f64>>,
    /// All paths that are among the first of any run, in the order of their best ranks, and then of
    /// the runs with these ranks.
    pub paths: Vec<StablePath>,
}

/// A path that is among the first paths of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct StablePath {
    /// The run in which the path has its best rank.
    pub run: usize,
    /// The path's function in that run.
    pub function: FunctionId,
    /// The path's number in that run.
    pub path: PathId,
    /// By run: the path's rank, counted from 0; `None` if the path was not ranked.
    pub ranks: Vec<Option<usize>>,
    /// By run: the path's net variation as a share of the cycles, or 0 if it was not ranked.
    pub shares: Vec<f64>,
}

/// Identifies a path across runs: the run and id of the function that represents all functions with
/// the same name, file name, and graph, and the path's number in that function.
type Key = (usize, FunctionId, Number);

/// A path in one run, with its copies.
struct CommonPath {
    /// The index of the first copy in the ranking.
    index: usize,
    function: FunctionId,
    path: PathId,
    net: f64,
    /// Whether the net variation of at least one copy of the path is certain.
    is_certain: bool,
}

/// Evaluates the first `top` paths of each run on all runs. Only paths with certain net variation
/// are evaluated. `name` returns a function's displayed name.
pub fn stability(
    runs: &[&VariationRun],
    options: RankOptions,
    top: usize,
    name: &dyn Fn(&Function) -> Rc<str>,
) -> Stability {
    let mut common = CommonFunctions {
        runs,
        name,
        functions: FxHashMap::default(),
    };
    let mut all = Vec::new();
    let mut ranked_paths: Vec<BTreeMap<Key, CommonPath>> = Vec::new();
    for (run_index, run) in runs.iter().enumerate() {
        let ranking = rank(run, options);
        all.push(ranking.share(ranking.certain_net()));
        ranked_paths.push(common.ranked(run_index, ranking.paths.iter()));
    }
    let orders: Vec<Vec<Key>> = ranked_paths.iter().map(ordered).collect();
    let firsts: Vec<Vec<Key>> = (ranked_paths.iter().zip(&orders))
        .map(|(paths, order)| {
            let certain = order.iter().filter(|key| paths[key].is_certain);
            certain.take(top).copied().collect()
        })
        .collect();
    let share = |run: usize, key: &Key| -> f64 {
        let net = ranked_paths[run].get(key).map_or(0.0, |path| path.net);
        net / runs[run].stats.cycles.max(Cycles(1)).to_f64()
    };
    let shares = firsts.iter().map(|keys| {
        let share_in = |run: usize| {
            keys.iter()
                .map(|key| share(run, key))
                .fold(0.0, |sum, share| sum + share)
        };
        (0..runs.len()).map(share_in).collect()
    });
    let shares = shares.collect();
    let with_ranks = |order: Vec<Key>| order.into_iter().zip(0..).collect();
    let orders: Vec<FxHashMap<Key, usize>> = orders.into_iter().map(with_ranks).collect();
    let mut union: Vec<(usize, usize, Key)> = Vec::new();
    for (run, keys) in firsts.iter().enumerate() {
        union.extend(keys.iter().enumerate().map(|(rank, key)| (rank, run, *key)));
    }
    union.sort_unstable();
    let mut seen = std::collections::BTreeSet::new();
    union.retain(|(_, _, key)| seen.insert(*key));
    let paths = union.into_iter().map(|(_, run, key)| StablePath {
        run,
        function: ranked_paths[run][&key].function,
        path: ranked_paths[run][&key].path,
        ranks: orders
            .iter()
            .map(|order| order.get(&key).copied())
            .collect(),
        shares: (0..runs.len()).map(|run| share(run, &key)).collect(),
    });
    Stability {
        all,
        shares,
        paths: paths.collect(),
    }
}

/// The paths with certain net variation first, and then the others, each by net variation.
fn ordered(paths: &BTreeMap<Key, CommonPath>) -> Vec<Key> {
    let mut keys: Vec<(&Key, &CommonPath)> = paths.iter().collect();
    keys.sort_by(|(_, a), (_, b)| {
        (b.is_certain.cmp(&a.is_certain))
            .then_with(|| larger(a.net, b.net))
            .then_with(|| a.index.cmp(&b.index))
    });
    keys.into_iter().map(|(key, _)| *key).collect()
}

/// By name, file name, and hash of the graph: the function that represents all functions with
/// these, with the run in which it is. That is the first run with such a function.
struct CommonFunctions<'a> {
    runs: &'a [&'a VariationRun],
    name: &'a dyn Fn(&Function) -> Rc<str>,
    functions: FxHashMap<(Rc<str>, String, u64), (usize, FunctionId)>,
}

impl CommonFunctions<'_> {
    /// The paths of a run, by their comparable keys.
    fn ranked<'b>(
        &mut self,
        run: usize,
        paths: impl Iterator<Item = &'b super::ranked_path::RankedPath>,
    ) -> BTreeMap<Key, CommonPath> {
        let mut ranked_paths: BTreeMap<Key, CommonPath> = BTreeMap::new();
        let mut numberings = FxHashMap::default();
        for (index, path) in paths.enumerate() {
            let id = path.function;
            let (representative, number) = numberings.entry(id).or_insert_with(|| {
                let function = self.runs[run].run.function(id);
                let representative = self.representative(run, id, function);
                let common = self.runs[representative.0].run.function(representative.1);
                (representative, numbering(function, common))
            });
            let key = (representative.0, representative.1, number(path.path));
            let ranked_path = ranked_paths.entry(key).or_insert(CommonPath {
                index,
                function: id,
                path: path.path,
                net: 0.0,
                is_certain: false,
            });
            ranked_path.net += path.net;
            ranked_path.is_certain |= path.is_certain();
        }
        ranked_paths
    }

    fn representative(
        &mut self,
        run: usize,
        id: FunctionId,
        function: &Function,
    ) -> (usize, FunctionId) {
        let file = Path::new(&*function.map.file).file_name();
        let file = file.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let key = ((self.name)(function), file, function.map.graph_hash());
        *self.functions.entry(key).or_insert((run, id))
    }
}
