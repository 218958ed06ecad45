//! The path forest (k-iteration path forest, k-IPF): all sequences of up to K paths with their
//! counts (D'Elia, Demetrescu, Finocchi 2013, Definition 2).
//!
//! The paper's procedure make_k_ipf adds the subtree of each node of the slab forest to the path
//! forest, down to K levels. This module computes the same sums level by level. Level n of the path
//! forest contains the sequences of n paths. In the slab forest, each occurrence of such a sequence
//! is a chain of n nodes, each the parent of the next. The count of the sequence is the sum of the
//! counts of the last nodes of all these chains. The sequence of n paths that ends with a node is
//! the sequence of n − 1 paths that ends with the node's parent, followed by the node's label. So
//! each node costs one lookup on each level. Once a level has no sequence that is frequent enough,
//! deeper levels are not computed.
//!
//! Worked example: the slab forest a(b(c)) with counts 0, 0, 2. Level 1 has c: 2 (a and b have 0 in
//! this forest, because their executions are counted in other trees), level 2 has b c: 2, and level
//! 3 has a b c: 2.
//!
//! Cost: nodes of the slab forest × K; less if `min_count` is above 1.

use holloway_format::Count;
use rustc_hash::FxHashMap;

use super::forest::SlabForest;
use crate::flow::add;

/// A prefix forest of sequences of paths.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Kipf {
    /// Level by level; parents before children.
    nodes: Vec<KipfNode>,
    /// The children of the first node, of the second, and so on, and then the roots: indices into
    /// `nodes`. Siblings are ordered by count, most frequent first.
    children: Vec<u32>,
    /// The start of each node's children in `children`, then the start of the roots, then the end.
    child_starts: Vec<u32>,
}

/// A sequence of paths, identified by its last path and its parent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KipfNode {
    /// The last path of the sequence.
    pub label: u32,
    /// Number of paths of the sequence.
    pub level: u32,
    /// Index of the sequence without its last path; `None` for a sequence of one path.
    pub parent: Option<u32>,
    /// Number of executions of the sequence that the slab forest contains.
    pub count: Count,
    /// Maximum number of further executions, which were counted in dropped nodes of the slab
    /// forest.
    pub missed: Count,
}

/// The paper's figures for a path forest (its Figures 13 and 14).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Stats {
    /// Nodes.
    pub nodes: u64,
    /// Nodes without children.
    pub leaves: u64,
    /// Sum of the leaves' levels. Roots have level 1.
    pub leaf_levels: u64,
    /// Edges from parents to children: nodes minus roots.
    pub edges: u64,
}

impl Stats {
    /// Average degree of the nodes that have children.
    pub fn inner_degree(&self) -> f64 {
        ratio(self.edges, self.nodes - self.leaves)
    }

    /// Average level of the leaves. Roots have level 1.
    pub fn leaf_level(&self) -> f64 {
        ratio(self.leaf_levels, self.leaves)
    }

    /// Adds another forest's figures.
    pub fn add(&mut self, other: &Stats) {
        self.nodes += other.nodes;
        self.leaves += other.leaves;
        self.leaf_levels += other.leaf_levels;
        self.edges += other.edges;
    }
}

fn ratio(part: u64, total: u64) -> f64 {
    if total == 0 {
        0.0
    } else {
        part as f64 / total as f64
    }
}

/// The slab forests from which a path forest is computed.
#[derive(Clone, Default, Debug)]
pub(super) struct Source {
    /// Index of the parent (in roots: of the node itself), label, and count of each node. Parents
    /// come before children.
    pub(super) nodes: Vec<(u32, u32, Count)>,
    /// By label: sum of the counts of dropped nodes.
    pub(super) dropped: FxHashMap<u32, Count>,
}

impl SlabForest {
    /// Returns all sequences of up to `k` paths, but of no more paths than the K that the forest
    /// was built for.
    pub fn k_ipf(&self, k: u32) -> Kipf {
        // The ancestors of the next node, by depth.
        let mut ancestors: Vec<u32> = Vec::new();
        let nodes = (0u32..).zip(&self.nodes).map(|(index, node)| {
            ancestors.truncate(node.depth.into());
            let parent = ancestors.last().copied().unwrap_or(index);
            ancestors.push(index);
            (parent, node.label, Count(node.count))
        });
        let dropped = (0u32..).zip(&self.dropped).filter(|(_, count)| **count > 0);
        let source = Source {
            nodes: nodes.collect(),
            dropped: dropped
                .map(|(label, &count)| (label, Count(count)))
                .collect(),
        };
        Kipf::new(&source, k.min(self.k), Count(1))
    }
}

impl Source {
    /// Returns the figures of the path forest. The path forest may be K times as large as the slab
    /// forest, so this function keeps only two of its levels in memory at a time.
    pub(super) fn stats(&self, k: u32) -> Stats {
        let mut builder = KipfBuilder::new(self);
        let mut stats = Stats::default();
        for level in 1..=k {
            let level_len = builder.nodes.len();
            let has_next_level = level < k && builder.add_level(level + 1, Count(1));
            let mut has_children = vec![false; level_len];
            for node in &builder.nodes[level_len..] {
                has_children[node.parent.expect(NO_ROOT) as usize] = true;
            }
            let leaves = has_children.iter().filter(|has| !**has).count() as u64;
            stats.nodes += level_len as u64;
            stats.leaves += leaves;
            stats.leaf_levels += leaves * u64::from(level);
            stats.edges += (builder.nodes.len() - level_len) as u64;
            if !has_next_level {
                break;
            }
            builder.nodes.drain(..level_len);
            for end in builder.ends.iter_mut().flatten() {
                *end -= level_len as u32;
            }
        }
        stats
    }
}

/// A node of the second or a deeper level is no root.
const NO_ROOT: &str = "a node below the first level has a parent";

impl Kipf {
    /// Returns the sequences of up to `k` paths whose known count is at least `min_count`. All
    /// sequences of one path are returned.
    pub(super) fn new(source: &Source, k: u32, min_count: Count) -> Kipf {
        let mut builder = KipfBuilder::new(source);
        for level in 2..=k {
            if !builder.add_level(level, min_count.max(Count(1))) {
                break;
            }
        }
        let (child_starts, children) = sorted_children(&builder.nodes);
        Kipf {
            nodes: builder.nodes,
            children,
            child_starts,
        }
    }

    /// All nodes, parents before children.
    pub fn nodes(&self) -> &[KipfNode] {
        &self.nodes
    }

    /// Indices of the sequences of one path, most frequent first.
    pub fn roots(&self) -> &[u32] {
        self.children_at(self.nodes.len())
    }

    /// Indices of the sequences that are one path longer than a node's, most frequent first.
    pub fn children(&self, node: u32) -> &[u32] {
        self.children_at(node as usize)
    }

    /// The children of a node, or the roots for the index after the last node.
    fn children_at(&self, index: usize) -> &[u32] {
        let start = self.child_starts.get(index);
        let bounds = start.zip(self.child_starts.get(index + 1));
        bounds.map_or(&[], |(&start, &end)| {
            &self.children[start as usize..end as usize]
        })
    }

    /// The node of a sequence, given by its labels.
    pub fn find(&self, sequence: &[u32]) -> Option<&KipfNode> {
        let mut last = None;
        for label in sequence {
            let candidates = last.map_or_else(|| self.roots(), |node| self.children(node));
            let has_label = |node: &&u32| self.nodes[**node as usize].label == *label;
            last = Some(*candidates.iter().find(has_label)?);
        }
        last.map(|node| &self.nodes[node as usize])
    }

    /// The labels of a node's sequence.
    pub fn sequence(&self, node: u32) -> Vec<u32> {
        let mut next = Some(node);
        let mut labels: Vec<u32> = std::iter::from_fn(|| {
            let node = &self.nodes[next? as usize];
            next = node.parent;
            Some(node.label)
        })
        .collect();
        labels.reverse();
        labels
    }

    /// Returns the paper's figures.
    pub fn stats(&self) -> Stats {
        let mut stats = Stats {
            nodes: self.nodes.len() as u64,
            edges: (self.nodes.len() - self.roots().len()) as u64,
            ..Stats::default()
        };
        for (index, node) in (0u32..).zip(&self.nodes) {
            if self.children(index).is_empty() {
                stats.leaves += 1;
                stats.leaf_levels += u64::from(node.level);
            }
        }
        stats
    }
}

struct KipfBuilder<'a> {
    source: &'a Source,
    nodes: Vec<KipfNode>,
    /// By node of the source: the index in `nodes` of the sequence that ends with this node and has
    /// the length of the last level; `None` if the path forest does not contain this sequence.
    ends: Vec<Option<u32>>,
}

impl KipfBuilder<'_> {
    /// Creates a builder whose forest contains the first level.
    fn new(source: &Source) -> KipfBuilder<'_> {
        let mut builder = KipfBuilder {
            source,
            nodes: Vec::new(),
            ends: vec![None; source.nodes.len()],
        };
        builder.add_first_level();
        builder
    }

    fn add_first_level(&mut self) {
        let mut roots: FxHashMap<u32, u32> = FxHashMap::default();
        let nodes = &mut self.nodes;
        let mut root = |label: u32| {
            *roots.entry(label).or_insert_with(|| {
                nodes.push(KipfNode {
                    label,
                    level: 1,
                    parent: None,
                    count: Count::ZERO,
                    missed: Count::ZERO,
                });
                nodes.len() as u32 - 1
            })
        };
        let mut dropped: Vec<(u32, Count)> = self
            .source
            .dropped
            .iter()
            .map(|(&label, &count)| (label, count))
            .collect();
        dropped.sort_unstable();
        let dropped_nodes: Vec<(u32, Count)> = dropped
            .into_iter()
            .map(|(label, count)| (root(label), count))
            .collect();
        for (end, &(_, label, _)) in self.ends.iter_mut().zip(&self.source.nodes) {
            *end = Some(root(label));
        }
        for (node, count) in dropped_nodes {
            add(&mut self.nodes[node as usize].count, count);
        }
        for (end, &(_, _, count)) in self.ends.iter().zip(&self.source.nodes) {
            let node = end.expect("every label has a node") as usize;
            add(&mut self.nodes[node].count, count);
        }
    }

    /// Adds a level: the sequences that are one path longer and have a count of at least
    /// `min_count`. Returns whether there are any.
    fn add_level(&mut self, level: u32, min_count: Count) -> bool {
        let level_start = self.nodes.len();
        // By shorter sequence and label.
        let mut indices: FxHashMap<(u32, u32), u32> = FxHashMap::default();
        // Children before parents, so that the entry of the parent in `ends` is still the sequence
        // of the level above.
        for (index, &(parent, label, count)) in self.source.nodes.iter().enumerate().rev() {
            let shorter = if parent as usize == index {
                None
            } else {
                self.ends[parent as usize]
            };
            self.ends[index] = shorter.map(|shorter| {
                let nodes = &mut self.nodes;
                let node = *indices.entry((shorter, label)).or_insert_with(|| {
                    nodes.push(KipfNode {
                        label,
                        level,
                        parent: Some(shorter),
                        count: Count::ZERO,
                        missed: Count::ZERO,
                    });
                    nodes.len() as u32 - 1
                });
                add(&mut nodes[node as usize].count, count);
                node
            });
        }
        self.drop_rare(level_start, min_count);
        self.nodes.len() > level_start
    }

    /// Drops the rare sequences of the last level. Computes the `missed` counts of the others.
    fn drop_rare(&mut self, level_start: usize, min_count: Count) {
        let level_len = self.nodes.len() - level_start;
        let mut new_indices: Vec<Option<u32>> = Vec::with_capacity(level_len);
        let mut end = level_start;
        for index in level_start..self.nodes.len() {
            let mut node = self.nodes[index];
            if node.count < min_count {
                new_indices.push(None);
                continue;
            }
            let parent = self.nodes[node.parent.expect(NO_ROOT) as usize];
            let dropped = self
                .source
                .dropped
                .get(&node.label)
                .copied()
                .unwrap_or(Count::ZERO);
            // A sequence runs at most as often as its prefix.
            let max_missed = (parent.count + parent.missed).saturating_sub(node.count);
            node.missed = dropped.min(max_missed);
            new_indices.push(Some(end as u32));
            self.nodes[end] = node;
            end += 1;
        }
        self.nodes.truncate(end);
        for end in self.ends.iter_mut() {
            *end = end.and_then(|node| new_indices[node as usize - level_start]);
        }
    }
}

/// Lists the children of each node and then the roots, siblings ordered by count, then by label.
/// Returns the start of each node's children in the list, and the list.
fn sorted_children(nodes: &[KipfNode]) -> (Vec<u32>, Vec<u32>) {
    // The index after the last node serves as the parent of roots.
    let parent = |node: &KipfNode| node.parent.map_or(nodes.len(), |parent| parent as usize);
    let mut children: Vec<u32> = (0..nodes.len() as u32).collect();
    children.sort_unstable_by_key(|&index| {
        let node = &nodes[index as usize];
        (parent(node), std::cmp::Reverse(node.count), node.label)
    });
    let mut starts = vec![0; nodes.len() + 2];
    for node in nodes {
        starts[parent(node) + 1] += 1;
    }
    for index in 1..starts.len() {
        starts[index] += starts[index - 1];
    }
    (starts, children)
}
