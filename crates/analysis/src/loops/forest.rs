//! The slab forest of a stream: how often each sequence of two consecutive slabs ran (D'Elia,
//! Demetrescu, Finocchi 2013, section 2.3, Definition 3).
//!
//! The paths of each activation are cut into slabs of K − 1 paths; the last slab may be shorter. A
//! node of the forest stands for the sequence of labels from its root to the node. The sequences
//! are:
//! - all prefixes of an activation's first slab;
//! - for each pair of consecutive slabs, the first slab followed by each prefix of the second.
//!
//! Each execution of a path counts in one node: in the node of the first slab's prefix that ends
//! with the path, or in the node of the pair's prefix that ends with it. The prefixes of later
//! slabs have nodes too, because pairs begin with them. If no activation begins with such a prefix,
//! its count is 0. (In the paper, the second pointer τ passes these nodes.)
//!
//! The forest is a list in preorder, with children ordered by label. Files store the same list.
//! [`Tables`](super::tables::Tables) makes the list with one sort. Merging and pruning take one
//! pass each.
//!
//! Example, K = 3, stream a b a b a: the slabs are ab, ab, a. The root is a, with b below it,
//! counted 1 each. Below this b is another a, counted 2, with another b below it, counted 1.
//!
//! Cost: 16 bytes for each node.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::limits::Limits;

/// The smallest and largest K.
pub const K_RANGE: std::ops::RangeInclusive<u32> = 2..=1024;

/// A node, whose label is a word. The node's parent is the last node in the list before this node
/// whose depth is smaller by one. Roots have depth 0.
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
    /// Number of dropped nodes. A node that was added again and dropped again counts twice.
    pub nodes: u64,
    /// Sum of the counts of dropped nodes. For the paths in this sum, the forest keeps only how
    /// often each path ran.
    pub words: u64,
    /// Number of the paths in `words` that began a slab.
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

    /// Sets new limits. They apply from the next [`merge`](Self::merge) on.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// The K of the forest: its sequences have up to K paths.
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

    /// Number of slabs begun, including slabs of dropped nodes. (For each of these slabs, the
    /// paper's algorithm looks up a root in its table R.)
    pub fn slabs(&self) -> u64 {
        let first_nodes = self.nodes.iter().filter(|node| self.begins_slab(node));
        first_nodes.map(|node| node.count).sum::<u64>() + self.losses.slabs
    }

    /// The sequence of labels of each node, with the node's count.
    pub fn sequences(&self) -> BTreeMap<Vec<u32>, u64> {
        let mut labels = Vec::new();
        let sequences = self.nodes.iter().map(|node| {
            labels.truncate(node.depth.into());
            labels.push(node.label);
            (labels.clone(), node.count)
        });
        sequences.collect()
    }

    /// Whether the executions counted in a node are the first paths of slabs.
    pub(super) fn begins_slab(&self, node: &Node) -> bool {
        node.depth == 0 || u32::from(node.depth) == self.k - 1
    }

    /// Adds another forest of the same image and K, and drops nodes beyond this forest's limits.
    ///
    /// # Panics
    /// If the other forest's K differs.
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

/// Merges two lists of nodes in preorder. The next nodes of the two lists have the same parent, or
/// the deeper of them is below a smaller sibling of the other. So the deeper node comes first; of
/// two nodes with the same depth, the node with the smaller label comes first.
fn merged(left: &[Node], right: &[Node]) -> Vec<Node> {
    let mut nodes = Vec::with_capacity(left.len().max(right.len()));
    let (mut left, mut right) = (left, right);
    while let (Some((left_node, left_tail)), Some((right_node, right_tail))) =
        (left.split_first(), right.split_first())
    {
        let deeper_first = right_node.depth.cmp(&left_node.depth);
        match deeper_first.then(left_node.label.cmp(&right_node.label)) {
            Ordering::Less => {
                nodes.push(*left_node);
                left = left_tail;
            }
            Ordering::Greater => {
                nodes.push(*right_node);
                right = right_tail;
            }
            Ordering::Equal => {
                let count = left_node.count + right_node.count;
                nodes.push(Node {
                    count,
                    ..*left_node
                });
                (left, right) = (left_tail, right_tail);
            }
        }
    }
    nodes.extend_from_slice(left);
    nodes.extend_from_slice(right);
    nodes
}
