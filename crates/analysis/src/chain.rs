//! Follows chains of blocks: the parts of a divided block, or blocks that are only jumps.
//!
//! Each block leads to at most one next block. All blocks of a chain have the same last block, so
//! a walk stops at the first block whose last block is known. If blocks form a cycle, the edge that
//! closes the cycle is ignored.
//!
//! Example: 0 → 1 → 2, with weights 5, 3, and 1. The last block of each is 2, and the weights of
//! the chains from 0, 1, and 2 are 9, 4, and 1.
//!
//! Cost: linear in the number of blocks.

/// A chain of blocks that starts at a given block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Chain {
    /// The block at which the chain ends.
    pub(crate) last: usize,
    /// The sum of the weights of the chain's blocks, from the first to the last.
    pub(crate) weight: u64,
}

/// By block: the chain that starts there. `next` is the next block of each block.
pub(crate) fn chains(next: &[Option<usize>], weight: impl Fn(usize) -> u64) -> Vec<Chain> {
    let mut chains: Vec<Option<Chain>> = vec![None; next.len()];
    // Whether a block is on the walk: a block that is met again closes a cycle.
    let mut is_open = vec![false; next.len()];
    let mut walk = Vec::new();
    for start in 0..next.len() {
        let mut block = Some(start);
        let mut rest = None;
        while let Some(current) = block.filter(|&current| !is_open[current]) {
            rest = chains[current];
            if rest.is_some() {
                break;
            }
            is_open[current] = true;
            walk.push(current);
            block = next[current];
        }
        while let Some(current) = walk.pop() {
            is_open[current] = false;
            let chain = Chain {
                last: rest.map_or(current, |rest: Chain| rest.last),
                weight: weight(current).saturating_add(rest.map_or(0, |rest| rest.weight)),
            };
            chains[current] = Some(chain);
            rest = Some(chain);
        }
    }
    let chains = chains.into_iter();
    chains
        .map(|chain| chain.expect("each block starts a walk"))
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Chain, chains};

    /// Follows the chain of each block by itself.
    fn naive_chains(next: &[Option<usize>], weights: &[u64]) -> Vec<Chain> {
        let chain = |start: usize| {
            let blocks: Vec<usize> =
                std::iter::successors(Some(start), |&block| next[block]).collect();
            Chain {
                last: blocks[blocks.len() - 1],
                weight: blocks.iter().map(|&block| weights[block]).sum(),
            }
        };
        (0..next.len()).map(chain).collect()
    }

    #[test]
    fn a_cycle_ends_before_the_edge_that_closes_it() {
        let ends = |next: &[Option<usize>]| -> Vec<(usize, u64)> {
            let chains = chains(next, |_| 1);
            chains
                .iter()
                .map(|chain| (chain.last, chain.weight))
                .collect()
        };
        assert_eq!(ends(&[Some(0)]), [(0, 1)]);
        assert_eq!(ends(&[Some(1), Some(2), Some(1)]), [(2, 3), (2, 2), (2, 1)]);
    }

    #[test]
    fn a_long_chain_needs_no_deep_stack() {
        let count = 200_000;
        let next: Vec<Option<usize>> = (0..count)
            .map(|block| (block + 1 < count).then_some(block + 1))
            .collect();
        let chains = chains(&next, |_| 1);
        assert!((0..).zip(&chains).all(|(block, chain)| {
            *chain
                == Chain {
                    last: count - 1,
                    weight: (count - block) as u64,
                }
        }));
    }

    /// Chains without a cycle: along `order`, each block leads to a later one or to none.
    fn acyclic() -> impl Strategy<Value = (Vec<Option<usize>>, Vec<u64>)> {
        let weights = prop::collection::vec(0u64..9, 1..30);
        weights.prop_flat_map(|weights| {
            let order: Vec<usize> = (0..weights.len()).collect();
            let steps = prop::collection::vec(0usize..4, weights.len());
            (Just(order).prop_shuffle(), steps, Just(weights)).prop_map(
                |(order, steps, weights)| {
                    let mut next = vec![None; weights.len()];
                    for (place, step) in steps.into_iter().enumerate().filter(|(_, step)| *step > 0)
                    {
                        next[order[place]] = order.get(place + step).copied();
                    }
                    (next, weights)
                },
            )
        })
    }

    proptest! {
        #[test]
        fn chains_equal_the_naive_walk_of_each_block((next, weights) in acyclic()) {
            prop_assert_eq!(chains(&next, |block| weights[block]), naive_chains(&next, &weights));
        }
    }
}
