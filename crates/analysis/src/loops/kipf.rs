//! The k-iteration path forest: all sequences of up to k paths with their counts (D'Elia,
//! Demetrescu, Finocchi 2013, Definition 2).
//!
//! The paper's make_k_ipf joins the subtree of each node of the slab forest into the path forest,
//! down to k levels. This module computes the same sums level by level. A node x of the slab forest
//! counts for each sequence of labels that ends with it. So level n consists of the sequences of
//! length n that end anywhere. The sequence of length n that ends with x is the sequence of length
//! n-1 that ends with x's parent, plus x's label. Each node and level costs one lookup. Levels
//! below which no sequence is frequent enough are never computed.
//!
//! Worked example: the slab forest a(b(c)) with counts 0, 0, 2. Level 1 has c: 2 (a and b have 0
//! here, because they are counted elsewhere), level 2 has b c: 2, and level 3 has a b c: 2.
//!
//! Cost: nodes of the slab forest × k; less if `least` is above 1.

use holloway_format::Count;
use rustc_hash::FxHashMap;

use super::forest::SlabForest;
use crate::flow::add;

/// A prefix forest of sequences of paths.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Kipf {
    /// Level by level; parents before children.
    nodes: Vec<KipfNode>,
    /// The children of each node as indices into `nodes`, most frequent first. The roots come last.
    order: Vec<u32>,
    first: Vec<u32>,
}

/// A sequence of paths, identified by its last path and its parent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KipfNode {
    /// The last path of the sequence.
    pub label: u32,
    /// Number of paths of the sequence.
    pub level: u32,
    /// The sequence without its last path.
    pub parent: Option<u32>,
    /// Number of times that the sequence ran, as far as is known.
    pub count: Count,
    /// Number of further times that the sequence may have run, in dropped parts of the slab forest.
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

/// Nodes of slab forests, parents before children: index of the parent (a root's own index), label,
/// count.
#[derive(Clone, Default, Debug)]
pub(super) struct Source {
    pub(super) nodes: Vec<(u32, u32, Count)>,
    /// The dropped counts, by label.
    pub(super) dropped: FxHashMap<u32, Count>,
}

impl SlabForest {
    /// Returns all sequences of up to `k` paths, but at most of the k that the forest was built
    /// for.
    pub fn k_ipf(&self, k: u32) -> Kipf {
        let mut above: Vec<u32> = Vec::new();
        let nodes = (0u32..).zip(&self.nodes).map(|(place, node)| {
            above.truncate(node.depth.into());
            let parent = above.last().copied().unwrap_or(place);
            above.push(place);
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
    /// Returns the figures of the path forest. It keeps only two levels in memory at a time,
    /// because the path forest may be k times as large as the slab forest.
    pub(super) fn stats(&self, k: u32) -> Stats {
        let mut builder = KipfBuilder::new(self);
        let mut stats = Stats::default();
        for level in 1..=k {
            let above = builder.nodes.len();
            let more = level < k && builder.add_level(level + 1, Count(1));
            let mut forks = vec![false; above];
            for node in &builder.nodes[above..] {
                forks[node.parent.expect("of a level below the first") as usize] = true;
            }
            let leaves = forks.iter().filter(|forks| !**forks).count() as u64;
            stats.nodes += above as u64;
            stats.leaves += leaves;
            stats.leaf_levels += leaves * u64::from(level);
            stats.edges += (builder.nodes.len() - above) as u64;
            if !more {
                break;
            }
            builder.nodes.drain(..above);
            for end in builder.ends.iter_mut().flatten() {
                *end -= above as u32;
            }
        }
        stats
    }
}

impl Kipf {
    /// Returns the sequences of up to `k` paths that ran at least `least` times, as far as is
    /// known. Sequences of one path are complete.
    pub(super) fn new(source: &Source, k: u32, least: Count) -> Kipf {
        let mut builder = KipfBuilder::new(source);
        for level in 2..=k {
            if !builder.add_level(level, least.max(Count(1))) {
                break;
            }
        }
        let (first, order) = sorted(&builder.nodes);
        Kipf {
            nodes: builder.nodes,
            order,
            first,
        }
    }

    /// All nodes, parents before children.
    pub fn nodes(&self) -> &[KipfNode] {
        &self.nodes
    }

    /// The sequences of one path, most frequent first.
    pub fn roots(&self) -> &[u32] {
        self.children_at(self.nodes.len())
    }

    /// The sequences that are one path longer, most frequent first.
    pub fn children(&self, node: u32) -> &[u32] {
        self.children_at(node as usize)
    }

    fn children_at(&self, place: usize) -> &[u32] {
        let bounds = self.first.get(place).zip(self.first.get(place + 1));
        bounds.map_or(&[], |(&from, &to)| &self.order[from as usize..to as usize])
    }

    /// The node of a sequence.
    pub fn find(&self, sequence: &[u32]) -> Option<&KipfNode> {
        let mut last = None;
        for label in sequence {
            let below = last.map_or_else(|| self.roots(), |node| self.children(node));
            let labelled = |node: &&u32| self.nodes[**node as usize].label == *label;
            last = Some(*below.iter().find(labelled)?);
        }
        last.map(|node| &self.nodes[node as usize])
    }

    /// The paths of a node's sequence.
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
        for (place, node) in (0u32..).zip(&self.nodes) {
            if self.children(place).is_empty() {
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
    /// By node of the source: the sequence of the current length that ends with it, if the forest
    /// contains it.
    ends: Vec<Option<u32>>,
}

impl KipfBuilder<'_> {
    /// Starts with the first level.
    fn new(source: &Source) -> KipfBuilder<'_> {
        let mut builder = KipfBuilder {
            source,
            nodes: Vec::new(),
            ends: vec![None; source.nodes.len()],
        };
        builder.first_level();
        builder
    }

    fn first_level(&mut self) {
        let mut places: FxHashMap<u32, u32> = FxHashMap::default();
        let nodes = &mut self.nodes;
        let mut place = |label: u32| {
            *places.entry(label).or_insert_with(|| {
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
            .map(|(label, count)| (place(label), count))
            .collect();
        for (end, &(_, label, _)) in self.ends.iter_mut().zip(&self.source.nodes) {
            *end = Some(place(label));
        }
        for (node, count) in dropped_nodes {
            add(&mut self.nodes[node as usize].count, count);
        }
        for (end, &(_, _, count)) in self.ends.iter().zip(&self.source.nodes) {
            let node = end.expect("every label has a node") as usize;
            add(&mut self.nodes[node].count, count);
        }
    }

    /// Adds the sequences that are one path longer. Returns whether there are any.
    fn add_level(&mut self, level: u32, least: Count) -> bool {
        let begin = self.nodes.len();
        let mut places: FxHashMap<(u32, u32), u32> = FxHashMap::default();
        // Children before parents, so that the parent's entry is still the shorter sequence.
        for (place, &(parent, label, count)) in self.source.nodes.iter().enumerate().rev() {
            let before = if parent as usize == place {
                None
            } else {
                self.ends[parent as usize]
            };
            self.ends[place] = before.map(|before| {
                let nodes = &mut self.nodes;
                let node = *places.entry((before, label)).or_insert_with(|| {
                    nodes.push(KipfNode {
                        label,
                        level,
                        parent: Some(before),
                        count: Count::ZERO,
                        missed: Count::ZERO,
                    });
                    nodes.len() as u32 - 1
                });
                add(&mut nodes[node as usize].count, count);
                node
            });
        }
        self.drop_rare(begin, least);
        self.nodes.len() > begin
    }

    /// Drops the level's rare sequences, and computes for the others how many runs they may miss.
    fn drop_rare(&mut self, begin: usize, least: Count) {
        let mut new_place: Vec<Option<u32>> = Vec::with_capacity(self.nodes.len() - begin);
        let mut end = begin;
        for place in begin..self.nodes.len() {
            let mut node = self.nodes[place];
            if node.count < least {
                new_place.push(None);
                continue;
            }
            let parent = self.nodes[node.parent.expect("of a level below the first") as usize];
            let dropped = self
                .source
                .dropped
                .get(&node.label)
                .copied()
                .unwrap_or(Count::ZERO);
            let most = (parent.count + parent.missed).saturating_sub(node.count);
            node.missed = dropped.min(most);
            new_place.push(Some(end as u32));
            self.nodes[end] = node;
            end += 1;
        }
        self.nodes.truncate(end);
        for place in self.ends.iter_mut() {
            *place = place.and_then(|node| new_place[node as usize - begin]);
        }
    }
}

/// Sorts the children of each node, and at the end the roots: by count, then by label.
fn sorted(nodes: &[KipfNode]) -> (Vec<u32>, Vec<u32>) {
    let parent = |node: &KipfNode| node.parent.map_or(nodes.len(), |parent| parent as usize);
    let mut order: Vec<u32> = (0..nodes.len() as u32).collect();
    order.sort_unstable_by_key(|&place| {
        let node = &nodes[place as usize];
        (parent(node), std::cmp::Reverse(node.count), node.label)
    });
    let mut first = vec![0; nodes.len() + 2];
    for node in nodes {
        first[parent(node) + 1] += 1;
    }
    for place in 1..first.len() {
        first[place] += first[place - 1];
    }
    (first, order)
}
