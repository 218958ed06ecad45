//! Conversion between forests in memory, whose labels are words, and forests in files, whose labels
//! are functions and paths.
//!
//! Cost: linear in the number of nodes.

use holloway_flow::PathId;
use holloway_format::{
    Count, ForestNode, FunctionCounts, FunctionForest, LoopsHead, LoopsProfile, LoopsStats, Profile,
};
use rustc_hash::FxHashMap;

use super::forest::{Node, SlabForest};
use super::kipf::Source;
use crate::stream::{StreamCounts, WordFunction, Words};

/// Converts a process's forest to the form of its file. `head` identifies the process. This
/// function fills in K and the statistics of the forest and the stream.
pub fn seal(
    head: LoopsHead,
    words: &Words,
    forest: &SlabForest,
    counts: StreamCounts,
) -> LoopsProfile {
    let losses = forest.losses();
    let stats = LoopsStats {
        words: forest.words(),
        slabs: forest.slabs(),
        nodes: forest.nodes(),
        holes: counts.holes,
        strangers: counts.strangers,
        gaps: counts.gaps,
        caught: counts.caught,
        prunings: losses.prunings,
        dropped_nodes: losses.nodes,
        dropped_words: losses.words,
        ..head.stats
    };
    LoopsProfile {
        head: LoopsHead {
            k: forest.k(),
            stats,
            ..head
        },
        functions: forest.functions(words),
        damage: Vec::new(),
    }
}

/// Returns the path profile of a process: how often each path ran. For a left path, the count is
/// how often its call was reached.
pub fn paths(profile: &LoopsProfile) -> Profile {
    let functions = profile.functions.iter().map(|forest| {
        let counts = path_counts(forest).into_iter();
        let counts = counts.map(|(path, count)| (path.0, count));
        FunctionCounts::new(forest.index, forest.hash, counts)
    });
    Profile {
        functions: functions.collect(),
        damage: profile.damage.clone(),
        ..profile.head.process.empty_profile()
    }
}

/// How often each path of a function ran, by path number. For a left path, the count is how often
/// its call was reached.
pub(super) fn path_counts(forest: &FunctionForest) -> Vec<(PathId, Count)> {
    let mut counts: FxHashMap<PathId, Count> = FxHashMap::default();
    let nodes = forest.nodes.iter().map(|node| (node.path, node.count));
    for (path, count) in nodes.chain(forest.dropped.iter().copied()) {
        let sum = counts.entry(path).or_default();
        *sum = sum.saturating_add(count);
    }
    let mut counts: Vec<(PathId, Count)> = counts
        .into_iter()
        .filter(|(_, count)| *count > Count::ZERO)
        .collect();
    counts.sort_unstable();
    counts
}

impl SlabForest {
    /// Returns the forests of the functions that ran, by module and function. Children are ordered
    /// by path.
    pub fn functions(&self, words: &Words) -> Vec<FunctionForest> {
        let mut forests = Vec::new();
        let mut nodes = self.nodes.as_slice();
        for WordFunction {
            first,
            paths,
            index,
        } in words.functions()
        {
            // Trees are ordered by their roots' words, so the trees of a function are adjacent.
            let is_of_later_function = |node: &Node| node.depth == 0 && node.label >= first + paths;
            let end = nodes.iter().position(is_of_later_function);
            let (function_nodes, later_nodes) = nodes.split_at(end.unwrap_or(nodes.len()));
            nodes = later_nodes;
            let function_nodes = function_nodes.iter().map(|node| ForestNode {
                depth: node.depth.into(),
                path: PathId((node.label - first).into()),
                count: Count(node.count),
            });
            let dropped = (0..paths).filter_map(|path| {
                let count = *self.dropped.get((first + path) as usize)?;
                (count > 0).then_some((PathId(path.into()), Count(count)))
            });
            let forest = FunctionForest {
                index,
                hash: words.hash(index),
                nodes: function_nodes.collect(),
                dropped: dropped.collect(),
            };
            if !forest.nodes.is_empty() || !forest.dropped.is_empty() {
                forests.push(forest);
            }
        }
        forests.sort_by_key(|forest| forest.index);
        forests
    }
}

impl Source {
    /// Combines the forests of one function, which come from several processes. Labels are path
    /// numbers.
    pub(super) fn of_function(forests: &[FunctionForest]) -> Source {
        let mut source = Source::default();
        for forest in forests {
            // The ancestors of the next node, by depth.
            let mut ancestors: Vec<u32> = Vec::new();
            for node in &forest.nodes {
                let index = source.nodes.len() as u32;
                ancestors.truncate(node.depth as usize);
                let parent = ancestors.last().copied().unwrap_or(index);
                ancestors.push(index);
                source.nodes.push((parent, node.path.0 as u32, node.count));
            }
            for &(path, count) in &forest.dropped {
                *source.dropped.entry(path.0 as u32).or_default() += count;
            }
        }
        source
    }
}
