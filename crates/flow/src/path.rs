//! From a path's number to its blocks, and back (PP, section 3.4).
//!
//! Regeneration: from the entry take the edge with the largest value that is not above what is left
//! of the number, subtract it, go on there until the exit. Slide example: 3 at A takes AB (2), then
//! 1 at B takes BC (0), CD (0), at D takes DE (1), EF (0): ABCDEF. Each step is a binary search
//! among the block's edges.

use crate::dag::DagEdgeKind;
use crate::ids::{BlockId, DagEdgeId, EdgeId, PathId};
use crate::numbering::Numbering;
use alloc::vec::Vec;

/// Where a path starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathStart {
    /// At a call of the function.
    Entry,
    /// At this block, reached by a back edge or a cut edge.
    Loop(BlockId),
}

/// Where a path ends: by running this edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathEnd {
    /// An edge to the exit: out of the function, or an exit edge, where the path was left.
    Exit(EdgeId),
    /// A back edge.
    Back(EdgeId),
    /// A cut edge.
    Cut(EdgeId),
}

impl PathEnd {
    /// The real edge, whatever it is.
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
    /// Where it starts.
    pub start: PathStart,
    /// The blocks it runs, in order; the exit is not among them.
    pub blocks: Vec<BlockId>,
    /// The real edges it runs between these blocks: one fewer than blocks.
    pub edges: Vec<EdgeId>,
    /// The edge that ends it.
    pub end: PathEnd,
}

impl Numbering {
    /// The path that has a number; `None` from the path count on.
    #[must_use]
    pub fn regenerate(&self, path: PathId) -> Option<Path> {
        if path.0 >= self.path_count() {
            return None;
        }
        let (mut blocks, mut edges) = (Vec::new(), Vec::new());
        let mut start = PathStart::Entry;
        let (mut node, mut rest) = (self.shape.entry, path.0);
        loop {
            let step = self.step(node, rest);
            rest -= self.values[step.index()];
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

    /// The edge with the largest value that is not above `rest`.
    fn step(&self, node: usize, rest: u64) -> DagEdgeId {
        let out = self.shape.out.list(node);
        let after = out.partition_point(|edge| self.values[edge.index()] <= rest);
        out[after - 1]
    }

    /// The number of a path; `None` where it is not a path of this function.
    #[must_use]
    pub fn number_of(&self, path: &Path) -> Option<PathId> {
        let (mut number, mut node) = match path.start {
            PathStart::Entry => (0, self.shape.entry),
            PathStart::Loop(head) => self.follow(self.shape.of_start(head)?, self.shape.entry)?,
        };
        if path.blocks.len() != path.edges.len() + 1 {
            return None;
        }
        for (index, &block) in path.blocks.iter().enumerate() {
            if self.shape.nodes[node] != block {
                return None;
            }
            let real = path.edges.get(index).copied().unwrap_or(path.end.edge());
            let edge = self.shape.of_real(real)?;
            let (value, next) = self.follow(edge, node)?;
            let kind = self.shape.edges[edge.index()].kind;
            let expected = match path.end {
                _ if index < path.edges.len() => next != self.shape.exit,
                PathEnd::Exit(_) => matches!(kind, DagEdgeKind::Edge(_)) && next == self.shape.exit,
                PathEnd::Back(_) => matches!(kind, DagEdgeKind::Back(_)),
                PathEnd::Cut(_) => matches!(kind, DagEdgeKind::Cut(_)),
            };
            if !expected {
                return None;
            }
            number += value;
            node = next;
        }
        Some(PathId(number))
    }

    /// The value of an edge and the node it leads to, if it leaves `node`.
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
