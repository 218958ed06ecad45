//! Converts a path number to the blocks of the path, and back (Ball and Larus 1996, section 3.4).
//!
//! Regeneration starts at the entry with the path number as the remainder. At each block it takes
//! the edge with the largest value that is not above the remainder, subtracts this value, and
//! continues at the edge's target, until it reaches the exit. Example (the slides' graph, see the
//! crate's documentation): at A, the remainder 3 takes AB (2). The remainder 1 takes BC (0) at B,
//! CD (0) at C, DE (1) at D, and EF (0) at E: ABCDEF. Each step is a binary search among the
//! block's edges.

use crate::dag::DagEdgeKind;
use crate::ids::{BlockId, DagEdgeId, EdgeId, PathId};
use crate::numbering::Numbering;
use alloc::vec::Vec;

/// The start of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathStart {
    /// At a call of the function.
    Entry,
    /// At this block, reached by a back edge or a cut edge.
    Loop(BlockId),
}

/// The end of a path: the edge that ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathEnd {
    /// An edge to the exit: out of the function, or an exit edge of a left path.
    Exit(EdgeId),
    /// A back edge.
    Back(EdgeId),
    /// A cut edge.
    Cut(EdgeId),
}

impl PathEnd {
    /// The real edge that ends the path.
    #[must_use]
    pub fn edge(self) -> EdgeId {
        match self {
            Self::Exit(edge) | Self::Back(edge) | Self::Cut(edge) => edge,
        }
    }
}

/// One path through a function.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path {
    /// The start of the path.
    pub start: PathStart,
    /// The blocks of the path, in order, without the exit.
    pub blocks: Vec<BlockId>,
    /// The real edges between these blocks: one fewer than the blocks.
    pub edges: Vec<EdgeId>,
    /// The edge that ends the path.
    pub end: PathEnd,
}

impl Numbering {
    /// The path with this number; `None` if the number is not below the path count.
    #[must_use]
    pub fn regenerate(&self, path: PathId) -> Option<Path> {
        if path.0 >= self.path_count() {
            return None;
        }
        let (mut blocks, mut edges) = (Vec::new(), Vec::new());
        let mut start = PathStart::Entry;
        let (mut node, mut remainder) = (self.shape.entry, path.0);
        loop {
            let step = self.step(node, remainder);
            remainder -= self.values[step.index()];
            if let DagEdgeKind::Start(head) = self.shape.edges[step.index()].kind {
                start = PathStart::Loop(head);
            } else {
                blocks.push(self.shape.nodes[node]);
            }
            node = self.shape.targets[step.index()] as usize;
            let end = match self.shape.edges[step.index()].kind {
                DagEdgeKind::Start(_) => continue,
                DagEdgeKind::Edge(id) if node != self.shape.exit => {
                    edges.push(id);
                    continue;
                }
                DagEdgeKind::Edge(id) => PathEnd::Exit(id),
                DagEdgeKind::Back(id) => PathEnd::Back(id),
                DagEdgeKind::Cut(id) => PathEnd::Cut(id),
            };
            return Some(Path {
                start,
                blocks,
                edges,
                end,
            });
        }
    }

    /// The edge of `node` with the largest value that is not above `remainder`.
    fn step(&self, node: usize, remainder: u64) -> DagEdgeId {
        let out = self.shape.out.list(node);
        let first_above = out.partition_point(|edge| self.values[edge.index()] <= remainder);
        out[first_above - 1]
    }

    /// The number of a path; `None` if it is not a path of this function.
    #[must_use]
    pub fn number_of(&self, path: &Path) -> Option<PathId> {
        let (mut number, mut node) = match path.start {
            PathStart::Entry => (0, self.shape.entry),
            PathStart::Loop(head) => {
                self.follow(self.shape.start_edge_of(head)?, self.shape.entry)?
            }
        };
        if path.blocks.len() != path.edges.len() + 1 {
            return None;
        }
        for (index, &block) in path.blocks.iter().enumerate() {
            if self.shape.nodes[node] != block {
                return None;
            }
            let real_edge = path.edges.get(index).copied().unwrap_or(path.end.edge());
            let edge = self.shape.dag_edge_of(real_edge)?;
            let (value, next) = self.follow(edge, node)?;
            let kind = self.shape.edges[edge.index()].kind;
            let kind_fits = match path.end {
                _ if index < path.edges.len() => next != self.shape.exit,
                PathEnd::Exit(_) => matches!(kind, DagEdgeKind::Edge(_)) && next == self.shape.exit,
                PathEnd::Back(_) => matches!(kind, DagEdgeKind::Back(_)),
                PathEnd::Cut(_) => matches!(kind, DagEdgeKind::Cut(_)),
            };
            if !kind_fits {
                return None;
            }
            number += value;
            node = next;
        }
        Some(PathId(number))
    }

    /// The value of an edge and the node that it enters; `None` if the edge does not leave
    /// `node`.
    fn follow(&self, edge: DagEdgeId, node: usize) -> Option<(u64, usize)> {
        let leaves = self.shape.sources[edge.index()] as usize == node;
        leaves.then(|| {
            (
                self.values[edge.index()],
                self.shape.targets[edge.index()] as usize,
            )
        })
    }
}
