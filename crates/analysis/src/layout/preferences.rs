//! Burger and Dybvig's order of blocks (1998, section 3.4).
//!
//! Blocks are joined into chains along the hottest edges (`chains`). Then the chains are ordered so
//! that a static predictor is right: it says that branches backward are taken, and branches forward
//! are not. Each conditional branch of a block in chain A, with edges that run x and y times, adds
//! *preferences* between chains (their figure 8):
//!
//! ```text
//! both edges into one chain               none
//! x stays in A, y to B        x > y       A before B, weight x - y
//!                             x < y       B before A, weight y - x
//! x to B, y to C              x > y       B before A, and A before C, weight x - y
//!                             x < y       C before A, and A before B, weight y - x
//! ```
//! Opposite preferences of two chains are netted. A depth-first search then sorts the chains
//! topologically. It skips preferences that close a cycle.
//!
//! The paper does not say in which order the search visits the chains. Ours follows the preferences
//! of a chain by falling weight, so that it rather skips a weak preference. Without preferences,
//! the chains stay in the order of their first blocks. Our functions begin with their entry, so the
//! entry's chain is before all others, whatever they prefer.
//!
//! Cost: linear in the number of edges, besides sorts.

use std::collections::BTreeMap;

use holloway_format::Count;

use super::chains::Chains;
use super::graph::{BlockGraph, Transfer};

/// One chain should come before another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Preference {
    before: usize,
    after: usize,
    weight: u128,
}

/// Orders the blocks of a graph.
pub fn order(graph: &BlockGraph) -> Vec<usize> {
    let Chains { chains, chain_of } = Chains::new(graph, |_| true);
    let mut preferences = Vec::new();
    for block in 0..graph.blocks().len() {
        if let Transfer::Branch { hotter, colder } = graph.transfer(block) {
            let ways = [hotter, colder].map(|edge| (chain_of[edge.to], edge.count));
            preferences.extend(preferences_of(chain_of[block], ways));
        }
    }
    let order = sorted(chains.len(), &net(&preferences)).into_iter();
    order.flat_map(|chain| chains[chain].clone()).collect()
}

/// The preferences of a branch in chain `a`. Each way has a chain and a number of executions.
fn preferences_of(a: usize, ways: [(usize, Count); 2]) -> Vec<Preference> {
    let [(likely, more), (unlikely, less)] = match ways[0].1 >= ways[1].1 {
        true => ways,
        false => [ways[1], ways[0]],
    };
    let weight = u128::from(more.saturating_sub(less));
    if likely == unlikely || weight == 0 {
        return Vec::new();
    }
    let preference = |before, after| Preference {
        before,
        after,
        weight,
    };
    let mut preferences = Vec::new();
    if likely != a {
        preferences.push(preference(likely, a));
    }
    if unlikely != a {
        preferences.push(preference(a, unlikely));
    }
    preferences
}

/// Adds up the preferences of each pair of chains, and subtracts opposite preferences.
fn net(preferences: &[Preference]) -> Vec<Preference> {
    let mut sums: BTreeMap<(usize, usize), u128> = BTreeMap::new();
    for preference in preferences {
        *sums
            .entry((preference.before, preference.after))
            .or_default() += preference.weight;
    }
    let opposite = |before, after| sums.get(&(after, before)).copied().unwrap_or(0);
    let net = sums.iter().map(|(&(before, after), &weight)| Preference {
        before,
        after,
        weight: weight.saturating_sub(opposite(before, after)),
    });
    net.filter(|preference| preference.weight > 0).collect()
}

/// Sorts chains by preferences. Chain 0 comes first.
///
/// The search appends a chain when all chains after it are appended. So the reverse of the result
/// is a topological order.
fn sorted(chains: usize, preferences: &[Preference]) -> Vec<usize> {
    let mut after = vec![Vec::new(); chains];
    for preference in preferences
        .iter()
        .filter(|preference| preference.after != 0)
    {
        after[preference.before].push(preference);
    }
    for list in &mut after {
        // The search takes the last preference first: the strongest, or the one to the last chain.
        list.sort_by_key(|preference| (preference.weight, preference.after));
    }
    let mut is_met = vec![false; chains];
    let mut finished = Vec::with_capacity(chains);
    for root in (0..chains).rev() {
        let mut open = Vec::new();
        if !std::mem::replace(&mut is_met[root], true) {
            open.push(root);
        }
        while let Some(&chain) = open.last() {
            match after[chain].pop().map(|preference| preference.after) {
                // A chain that is still open closes a cycle. Any other one is sorted already.
                Some(next) if is_met[next] => {}
                Some(next) => {
                    is_met[next] = true;
                    open.push(next);
                }
                None => finished.extend(open.pop()),
            }
        }
    }
    finished.reverse();
    finished
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::cost::StaticCost;
    use super::super::graph::{Block, Edge};
    use super::*;

    const A: usize = 1;
    const B: usize = 2;
    const C: usize = 3;

    /// Checks the preferences (before, after, weight) of a branch in chain A.
    fn check(x: (usize, u64), y: (usize, u64), expect: &[(usize, usize, u128)]) {
        let ways = [x, y].map(|(chain, count)| (chain, Count(count)));
        let preferences = preferences_of(A, ways);
        let found = preferences.iter().map(|p| (p.before, p.after, p.weight));
        assert_eq!(found.collect::<Vec<_>>(), expect);
    }

    fn preference(before: usize, after: usize, weight: u128) -> Preference {
        Preference {
            before,
            after,
            weight,
        }
    }

    #[test]
    fn figure_8_both_edges_into_one_chain() {
        check((A, 9), (A, 1), &[]);
        check((B, 9), (B, 1), &[]);
        check((B, 1), (B, 9), &[]);
    }

    #[test]
    fn figure_8_one_edge_stays_in_the_chain() {
        check((A, 9), (B, 2), &[(A, B, 7)]);
        check((A, 2), (B, 9), &[(B, A, 7)]);
        check((A, 5), (B, 5), &[]);
    }

    #[test]
    fn figure_8_both_edges_leave_the_chain() {
        check((B, 9), (C, 2), &[(B, A, 7), (A, C, 7)]);
        check((B, 2), (C, 9), &[(C, A, 7), (A, B, 7)]);
        check((B, 5), (C, 5), &[]);
    }

    #[test]
    fn opposite_preferences_are_netted() {
        let all = [
            preference(A, B, 5),
            preference(B, A, 7),
            preference(A, B, 4),
            preference(B, C, 3),
            preference(C, B, 3),
        ];
        assert_eq!(net(&all), [preference(A, B, 2)]);
        assert_eq!(net(&all[1..]), [preference(B, A, 3)]);
    }

    #[test]
    fn chains_are_sorted_by_preferences() {
        assert_eq!(sorted(4, &[]), [0, 1, 2, 3]);
        assert_eq!(sorted(4, &[preference(C, A, 1)]), [0, 2, 3, 1]);
        let all = [preference(C, B, 1), preference(B, A, 1)];
        assert_eq!(sorted(4, &all), [0, 3, 2, 1]);
    }

    #[test]
    fn a_preference_that_closes_a_cycle_is_skipped() {
        // The search begins at C, so the preference that leads back to C is skipped.
        let cycle = [
            preference(A, B, 5),
            preference(B, C, 5),
            preference(C, A, 5),
        ];
        assert_eq!(sorted(4, &cycle), [0, 3, 1, 2]);
        // C prefers to precede both. The search follows the stronger preference first, to B and
        // then to A, where the cycle closes.
        let cycle = [
            preference(C, A, 1),
            preference(C, B, 2),
            preference(A, B, 1),
            preference(B, A, 3),
        ];
        assert_eq!(sorted(4, &cycle), [0, 3, 2, 1]);
    }

    #[test]
    fn the_entry_is_before_chains_that_prefer_to_precede_it() {
        let all = [preference(A, 0, 9), preference(C, A, 1)];
        assert_eq!(sorted(4, &all), [0, 2, 3, 1]);
    }

    /// Checks the order of blocks with these edges, and how many executions are mispredicted.
    fn check_order(edges: &[(usize, usize, u64)], expect: &[usize], mispredicted: u64) {
        let edges = edges.iter().copied().map(Edge::from).collect();
        let graph = BlockGraph::new(vec![Block::with_count(1); expect.len()], edges);
        let order = order(&graph);
        assert_eq!(order, expect);
        assert_eq!(
            StaticCost::new(&graph, &order).mispredicted,
            Count(mispredicted)
        );
    }

    #[test]
    fn a_loop_stays_in_one_chain_with_its_branch_backward() {
        // b0 jumps to the test b2 of a loop with the body b1. Of the two hottest edges, b1 → b2
        // joins first, and then b2 → b3. b2 branches back to b1.
        let edges = [(0, 2, 10), (1, 2, 90), (2, 1, 90), (2, 3, 10)];
        check_order(&edges, &[0, 1, 2, 3], 10);
    }

    #[test]
    fn the_likely_chain_comes_first() {
        // The chains are b0 b3, b2 b1, and b4. b4 branches to b1 (80) or b3 (20), so the order
        // should be b2 b1, b4, b0 b3. But the entry comes first.
        let edges = [(0, 3, 100), (2, 1, 90), (4, 1, 80), (4, 3, 20)];
        check_order(&edges, &[0, 3, 2, 1, 4], 20);
    }

    proptest! {
        #[test]
        fn preferences_without_a_cycle_are_all_fulfilled(
            (ranks, weights) in (2usize..9).prop_flat_map(|len| {
                let ranks: Vec<usize> = (1..len).collect();
                let weights = prop::collection::vec(0u128..4, len * len);
                (Just(ranks).prop_shuffle(), weights)
            }),
        ) {
            // All preferences agree with the order of `ranks`, so they have no cycle.
            let chains = ranks.len() + 1;
            let mut all = Vec::new();
            for (position, &before) in ranks.iter().enumerate() {
                for &after in &ranks[position + 1..] {
                    all.push(preference(before, after, weights[before * chains + after]));
                }
            }
            let all = net(&all);
            let sorted = sorted(chains, &all);
            let position = |chain| sorted.iter().position(|&other| other == chain);
            for preference in all {
                prop_assert!(position(preference.before) < position(preference.after));
            }
        }

        #[test]
        fn any_preferences_give_each_chain_once_and_chain_0_first(
            pairs in prop::collection::vec((0usize..9, 0usize..9, 1u128..9), 0..40),
        ) {
            let all = pairs.into_iter().filter(|(before, after, _)| before != after);
            let all: Vec<_> = all.map(|(before, after, weight)| preference(before, after, weight)).collect();
            let mut sorted = sorted(9, &net(&all));
            prop_assert_eq!(sorted[0], 0);
            sorted.sort_unstable();
            prop_assert!(sorted.into_iter().eq(0..9));
        }
    }
}
