//! Edge counts from path counts: each path runs the edges it is made of, and ends by running one
//! more.
//!
//! Exact for every edge, back and cut edges included: a path that ends by a back edge counts for
//! that back edge and no other, since the dag has one dummy for each. Cost: the length of each path
//! given.

use crate::dag::DagEdgeKind;
use crate::ids::{EdgeId, PathId};
use crate::numbering::Numbering;
use crate::path::PathStart;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// How often each edge ran, and how often the function was called. Sums saturate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EdgeCounts {
    /// Paths that start at the entry.
    pub calls: u64,
    /// By [`EdgeId`].
    pub edges: Vec<u64>,
}

/// Why edge counts could not be derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountError {
    /// A count for a path that the function does not have.
    NoSuchPath(PathId),
    /// The numbering names an edge beyond those of the function.
    NoSuchEdge(EdgeId),
}

impl fmt::Display for CountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchPath(path) => write!(
                f,
                "a count for {path}, which is not a path of this function"
            ),
            Self::NoSuchEdge(edge) => write!(f, "{edge} is not an edge of this function"),
        }
    }
}

impl core::error::Error for CountError {}

/// Derives how often each of a function's `edges` edges ran from how often its paths did.
///
/// # Errors
/// Where a path or an edge does not exist.
pub fn edge_counts(
    edges: usize,
    numbering: &Numbering,
    counts: impl IntoIterator<Item = (PathId, u64)>,
) -> Result<EdgeCounts, CountError> {
    let ids = numbering
        .dag_edges()
        .iter()
        .filter_map(|edge| match edge.kind {
            DagEdgeKind::Edge(id) | DagEdgeKind::Back(id) | DagEdgeKind::Cut(id) => Some(id),
            DagEdgeKind::Start(_) => None,
        });
    if let Some(id) = ids.max().filter(|id| id.index() >= edges) {
        return Err(CountError::NoSuchEdge(id));
    }
    let mut result = EdgeCounts {
        calls: 0,
        edges: vec![0; edges],
    };
    for (id, count) in counts {
        let path = numbering.regenerate(id).ok_or(CountError::NoSuchPath(id))?;
        if path.start == PathStart::Entry {
            result.calls = result.calls.saturating_add(count);
        }
        for edge in path.edges.iter().chain([&path.end.edge()]) {
            let sum = &mut result.edges[edge.index()];
            *sum = sum.saturating_add(count);
        }
    }
    Ok(result)
}
