//! Restores a numbering from the parts that a path map contains.
//!
//! The constructor trusts no part. The parts form a numbering if and only if these conditions hold:
//!
//! - The dag has no cycle.
//! - Dummy edges are between the right blocks.
//! - Every block on a path leads to an end.
//! - The values of each block follow the numbering's rule for *some* order of its successors:
//!   sorted, they are the running sums of their targets' path counts.
//!
//! By induction from the exit, these conditions make the sums along paths a bijection to 0..path
//! count.

use crate::dag::{DagEdge, DagEdgeKind};
use crate::error::NumberingError;
use crate::ids::{BlockId, DagEdgeId};
use crate::numbering::Numbering;
use crate::shape::Shape;
use alloc::vec;
use alloc::vec::Vec;

impl Numbering {
    /// Restores a numbering from the edges of its dag and their values, in the order of
    /// [`DagEdgeId`].
    ///
    /// # Errors
    /// If the parts do not form a numbering, see [`NumberingError`]. Never panics, for any input.
    pub fn from_parts(
        entry: BlockId,
        exit: BlockId,
        edges: Vec<(DagEdge, u64)>,
    ) -> Result<Self, NumberingError> {
        if entry == exit {
            return Err(NumberingError::EntryIsExit(entry));
        }
        let (edges, values): (Vec<DagEdge>, Vec<u64>) = edges.into_iter().unzip();
        if u32::try_from(edges.len()).is_err() {
            return Err(NumberingError::TooManyEdges);
        }
        if let Some(index) = edges
            .iter()
            .position(|edge| is_misplaced(entry, exit, edge))
        {
            return Err(NumberingError::Misplaced(DagEdgeId::new(index)));
        }
        let mut shape = Shape::new(entry, exit, edges)?;
        if let Some(edge) = shape.repeated_edge() {
            return Err(NumberingError::RepeatedEdge(edge));
        }
        if let Some(head) = shape.repeated_start() {
            return Err(NumberingError::RepeatedStart(head));
        }
        let path_counts = count_paths(&mut shape, &values)?;
        Ok(Self {
            shape,
            values,
            path_counts,
        })
    }
}

fn is_misplaced(entry: BlockId, exit: BlockId, edge: &DagEdge) -> bool {
    let is_wrong_dummy = match edge.kind {
        DagEdgeKind::Edge(_) => false,
        DagEdgeKind::Start(head) => edge.from != entry || edge.to != head || head == exit,
        DagEdgeKind::Back(_) | DagEdgeKind::Cut(_) => edge.to != exit,
    };
    is_wrong_dummy || edge.from == exit || edge.to == entry
}

/// Sorts each node's edges by value, and returns the path count of each node.
///
/// # Errors
/// If the values of a node's edges are not the running sums of path counts, a node other than the
/// exit has no edges, or a path count does not fit in 64 bits.
fn count_paths(shape: &mut Shape, values: &[u64]) -> Result<Vec<u64>, NumberingError> {
    let mut path_counts = vec![0u64; shape.nodes.len()];
    path_counts[shape.exit] = 1;
    for node in (0..shape.nodes.len())
        .rev()
        .filter(|&node| node != shape.exit)
    {
        let block = shape.nodes[node];
        let out = shape.out.list_mut(node);
        out.sort_unstable_by_key(|edge| values[edge.index()]);
        if out.is_empty() && node != shape.entry {
            return Err(NumberingError::DeadEnd(block));
        }
        let mut sum = 0u64;
        for edge in out {
            if values[edge.index()] != sum {
                return Err(NumberingError::NotBijective(block));
            }
            let paths = path_counts[shape.targets[edge.index()] as usize];
            sum = sum
                .checked_add(paths)
                .ok_or(NumberingError::TooManyPaths(block))?;
        }
        path_counts[node] = sum;
    }
    Ok(path_counts)
}
