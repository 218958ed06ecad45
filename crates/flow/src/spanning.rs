//! Priority-first search for the maximum spanning tree of [`EdgeCounters`](crate::EdgeCounters).
//! The file `edges` describes the purpose of the tree and the halves of blocks.
//!
//! This is Prim's algorithm: a heap holds the ways from nodes on the tree to other nodes, best
//! first. A *way* is an edge, or the step from the upper half of a block into its lower half. Ways
//! are compared by rank (exit edges, pinned edges, steps into a lower half, all other edges), then
//! by weight, then by id. So the tree has these properties, in this order of preference:
//!
//! - It contains every exit edge.
//! - It contains all pinned edges, unless they close a cycle.
//! - It contains the step between the halves of as many blocks as possible. Such a block needs no
//!   counter in its middle.
//! - It is as heavy as possible.
//!
//! The search does not recurse. Cost: O(E log E).

use crate::cfg::{Cfg, Edge, EdgeKind};
use crate::ids::{BlockId, EdgeId};
use crate::search::reverse_postorder;
use alloc::collections::BinaryHeap;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::fmt;

/// An error: edges that cannot be counted close a cycle, so their counts do not follow from other
/// counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinnedCycleOfCounts {
    /// One such cycle of pinned edges and exit edges. If the cycle leads from the exit to the
    /// entry, the calls close it.
    pub edges: Vec<EdgeId>,
}

impl fmt::Display for PinnedCycleOfCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "edges that can carry no counter close a cycle:")?;
        for (index, edge) in self.edges.iter().enumerate() {
            write!(f, "{} {edge}", if index == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl core::error::Error for PinnedCycleOfCounts {}

/// The blocks as nodes of the search: some blocks are one node, others have two nodes, an upper and
/// a lower half.
pub(crate) struct Halves {
    /// Whether each block has two halves.
    split: Vec<bool>,
}

impl Halves {
    /// One node for each block.
    pub(crate) fn new(cfg: &Cfg) -> Self {
        Self {
            split: vec![false; cfg.block_count() as usize],
        }
    }

    /// Gives a block two halves.
    pub(crate) fn split(&mut self, block: BlockId) {
        self.split[block.index()] = true;
    }

    /// The number of nodes.
    pub(crate) fn count(&self) -> usize {
        2 * self.split.len()
    }

    /// The node through which control enters a block.
    pub(crate) fn upper(&self, block: BlockId) -> usize {
        block.index()
    }

    /// The node through which control leaves a block.
    pub(crate) fn lower(&self, block: BlockId) -> usize {
        let is_split = self.split[block.index()];
        block.index() + if is_split { self.split.len() } else { 0 }
    }

    /// The block of a node.
    fn block(&self, node: usize) -> BlockId {
        let index = u32::try_from(node % self.split.len());
        BlockId(index.expect("a remainder is below the number of blocks"))
    }

    /// The nodes that an edge leaves and enters.
    pub(crate) fn ends(&self, edge: Edge) -> (usize, usize) {
        (self.lower(edge.from), self.upper(edge.to))
    }

    /// The roots of the tree: the exit and the entry, which the calls join, and the lower halves,
    /// which their exit edges join to the exit.
    pub(crate) fn roots(&self, cfg: &Cfg) -> Vec<bool> {
        let mut roots = vec![false; self.count()];
        roots[self.upper(cfg.exit())] = true;
        roots[self.upper(cfg.entry())] = true;
        for block in cfg.blocks().filter(|block| self.split[block.index()]) {
            roots[self.lower(block)] = true;
        }
        roots
    }
}

/// Whether each block is reachable from the entry.
pub(crate) fn reached(cfg: &Cfg) -> Vec<bool> {
    let mut reached = vec![false; cfg.block_count() as usize];
    for block in reverse_postorder(cfg) {
        reached[block.index()] = true;
    }
    reached
}

/// Returns the edges of the tree in the order in which the search added them, without the exit
/// edges that must be counted in the middle of their blocks.
///
/// # Errors
/// If edges that cannot be counted close a cycle.
pub(crate) fn span(cfg: &Cfg, weights: &[u64]) -> Result<Vec<EdgeId>, PinnedCycleOfCounts> {
    let mut search = Search::new(cfg, weights);
    search.run();
    search.check_pinned()?;
    let Search {
        mut tree,
        joined_by,
        halves,
        ..
    } = search;
    let step_is_on_tree = |block: BlockId| {
        let step = Some(Way::Through(block));
        let (upper, lower) = (halves.upper(block), halves.lower(block));
        [upper, lower]
            .iter()
            .any(|&half| joined_by[half].map(|(way, _)| way) == step)
    };
    tree.retain(|&id| {
        let edge = cfg.edge(id);
        edge.kind != EdgeKind::Exit || step_is_on_tree(edge.from)
    });
    Ok(tree)
}

/// A connection between two nodes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    Edge(EdgeId),
    /// From the upper half of a block into its lower half.
    Through(BlockId),
}

/// The priority of ways; the search takes the last variant first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Plain,
    Through,
    Pinned,
    Exit,
}

/// The state of the search.
struct Search<'a> {
    cfg: &'a Cfg,
    weights: &'a [u64],
    reached: Vec<bool>,
    /// Every block with an exit edge has two halves.
    halves: Halves,
    /// Whether each node is on the tree.
    joined: Vec<bool>,
    /// For each node: the way that joined it to the tree, and the node at the other end of this
    /// way.
    joined_by: Vec<Option<(Way, usize)>>,
    /// Ways from the tree, each with its rank, its weight, the node that it leads to, and the node
    /// that it comes from.
    ways: BinaryHeap<(Rank, u64, Reverse<Way>, usize, usize)>,
    tree: Vec<EdgeId>,
}

impl<'a> Search<'a> {
    fn new(cfg: &'a Cfg, weights: &'a [u64]) -> Self {
        let mut halves = Halves::new(cfg);
        for edge in cfg
            .edges()
            .iter()
            .filter(|edge| edge.kind == EdgeKind::Exit)
        {
            halves.split(edge.from);
        }
        Self {
            cfg,
            weights,
            reached: reached(cfg),
            joined: vec![false; halves.count()],
            joined_by: vec![None; halves.count()],
            halves,
            ways: BinaryHeap::new(),
            tree: Vec::new(),
        }
    }

    fn run(&mut self) {
        self.join(self.halves.upper(self.cfg.exit()));
        self.join(self.halves.upper(self.cfg.entry()));
        while let Some((_, _, Reverse(way), to, from)) = self.ways.pop() {
            if self.joined[to] {
                continue;
            }
            self.joined_by[to] = Some((way, from));
            if let Way::Edge(edge) = way {
                self.tree.push(edge);
            }
            self.join(to);
        }
    }

    /// Adds a node to the tree, and its ways to the heap.
    fn join(&mut self, node: usize) {
        self.joined[node] = true;
        let cfg = self.cfg;
        let block = self.halves.block(node);
        let (upper, lower) = (self.halves.upper(block), self.halves.lower(block));
        if node == upper {
            for &id in cfg.predecessors(block) {
                self.offer(id, self.halves.lower(cfg.edge(id).from), node);
            }
        }
        if node == lower {
            for &id in cfg.successors(block) {
                self.offer(id, self.halves.upper(cfg.edge(id).to), node);
            }
        }
        let other_half = if node == upper { lower } else { upper };
        if !self.joined[other_half] {
            let into = cfg.predecessors(block).iter();
            let weight = into.fold(0u64, |sum, &id| sum.saturating_add(self.weight(id)));
            let way = Reverse(Way::Through(block));
            self.ways
                .push((Rank::Through, weight, way, other_half, node));
        }
    }

    /// Adds an edge from the tree to the heap.
    fn offer(&mut self, id: EdgeId, to: usize, from: usize) {
        let edge = self.cfg.edge(id);
        if self.joined[to] || !self.reached[edge.from.index()] {
            return;
        }
        let rank = match edge.kind {
            EdgeKind::Plain | EdgeKind::Cut => Rank::Plain,
            EdgeKind::Pinned => Rank::Pinned,
            EdgeKind::Exit => Rank::Exit,
        };
        let way = Reverse(Way::Edge(id));
        self.ways.push((rank, self.weight(id), way, to, from));
    }

    fn weight(&self, id: EdgeId) -> u64 {
        self.weights.get(id.index()).copied().unwrap_or(0)
    }

    /// Checks that all pinned edges are on the tree.
    ///
    /// # Errors
    /// If a pinned edge is off the tree. The error names the cycle that this edge closes.
    fn check_pinned(&self) -> Result<(), PinnedCycleOfCounts> {
        let mut on_tree = vec![false; self.cfg.edges().len()];
        for edge in &self.tree {
            on_tree[edge.index()] = true;
        }
        let mut edges = self.cfg.edges().iter().zip(&on_tree).zip(0u32..);
        let pinned = edges.find(|((edge, on_tree), _)| {
            edge.kind == EdgeKind::Pinned && !**on_tree && self.reached[edge.from.index()]
        });
        let Some(((edge, _), id)) = pinned else {
            return Ok(());
        };
        let (from, to) = self.halves.ends(*edge);
        let (mut from_source, mut from_target) = (self.edges_to_root(from), self.edges_to_root(to));
        while from_source.last().is_some() && from_source.last() == from_target.last() {
            from_source.pop();
            from_target.pop();
        }
        let first_part = [EdgeId(id)].into_iter().chain(from_target);
        Err(PinnedCycleOfCounts {
            edges: first_part.chain(from_source.into_iter().rev()).collect(),
        })
    }

    /// The edges of the tree from a node up to the exit or the entry.
    fn edges_to_root(&self, mut node: usize) -> Vec<EdgeId> {
        let mut edges = Vec::new();
        while let Some((way, from)) = self.joined_by[node] {
            if let Way::Edge(edge) = way {
                edges.push(edge);
            }
            node = from;
        }
        edges
    }
}
