//! Counts the executions of branches that are mispredicted, over many contexts.
//!
//! With n previous paths, a context is a sequence of n paths, followed by the prefix of the current
//! path. An activation's first n paths have fewer paths before them. Their contexts are sequences
//! that begin with the activation. The count of such a sequence is the count of the sequence minus
//! the counts of all longer sequences that end with it. Executions whose previous paths are unknown
//! (words that were lost) count as if the activation began with them.
//!
//! Example: an activation runs the paths a b a b a. The pairs are ab 2 and ba 2. With one previous
//! path, a has two executions after b, and one without a previous path: 3 − 2.
//!
//! Cost: linear in the distinct prefixes of the paths in each context.

use std::collections::BTreeMap;

use holloway_flow::PathId;
use holloway_format::{Count, DagKind, FunctionMap, Outcome};

use super::previous::SequenceCounts;
use crate::graph::{Graph, Prefix};
use crate::run::Function;

/// Whether control takes an edge because a branch chose it.
pub(crate) fn is_branch_outcome(outcome: Outcome) -> bool {
    match outcome {
        Outcome::True
        | Outcome::False
        | Outcome::Case(_)
        | Outcome::Default
        | Outcome::Indirect
        | Outcome::AsmGoto => true,
        Outcome::Jump
        | Outcome::Normal
        | Outcome::Unwind
        | Outcome::Return
        | Outcome::Noreturn
        | Outcome::Resume
        | Outcome::TailCall
        | Outcome::Again
        | Outcome::Split
        | Outcome::Left
        | Outcome::Returned => false,
    }
}

/// The contexts of the branches of a function.
#[derive(Clone)]
pub(super) struct Contexts {
    /// By DAG edge: the block that a branch chose, or `None` if no branch chose the edge.
    targets: Vec<Option<u32>>,
    /// By block: the sums over its contexts.
    blocks: Vec<BlockContexts>,
}

/// The contexts of one branch.
#[derive(Clone, Copy, Default)]
struct BlockContexts {
    /// Contexts with executions.
    contexts: u64,
    /// Executions without the most frequent outcome of their context.
    missed: Count,
}

impl Contexts {
    fn new(map: &FunctionMap) -> Contexts {
        let targets = map.dag.iter().map(|edge| match edge.kind {
            DagKind::Edge(real) | DagKind::Back(real) | DagKind::Cut(real) => {
                let real = &map.edges[real as usize];
                is_branch_outcome(real.outcome).then_some(real.to)
            }
            DagKind::Start(_) => None,
        });
        Contexts {
            targets: targets.collect(),
            blocks: vec![BlockContexts::default(); map.blocks.len()],
        }
    }

    /// Adds a context for each prefix of these paths, which are sorted by number.
    fn add(
        &mut self,
        graph: &Graph,
        map: &FunctionMap,
        paths: impl IntoIterator<Item = (PathId, Count)>,
    ) {
        // By depth: the outcomes of the branch at the end of the current prefix of this depth.
        let mut outcomes: Vec<Vec<(u32, Count)>> = Vec::new();
        graph.prefixes(map, paths, |prefix: Prefix| {
            outcomes.resize_with(outcomes.len().max(prefix.depth + 1), Vec::new);
            self.blocks[prefix.block as usize].add(&mut outcomes[prefix.depth]);
            let target = prefix.edge.and_then(|edge| self.targets[edge as usize]);
            if let (Some(target), Some(parent)) = (target, prefix.depth.checked_sub(1)) {
                outcomes[parent].push((target, prefix.count));
            }
        });
    }

    /// The contexts of a function's paths without previous paths, with one previous path, and so
    /// on. `None` if edges were counted.
    pub(super) fn of_function(
        function: &Function,
        sequences: Option<&SequenceCounts>,
    ) -> Option<Vec<Contexts>> {
        let (graph, map) = (function.graph()?, &function.map);
        let paths = function.counts.iter();
        let mut current: BTreeMap<Vec<PathId>, Count> =
            paths.map(|&(path, count)| (vec![path], count)).collect();
        // The contexts of activations' first paths, which have too few previous paths.
        let mut beginnings = Contexts::new(map);
        let mut all = Vec::new();
        let longer = sequences.map_or(&[][..], |sequences| &sequences.by_length);
        for next in longer.iter().map(Some).chain([None]) {
            let mut contexts = beginnings.clone();
            contexts.add_sequences(graph, map, &current);
            all.push(contexts);
            let Some(next) = next else { break };
            for (sequence, count) in next {
                if let Some(rest) = current.get_mut(&sequence[1..]) {
                    *rest = rest.saturating_sub(*count);
                }
            }
            beginnings.add_sequences(graph, map, &current);
            current.clone_from(next);
        }
        Some(all)
    }

    /// Adds the contexts of sequences of equal length. A sequence ends with the current path.
    fn add_sequences(
        &mut self,
        graph: &Graph,
        map: &FunctionMap,
        counts: &BTreeMap<Vec<PathId>, Count>,
    ) {
        let mut counts = counts.iter().peekable();
        let mut paths = Vec::new();
        while let Some((sequence, &count)) = counts.next() {
            let (last, previous) = sequence.split_last().expect("a sequence has a path");
            if count > Count::ZERO {
                paths.push((*last, count));
            }
            let is_same = |(next, _): &(&Vec<PathId>, &Count)| next.starts_with(previous);
            if counts.peek().is_none_or(|next| !is_same(next)) {
                self.add(graph, map, paths.drain(..));
            }
        }
    }

    /// The expected mispredictions of the branch of a block: the executions that are missed, plus
    /// one for each context after the first.
    pub(super) fn mispredictions(&self, block: u32) -> Count {
        let BlockContexts { contexts, missed } = self.blocks[block as usize];
        missed.saturating_add(Count(contexts.saturating_sub(1)))
    }
}

impl BlockContexts {
    /// Adds a context with these outcomes, and clears them.
    fn add(&mut self, outcomes: &mut Vec<(u32, Count)>) {
        outcomes.sort_unstable_by_key(|&(target, _)| target);
        let (mut all, mut most) = (Count::ZERO, Count::ZERO);
        for same in outcomes.chunk_by(|a, b| a.0 == b.0) {
            let counts = same.iter().map(|&(_, count)| count);
            let sum = counts.fold(Count::ZERO, Count::saturating_add);
            (all, most) = (all.saturating_add(sum), most.max(sum));
        }
        outcomes.clear();
        if all > Count::ZERO {
            self.contexts += 1;
            self.missed = self.missed.saturating_add(all.saturating_sub(most));
        }
    }
}
