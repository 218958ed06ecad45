//! Event counting (PP, section 3.3, after Ball 1994): which edges need an increment, and which.
//!
//! The dag with an edge EXIT→ENTRY added is covered by a spanning tree of as much weight as
//! possible that holds EXIT→ENTRY (Kruskal). Only the edges off the tree, the *chords*, keep an
//! increment: the signed sum of the values round the cycle that the chord closes. Here it is found
//! by a potential: 0 at entry and exit, growing along every tree edge by its value; then Inc(v→w) =
//! Val(v→w) + potential(v) − potential(w), which is 0 on the tree, and in the sum along any path
//! from entry to exit the potentials cancel.
//!
//! Worked example (the slides' figure, X its exit, weighted with the slides' edge profile): the
//! tree is FX, CD, DE, EF, AB. The chord DF closes D→F←E←D, so Inc(DF) = DF − EF − DE = 0 − 0 − 1;
//! the chord AC closes A→C→D→E→F→X→A, so Inc(AC) = AC + CD + DE + EF + FX = 1. ACDF has 1 − 1 = 0.
//!
//! Arithmetic wraps: sums of increments are exact modulo 2^64, and what they add up to is a path's
//! number.

use crate::ids::DagEdgeId;
use crate::lists::Lists;
use crate::numbering::Numbering;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

/// A spanning tree of a numbered dag, and the increments of the edges off it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chords {
    tree: Vec<bool>,
    increments: Vec<i64>,
    pub(crate) potentials: Vec<i64>,
}

impl Chords {
    /// Finds a maximum spanning tree by weights given for each [`DagEdgeId`]; of two equal edges
    /// the first is taken.
    ///
    /// # Panics
    /// Where there is not a weight for each edge.
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
        let potentials = potentials(numbering, &tree);
        let increments = shape.edge_ids().map(|edge| {
            let from = potentials[shape.sources[edge.index()] as usize];
            let to = potentials[shape.targets[edge.index()] as usize];
            signed(numbering.value(edge))
                .wrapping_add(from)
                .wrapping_sub(to)
        });
        Self {
            tree,
            increments: increments.collect(),
            potentials,
        }
    }

    /// Whether an edge is off the tree.
    ///
    /// # Panics
    /// Where `edge` is not one of the numbering.
    #[must_use]
    pub fn is_chord(&self, edge: DagEdgeId) -> bool {
        !self.tree[edge.index()]
    }

    /// What running an edge adds to the path register: 0 for an edge on the tree.
    ///
    /// # Panics
    /// Where `edge` is not one of the numbering.
    #[must_use]
    pub fn increment(&self, edge: DagEdgeId) -> i64 {
        self.increments[edge.index()]
    }
}

/// A value as the register holds it.
pub(crate) fn signed(value: u64) -> i64 {
    value.cast_signed()
}

/// The potential of each node: 0 at entry and exit, `value` more at the head of a tree edge than at
/// its tail.
fn potentials(numbering: &Numbering, tree: &[bool]) -> Vec<i64> {
    let shape = &numbering.shape;
    let on_tree = shape.edge_ids().filter(|edge| tree[edge.index()]);
    let ends = on_tree.flat_map(|edge| {
        let (from, to) = (shape.sources[edge.index()], shape.targets[edge.index()]);
        let value = signed(numbering.value(edge));
        [
            (from as usize, (to, value)),
            (to as usize, (from, value.wrapping_neg())),
        ]
    });
    let near = Lists::new(shape.nodes.len(), ends);
    let mut potentials = vec![None; shape.nodes.len()];
    potentials[shape.entry] = Some(0i64);
    potentials[shape.exit] = Some(0);
    let mut ready = vec![(shape.entry, 0i64), (shape.exit, 0)];
    while let Some((node, potential)) = ready.pop() {
        for &(next, value) in near.list(node) {
            let slot = &mut potentials[next as usize];
            if slot.is_none() {
                let there = potential.wrapping_add(value);
                *slot = Some(there);
                ready.push((next as usize, there));
            }
        }
    }
    // Only a damaged map has nodes that nothing connects to entry or exit; no path runs there.
    potentials
        .into_iter()
        .map(|potential| potential.unwrap_or(0))
        .collect()
}

/// Disjoint sets of nodes, joined by size, paths halved.
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

    /// Joins two sets; false where they were one already.
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
