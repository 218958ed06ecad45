//! Pettis and Hansen's order of functions (1990, section 3), which Morph's editor uses (Zhang et
//! al. 1997): if two functions call each other often, they are close to each other.
//!
//! At first, each function is a chain. The two chains with the most calls between them are joined,
//! until no chains with calls are left. There are four ways to join two chains, because each may be
//! reversed. The way whose two touching functions call each other most is the best.
//!
//! The chains with the most calls come first. Functions without calls come after them: first those
//! that ran, then those that never ran. Of equal functions, the one with
//! the smaller number comes first.
//!
//! Cost: each join visits all pairs of chains with calls.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use holloway_format::Count;

use super::call_graph::CallGraph;

/// The calls between pairs (lower, higher), in both directions.
type Weights = BTreeMap<(usize, usize), Count>;

/// Orders the functions of a call graph.
pub fn order(graph: &CallGraph) -> Vec<usize> {
    let mut functions = Weights::new();
    for call in graph
        .calls()
        .iter()
        .filter(|call| call.caller != call.callee)
    {
        add(&mut functions, (call.caller, call.callee), call.count);
    }
    functions.retain(|_, count| *count > Count::ZERO);
    let mut chains: Vec<Vec<usize>> = (0..graph.functions().len()).map(|f| vec![f]).collect();
    let mut calls = vec![Count::ZERO; chains.len()];
    let mut weights = functions.clone();
    while let Some((&(low, high), &count)) =
        weights.iter().min_by_key(|(_, count)| Reverse(**count))
    {
        let other = std::mem::take(&mut chains[high]);
        chains[low] = joined(&functions, &chains[low], &other);
        calls[low] = calls[low].saturating_add(calls[high]).saturating_add(count);
        weights.remove(&(low, high));
        for (pair, count) in std::mem::take(&mut weights) {
            let rename = |chain| if chain == high { low } else { chain };
            add(&mut weights, (rename(pair.0), rename(pair.1)), count);
        }
    }
    let has_run = |chain: usize| {
        let functions = chains[chain].iter();
        let mut functions = functions.map(|&function| graph.functions()[function].instructions);
        functions.any(|instructions| instructions > Count::ZERO)
    };
    let mut sorted: Vec<usize> = (0..chains.len()).filter(|&chain| has_run(chain)).collect();
    sorted.sort_by_key(|&chain| Reverse(calls[chain]));
    graph.complete(
        sorted
            .into_iter()
            .flat_map(|chain| chains[chain].clone())
            .collect(),
    )
}

fn add(weights: &mut Weights, (left, right): (usize, usize), count: Count) {
    let sum = weights
        .entry((left.min(right), left.max(right)))
        .or_default();
    *sum = sum.saturating_add(count);
}

/// Joins two chains in the best way; of equal ways, the first.
fn joined(functions: &Weights, left: &[usize], right: &[usize]) -> Vec<usize> {
    let reversed = |chain: &[usize]| chain.iter().rev().copied().collect::<Vec<_>>();
    let (turned_left, turned_right) = (reversed(left), reversed(right));
    let ways: [[&[usize]; 2]; 4] = [
        [left, right],
        [left, &turned_right],
        [&turned_left, right],
        [&turned_left, &turned_right],
    ];
    let touching = |[left, right]: &[&[usize]; 2]| {
        let (last, first) = (left[left.len() - 1], right[0]);
        let calls = functions.get(&(last.min(first), last.max(first)));
        calls.copied().unwrap_or(Count::ZERO)
    };
    let best = ways.into_iter().min_by_key(|way| Reverse(touching(way)));
    best.expect("there are four ways").concat()
}

#[cfg(test)]
mod tests {
    use super::super::call_graph::{Call, CalledFunction};
    use super::*;

    /// Checks the order of functions that executed these numbers of instructions.
    fn check(instructions: &[u64], calls: &[(usize, usize, u64)], expect: &[usize]) {
        let function = |&instructions| CalledFunction {
            bytes: 100,
            instructions: Count(instructions),
        };
        let functions = instructions.iter().map(function).collect();
        let calls = calls.iter().copied().map(Call::from).collect();
        assert_eq!(order(&CallGraph::new(functions, calls)), expect);
    }

    #[test]
    fn the_most_frequent_calls_are_joined_first() {
        check(&[1; 3], &[(0, 1, 1), (0, 2, 5)], &[2, 0, 1]);
        // Calls in both directions are added up: 0 and 2 call each other 6 times.
        check(&[1; 3], &[(0, 1, 5), (0, 2, 3), (2, 0, 3)], &[2, 0, 1]);
    }

    #[test]
    fn two_chains_are_joined_at_their_closest_functions() {
        // The chains 0 1 and 2 3 are joined by 7 calls from 0 to 3 and 1 call from 1 to 2.
        let calls = [(0, 1, 10), (2, 3, 9), (0, 3, 7), (1, 2, 1)];
        check(&[1; 4], &calls, &[1, 0, 3, 2]);
        // Calls from 0 to 2.
        check(&[1; 4], &[(0, 1, 10), (2, 3, 9), (0, 2, 7)], &[1, 0, 2, 3]);
        // Calls from 1 to 3.
        check(&[1; 4], &[(0, 1, 10), (2, 3, 9), (1, 3, 7)], &[0, 1, 3, 2]);
    }

    #[test]
    fn the_calls_of_a_chain_are_added_up() {
        // 2 calls 0 and 1, 3 times each: more than the 5 calls of 3.
        let calls = [(0, 1, 9), (2, 0, 3), (2, 1, 3), (2, 3, 5)];
        // 0 1 and 2 are joined at 1 and 2. Then 3 follows 2.
        check(&[1; 4], &calls, &[0, 1, 2, 3]);
    }

    #[test]
    fn functions_that_never_ran_come_last() {
        check(&[0, 1, 0, 1, 1], &[(3, 4, 2), (0, 2, 0)], &[3, 4, 1, 0, 2]);
    }
}
