//! Compares an estimated profile with the actual one, as a compiler would use it (Conte et al.
//! 1994, section 3.4).
//!
//! *Trace selection* groups blocks that usually run one after the other. The paper cites a method
//! without describing it. Ours: begin with the heaviest block that is in no trace. Append the
//! successor along an arc that has at least 60 % of the block's executions. When there is none,
//! prepend the predecessor with the heaviest arc that has at least 60 % of *its* executions. Blocks
//! whose share of all executions is below a threshold T are in no trace, and no block is in two.
//!
//! The *trace selection error* looks at each block whose successor in a trace differs between the
//! profiles: j in the actual one, k in the estimated one. It adds Wi × |Wij − Wik|. All weights are
//! actual: Wi is the block's share of all executions, Wij the share of the arc in the executions of
//! the block, and 0 where a trace ends.
//!
//! The *arc weight error* is the sum, over blocks with two or more arcs, of Wi × the largest
//! difference between an estimated and an actual arc weight.
//!
//! Example: a block with 15 % of the executions leads to j in 90 % of them, and to k in the rest. A
//! profile that makes k the successor has an error of 0.15 × (0.9 − 0.1) = 12 %.
//!
//! Cost: linear in the arcs, and a sort of the blocks.

use std::cmp::Reverse;
use std::collections::HashMap;

use holloway_flow::Path;
use holloway_format::{FunctionMap, Outcome};

/// Shares of all executions below which blocks are in no trace, as fractions.
pub const THRESHOLDS: [f64; 4] = [0.001, 0.01, 0.03, 0.05];
/// Share of a block's executions that an arc of a trace has at least.
const LIKELY: f64 = 0.6;

/// The weighted control-flow graph of a function. Numbers of blocks are those of the path map.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct FlowGraph {
    /// By block: its executions.
    pub weights: Vec<f64>,
    /// By block: the blocks that it leads to, in the order of the path map, and the executions of
    /// each arc.
    pub arcs: Vec<Vec<(u32, f64)>>,
}

/// Whether an edge leads to a block of the function without leaving it in between.
fn is_arc(outcome: Outcome) -> bool {
    match outcome {
        Outcome::Jump
        | Outcome::Normal
        | Outcome::True
        | Outcome::False
        | Outcome::Case(_)
        | Outcome::Default
        | Outcome::Indirect
        | Outcome::AsmGoto
        | Outcome::Split => true,
        Outcome::Return
        | Outcome::TailCall
        | Outcome::Unwind
        | Outcome::Noreturn
        | Outcome::Resume
        | Outcome::Left
        | Outcome::Returned
        | Outcome::Again => false,
    }
}

impl FlowGraph {
    /// The graph of a function without executions.
    pub fn new(map: &FunctionMap) -> FlowGraph {
        let blocks = map.blocks.len();
        let mut graph = FlowGraph {
            weights: vec![0.0; blocks],
            arcs: vec![Vec::new(); blocks],
        };
        for edge in map.edges.iter().filter(|edge| is_arc(edge.outcome)) {
            let arcs = &mut graph.arcs[edge.from as usize];
            if (edge.to as usize) < blocks && arcs.iter().all(|&(to, _)| to != edge.to) {
                arcs.push((edge.to, 0.0));
            }
        }
        graph
    }

    /// Adds executions of a path.
    pub fn add_path(&mut self, map: &FunctionMap, path: &Path, count: f64) {
        for block in &path.blocks {
            self.weights[block.index()] += count;
        }
        for edge in path.edges.iter().copied().chain([path.end.edge()]) {
            let edge = &map.edges[edge.index()];
            let arcs = self.arcs[edge.from as usize].iter_mut();
            if is_arc(edge.outcome)
                && let Some((_, weight)) = arcs.into_iter().find(|arc| arc.0 == edge.to)
            {
                *weight += count;
            }
        }
    }

    /// The share of an arc in the executions of its block; 0 if the block did not run.
    fn share(&self, from: usize, to: u32) -> f64 {
        let all: f64 = self.arcs[from].iter().map(|arc| arc.1).sum();
        let arc = self.arcs[from].iter().find(|arc| arc.0 == to);
        match arc {
            Some(&(_, weight)) if all > 0.0 => weight / all,
            _ => 0.0,
        }
    }

    /// The successor along a likely arc.
    fn likely_successor(&self, from: usize) -> Option<u32> {
        let arcs = self.arcs[from].iter();
        let heaviest = arcs.rev().max_by(|a, b| a.1.total_cmp(&b.1))?;
        (self.share(from, heaviest.0) >= LIKELY).then_some(heaviest.0)
    }

    /// By block: its successor in a trace. `all` is the number of executions of all functions, and
    /// `threshold` a share of it.
    pub fn select_traces(&self, all: f64, threshold: f64) -> Vec<Option<u32>> {
        let blocks = self.weights.len();
        let is_heavy = |block: u32| {
            let weight = self.weights[block as usize];
            weight > 0.0 && weight >= threshold * all
        };
        let mut predecessors = vec![Vec::new(); blocks];
        for (from, arcs) in self.arcs.iter().enumerate() {
            for &(to, weight) in arcs {
                predecessors[to as usize].push((from as u32, weight));
            }
        }
        let mut seeds: Vec<u32> = (0..blocks as u32).filter(|&seed| is_heavy(seed)).collect();
        let weight = |seed: u32| self.weights[seed as usize];
        seeds.sort_by(|&a, &b| weight(b).total_cmp(&weight(a)));
        let mut is_placed = vec![false; blocks];
        let mut successors = vec![None; blocks];
        for seed in seeds {
            if std::mem::replace(&mut is_placed[seed as usize], true) {
                continue;
            }
            let mut last = seed;
            while let Some(next) = self.likely_successor(last as usize) {
                if !is_heavy(next) || std::mem::replace(&mut is_placed[next as usize], true) {
                    break;
                }
                successors[last as usize] = Some(next);
                last = next;
            }
            let mut first = seed;
            loop {
                let before = predecessors[first as usize].iter().rev();
                let heaviest = before.max_by(|a, b| a.1.total_cmp(&b.1));
                let Some(&(previous, _)) = heaviest else {
                    break;
                };
                if self.likely_successor(previous as usize) != Some(first)
                    || !is_heavy(previous)
                    || std::mem::replace(&mut is_placed[previous as usize], true)
                {
                    break;
                }
                successors[previous as usize] = Some(first);
                first = previous;
            }
        }
        successors
    }
}

/// Executions of all blocks.
pub(super) fn total<'a>(graphs: impl Iterator<Item = &'a FlowGraph>) -> f64 {
    graphs.flat_map(|graph| &graph.weights).sum()
}

/// The trace selection error of a program, as a fraction. The functions of both profiles have the
/// same keys.
pub fn trace_selection_error(
    actual: &HashMap<u32, FlowGraph>,
    estimated: &HashMap<u32, FlowGraph>,
    threshold: f64,
) -> f64 {
    let (all, all_estimated) = (total(actual.values()), total(estimated.values()));
    let mut functions: Vec<&u32> = actual.keys().collect();
    functions.sort_unstable();
    let errors = functions.into_iter().map(|function| {
        let graph = &actual[function];
        let right = graph.select_traces(all, threshold);
        let guessed = estimated[function].select_traces(all_estimated, threshold);
        let blocks = right.iter().zip(&guessed).enumerate();
        let errors = blocks.filter(|(_, (j, k))| j != k).map(|(block, (j, k))| {
            let share = |to: &Option<u32>| to.map_or(0.0, |to| graph.share(block, to));
            graph.weights[block] / all * (share(j) - share(k)).abs()
        });
        errors.fold(0.0, |sum, error| sum + error)
    });
    errors.fold(0.0, |sum, error| sum + error)
}

/// The arc weight error of blocks of similar weight.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WeightClass {
    /// The smallest share of all executions that a block of the class has, as a fraction.
    pub from: f64,
    /// Number of blocks.
    pub blocks: u64,
    /// Their part of the error, as a fraction.
    pub error: f64,
}

/// The arc weight error of a program.
#[derive(Clone, PartialEq, Debug)]
pub struct ArcWeightError {
    /// The sum over all blocks, as a fraction.
    pub error: f64,
    /// The sum by weight of the blocks, heaviest class first. The classes divide at
    /// [`THRESHOLDS`].
    pub classes: Vec<WeightClass>,
}

/// The arc weight error of a program. The functions of both profiles have the same keys.
pub fn arc_weight_error(
    actual: &HashMap<u32, FlowGraph>,
    estimated: &HashMap<u32, FlowGraph>,
) -> ArcWeightError {
    let all = total(actual.values());
    let bounds = THRESHOLDS.iter().rev().copied().chain([0.0]);
    let mut classes: Vec<WeightClass> = bounds
        .map(|from| WeightClass {
            from,
            blocks: 0,
            error: 0.0,
        })
        .collect();
    let mut functions: Vec<&u32> = actual.keys().collect();
    functions.sort_unstable_by_key(|&&function| Reverse(function));
    for function in functions {
        let (graph, guess) = (&actual[function], &estimated[function]);
        for (block, arcs) in graph.arcs.iter().enumerate() {
            let weight = graph.weights[block] / all;
            if arcs.len() < 2 || weight.is_nan() || weight <= 0.0 {
                continue;
            }
            let differences = arcs.iter().map(|&(to, _)| {
                let difference = graph.share(block, to) - guess.share(block, to);
                difference.abs()
            });
            let largest = differences.fold(0.0, f64::max);
            let class = classes.iter_mut().find(|class| weight >= class.from);
            if let Some(class) = class {
                class.blocks += 1;
                class.error += weight * largest;
            }
        }
    }
    ArcWeightError {
        error: classes.iter().map(|class| class.error).sum(),
        classes,
    }
}
