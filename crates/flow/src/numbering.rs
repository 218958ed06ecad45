//! Path numbering (PP, section 3.2): values on the edges of the dag, such that the sum of the
//! values along a path is the path's number, and the numbers are 0, 1, .. path count − 1.
//!
//! In reverse topological order: NumPaths(EXIT) = 1; the successors of v are visited in some order,
//! and the edge to w gets the value NumPaths(v) as it stands, after which NumPaths(v) grows by
//! NumPaths(w). Any order of successors numbers every path once; the order decides which edges get
//! small values (most paths last, the paper's) or the value 0, so no probe (hottest first, the
//! *smart numbering* of Bond and McKinley). Where a block has several pinned edges, these come
//! first in an order that depends on their targets only: two computed gotos with the same targets
//! then number them alike, which lets the edges stay without increments. A block's exit edge comes
//! last in every order: it hardly ever runs, so 0 would be wasted on it.
//!
//! Worked example (the slides' figure; A..F are b0..b5, largest NumPaths last, edges of a block in
//! the order named): NumPaths F=1, E=1, D=2 (DF 0, DE 1), C=2 (CD 0), B=4 (BC 0, BD 2), A=6 (AC 0,
//! AB 2). ABCDEF has 2+0+0+1+0 = 3.
//!
//! Edges into blocks from which nothing ever ends (no exit, no back edge, no cut) are left out: a
//! path that goes there is never finished, so there is nothing to count. Cost: a sort of each
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
    /// Ball and Larus: the successor with most paths last, so that values are small.
    MostPathsLast,
    /// Bond and McKinley: the heaviest edge first, so that the hottest path has the number 0. The
    /// slice holds a weight for each [`EdgeId`]; an edge beyond its end weighs 0.
    HottestFirst(&'a [u64]),
    /// As the edges are numbered.
    AsGiven,
}

/// Numbered paths of one function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbering {
    pub(crate) shape: Shape,
    pub(crate) values: Vec<u64>,
    /// NumPaths of each node of the shape.
    pub(crate) path_counts: Vec<u64>,
}

impl Numbering {
    /// Numbers the paths of a graph. Where there are more than `limit`, plain edges are cut: a path
    /// ends there and another starts. They are the lightest, by the weights of
    /// [`HottestFirst`](SuccessorOrder::HottestFirst), and as few, as a handful of attempts finds.
    ///
    /// # Errors
    /// Where cutting does not bring the number of paths to `limit`: one smaller than the graph has
    /// edges, or paths that multiply along edges that cannot be cut.
    ///
    /// # Panics
    /// Where `dag` is not that of `cfg`.
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
        let finite = ending_blocks(cfg, &dag);
        edges.retain(|edge| finite[edge.to.index()]);
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

    /// The same paths, numbered so that those which start at the entry come before all that start
    /// at loop heads.
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

    /// How many paths have smaller numbers than all that start at loop heads.
    #[must_use]
    pub fn paths_before_starts(&self) -> u64 {
        let starts = self
            .shape
            .edge_ids()
            .filter(|edge| matches!(self.shape.edges[edge.index()].kind, DagEdgeKind::Start(_)));
        let values = starts.map(|edge| self.value(edge));
        values.min().unwrap_or(self.path_count())
    }

    /// How many paths there are; their numbers are those below.
    #[must_use]
    pub fn path_count(&self) -> u64 {
        self.path_counts[self.shape.entry]
    }

    /// How many paths lead from a block to an end; `None` for a block that is on no path. For the
    /// entry, paths that start at loop heads are counted too.
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

    /// What running an edge of the dag adds to a path's number.
    ///
    /// # Panics
    /// Where `edge` is not one of this numbering.
    #[must_use]
    pub fn value(&self, edge: DagEdgeId) -> u64 {
        self.values[edge.index()]
    }

    /// The real edges at which a path ends though no cycle demands it: the caller's, and those cut
    /// because there were too many paths.
    pub fn cut_edges(&self) -> impl Iterator<Item = EdgeId> {
        self.shape.edges.iter().filter_map(|edge| match edge.kind {
            DagEdgeKind::Cut(id) => Some(id),
            _ => None,
        })
    }
}

/// Which blocks have a way to the exit, a back edge or a cut.
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

/// Puts a block's edges in the order in which they get values.
struct Sorter<'a> {
    successors: SuccessorOrder<'a>,
    /// By edge of the dag, where weights are used.
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

/// Whether an edge of the dag is a real one that can carry no probe.
pub(crate) fn is_pinned(cfg: &Cfg, edge: &DagEdge) -> bool {
    matches!(edge.kind, DagEdgeKind::Edge(id) if cfg.edge(id).kind == EdgeKind::Pinned)
}

/// Whether an edge of the dag is a block's exit edge.
pub(crate) fn is_exit(cfg: &Cfg, edge: &DagEdge) -> bool {
    matches!(edge.kind, DagEdgeKind::Edge(id) if cfg.edge(id).kind == EdgeKind::Exit)
}

/// Weights by edge of the dag from weights by real edge: a start has those of all back and cut
/// edges to its head.
pub(crate) fn dag_weights(cfg: &Cfg, edges: &[DagEdge], weights: &[u64]) -> Vec<u64> {
    let weight = |id: EdgeId| weights.get(id.index()).copied().unwrap_or(0);
    let mut arriving = vec![0u64; cfg.block_count() as usize];
    for edge in edges {
        if let DagEdgeKind::Back(id) | DagEdgeKind::Cut(id) = edge.kind {
            let sum = &mut arriving[cfg.edge(id).to.index()];
            *sum = sum.saturating_add(weight(id));
        }
    }
    let weights = edges.iter().map(|edge| match edge.kind {
        DagEdgeKind::Edge(id) | DagEdgeKind::Back(id) | DagEdgeKind::Cut(id) => weight(id),
        DagEdgeKind::Start(head) => arriving[head.index()],
    });
    weights.collect()
}
