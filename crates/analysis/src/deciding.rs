//! Finds the decision that *decides* a path: the branch on the path that splits the most work.
//!
//! The paths that ran form a tree: paths that begin with the same edges share nodes. At a node with
//! several ways on, the run took a decision. The weight of a way is the sum of its paths' executed
//! instructions. The *split* of a node is the entropy of these weights (in bits) times their sum.
//! So the split is large if much work gets to the branch and is divided evenly there. If
//! all paths start at one place, the sum of the splits of all nodes is the entropy of the paths
//! times the instructions: each node's split is its part of the answer to "which path runs?".
//!
//! A path is decided by the node on it with the largest split, and by the first of several. A path
//! start (at the entry or at a loop head) is no decision.
//!
//! Example: 100 instructions get to a branch and split 98 : 2, and the 98 then split 82 : 16. The
//! first split is 0.14 × 100 = 14 bits, and the second 0.64 × 98 = 63 bits. So the second branch
//! decides.
//!
//! Cost: a step for each prefix of the paths that ran, and for each path a step for each decision
//! on it.

use holloway_format::{Count, DagKind, FunctionMap};

use crate::run::Function;

/// A node of the tree at which paths take several ways.
struct Node {
    split: f64,
    /// The ways that may decide a path: the edge of the map, and the range of paths that take it.
    ways: Vec<(u32, PathRange)>,
}

/// Indices of paths: the first, and the one after the last.
type PathRange = (usize, usize);

/// A way on from a node that is not complete yet.
struct Way {
    dag: u32,
    weight: Count,
    paths: PathRange,
}

/// By path that ran: the edge that the path takes at the decision that decides it. `None` if the
/// run took no decision on the path, or if edges were counted.
///
/// `is_decision` says whether an edge may be named as a decision.
pub fn deciding_edges(function: &Function, is_decision: &dyn Fn(u32) -> bool) -> Vec<Option<u32>> {
    let mut deciding = vec![None; function.counts.len()];
    let mut splits = vec![0.0; function.counts.len()];
    // Nodes come after the nodes behind them, so the reverse order begins with the root.
    for node in nodes(function, is_decision).iter().rev() {
        for &(edge, (first, last)) in &node.ways {
            for path in first..last {
                if node.split > splits[path] {
                    splits[path] = node.split;
                    deciding[path] = Some(edge);
                }
            }
        }
    }
    deciding
}

/// The nodes with several ways. A node comes after the nodes behind it.
fn nodes(function: &Function, is_decision: &dyn Fn(u32) -> bool) -> Vec<Node> {
    let map = &function.map;
    let Some(graph) = function.graph() else {
        return Vec::new();
    };
    let mut weights = Vec::with_capacity(function.counts.len());
    graph.measure(map, &function.counts, |path| {
        let weight = path.count.saturating_mul(path.instructions);
        weights.push((path.path, weight));
    });
    let mut nodes = Vec::new();
    // By depth: the ways on from the prefix at this depth that are known so far.
    let mut pending: Vec<Vec<Way>> = Vec::new();
    let mut ended_paths = 0;
    graph.prefixes(map, weights, |prefix| {
        if pending.len() < prefix.depth + 2 {
            pending.resize_with(prefix.depth + 2, Vec::new);
        }
        let ways = std::mem::take(&mut pending[prefix.depth + 1]);
        let first = ways.first().map_or(ended_paths, |way| way.paths.0);
        if ways.is_empty() {
            ended_paths += 1;
        }
        nodes.extend(node(&ways, map_edge_of(map), is_decision));
        if let Some(dag) = prefix.edge {
            pending[prefix.depth].push(Way {
                dag,
                weight: prefix.count,
                paths: (first, ended_paths),
            });
        }
    });
    nodes
}

/// By edge of the DAG: the edge of the map. `None` for a path start.
fn map_edge_of(map: &FunctionMap) -> impl Fn(u32) -> Option<u32> {
    |dag| match map.dag[dag as usize].kind {
        DagKind::Edge(edge) | DagKind::Back(edge) | DagKind::Cut(edge) => Some(edge),
        DagKind::Start(_) => None,
    }
}

/// A node with these ways. `None` if less than two of them are edges of the map.
fn node(
    ways: &[Way],
    map_edge: impl Fn(u32) -> Option<u32>,
    is_decision: &dyn Fn(u32) -> bool,
) -> Option<Node> {
    let ways = ways.iter();
    let ways: Vec<(u32, &Way)> = ways
        .filter_map(|way| Some((map_edge(way.dag)?, way)))
        .collect();
    if ways.len() < 2 {
        return None;
    }
    let weights: Vec<f64> = ways.iter().map(|(_, way)| way.weight.0 as f64).collect();
    let named = ways.iter().filter(|(edge, _)| is_decision(*edge));
    Some(Node {
        split: split(&weights),
        ways: named.map(|(edge, way)| (*edge, way.paths)).collect(),
    })
}

/// The entropy of these weights, times their sum.
fn split(weights: &[f64]) -> f64 {
    let whole: f64 = weights.iter().sum();
    let bits = |weight: f64| weight * (whole / weight).log2();
    let weights = weights.iter().copied().filter(|weight| *weight > 0.0);
    weights.map(bits).sum()
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn an_even_split_of_much_work_is_the_largest() {
        let check = |weights: &[f64], expect: f64| {
            let found = split(weights);
            assert!((found - expect).abs() < 0.5, "{weights:?}: {found}");
        };
        check(&[98.0, 2.0], 14.0);
        check(&[82.0, 16.0], 63.0);
        check(&[50.0, 50.0], 100.0);
        check(&[25.0, 25.0, 25.0, 25.0], 200.0);
        check(&[100.0, 0.0], 0.0);
        check(&[1.0, 1.0], 2.0);
    }
}
