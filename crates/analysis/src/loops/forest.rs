//! The k-slab forest (D'Elia, Demetrescu, Finocchi 2013, section 2.3, Definition 3), as it is made of what was counted.
//!
//! Each activation's paths are cut into slabs of k-1. The forest holds all prefixes of the first two slabs, and of every further pair of
//! neighbours the prefixes longer than one slab; and, counted 0, the nodes that the paper's second pointer τ passes: the prefixes of every slab.
//! Here it is a list in preorder, children by label, which is also how it is kept in files: made by one sort ([`Tables`](super::tables::Tables)), merged
//! with another and pruned in one pass each.
//!
//! Example, k = 3, stream a b a b a: slabs ab, ab, a. The root a, below it b, counted 1 each; below that a, counted 2, and b, counted 1.
//!
//! Cost: 16 bytes a node.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::limits::Limits;

/// Fewest and most iterations.
pub const K_RANGE: std::ops::RangeInclusive<u32> = 2..=1024;

/// A node; labels are words. Its parent is the last node before it of one depth less.
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
    /// In preorder, children by label.
    pub(super) nodes: Vec<Node>,
    /// Counts of nodes that were dropped, by word; empty where none were.
    pub(super) dropped: Vec<u64>,
    pub(super) losses: Losses,
}

/// What was dropped to stay within a limit.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Losses {
    /// Times that cold nodes were dropped.
    pub prunings: u64,
    /// Nodes dropped; one that came back and went again counts each time.
    pub nodes: u64,
    /// Paths that were counted there: of them only the number each path ran is kept.
    pub words: u64,
    /// Of these, the ones that began a slab.
    pub slabs: u64,
}

impl SlabForest {
    /// An empty forest. A `k` out of [`K_RANGE`] is brought into it.
    pub fn new(k: u32, limits: Limits) -> SlabForest {
        SlabForest {
            k: k.clamp(*K_RANGE.start(), *K_RANGE.end()),
            limits,
            nodes: Vec::new(),
            dropped: Vec::new(),
            losses: Losses::default(),
        }
    }

    /// Bounds it anew, from what is added next on.
    pub fn limit(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Number of iterations.
    pub fn k(&self) -> u32 {
        self.k
    }

    /// Number of nodes.
    pub fn nodes(&self) -> u64 {
        self.nodes.len() as u64
    }

    /// What was dropped.
    pub fn losses(&self) -> Losses {
        self.losses
    }

    /// Paths counted, in dropped nodes too.
    pub fn words(&self) -> u64 {
        let counts = self.nodes.iter().map(|node| node.count);
        counts.sum::<u64>() + self.losses.words
    }

    /// Slabs begun: the look-ups in R that the paper's algorithm makes.
    pub fn slabs(&self) -> u64 {
        let firsts = self.nodes.iter().filter(|node| self.begins_slab(node));
        firsts.map(|node| node.count).sum::<u64>() + self.losses.slabs
    }

    /// All its nodes, as sequences of labels with their counts.
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

    /// Adds another forest, of the same image and k, within this one's limits.
    ///
    /// # Panics
    /// Where the other's k differs.
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

/// The nodes of both. Two nodes that come next stand below the same parent, or the deeper one below a sibling that went before the other.
fn merged(one: &[Node], other: &[Node]) -> Vec<Node> {
    let mut nodes = Vec::with_capacity(one.len().max(other.len()));
    let (mut one, mut other) = (one, other);
    while let (Some((first, rest)), Some((second, remainder))) =
        (one.split_first(), other.split_first())
    {
        let depths = second.depth.cmp(&first.depth);
        match depths.then(first.label.cmp(&second.label)) {
            Ordering::Less => {
                nodes.push(*first);
                one = rest;
            }
            Ordering::Greater => {
                nodes.push(*second);
                other = remainder;
            }
            Ordering::Equal => {
                let count = first.count + second.count;
                nodes.push(Node { count, ..*first });
                (one, other) = (rest, remainder);
            }
        }
    }
    nodes.extend_from_slice(one);
    nodes.extend_from_slice(other);
    nodes
}
