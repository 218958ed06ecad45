//! Completes an estimated profile. Predictors know only conditions, so the weights of other blocks
//! follow from the structure of the graph (Conte et al. 1994, section 3.1).
//!
//! A block with conditions has the sum of their executions that left the block. A block with one
//! arc has the sum of the arcs that lead to it. The entry, to which calls lead, has what its
//! successor has more than the successor's other arcs bring.

use std::collections::HashMap;

use super::conditions::Condition;
use super::schemes::ConditionWeights;
use super::selection::FlowGraph;

/// The graphs of the functions in `actual`, with estimated weights instead.
pub(super) fn estimate(
    actual: &HashMap<u32, FlowGraph>,
    conditions: &[Condition],
    weights: &[ConditionWeights],
) -> HashMap<u32, FlowGraph> {
    let functions = actual.iter().map(|(&function, graph)| {
        let arcs = graph.arcs.iter();
        let arcs = arcs.map(|arcs| arcs.iter().map(|&(to, _)| (to, 0.0)).collect());
        let graph = FlowGraph {
            weights: vec![0.0; graph.weights.len()],
            arcs: arcs.collect(),
        };
        (function, graph)
    });
    let mut estimated: HashMap<u32, FlowGraph> = functions.collect();
    for (condition, weights) in conditions.iter().zip(weights) {
        let Some(graph) = estimated.get_mut(&condition.function) else {
            continue;
        };
        let block = condition.block as usize;
        let ends = [
            (Some(condition.taken), weights.taken),
            (condition.not_taken, weights.not_taken),
        ];
        for (to, weight) in ends {
            let Some(to) = to else { continue };
            graph.weights[block] += weight;
            let arc = graph.arcs[block].iter_mut().find(|arc| arc.0 == to);
            if let Some(arc) = arc {
                arc.1 += weight;
            }
        }
    }
    for graph in estimated.values_mut() {
        propagate(graph);
    }
    estimated
}

/// Computes the weights of blocks with one arc, and of those without.
fn propagate(graph: &mut FlowGraph) {
    let blocks = graph.weights.len();
    let mut incoming = vec![Vec::new(); blocks];
    for (from, arcs) in graph.arcs.iter().enumerate() {
        for &(to, _) in arcs {
            incoming[to as usize].push(from);
        }
    }
    let mut is_known: Vec<bool> = graph.arcs.iter().map(|arcs| arcs.len() >= 2).collect();
    // Block 0 is the entry.
    let is_entry = |block: usize| block == 0 || incoming[block].is_empty();
    let mut unknown: Vec<usize> = (0..blocks).filter(|&block| !is_known[block]).collect();
    while !unknown.is_empty() {
        let before = unknown.len();
        unknown.retain(|&block| {
            let weight = if is_entry(block) {
                successor_share(graph, &incoming, &is_known, block)
            } else {
                let is_complete = incoming[block].iter().all(|&from| is_known[from]);
                is_complete.then(|| sum_into(graph, &incoming[block], block))
            };
            let Some(weight) = weight else { return true };
            set(graph, block, weight);
            is_known[block] = true;
            false
        });
        if unknown.len() == before {
            // Blocks that wait for one another: the first takes what is known.
            let block = unknown.remove(0);
            let known: Vec<usize> = incoming[block].iter().copied().collect();
            let weight = sum_into(graph, &known, block);
            set(graph, block, weight);
            is_known[block] = true;
        }
    }
}

fn sum_into(graph: &FlowGraph, from: &[usize], block: usize) -> f64 {
    let arcs = from.iter().flat_map(|&from| &graph.arcs[from]);
    let arcs = arcs.filter(|arc| arc.0 as usize == block);
    arcs.map(|arc| arc.1).sum()
}

/// What the only successor of an entry has more than its other arcs bring. `None` if that is not
/// known yet.
fn successor_share(
    graph: &FlowGraph,
    incoming: &[Vec<usize>],
    is_known: &[bool],
    entry: usize,
) -> Option<f64> {
    let Some(&(to, _)) = graph.arcs[entry].first() else {
        return Some(0.0);
    };
    let to = to as usize;
    let others: Vec<usize> = incoming[to]
        .iter()
        .copied()
        .filter(|&from| from != entry)
        .collect();
    if !is_known[to] || others.iter().any(|&from| !is_known[from]) {
        return None;
    }
    Some((graph.weights[to] - sum_into(graph, &others, to)).max(0.0))
}

fn set(graph: &mut FlowGraph, block: usize, weight: f64) {
    graph.weights[block] = weight;
    if let [arc] = &mut graph.arcs[block][..] {
        arc.1 = weight;
    }
}
