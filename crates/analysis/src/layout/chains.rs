//! Joins blocks into chains along the hottest edges (Pettis, Hansen 1990: bottom-up positioning).
//!
//! At first, each block is a chain. The edges are visited by falling count. An edge joins two
//! chains if it leads from the last block of one chain to the first block of another. The entry
//! stays first, so no edge joins a chain to the entry. Edges of equal count are visited by source
//! and target.
//!
//! Cost: a sort of the edges.

use std::cmp::Reverse;

use super::graph::{BlockGraph, Edge};

/// The chains of a graph.
pub(super) struct Chains {
    /// The blocks of each chain. Chains are sorted by their first blocks, so chain 0 begins with
    /// the entry.
    pub(super) chains: Vec<Vec<usize>>,
    /// By block: its chain.
    pub(super) chain_of: Vec<usize>,
}

impl Chains {
    /// Joins the blocks of a graph along the edges for which `joins` holds.
    pub(super) fn new(graph: &BlockGraph, joins: impl Fn(&Edge) -> bool) -> Self {
        let len = graph.blocks().len();
        let mut edges: Vec<Edge> = graph.edges().iter().copied().filter(joins).collect();
        // The sort is stable, and the edges are sorted by source and target.
        edges.sort_by_key(|edge| Reverse(edge.count));
        let mut next = vec![None; len];
        let mut is_joined = vec![false; len];
        // For the last block of a chain, the first block, and the other way around.
        let mut other_end: Vec<usize> = (0..len).collect();
        for Edge { from, to, .. } in edges {
            let first = other_end[from];
            let is_free = next[from].is_none() && !is_joined[to];
            if to == 0 || !is_free || first == to {
                continue;
            }
            let last = other_end[to];
            next[from] = Some(to);
            is_joined[to] = true;
            other_end[first] = last;
            other_end[last] = first;
        }
        let firsts = (0..len).filter(|&block| !is_joined[block]);
        let follow = |first| std::iter::successors(Some(first), |&block: &usize| next[block]);
        let chains: Vec<Vec<usize>> = firsts.map(|first| follow(first).collect()).collect();
        let mut chain_of = vec![0; len];
        for (chain, blocks) in chains.iter().enumerate() {
            for &block in blocks {
                chain_of[block] = chain;
            }
        }
        Self { chains, chain_of }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::graph::Block;
    use super::super::random_graph::block_graphs;
    use super::*;

    fn check(blocks: usize, edges: &[(usize, usize, u64)], expect: &[&[usize]]) {
        let edges = edges.iter().copied().map(Edge::from).collect();
        let graph = BlockGraph::new(vec![Block::with_count(1); blocks], edges);
        assert_eq!(Chains::new(&graph, |_| true).chains, expect);
    }

    #[test]
    fn chains_follow_the_hottest_edges() {
        check(3, &[], &[&[0], &[1], &[2]]);
        check(3, &[(0, 1, 1), (0, 2, 2)], &[&[0, 2], &[1]]);
        // b1 is inside a chain when the edge from b2 is visited.
        check(3, &[(0, 1, 3), (2, 1, 2)], &[&[0, 1], &[2]]);
        // Equal edges: by source and target. An edge that never ran joins chains, too.
        check(
            4,
            &[(0, 2, 0), (0, 1, 0), (1, 3, 0), (2, 3, 0)],
            &[&[0, 1, 3], &[2]],
        );
    }

    #[test]
    fn no_chain_is_a_cycle_and_the_entry_is_first() {
        check(3, &[(0, 1, 9), (1, 2, 8), (2, 1, 10)], &[&[0], &[2, 1]]);
        check(2, &[(1, 0, 9), (1, 1, 5)], &[&[0], &[1]]);
        check(3, &[(1, 2, 9), (2, 1, 9)], &[&[0], &[1, 2]]);
    }

    proptest! {
        #[test]
        fn no_edge_is_left_that_could_join_two_chains(graph in block_graphs()) {
            let chains = Chains::new(&graph, |_| true);
            for edge in graph.edges() {
                let (left, right) = (chains.chain_of[edge.from], chains.chain_of[edge.to]);
                let is_last = chains.chains[left].last() == Some(&edge.from);
                let is_first = chains.chains[right].first() == Some(&edge.to);
                prop_assert!(edge.to == 0 || left == right || !is_last || !is_first, "{:?}", edge);
            }
        }

        #[test]
        fn the_hottest_edge_is_in_a_chain(graph in block_graphs()) {
            let joinable = graph.edges().iter().filter(|edge| edge.to != 0 && edge.to != edge.from);
            let Some(hottest) = joinable.min_by_key(|edge| Reverse(edge.count)) else {
                return Ok(());
            };
            let chains = Chains::new(&graph, |_| true);
            let mut pairs = chains.chains.iter().flat_map(|blocks| blocks.windows(2));
            let is_joined = pairs.any(|pair| pair == [hottest.from, hottest.to]);
            prop_assert!(is_joined, "{:?}", hottest);
        }
    }
}
