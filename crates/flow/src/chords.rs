//! Event counting (Ball and Larus 1996, section 3.3, after Ball 1994): chooses the edges that need
//! an increment, and computes the increments.
//!
//! A spanning tree of maximum weight (Kruskal) covers the dag, to which an edge EXIT→ENTRY is
//! added. The tree must contain EXIT→ENTRY. Only the edges off the tree, the *chords*, keep an
//! increment: the signed sum of the values around the cycle that the chord closes.
//!
//! This file computes increments from potentials. The potential is 0 at entry and exit, and grows
//! along every tree edge by the value of the edge. Then Inc(v→w) = Val(v→w) + potential(v) −
//! potential(w). This is 0 on the tree. In the sum along any path from entry to exit, the
//! potentials cancel.
//!
//! Worked example (the slides' graph, see the crate's documentation; X is the exit; the weights are
//! the slides' edge profile): the tree is FX, CD, DE, EF, AB. The chord DF closes D→F←E←D, so
//! Inc(DF) = DF − EF − DE = 0 − 0 − 1. The chord AC closes A→C→D→E→F→X→A, so Inc(AC) = AC + CD + DE
//! + EF + FX = 1. The path ACDF has the number 1 − 1 = 0.
//!
//! Arithmetic wraps. Sums of increments are exact modulo 2^64, and the sum along a path is the path
//! number.

use crate::ids::DagEdgeId;
use crate::lists::Lists;
use crate::numbering::Numbering;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

/// A spanning tree of a numbered dag, and the increments of the chords.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chords {
    /// Whether each edge is on the tree.
    tree: Vec<bool>,
    increments: Vec<i64>,
    /// The potential of each node.
    pub(crate) potentials: Vec<i64>,
}

impl Chords {
    /// Finds a maximum spanning tree. `weights` holds a weight for each [`DagEdgeId`]. Of two edges
    /// with equal weight, the tree takes the first.
    ///
    /// # Panics
    /// If `weights` does not have a weight for each edge.
    #[must_use]
    pub fn new(numbering: &Numbering, weights: &[u64]) -> Self {
        let shape = &numbering.shape;
        assert_eq!(
            weights.len(),
            shape.edges.len(),
            "a weight for each edge of the dag"
        );
        let mut by_weight: Vec<DagEdgeId> = shape.edge_ids().collect();
        by_weight.sort_by_key(|edge| Reverse(weights[edge.index()]));
        let mut sets = Sets::new(shape.nodes.len());
        sets.join(shape.exit, shape.entry);
        let mut tree = vec![false; shape.edges.len()];
        for edge in by_weight {
            let (from, to) = (shape.sources[edge.index()], shape.targets[edge.index()]);
            tree[edge.index()] = sets.join(from as usize, to as usize);
        }
        Self::of_tree(numbering, tree)
    }

    /// The increments of known chords, such as those of [`Probes`](crate::Probes). `None` if the
    /// other edges of the numbering are no spanning tree.
    #[must_use]
    pub fn of_chords(numbering: &Numbering, chords: &[DagEdgeId]) -> Option<Self> {
        let shape = &numbering.shape;
        let mut tree = vec![true; shape.edges.len()];
        for chord in chords {
            *tree.get_mut(chord.index())? = false;
        }
        let mut sets = Sets::new(shape.nodes.len());
        sets.join(shape.exit, shape.entry);
        // A tree of n nodes has n − 1 edges, and one of them is EXIT→ENTRY.
        let mut missing = shape.nodes.len().checked_sub(2)?;
        for edge in shape.edge_ids().filter(|edge| tree[edge.index()]) {
            let (from, to) = (shape.sources[edge.index()], shape.targets[edge.index()]);
            if !sets.join(from as usize, to as usize) {
                return None;
            }
            missing = missing.checked_sub(1)?;
        }
        (missing == 0).then(|| Self::of_tree(numbering, tree))
    }

    fn of_tree(numbering: &Numbering, tree: Vec<bool>) -> Self {
        let shape = &numbering.shape;
        let potentials = potentials(numbering, &tree);
        let increments = shape.edge_ids().map(|edge| {
            let from = potentials[shape.sources[edge.index()] as usize];
            let to = potentials[shape.targets[edge.index()] as usize];
            signed(numbering.value(edge))
                .wrapping_add(from)
                .wrapping_sub(to)
        });
        Self {
            increments: increments.collect(),
            tree,
            potentials,
        }
    }

    /// The chords, in order.
    pub(crate) fn chords(&self) -> Vec<DagEdgeId> {
        let edges = (0..self.tree.len()).map(DagEdgeId::new);
        edges.filter(|&edge| self.is_chord(edge)).collect()
    }

    /// Whether an edge is a chord: off the tree.
    ///
    /// # Panics
    /// If `edge` is not an edge of the numbering.
    #[must_use]
    pub fn is_chord(&self, edge: DagEdgeId) -> bool {
        !self.tree[edge.index()]
    }

    /// The number that an edge adds to the path register: 0 for an edge on the tree.
    ///
    /// # Panics
    /// If `edge` is not an edge of the numbering.
    #[must_use]
    pub fn increment(&self, edge: DagEdgeId) -> i64 {
        self.increments[edge.index()]
    }
}

/// Converts an edge value to the signed number that the path register holds.
pub(crate) fn signed(value: u64) -> i64 {
    value.cast_signed()
}

/// The potential of each node: 0 at entry and exit. The target of a tree edge has the potential of
/// its source plus the value of the edge.
fn potentials(numbering: &Numbering, tree: &[bool]) -> Vec<i64> {
    let shape = &numbering.shape;
    let on_tree = shape.edge_ids().filter(|edge| tree[edge.index()]);
    let steps = on_tree.flat_map(|edge| {
        let (from, to) = (shape.sources[edge.index()], shape.targets[edge.index()]);
        let value = signed(numbering.value(edge));
        [
            (from as usize, (to, value)),
            (to as usize, (from, value.wrapping_neg())),
        ]
    });
    let neighbors = Lists::new(shape.nodes.len(), steps);
    let mut potentials = vec![None; shape.nodes.len()];
    potentials[shape.entry] = Some(0i64);
    potentials[shape.exit] = Some(0);
    let mut ready = vec![(shape.entry, 0i64), (shape.exit, 0)];
    while let Some((node, potential)) = ready.pop() {
        for &(next, value) in neighbors.list(node) {
            let known_potential = &mut potentials[next as usize];
            if known_potential.is_none() {
                let next_potential = potential.wrapping_add(value);
                *known_potential = Some(next_potential);
                ready.push((next as usize, next_potential));
            }
        }
    }
    // Only a damaged map has nodes that are connected neither to entry nor to exit. No path runs
    // there.
    potentials
        .into_iter()
        .map(|potential| potential.unwrap_or(0))
        .collect()
}

/// Disjoint sets of nodes (union by size, path halving).
struct Sets {
    parent: Vec<usize>,
    size: Vec<u32>,
}

impl Sets {
    fn new(count: usize) -> Self {
        Self {
            parent: (0..count).collect(),
            size: vec![1; count],
        }
    }

    fn find(&mut self, mut node: usize) -> usize {
        while self.parent[node] != node {
            self.parent[node] = self.parent[self.parent[node]];
            node = self.parent[node];
        }
        node
    }

    /// Joins the sets of two nodes. Returns false if both nodes were in the same set already.
    fn join(&mut self, a: usize, b: usize) -> bool {
        let (mut a, mut b) = (self.find(a), self.find(b));
        if a == b {
            return false;
        }
        if self.size[a] < self.size[b] {
            core::mem::swap(&mut a, &mut b);
        }
        self.parent[b] = a;
        self.size[a] += self.size[b];
        true
    }
}
