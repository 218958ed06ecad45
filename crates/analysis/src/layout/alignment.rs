//! Greedy branch alignment and fluff removal, as in Morph's editor (Zhang et al. 1997, section 3.3,
//! after Pettis, Hansen 1990).
//!
//! Blocks are joined into chains along the hottest edges (`chains`). The chain of the entry comes
//! first. The next chain is always the chain with the most executions of edges from or to the
//! placed chains. *Fluff*, the blocks that never ran, comes last, in its original order.
//!
//! Cost: quadratic in the number of chains that ran.

use holloway_format::Count;

use super::chains::Chains;
use super::graph::BlockGraph;

/// Orders the blocks of a graph.
pub fn order(graph: &BlockGraph) -> Vec<usize> {
    // Edges that never ran join nothing, so a chain has fluff only if it has nothing else.
    let Chains { chains, chain_of } = Chains::new(graph, |edge| edge.count > Count::ZERO);
    let has_run = |&block: &usize| graph.blocks()[block].count > Count::ZERO;
    let mut neighbors = vec![Vec::new(); chains.len()];
    for edge in graph.edges() {
        let (from, to) = (chain_of[edge.from], chain_of[edge.to]);
        neighbors[from].push((to, edge.count));
        neighbors[to].push((from, edge.count));
    }
    let is_hot = |chain: &usize| *chain == 0 || chains[*chain].iter().any(has_run);
    let mut left: Vec<usize> = (0..chains.len()).filter(is_hot).collect();
    let mut connections = vec![Count::ZERO; chains.len()];
    let mut order = Vec::with_capacity(chain_of.len());
    let mut is_placed = vec![false; chain_of.len()];
    while let Some(best) = strongest(&left, &connections) {
        let chain = left.remove(best);
        for &block in &chains[chain] {
            order.push(block);
            is_placed[block] = true;
        }
        for &(neighbor, count) in &neighbors[chain] {
            connections[neighbor] = connections[neighbor].saturating_add(count);
        }
    }
    order.extend((0..is_placed.len()).filter(|&block| !is_placed[block]));
    order
}

/// The index of the chain with the strongest connection; of equal chains, the first.
fn strongest(chains: &[usize], connections: &[Count]) -> Option<usize> {
    let strongest = chains.iter().enumerate().rev();
    let strongest = strongest.max_by_key(|&(_, &chain)| connections[chain]);
    strongest.map(|(index, _)| index)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::graph::{Block, Edge};
    use super::super::random_graph::block_graphs;
    use super::*;

    fn check(counts: &[u64], edges: &[(usize, usize, u64)], expect: &[usize]) {
        let blocks = counts.iter().copied().map(Block::with_count).collect();
        let edges = edges.iter().copied().map(Edge::from).collect();
        assert_eq!(order(&BlockGraph::new(blocks, edges)), expect);
    }

    #[test]
    fn code_that_never_ran_comes_last_in_its_original_order() {
        // b1 and b3 handle errors.
        check(
            &[5, 0, 5, 0, 5],
            &[
                (0, 1, 0),
                (0, 2, 5),
                (2, 3, 0),
                (2, 4, 5),
                (1, 4, 0),
                (3, 4, 0),
            ],
            &[0, 2, 4, 1, 3],
        );
        // A function that never ran keeps its order.
        check(&[0, 0, 0], &[(0, 2, 0), (2, 1, 0)], &[0, 1, 2]);
    }

    #[test]
    fn the_next_chain_has_the_strongest_connection_to_the_placed_chains() {
        // b0 → b4 is the chain of the entry. b3 is called more often than b1 and b2.
        check(
            &[100, 10, 20, 30, 40],
            &[(0, 1, 10), (0, 2, 20), (0, 3, 30), (0, 4, 40)],
            &[0, 4, 3, 2, 1],
        );
        // Equal connections: the lower chain. b3 is connected only to b2.
        check(
            &[9, 1, 1, 1, 6],
            &[(0, 1, 1), (0, 2, 1), (0, 4, 6), (3, 2, 1)],
            &[0, 4, 1, 3, 2],
        );
    }

    proptest! {
        #[test]
        fn no_code_that_ran_comes_after_fluff(graph in block_graphs()) {
            let order = order(&graph);
            let is_fluff = order[1..].iter().map(|&block| graph.blocks()[block].count == Count::ZERO);
            let is_last = is_fluff.is_sorted();
            prop_assert!(is_last, "{:?}", order);
        }
    }
}
