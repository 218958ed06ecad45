//! The order of blocks that LLVM uses: the extended traveling salesman problem (Newell, Pupyrev,
//! "Improved Basic Block Reordering", 2018).
//!
//! The [`score`] of an order is the sum over edges of executions times a factor:
//!
//! ```text
//! the target follows the source     1
//! a jump forward by d bytes         0.1 × (1 - d / 1024), if d < 1024
//! a jump backward by d bytes        0.1 × (1 - d / 640), if d < 640
//! ```
//! d is the distance from the end of the source to the start of the target. All factors are
//! multiples of 1 / 51200. So a score is an integer in this unit, and ties are exact on any
//! machine.
//!
//! At first, each block is a chain. Two chains X and Y are merged in the way that raises the score
//! most, until nothing raises it. Y may follow X, and X may be split at one place: X1 Y X2, Y X2
//! X1, or X2 X1 Y. A chain of more than [`MAX_SPLIT`] blocks is not split. At the end, the chain of
//! the entry comes first, and the others follow by density: executions of their blocks divided by
//! bytes.
//!
//! Differences from the paper and from LLVM:
//! - The merges are greedy, so the result may score lower than the original order. Then the
//!   original order stays.
//! - LLVM merges blocks first that always follow each other, and does not merge chains whose
//!   densities differ much. We have no such shortcuts.
//!
//! Cost: each merge visits all pairs of chains that are joined by an edge that ran, and computes
//! the gain of the pairs of the merged chain again. A gain takes a step for each edge of the pair;
//! if the chain may be split, for each place and each edge.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;

use holloway_format::Count;

use super::graph::{BlockGraph, Edge};

/// Score of an execution of an edge whose target follows.
const UNIT: u128 = 51_200;
/// Jumps forward over so many bytes score nothing.
const FORWARD: u64 = 1024;
/// Jumps backward over so many bytes score nothing.
const BACKWARD: u64 = 640;
/// Chains with more blocks are not split, as in LLVM.
pub const MAX_SPLIT: usize = 128;

/// Orders the blocks of a graph.
pub fn order(graph: &BlockGraph) -> Vec<usize> {
    let merged = Merging::new(graph).finish();
    let original: Vec<usize> = (0..graph.blocks().len()).collect();
    match score(graph, &merged) < score(graph, &original) {
        true => original,
        false => merged,
    }
}

/// The score of an order, in units of 1 / 51200 executions. Edges from and to blocks that are not
/// in the order score nothing.
pub fn score(graph: &BlockGraph, order: &[usize]) -> u128 {
    let mut starts = vec![None; graph.blocks().len()];
    let mut address = 0;
    for &block in order {
        starts[block] = Some(address);
        address += graph.blocks()[block].bytes;
    }
    let scores = graph.edges().iter().filter_map(|edge| {
        let end = starts[edge.from]? + graph.blocks()[edge.from].bytes;
        Some(edge_score(edge.count, end, starts[edge.to]?))
    });
    scores.sum()
}

/// The score of an edge from a block that ends at `end` to a block that starts at `start`.
fn edge_score(count: Count, end: u64, start: u64) -> u128 {
    let factor = match start.cmp(&end) {
        Ordering::Equal => UNIT,
        Ordering::Greater => 5 * u128::from(FORWARD.saturating_sub(start - end)),
        Ordering::Less => 8 * u128::from(BACKWARD.saturating_sub(end - start)),
    };
    factor * u128::from(count)
}

/// The ways to merge two chains X and Y.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    XY,
    X1YX2,
    YX2X1,
    X2X1Y,
}

/// A way to merge a pair of chains, with its gain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Merge {
    gain: u128,
    x: usize,
    y: usize,
    form: Form,
    /// Blocks of X1. 0 if X is not split.
    split: usize,
}

/// Two chains that are joined by edges.
#[derive(Default)]
struct Pair {
    edges: Vec<Edge>,
    /// The best merge that raises the score.
    best: Option<Merge>,
}

#[derive(Default)]
struct Chain {
    blocks: Vec<usize>,
    bytes: u64,
    count: Count,
    /// The edges between its blocks that ran.
    edges: Vec<Edge>,
}

/// Chains that are being merged. A merged chain takes the lower number of the two. So chain 0
/// begins with the entry.
struct Merging<'a> {
    graph: &'a BlockGraph,
    /// By number. A chain that was merged into a lower chain is empty.
    chains: Vec<Chain>,
    /// By block: its chain, and its offset in the chain.
    places: Vec<(usize, u64)>,
    /// By (lower, higher) chain.
    pairs: BTreeMap<(usize, usize), Pair>,
}

impl<'a> Merging<'a> {
    fn new(graph: &'a BlockGraph) -> Self {
        let chains = graph.blocks().iter().enumerate();
        let chains = chains.map(|(block, &info)| Chain {
            blocks: vec![block],
            bytes: info.bytes,
            count: info.count,
            edges: Vec::new(),
        });
        let mut pairs: BTreeMap<(usize, usize), Pair> = BTreeMap::new();
        let joins = |edge: &&Edge| edge.count > Count::ZERO && edge.from != edge.to;
        for &edge in graph.edges().iter().filter(joins) {
            let key = (edge.from.min(edge.to), edge.from.max(edge.to));
            pairs.entry(key).or_default().edges.push(edge);
        }
        let mut merging = Self {
            graph,
            chains: chains.collect(),
            places: (0..graph.blocks().len()).map(|block| (block, 0)).collect(),
            pairs,
        };
        let keys: Vec<_> = merging.pairs.keys().copied().collect();
        keys.into_iter().for_each(|key| merging.find_best(key));
        merging
    }

    fn finish(mut self) -> Vec<usize> {
        while let Some(merge) = self.best() {
            self.merge(merge);
        }
        let mut chains: Vec<Chain> = self.chains;
        let entry = std::mem::take(&mut chains[0]);
        chains.retain(|chain| !chain.blocks.is_empty());
        // The sort is stable: chains of equal density stay in the order of their numbers.
        chains.sort_by(|left, right| by_density(right, left));
        let others = chains.into_iter().flat_map(|chain| chain.blocks);
        entry.blocks.into_iter().chain(others).collect()
    }

    /// The merge with the highest gain; of equal merges, that of the lowest pair.
    fn best(&self) -> Option<Merge> {
        let merges = self.pairs.values().filter_map(|pair| pair.best);
        merges.min_by_key(|merge| Reverse(merge.gain))
    }

    fn merge(&mut self, merge: Merge) {
        let (low, high) = (merge.x.min(merge.y), merge.x.max(merge.y));
        let x = std::mem::take(&mut self.chains[merge.x]);
        let y = std::mem::take(&mut self.chains[merge.y]);
        let between = self.pairs.remove(&(low, high)).unwrap_or_default().edges;
        let blocks = arranged(&x.blocks, &y.blocks, merge.form, merge.split);
        let mut offset = 0;
        for &block in &blocks {
            self.places[block] = (low, offset);
            offset += self.graph.blocks()[block].bytes;
        }
        self.chains[low] = Chain {
            blocks,
            bytes: offset,
            count: x.count.saturating_add(y.count),
            edges: [x.edges, y.edges, between].concat(),
        };
        let of_high = |&&(left, right): &&(usize, usize)| left == high || right == high;
        let keys: Vec<_> = self.pairs.keys().filter(of_high).copied().collect();
        for key in keys {
            let pair = self.pairs.remove(&key).unwrap_or_default();
            let other = if key.0 == high { key.1 } else { key.0 };
            let joined = self.pairs.entry((low.min(other), low.max(other)));
            joined.or_default().edges.extend(pair.edges);
        }
        let of_low = |&&(left, right): &&(usize, usize)| left == low || right == low;
        let keys: Vec<_> = self.pairs.keys().filter(of_low).copied().collect();
        keys.into_iter().for_each(|key| self.find_best(key));
    }

    /// Finds the best merge of a pair. Of equal merges, the first in this order is the best.
    fn find_best(&mut self, key: (usize, usize)) {
        let mut best: Option<Merge> = None;
        for (x, y) in [key, (key.1, key.0)] {
            for (form, split) in forms(self.chains[x].blocks.len()) {
                let gain = self.gain(&self.pairs[&key].edges, x, y, form, split);
                let least = best.map_or(0, |best| best.gain);
                if let Some(gain) = gain.filter(|&gain| gain > least) {
                    best = Some(Merge {
                        gain,
                        x,
                        y,
                        form,
                        split,
                    });
                }
            }
        }
        if let Some(pair) = self.pairs.get_mut(&key) {
            pair.best = best;
        }
    }

    /// By how much a merge raises the score. `None` if it lowers the score, or if the entry would
    /// not be first.
    fn gain(&self, between: &[Edge], x: usize, y: usize, form: Form, split: usize) -> Option<u128> {
        let begins_with_y = form == Form::YX2X1;
        let moves_entry = match (x, y) {
            (0, _) => form != Form::XY && form != Form::X1YX2,
            (_, 0) => !begins_with_y,
            _ => false,
        };
        if moves_entry {
            return None;
        }
        let (x_bytes, y_bytes) = (self.chains[x].bytes, self.chains[y].bytes);
        let x1_bytes = match split {
            0 => x_bytes,
            _ => self.places[self.chains[x].blocks[split]].1,
        };
        // The addresses of X1, X2, and Y. Without a split, X1 is X.
        let (x1, x2, y_start) = match form {
            Form::XY => (0, x_bytes, x_bytes),
            Form::X1YX2 => (0, x1_bytes + y_bytes, x1_bytes),
            Form::YX2X1 => (y_bytes + x_bytes - x1_bytes, y_bytes, 0),
            Form::X2X1Y => (x_bytes - x1_bytes, 0, x_bytes),
        };
        let start = |block: usize| {
            let (chain, offset) = self.places[block];
            match chain == y {
                true => y_start + offset,
                false if offset < x1_bytes => x1 + offset,
                false => x2 + (offset - x1_bytes),
            }
        };
        let new_score = |edge: &Edge| {
            let end = start(edge.from) + self.graph.blocks()[edge.from].bytes;
            edge_score(edge.count, end, start(edge.to))
        };
        let old_score = |edge: &Edge| {
            let end = self.places[edge.from].1 + self.graph.blocks()[edge.from].bytes;
            edge_score(edge.count, end, self.places[edge.to].1)
        };
        let joined: u128 = between.iter().map(new_score).sum();
        if form == Form::XY {
            return Some(joined);
        }
        let inner = &self.chains[x].edges;
        let new = joined + inner.iter().map(new_score).sum::<u128>();
        new.checked_sub(inner.iter().map(old_score).sum())
    }
}

/// The ways to merge a chain X of this many blocks with another chain, and where X is split.
fn forms(blocks: usize) -> impl Iterator<Item = (Form, usize)> {
    let splits = match blocks {
        0..=MAX_SPLIT => 1..blocks,
        _ => 0..0,
    };
    let split = splits.flat_map(|split| {
        let forms = [Form::X1YX2, Form::YX2X1, Form::X2X1Y];
        forms.map(|form| (form, split))
    });
    std::iter::once((Form::XY, 0)).chain(split)
}

fn arranged(x: &[usize], y: &[usize], form: Form, split: usize) -> Vec<usize> {
    let (x1, x2) = x.split_at(split);
    match form {
        Form::XY => [x, y].concat(),
        Form::X1YX2 => [x1, y, x2].concat(),
        Form::YX2X1 => [y, x2, x1].concat(),
        Form::X2X1Y => [x2, x1, y].concat(),
    }
}

fn by_density(left: &Chain, right: &Chain) -> Ordering {
    let product = |count: Count, bytes: u64| u128::from(count) * u128::from(bytes);
    product(left.count, right.bytes).cmp(&product(right.count, left.bytes))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::graph::Block;
    use super::super::random_graph::block_graphs;
    use super::*;

    fn graph(blocks: &[(u64, u64)], edges: &[(usize, usize, u64)]) -> BlockGraph {
        let blocks = blocks.iter().map(|&(bytes, count)| Block {
            bytes,
            ..Block::with_count(count)
        });
        BlockGraph::new(
            blocks.collect(),
            edges.iter().copied().map(Edge::from).collect(),
        )
    }

    /// Checks the order, and its score divided by 51200.
    fn check(graph: &BlockGraph, expect: &[usize], expect_score: f64) {
        let order = order(graph);
        assert_eq!(order, expect);
        assert_eq!(score(graph, &order) as f64 / UNIT as f64, expect_score);
    }

    #[test]
    fn an_edge_scores_by_its_distance() {
        let graph = graph(&[(64, 1), (512, 1), (64, 1)], &[(0, 2, 1), (2, 0, 1)]);
        let factor = |order: &[usize]| score(&graph, order) as f64 / UNIT as f64;
        // Forward by 512 bytes, and backward by 640.
        assert_eq!(factor(&[0, 1, 2]), 0.1 * 0.5);
        // Adjacent, and backward by 128.
        assert_eq!(factor(&[0, 2, 1]), 1.0 + 0.1 * 0.8);
        assert_eq!(factor(&[0]), 0.0);
    }

    #[test]
    fn a_diamond_keeps_its_hotter_side() {
        let blocks = [(16, 100), (16, 10), (16, 90), (16, 100)];
        let graph = graph(&blocks, &[(0, 1, 10), (0, 2, 90), (1, 3, 10), (2, 3, 90)]);
        // b0 b2 b3 b1: b0 → b1 is forward by 32 bytes, b1 → b3 backward by 32.
        let jumps = 10.0 * 0.1 * ((1.0 - 32.0 / 1024.0) + (1.0 - 32.0 / 640.0));
        check(&graph, &[0, 2, 3, 1], 180.0 + jumps);
    }

    #[test]
    fn a_chain_is_split_to_take_in_another() {
        // b0 b2 is the hottest chain. b1 is between them 60 times, and b2 follows b0 100 times:
        // b0 b1 b2 would score 120 of 220, b0 b2 b1 scores more.
        let blocks = [(16, 160), (16, 60), (16, 160)];
        let diamond = graph(&blocks, &[(0, 2, 100), (0, 1, 60), (1, 2, 60)]);
        let fallthrough = 120.0 + 100.0 * 0.1 * (1.0 - 16.0 / 1024.0);
        check(&diamond, &[0, 1, 2], fallthrough);
        // With 40 executions, splitting b0 b2 loses more than it gains.
        let blocks = [(16, 140), (16, 40), (16, 140)];
        let diamond = graph(&blocks, &[(0, 2, 100), (0, 1, 40), (1, 2, 40)]);
        let jumps = 40.0 * 0.1 * ((1.0 - 16.0 / 1024.0) + (1.0 - 32.0 / 640.0));
        check(&diamond, &[0, 2, 1], 100.0 + jumps);
    }

    #[test]
    fn a_loop_is_rotated() {
        // b0 enters the loop b1 b2 at b1. b1 leaves it, b2 leads back to b1.
        let blocks = [(16, 1), (16, 100), (16, 99), (16, 1)];
        let graph = graph(&blocks, &[(0, 1, 1), (1, 2, 99), (2, 1, 99), (1, 3, 1)]);
        let backward = 99.0 * 0.1 * (1.0 - 32.0 / 640.0);
        let forward = 1.0 * 0.1 * (1.0 - 16.0 / 1024.0);
        check(&graph, &[0, 1, 2, 3], 1.0 + 99.0 + backward + forward);
    }

    #[test]
    fn code_that_never_ran_comes_last() {
        let graph = graph(
            &[(16, 5), (16, 0), (16, 5)],
            &[(0, 1, 0), (0, 2, 5), (1, 2, 0)],
        );
        check(&graph, &[0, 2, 1], 5.0);
    }

    #[test]
    fn chains_without_a_common_edge_are_sorted_by_density() {
        check(
            &graph(&[(16, 1), (64, 30), (16, 20), (16, 0)], &[]),
            &[0, 2, 1, 3],
            0.0,
        );
    }

    /// Computes all scores from scratch.
    fn naive_order(graph: &BlockGraph) -> Vec<usize> {
        let mut chains: Vec<Vec<usize>> = (0..graph.blocks().len()).map(|b| vec![b]).collect();
        let is_joined = |x: &[usize], y: &[usize]| {
            graph.edges().iter().any(|edge| {
                let leads =
                    |x: &[usize], y: &[usize]| x.contains(&edge.from) && y.contains(&edge.to);
                edge.count > Count::ZERO && (leads(x, y) || leads(y, x))
            })
        };
        loop {
            let mut best: Option<(u128, usize, usize, Vec<usize>)> = None;
            for low in 0..chains.len() {
                for high in low + 1..chains.len() {
                    if !is_joined(&chains[low], &chains[high]) {
                        continue;
                    }
                    for (x, y) in [(low, high), (high, low)] {
                        let (x, y) = (&chains[x], &chains[y]);
                        let before = score(graph, x) + score(graph, y);
                        for (form, split) in forms(x.len()) {
                            let merged = arranged(x, y, form, split);
                            let gain = score(graph, &merged).saturating_sub(before);
                            let keeps_entry = merged[0] == 0 || !merged.contains(&0);
                            if keeps_entry && gain > best.as_ref().map_or(0, |best| best.0) {
                                best = Some((gain, low, high, merged));
                            }
                        }
                    }
                }
            }
            let Some((_, low, high, merged)) = best else {
                break;
            };
            chains[low] = merged;
            chains[high].clear();
        }
        let entry = chains.remove(0);
        chains.retain(|chain| !chain.is_empty());
        let density = |chain: &Vec<usize>| {
            let blocks = chain.iter().map(|&block| graph.blocks()[block]);
            let sums = blocks.fold((0, 0), |sums, block| {
                (sums.0 + block.count.0, sums.1 + block.bytes)
            });
            sums.0 as f64 / sums.1 as f64
        };
        chains.sort_by(|left, right| density(right).total_cmp(&density(left)));
        let merged = [entry, chains.concat()].concat();
        let original: Vec<usize> = (0..graph.blocks().len()).collect();
        match score(graph, &merged) < score(graph, &original) {
            true => original,
            false => merged,
        }
    }

    proptest! {
        #[test]
        fn cached_gains_equal_scores_from_scratch(graph in block_graphs()) {
            prop_assert_eq!(order(&graph), naive_order(&graph));
        }

        #[test]
        fn an_order_scores_at_least_as_much_as_the_original(graph in block_graphs()) {
            let original: Vec<usize> = (0..graph.blocks().len()).collect();
            prop_assert!(score(&graph, &order(&graph)) >= score(&graph, &original));
        }
    }
}
