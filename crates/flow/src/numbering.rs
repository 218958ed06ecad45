//! Path numbering (Ball and Larus 1996, section 3.2). Each edge of the dag gets a value such that
//! the sum of the values along a path is the number of the path. The path numbers are 0, 1, … path
//! count − 1.
//!
//! The algorithm visits blocks in reverse topological order, beginning with NumPaths(EXIT) = 1. It
//! visits the successors of v in some order. The edge to w gets the current NumPaths(v) as its
//! value, and then NumPaths(v) grows by NumPaths(w). Every order of successors gives each path a
//! different number. The order decides which edges get small values (most paths last, the paper's
//! order) or the value 0 and thus no probe (hottest first, the *smart numbering* of Bond and
//! McKinley).
//!
//! Two kinds of edges have a fixed position in every order:
//!
//! - If a block has several pinned edges, they come first, in an order that depends on their
//!   targets only. Two computed gotos with the same targets then number them alike, so that these
//!   edges can stay without increments.
//! - A block's exit edge comes last. It rarely runs, so the value 0 would be wasted on it.
//!
//! Worked example (the slides' graph, see the crate's documentation; A to F are b0 to b5, largest
//! NumPaths last, edges of a block in the order listed here): NumPaths F=1, E=1, D=2 (DF 0, DE 1),
//! C=2 (CD 0), B=4 (BC 0, BD 2), A=6 (AC 0, AB 2). The path ABCDEF has the number 2+0+0+1+0 = 3.
//!
//! The numbering leaves out edges into blocks from which no path ends (no exit, no back edge, no
//! cut). A path that goes there never finishes, so there is nothing to count. Cost: a sort of each
//! block's edges.

use crate::cfg::{Cfg, EdgeKind};
use crate::dag::{Dag, DagEdge, DagEdgeKind, Role};
use crate::error::TooManyPaths;
use crate::explosion;
use crate::ids::{BlockId, DagEdgeId, EdgeId};
use crate::shape::Shape;
use alloc::vec;
use alloc::vec::Vec;

/// The order in which a block's successors get their values.
#[derive(Clone, Copy, Debug)]
pub enum SuccessorOrder<'a> {
    /// Ball and Larus: the successor with the most paths comes last, so that values are small.
    MostPathsLast,
    /// Bond and McKinley: the heaviest edge comes first, so that the hottest path has the number 0.
    /// The slice holds a weight for each [`EdgeId`]. An edge beyond its end weighs 0.
    HottestFirst(&'a [u64]),
    /// In the order of the edge ids.
    AsGiven,
}

/// The numbered paths of one function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbering {
    pub(crate) shape: Shape,
    pub(crate) values: Vec<u64>,
    /// NumPaths of each node of the shape.
    pub(crate) path_counts: Vec<u64>,
}

impl Numbering {
    /// Numbers the paths of a graph. If there are more than `limit` paths, this function cuts plain
    /// edges: a path ends there and another starts. It cuts the lightest edges by the weights of
    /// [`HottestFirst`](SuccessorOrder::HottestFirst), and as few edges as several attempts find.
    ///
    /// # Errors
    /// If cutting does not bring the number of paths down to `limit`: `limit` is smaller than the
    /// number of edges, or paths multiply along edges that cannot be cut.
    ///
    /// # Panics
    /// If `dag` is not the dag of `cfg`.
    pub fn new(
        cfg: &Cfg,
        mut dag: Dag,
        successors: SuccessorOrder<'_>,
        limit: u64,
    ) -> Result<Self, TooManyPaths> {
        let weights = if let SuccessorOrder::HottestFirst(weights) = successors {
            weights
        } else {
            &[]
        };
        explosion::cut(cfg, &mut dag, weights, limit)?;
        let mut edges = dag.edges(cfg);
        let can_end = ending_blocks(cfg, &dag);
        edges.retain(|edge| can_end[edge.to.index()]);
        let mut shape = Shape::new(cfg.entry(), cfg.exit(), edges).expect("back edges are cut");
        let sorter = Sorter::new(cfg, &shape.edges, successors);
        let mut values = vec![0u64; shape.edges.len()];
        let mut path_counts = vec![0u64; shape.nodes.len()];
        path_counts[shape.exit] = 1;
        for node in (0..shape.nodes.len())
            .rev()
            .filter(|&node| node != shape.exit)
        {
            let (edges, targets) = (&shape.edges, &shape.targets);
            let out = shape.out.list_mut(node);
            sorter.sort(edges, out, |edge| {
                path_counts[targets[edge.index()] as usize]
            });
            let mut sum = 0u64;
            for edge in out {
                values[edge.index()] = sum;
                sum += path_counts[targets[edge.index()] as usize];
            }
            path_counts[node] = sum;
        }
        Ok(Self {
            shape,
            values,
            path_counts,
        })
    }

    /// Renumbers the same paths: paths that start at the entry come before all paths that start at
    /// loop heads.
    #[must_use]
    pub fn starts_last(mut self) -> Self {
        let Shape { edges, targets, .. } = &self.shape;
        let is_start = |edge: &DagEdgeId| matches!(edges[edge.index()].kind, DagEdgeKind::Start(_));
        let mut order = self.shape.out.list(self.shape.entry).to_vec();
        order.sort_by_key(is_start);
        let mut sum = 0;
        for edge in &order {
            self.values[edge.index()] = sum;
            sum += self.path_counts[targets[edge.index()] as usize];
        }
        self.shape
            .out
            .list_mut(self.shape.entry)
            .copy_from_slice(&order);
        self
    }

    /// The number of paths whose numbers are smaller than those of all paths that start at loop
    /// heads.
    #[must_use]
    pub fn paths_before_starts(&self) -> u64 {
        let starts = self
            .shape
            .edge_ids()
            .filter(|edge| matches!(self.shape.edges[edge.index()].kind, DagEdgeKind::Start(_)));
        let values = starts.map(|edge| self.value(edge));
        values.min().unwrap_or(self.path_count())
    }

    /// The number of paths. Path numbers are below this.
    #[must_use]
    pub fn path_count(&self) -> u64 {
        self.path_counts[self.shape.entry]
    }

    /// The number of paths from a block to an end; `None` if the block is on no path. For the
    /// entry, this includes paths that start at loop heads.
    #[must_use]
    pub fn path_count_from(&self, block: BlockId) -> Option<u64> {
        self.shape.node(block).map(|node| self.path_counts[node])
    }

    /// The function's entry block.
    #[must_use]
    pub fn entry(&self) -> BlockId {
        self.shape.nodes[self.shape.entry]
    }

    /// The function's exit block.
    #[must_use]
    pub fn exit(&self) -> BlockId {
        self.shape.nodes[self.shape.exit]
    }

    /// The edges of the dag.
    #[must_use]
    pub fn dag_edges(&self) -> &[DagEdge] {
        &self.shape.edges
    }

    /// The value of an edge of the dag: its contribution to the path number.
    ///
    /// # Panics
    /// If `edge` is not an edge of this numbering.
    #[must_use]
    pub fn value(&self, edge: DagEdgeId) -> u64 {
        self.values[edge.index()]
    }

    /// The real edges that end a path although they close no cycle: the caller's cuts, and the
    /// edges that were cut because there were too many paths.
    pub fn cut_edges(&self) -> impl Iterator<Item = EdgeId> {
        self.shape.edges.iter().filter_map(|edge| match edge.kind {
            DagEdgeKind::Cut(id) => Some(id),
            _ => None,
        })
    }
}

/// Whether paths from each block can end: at the exit, a back edge, or a cut edge.
fn ending_blocks(cfg: &Cfg, dag: &Dag) -> Vec<bool> {
    let mut ends = vec![false; cfg.block_count() as usize];
    ends[cfg.exit().index()] = true;
    for &block in dag.order().iter().rev() {
        ends[block.index()] |= cfg
            .successors(block)
            .iter()
            .any(|&edge| match dag.role(edge) {
                Role::Inside => ends[cfg.edge(edge).to.index()],
                Role::Back | Role::Cut => true,
                Role::Absent => false,
            });
    }
    ends
}

/// Sorts the edges of a block into the order in which they get values.
struct Sorter<'a> {
    successors: SuccessorOrder<'a>,
    /// The weight of each edge of the dag; empty if the order uses no weights.
    weights: Vec<u64>,
    pinned: Vec<bool>,
    exits: Vec<bool>,
}

impl<'a> Sorter<'a> {
    fn new(cfg: &Cfg, edges: &[DagEdge], successors: SuccessorOrder<'a>) -> Self {
        let weights = match successors {
            SuccessorOrder::HottestFirst(weights) => dag_weights(cfg, edges, weights),
            _ => Vec::new(),
        };
        Self {
            successors,
            weights,
            pinned: edges.iter().map(|edge| is_pinned(cfg, edge)).collect(),
            exits: edges.iter().map(|edge| is_exit(cfg, edge)).collect(),
        }
    }

    fn sort(
        &self,
        edges: &[DagEdge],
        out: &mut [DagEdgeId],
        path_count: impl Fn(DagEdgeId) -> u64,
    ) {
        out.sort_unstable();
        match self.successors {
            SuccessorOrder::MostPathsLast => out.sort_by_key(|&edge| path_count(edge)),
            SuccessorOrder::HottestFirst(_) => {
                out.sort_by_key(|&edge| core::cmp::Reverse(self.weights[edge.index()]));
            }
            SuccessorOrder::AsGiven => {}
        }
        if out.iter().filter(|edge| self.pinned[edge.index()]).count() > 1 {
            out.sort_by_key(|&edge| match self.pinned[edge.index()] {
                true => (false, path_count(edge), edges[edge.index()].to),
                false => (true, 0, BlockId(0)),
            });
        }
        if out.iter().any(|edge| self.exits[edge.index()]) {
            out.sort_by_key(|edge| self.exits[edge.index()]);
        }
    }
}

/// Whether an edge of the dag is a real edge that can carry no probe.
pub(crate) fn is_pinned(cfg: &Cfg, edge: &DagEdge) -> bool {
    matches!(edge.kind, DagEdgeKind::Edge(id) if cfg.edge(id).kind == EdgeKind::Pinned)
}

/// Whether an edge of the dag is the exit edge of a block.
pub(crate) fn is_exit(cfg: &Cfg, edge: &DagEdge) -> bool {
    matches!(edge.kind, DagEdgeKind::Edge(id) if cfg.edge(id).kind == EdgeKind::Exit)
}

/// Converts weights of real edges to weights of dag edges. A start edge weighs as much as all back
/// and cut edges to its head together.
pub(crate) fn dag_weights(cfg: &Cfg, edges: &[DagEdge], weights: &[u64]) -> Vec<u64> {
    let weight = |id: EdgeId| weights.get(id.index()).copied().unwrap_or(0);
    let mut weight_into = vec![0u64; cfg.block_count() as usize];
    for edge in edges {
        if let DagEdgeKind::Back(id) | DagEdgeKind::Cut(id) = edge.kind {
            let sum = &mut weight_into[cfg.edge(id).to.index()];
            *sum = sum.saturating_add(weight(id));
        }
    }
    let weights = edges.iter().map(|edge| match edge.kind {
        DagEdgeKind::Edge(id) | DagEdgeKind::Back(id) | DagEdgeKind::Cut(id) => weight(id),
        DagEdgeKind::Start(head) => weight_into[head.index()],
    });
    weights.collect()
}
