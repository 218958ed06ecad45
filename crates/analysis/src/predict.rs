//! Predicts paths from an edge profile, and compares them with the paths that ran (Ball, Larus
//! 1996, the table "path profiling versus edge profiling").
//!
//! An edge profile does not determine which paths ran: many path profiles have the same edge
//! counts. A *prediction* is one of these path profiles. A greedy search finds it from the run's
//! edge counts:
//!
//! 1. Take the hottest remaining edge. Of equally hot edges, take the one with the smallest number.
//! 2. Extend it forward and backward along the hottest remaining edges to a complete path.
//! 3. Predict this path with the smallest count of its edges, and subtract this count from them.
//! 4. Repeat until no count remains.
//!
//! There are two measures of a prediction. A path is predicted right if it ran and the prediction
//! contains it. The share of these paths in the different paths that ran is called "correct" in the
//! slides of Ball and Larus. The executions predicted right are the sum over paths of the smaller
//! of two counts: the predicted count and the real count. Hot paths are predicted more often than
//! cold paths, so the share of executions is usually larger.
//!
//! Example: the graph of the slides with edges AB 120, AC 150, BC 100, BD 20, CD 250, DE 160, DF
//! 110, EF 160: the prediction is ACDEF 150, ABCDF 100, ABDF 10, ABDEF 10, in this order. The
//! slides give two path profiles with these edge counts; ACDEF is the hottest path of neither.
//!
//! The slides say how good the predictions are, but not how they were made. The numbers of the
//! slides would fit one predicted path, along the hottest edges, for each block where paths begin:
//! 4.3 % of the 24,414 paths of the benchmark `go` are right, which is 1,050 paths in 407 routines.
//!
//! The predicted paths have as many executions as the real paths and run as many edges. So the mean
//! lengths over executions are equal. Paths that are predicted right tend to be short.
//!
//! The edge counts are the counts of finished paths. Only functions whose paths were counted can be
//! compared.
//!
//! Cost: the search predicts at most one path for each edge of the DAG. Each path costs as much as
//! the blocks that it runs have edges.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use holloway_flow::PathId;
use holloway_format::{Count, DagKind};

use crate::graph::{Graph, MeasuredPath};
use crate::run::{Function, FunctionId, RunProfile};

/// Lengths of a set of paths.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Lengths {
    /// Different paths.
    pub paths: u64,
    /// Executions of these paths.
    pub executions: Count,
    /// Lengths in edges, including the edge that ends a path.
    pub edges: Length,
    /// Lengths in instructions.
    pub instructions: Length,
}

/// The lengths of several paths in one unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Length {
    /// Length of the longest path.
    pub longest: u64,
    /// Sum over different paths.
    pub sum: u128,
    /// Sum over executions.
    pub executed: u128,
}

impl Length {
    fn add(&mut self, length: u64, count: Count) {
        self.longest = self.longest.max(length);
        self.sum += u128::from(length);
        self.executed += u128::from(length) * u128::from(count);
    }

    fn merge(&mut self, other: Length) {
        self.longest = self.longest.max(other.longest);
        self.sum += other.sum;
        self.executed = self.executed.saturating_add(other.executed);
    }
}

impl Lengths {
    fn add(&mut self, path: &MeasuredPath) {
        self.paths += 1;
        self.executions = self.executions.saturating_add(path.count);
        self.edges.add(path.edges.into(), path.count);
        self.instructions.add(path.instructions, path.count);
    }

    fn merge(&mut self, other: &Lengths) {
        self.paths += other.paths;
        self.executions = self.executions.saturating_add(other.executions);
        self.edges.merge(other.edges);
        self.instructions.merge(other.instructions);
    }
}

/// A function's paths, real and predicted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Comparison {
    /// The function.
    pub function: FunctionId,
    /// Whether the hottest predicted path is one of the paths that ran most often.
    pub hottest_right: bool,
    /// The paths that ran.
    pub real: Lengths,
    /// The predicted paths.
    pub predicted: Lengths,
    /// The paths that ran and were predicted, with the executions predicted right.
    pub right: Lengths,
}

/// The comparison of all functions.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Prediction {
    /// The compared functions, most path executions first. Functions with equal executions are in
    /// the order of the run.
    pub functions: Vec<Comparison>,
    /// Functions whose hottest path was predicted.
    pub hottest_right: u64,
    /// The paths that ran.
    pub real: Lengths,
    /// The predicted paths.
    pub predicted: Lengths,
    /// The paths that ran and were predicted, with the executions predicted right.
    pub right: Lengths,
}

/// Compares the functions that `keep` accepts and whose paths were counted.
pub fn prediction(run: &RunProfile, keep: &dyn Fn(FunctionId) -> bool) -> Prediction {
    let mut prediction = Prediction::default();
    for (id, function) in run.ids().filter(|&(id, _)| keep(id)) {
        let Some(comparison) = compare(id, function) else {
            continue;
        };
        prediction.right.merge(&comparison.right);
        prediction.hottest_right += u64::from(comparison.hottest_right);
        prediction.real.merge(&comparison.real);
        prediction.predicted.merge(&comparison.predicted);
        prediction.functions.push(comparison);
    }
    // The sort is stable: functions with equal executions stay in order.
    prediction
        .functions
        .sort_by_key(|comparison| Reverse(comparison.real.executions));
    prediction
}

/// Predicts the paths of a function, in the order in which the search finds them. Returns none if
/// edges were counted.
pub fn predict_paths(function: &Function) -> Vec<MeasuredPath> {
    function
        .graph()
        .map_or_else(Vec::new, |graph| Search::new(graph, function).paths())
}

fn compare(id: FunctionId, function: &Function) -> Option<Comparison> {
    let graph = function.graph().filter(|_| function.ran())?;
    let mut real = Lengths::default();
    graph.measure(&function.map, &function.counts, |path| real.add(&path));
    let paths = predict_paths(function);
    let mut lengths = Lengths::default();
    paths.iter().for_each(|path| lengths.add(path));
    let mut right = Lengths::default();
    let count_of = |path: PathId| {
        let index = function.counts.binary_search_by_key(&path, |&(id, _)| id);
        index.map_or(Count::ZERO, |index| function.counts[index].1)
    };
    for path in &paths {
        let count = path.count.min(count_of(path.path));
        if count > Count::ZERO {
            right.add(&MeasuredPath { count, ..*path });
        }
    }
    let hottest = function.counts.iter().map(|&(_, count)| count).max();
    let hottest_predicted = paths
        .iter()
        .max_by_key(|path| (path.count, Reverse(path.path)));
    Some(Comparison {
        function: id,
        right,
        hottest_right: hottest_predicted.map(|path| count_of(path.path)) == hottest,
        real,
        predicted: lengths,
    })
}

/// The greedy search.
struct Search<'a> {
    function: &'a Function,
    /// By DAG edge: the remaining count.
    remaining: Vec<Count>,
    /// By block: the DAG edges that leave and that enter it.
    out: Vec<Vec<u32>>,
    into: Vec<Vec<u32>>,
}

impl<'a> Search<'a> {
    fn new(graph: &Graph, function: &'a Function) -> Search<'a> {
        let map = &function.map;
        let (mut out, mut into) = (
            vec![Vec::new(); map.blocks.len()],
            vec![Vec::new(); map.blocks.len()],
        );
        for (index, edge) in (0u32..).zip(&map.dag) {
            out[edge.from as usize].push(index);
            into[edge.to as usize].push(index);
        }
        Search {
            function,
            remaining: graph.dag_counts(map, &function.counts),
            out,
            into,
        }
    }

    fn paths(mut self) -> Vec<MeasuredPath> {
        let counts = self.remaining.iter().copied().zip((0u32..).map(Reverse));
        let mut heap: BinaryHeap<_> = counts.filter(|&(count, _)| count > Count::ZERO).collect();
        let mut paths = Vec::new();
        while let Some((count, Reverse(edge))) = heap.pop() {
            let remaining = self.remaining[edge as usize];
            if remaining == count {
                match self.take_path(edge) {
                    Some(path) => paths.push(path),
                    // Saturated sums do not conserve flow.
                    None => self.remaining[edge as usize] = Count::ZERO,
                }
            }
            let remaining = self.remaining[edge as usize];
            if remaining > Count::ZERO {
                heap.push((remaining, Reverse(edge)));
            }
        }
        paths
    }

    /// Takes the hottest remaining path through an edge.
    fn take_path(&mut self, through: u32) -> Option<MeasuredPath> {
        let map = &self.function.map;
        let mut edges = vec![through];
        let mut block = map.dag[through as usize].from;
        while block != map.entry {
            let edge = self.hottest(&self.into[block as usize])?;
            edges.push(edge);
            block = map.dag[edge as usize].from;
        }
        block = map.dag[through as usize].to;
        while block != map.exit {
            let edge = self.hottest(&self.out[block as usize])?;
            edges.push(edge);
            block = map.dag[edge as usize].to;
        }
        let count = edges
            .iter()
            .map(|&edge| self.remaining[edge as usize])
            .min()?;
        for &edge in &edges {
            self.remaining[edge as usize] -= count;
        }
        Some(self.path_of_edges(&edges, count))
    }

    fn hottest(&self, edges: &[u32]) -> Option<u32> {
        let remaining = |edge: &u32| self.remaining[*edge as usize];
        let edges = edges
            .iter()
            .copied()
            .filter(|edge| remaining(edge) > Count::ZERO);
        edges.max_by_key(|edge| (remaining(edge), Reverse(*edge)))
    }

    /// The path with these edges, which may be in any order.
    fn path_of_edges(&self, edges: &[u32], count: Count) -> MeasuredPath {
        let map = &self.function.map;
        let mut path = MeasuredPath {
            path: PathId(0),
            count,
            instructions: 0,
            edges: 0,
        };
        for &edge in edges {
            let edge = &map.dag[edge as usize];
            path.path.0 += edge.value;
            if !matches!(edge.kind, DagKind::Start(_)) {
                path.edges += 1;
                path.instructions += u64::from(map.blocks[edge.from as usize].instructions);
            }
        }
        path
    }
}
