//! The k-slab forest (D'Elia, Demetrescu, Finocchi 2013, section 2.3, Definition 3), made from the
//! counted slabs.
//!
//! Each activation's paths are cut into slabs of k-1 paths. The forest holds:
//! - all prefixes of the first two slabs;
//! - for each further pair of neighboring slabs, the prefixes that are longer than one slab;
//! - with count 0, the nodes that the paper's second pointer τ passes: the prefixes of each slab.
//!
//! Here the forest is a list in preorder, with children ordered by label. Files store the same
//! list. One sort makes it ([`Tables`](super::tables::Tables)); merging and pruning take one pass
//! each.
//!
//! Example, k = 3, stream a b a b a: the slabs are ab, ab, a. The root is a, with b below it,
//! counted 1 each. Below b are a, counted 2, and b, counted 1.
//!
//! Cost: 16 bytes for each node.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::limits::Limits;

/// The smallest and largest k.
pub const K_RANGE: std::ops::RangeInclusive<u32> = 2..=1024;

/// A node; labels are words. The parent is the last node before this one whose depth is smaller by
/// one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Node {
    pub(super) count: u64,
    pub(super) label: u32,
    pub(super) depth: u16,
}

/// A k-slab forest; labels are words.
#[derive(Clone, Debug)]
pub struct SlabForest {
    pub(super) k: u32,
    pub(super) limits: Limits,
    /// In preorder, with children ordered by label.
    pub(super) nodes: Vec<Node>,
    /// Counts of dropped nodes, by word; empty if no node was dropped.
    pub(super) dropped: Vec<u64>,
    pub(super) losses: Losses,
}

/// The nodes dropped to stay within a limit.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Losses {
    /// Number of times that cold nodes were dropped.
    pub prunings: u64,
    /// Number of dropped nodes. A node that came back and was dropped again counts twice.
    pub nodes: u64,
    /// Number of paths counted in dropped nodes. For these paths, the forest keeps only how often
    /// each path ran.
    pub words: u64,
    /// The number of these paths that began a slab.
    pub slabs: u64,
}

impl SlabForest {
    /// Creates an empty forest. A `k` outside [`K_RANGE`] is clamped to the range.
    pub fn new(k: u32, limits: Limits) -> SlabForest {
        SlabForest {
            k: k.clamp(*K_RANGE.start(), *K_RANGE.end()),
            limits,
            nodes: Vec::new(),
            dropped: Vec::new(),
            losses: Losses::default(),
        }
    }

    /// Sets new limits. They apply from the next addition on.
    pub fn limit(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// The k of the forest: its sequences have up to k paths.
    pub fn k(&self) -> u32 {
        self.k
    }

    /// Number of nodes.
    pub fn nodes(&self) -> u64 {
        self.nodes.len() as u64
    }

    /// The nodes dropped so far.
    pub fn losses(&self) -> Losses {
        self.losses
    }

    /// Number of paths counted, including paths of dropped nodes.
    pub fn words(&self) -> u64 {
        let counts = self.nodes.iter().map(|node| node.count);
        counts.sum::<u64>() + self.losses.words
    }

    /// Number of slabs begun: the lookups in R that the paper's algorithm makes.
    pub fn slabs(&self) -> u64 {
        let firsts = self.nodes.iter().filter(|node| self.begins_slab(node));
        firsts.map(|node| node.count).sum::<u64>() + self.losses.slabs
    }

    /// All nodes, as sequences of labels with their counts.
    pub fn sequences(&self) -> BTreeMap<Vec<u32>, u64> {
        let mut labels = Vec::new();
        let sequences = self.nodes.iter().map(|node| {
            labels.truncate(node.depth.into());
            labels.push(node.label);
            (labels.clone(), node.count)
        });
        sequences.collect()
    }

    pub(super) fn begins_slab(&self, node: &Node) -> bool {
        node.depth == 0 || u32::from(node.depth) == self.k - 1
    }

    /// Adds another forest of the same image and k, and stays within this forest's limits.
    ///
    /// # Panics
    /// If the other forest's k differs.
    pub fn merge(&mut self, other: &SlabForest) {
        assert_eq!(self.k, other.k, "forests of one k");
        if self.nodes.is_empty() {
            self.nodes.clone_from(&other.nodes);
        } else {
            self.nodes = merged(&self.nodes, &other.nodes);
        }
        if self.dropped.len() < other.dropped.len() {
            self.dropped.resize(other.dropped.len(), 0);
        }
        for (sum, count) in self.dropped.iter_mut().zip(&other.dropped) {
            *sum += count;
        }
        let losses = &mut self.losses;
        losses.prunings += other.losses.prunings;
        losses.nodes += other.losses.nodes;
        losses.words += other.losses.words;
        losses.slabs += other.losses.slabs;
        self.keep_within_limits();
    }
}

/// Merges two lists of nodes. The two next nodes have the same parent, or the deeper node is below
/// a sibling that precedes the other node. So the deeper node comes first, and otherwise the
/// smaller label.
fn merged(left: &[Node], right: &[Node]) -> Vec<Node> {
    let mut nodes = Vec::with_capacity(left.len().max(right.len()));
    let (mut left, mut right) = (left, right);
    while let (Some((first, rest)), Some((second, remainder))) =
        (left.split_first(), right.split_first())
    {
        let depths = second.depth.cmp(&first.depth);
        match depths.then(first.label.cmp(&second.label)) {
            Ordering::Less => {
                nodes.push(*first);
                left = rest;
            }
            Ordering::Greater => {
                nodes.push(*second);
                right = remainder;
            }
            Ordering::Equal => {
                let count = first.count + second.count;
                nodes.push(Node { count, ..*first });
                (left, right) = (rest, remainder);
            }
        }
    }
    nodes.extend_from_slice(left);
    nodes.extend_from_slice(right);
    nodes
}
