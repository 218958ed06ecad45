//! Completes an estimated profile. Predictors know only conditions, so the weights of other blocks
//! follow from the structure of the graph (Conte et al. 1994, section 3.1).
//!
//! A block with conditions has the sum of their executions that left the block. For other blocks,
//! what enters a block is what leaves it. So a block has the sum of the arcs that lead to it, or
//! what its successor has more than the successor's other arcs bring.
//!
//! Cost: linear in the arcs.

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
    let mut flow = Flow::new(graph);
    flow.solve();
    // Blocks that wait for one another take what is known, entries last.
    for is_entry in [false, true] {
        for block in 0..flow.is_known.len() {
            if !flow.is_known[block] && flow.is_entry(block) == is_entry {
                let weight = flow.known_into(block);
                flow.set(block, weight);
                flow.solve();
            }
        }
    }
}

/// A graph in which what enters a block is what leaves it.
struct Flow<'a> {
    graph: &'a mut FlowGraph,
    /// By block: the blocks with an arc to it.
    incoming: Vec<Vec<usize>>,
    /// By block: how many of these have no weight yet.
    waiting: Vec<usize>,
    /// By block: whether it has its weight, and so have its arcs.
    is_known: Vec<bool>,
    /// Blocks to look at.
    pending: Vec<usize>,
}

impl<'a> Flow<'a> {
    fn new(graph: &'a mut FlowGraph) -> Flow<'a> {
        let blocks = graph.weights.len();
        let is_known: Vec<bool> = graph.arcs.iter().map(|arcs| arcs.len() >= 2).collect();
        let mut incoming = vec![Vec::new(); blocks];
        let mut waiting = vec![0; blocks];
        for (from, arcs) in graph.arcs.iter().enumerate() {
            for &(to, _) in arcs {
                incoming[to as usize].push(from);
                waiting[to as usize] += usize::from(!is_known[from]);
            }
        }
        Flow {
            graph,
            incoming,
            waiting,
            is_known,
            pending: (0..blocks).collect(),
        }
    }

    /// Whether control comes to the block from outside. Block 0 is the function's entry.
    fn is_entry(&self, block: usize) -> bool {
        block == 0 || self.incoming[block].is_empty()
    }

    /// What enters a block from blocks whose weight is known.
    fn known_into(&self, block: usize) -> f64 {
        let known = self.incoming[block]
            .iter()
            .filter(|&&from| self.is_known[from]);
        let arcs = known.flat_map(|&from| &self.graph.arcs[from]);
        let arcs = arcs.filter(|arc| arc.0 as usize == block);
        arcs.map(|arc| arc.1).sum()
    }

    fn set(&mut self, block: usize, weight: f64) {
        self.graph.weights[block] = weight;
        self.is_known[block] = true;
        self.pending.push(block);
        if let [arc] = &mut self.graph.arcs[block][..] {
            arc.1 = weight;
            let to = arc.0 as usize;
            self.waiting[to] -= 1;
            self.pending.push(to);
        }
    }

    /// Computes all weights that follow from others.
    fn solve(&mut self) {
        while let Some(block) = self.pending.pop() {
            if self.is_entry(block) {
                continue;
            }
            match (self.is_known[block], self.waiting[block]) {
                (false, 0) => self.set(block, self.known_into(block)),
                (true, 1) => {
                    let mut incoming = self.incoming[block].iter();
                    let missing = incoming.find(|&&from| !self.is_known[from]).copied();
                    let rest = self.graph.weights[block] - self.known_into(block);
                    if let Some(missing) = missing {
                        self.set(missing, rest.max(0.0));
                    }
                }
                (true | false, _) => {}
            }
        }
    }
}
