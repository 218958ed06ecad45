//! Determines how far counts may be wrong because frames that were left in calls are not counted
//! (`--exits off`).
//!
//! The map names the blocks in which a frame may be left ([`FunctionMap::leaks`]). The error of the
//! counts depends on the counted unit:
//!
//! - *Paths*: the path that the frame was on is missing. So the count of a block or edge may be too
//!   low if a path leads from it to a block in which a frame may be left. It is never too high.
//! - *Edges*: propagation assumes that every call comes back (`flow`). The counts of counted edges
//!   have no error. The counts of some other edges are too high, and of some too low (`tree`).
//!
//! Two things change the direction of the error:
//!
//! - A call that comes back once more (`setjmp`) causes the opposite error if edges were counted.
//! - A fork's child continues in frames of its parent. So in runs with forks, every count with an
//!   error may be too high or too low.
//!
//! Example (edges): b0 makes a call and leads to b1, the exit. The edge b0→b1 is counted, and the
//! number of calls is propagated from it. A frame that is left in b0 never takes the edge. So the
//! edge counts 0, and the propagated number of calls is one too low.
//!
//! Cost: linear in blocks and edges.

mod bound;
mod tree;

use holloway_abi::Unit;
use holloway_flow::{EdgeCounters, EdgeId};
use holloway_format::{DagKind, FunctionMap, Outcome};

use crate::flow::graph_of;
use tree::{Errors, Signs, Tree, Uncounted};

pub use bound::Bound;

/// Whether any of the processes is a child of a fork. Such a child continues in its parent's
/// frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Forks {
    /// No process is a fork's child.
    Absent,
    /// At least one process is a fork's child.
    Present,
}

/// How a function's counts may differ from the real executions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// Bound of the number of calls.
    pub calls: Bound,
    /// By block: bound of its count.
    pub blocks: Vec<Bound>,
    /// By edge: bound of its count.
    pub edges: Vec<Bound>,
}

impl Bounds {
    /// Computes the bounds of a function. The indices of its map must have been checked, and its
    /// counters count `unit`.
    pub(crate) fn new(map: &FunctionMap, unit: Unit, forks: Forks) -> Bounds {
        let mut bounds = Bounds {
            calls: Bound::Exact,
            blocks: vec![Bound::Exact; map.blocks.len()],
            edges: vec![Bound::Exact; map.edges.len()],
        };
        if !map.leaks.is_empty() {
            match unit {
                Unit::Paths => bounds.set_for_paths(map, forks),
                Unit::Edges => bounds.set_for_edges(map, forks).unwrap_or_default(),
            }
        }
        bounds
    }

    /// Bound of a sum over all blocks, such as the number of executed instructions.
    pub fn sum(&self) -> Bound {
        Bound::of_all(self.blocks.iter().copied())
    }

    fn set_for_paths(&mut self, map: &FunctionMap, forks: Forks) {
        let bound = match forks {
            Forks::Present => Bound::Either,
            Forks::Absent => Bound::AtLeast,
        };
        let mut into: Vec<Vec<(u32, u32)>> = vec![Vec::new(); map.blocks.len()];
        for dag in &map.dag {
            if let DagKind::Edge(edge) = dag.kind {
                into[dag.to as usize].push((edge, dag.from));
            }
        }
        let mut worklist = map.leaks.clone();
        while let Some(block) = worklist.pop() {
            if self.blocks[block as usize] != Bound::Exact {
                continue;
            }
            self.blocks[block as usize] = bound;
            for &(edge, from) in &into[block as usize] {
                self.edges[edge as usize] = bound;
                worklist.push(from);
            }
        }
        self.calls = self.blocks[map.entry as usize];
    }

    /// Returns `None` if the map has no valid graph. Then there are no counts either.
    fn set_for_edges(&mut self, map: &FunctionMap, forks: Forks) -> Option<()> {
        let cfg = graph_of(map).ok()?;
        let ids = |edges: &[u32]| edges.iter().copied().map(EdgeId).collect();
        let counters = EdgeCounters::from_parts(&cfg, ids(&map.counted), ids(&map.tree)).ok()?;
        let tree = Tree::new(map, &counters);
        let edges = map.edges.iter();
        let reentered = edges.filter(|edge| edge.outcome == Outcome::Again);
        let left_errors = tree.errors(map, map.leaks.iter().copied(), Uncounted::Left);
        self.add(&left_errors, |signs| match Bound::of_signs(signs) {
            Bound::Exact => Bound::Exact,
            _ if forks == Forks::Present => Bound::Either,
            bound => bound,
        });
        let reentry_errors = tree.errors(map, reentered.map(|edge| edge.to), Uncounted::Reentered);
        self.add(&reentry_errors, Bound::of_signs);
        Some(())
    }

    /// Combines the bounds with the bounds that these errors cause.
    fn add(&mut self, errors: &Errors, bound: impl Fn(Signs) -> Bound) {
        self.calls = self.calls.and(bound(errors.calls));
        let blocks = self.blocks.iter_mut().zip(&errors.blocks);
        for (sum, &signs) in blocks.chain(self.edges.iter_mut().zip(&errors.edges)) {
            *sum = sum.and(bound(signs));
        }
    }
}
