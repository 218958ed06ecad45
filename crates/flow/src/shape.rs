//! A dag described by its edges alone: nodes in topological order, and the edges of each node.
//!
//! The same code builds this form for a new numbering and for a numbering read from a path map. So
//! the reader of a map can check every numbering that a writer of maps can write. Block ids need
//! not be dense here, because a damaged map may contain any id. Nodes are dense.

use crate::dag::{DagEdge, DagEdgeKind};
use crate::error::NumberingError;
use crate::ids::{BlockId, DagEdgeId, EdgeId};
use crate::lists::Lists;
use alloc::vec;
use alloc::vec::Vec;

/// A dag with dense nodes in topological order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// The block of each node.
    pub(crate) nodes: Vec<BlockId>,
    /// The nodes in order of their blocks, for binary search.
    by_block: Vec<u32>,
    /// The node of the entry block.
    pub(crate) entry: usize,
    /// The node of the exit block.
    pub(crate) exit: usize,
    pub(crate) edges: Vec<DagEdge>,
    /// The node that each edge leaves.
    pub(crate) sources: Vec<u32>,
    /// The node that each edge enters.
    pub(crate) targets: Vec<u32>,
    /// The edges out of each node. After the paths are numbered, they are in order of their values.
    pub(crate) out: Lists<DagEdgeId>,
    /// Pairs of real edge and edge of the dag, sorted.
    real: Vec<(EdgeId, DagEdgeId)>,
    /// Pairs of loop head and start edge, sorted.
    starts: Vec<(BlockId, DagEdgeId)>,
}

impl Shape {
    pub(crate) fn new(
        entry: BlockId,
        exit: BlockId,
        edges: Vec<DagEdge>,
    ) -> Result<Self, NumberingError> {
        if u32::try_from(edges.len()).is_err() {
            return Err(NumberingError::TooManyEdges);
        }
        let ends = edges.iter().flat_map(|edge| [edge.from, edge.to]);
        let mut blocks: Vec<BlockId> = [entry, exit].into_iter().chain(ends).collect();
        blocks.sort_unstable();
        blocks.dedup();
        let find = |block: BlockId| {
            blocks
                .binary_search(&block)
                .expect("all ends were collected")
        };
        let ends: Vec<(usize, usize)> = edges
            .iter()
            .map(|edge| (find(edge.from), find(edge.to)))
            .collect();
        let order = sort_nodes(blocks.len(), find(entry), &ends).ok_or(NumberingError::Cycle)?;
        let mut by_block = vec![0u32; blocks.len()];
        for (node, &index) in (0u32..).zip(&order) {
            by_block[index] = node;
        }
        let out = Lists::new(
            blocks.len(),
            ends.iter()
                .enumerate()
                .map(|(i, end)| (by_block[end.0] as usize, DagEdgeId::new(i))),
        );
        let shape = Self {
            nodes: order.iter().map(|&index| blocks[index]).collect(),
            entry: by_block[find(entry)] as usize,
            exit: by_block[find(exit)] as usize,
            sources: ends.iter().map(|end| by_block[end.0]).collect(),
            targets: ends.iter().map(|end| by_block[end.1]).collect(),
            real: real_edges(&edges),
            starts: start_edges(&edges),
            by_block,
            edges,
            out,
        };
        Ok(shape)
    }

    /// The node of a block.
    pub(crate) fn node(&self, block: BlockId) -> Option<usize> {
        let position = self
            .by_block
            .binary_search_by_key(&block, |&node| self.nodes[node as usize]);
        position.ok().map(|index| self.by_block[index] as usize)
    }

    /// The edge of the dag that represents a real edge.
    pub(crate) fn dag_edge_of(&self, edge: EdgeId) -> Option<DagEdgeId> {
        let position = self.real.binary_search_by_key(&edge, |entry| entry.0);
        position.ok().map(|index| self.real[index].1)
    }

    /// The start edge of a head: paths start along this edge.
    pub(crate) fn start_edge_of(&self, head: BlockId) -> Option<DagEdgeId> {
        let position = self.starts.binary_search_by_key(&head, |entry| entry.0);
        position.ok().map(|index| self.starts[index].1)
    }

    /// A real edge that appears twice.
    pub(crate) fn repeated_edge(&self) -> Option<EdgeId> {
        self.real
            .windows(2)
            .find(|pair| pair[0].0 == pair[1].0)
            .map(|pair| pair[0].0)
    }

    /// A head that has two start edges.
    pub(crate) fn repeated_start(&self) -> Option<BlockId> {
        self.starts
            .windows(2)
            .find(|pair| pair[0].0 == pair[1].0)
            .map(|pair| pair[0].0)
    }

    /// The ids of all edges.
    pub(crate) fn edge_ids(&self) -> impl Iterator<Item = DagEdgeId> + Clone + use<> {
        (0..self.edges.len()).map(DagEdgeId::new)
    }
}

fn real_edges(edges: &[DagEdge]) -> Vec<(EdgeId, DagEdgeId)> {
    let real = edges
        .iter()
        .enumerate()
        .filter_map(|(index, edge)| match edge.kind {
            DagEdgeKind::Edge(id) | DagEdgeKind::Back(id) | DagEdgeKind::Cut(id) => {
                Some((id, DagEdgeId::new(index)))
            }
            DagEdgeKind::Start(_) => None,
        });
    let mut real: Vec<_> = real.collect();
    real.sort_unstable();
    real
}

fn start_edges(edges: &[DagEdge]) -> Vec<(BlockId, DagEdgeId)> {
    let starts = edges
        .iter()
        .enumerate()
        .filter_map(|(index, edge)| match edge.kind {
            DagEdgeKind::Start(head) => Some((head, DagEdgeId::new(index))),
            _ => None,
        });
    let mut starts: Vec<_> = starts.collect();
    starts.sort_unstable();
    starts
}

/// Returns the nodes in a topological order (Kahn's algorithm), or `None` if there is a cycle. The
/// entry comes first if no edge enters it.
fn sort_nodes(count: usize, entry: usize, ends: &[(usize, usize)]) -> Option<Vec<usize>> {
    let out = Lists::new(count, ends.iter().copied());
    // For each node: the number of its incoming edges from nodes that are not in the order yet.
    let mut unplaced_sources = vec![0u32; count];
    for &(_, to) in ends {
        unplaced_sources[to] += 1;
    }
    let is_free = |unplaced_sources: &[u32], node: usize| unplaced_sources[node] == 0;
    let mut order: Vec<usize> = Vec::with_capacity(count);
    order.extend(Some(entry).filter(|&node| is_free(&unplaced_sources, node)));
    order.extend((0..count).filter(|&node| node != entry && is_free(&unplaced_sources, node)));
    let mut next = 0;
    while let Some(&node) = order.get(next) {
        next += 1;
        for &to in out.list(node) {
            unplaced_sources[to] -= 1;
            if unplaced_sources[to] == 0 {
                order.push(to);
            }
        }
    }
    (order.len() == count).then_some(order)
}
