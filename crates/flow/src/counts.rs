//! Derives from path counters how often each edge ran, and how often each path ran.
//!
//! Without exit edges the derivation is simple. Each execution of a path runs every edge between
//! its blocks once, plus the edge that ends it. Each back edge ends different paths, because the
//! dag has a separate dummy edge for each back edge. So the counts of back edges are exact, too.
//!
//! A path that ends by an exit edge is a *left path*. Its counter counts how often control
//! *reached* the middle of its last block; control may have continued from there. So the counter of
//! a left path says how often its blocks were entered, up to and including the last block. If
//! control continues, a longer path with the same beginning counts that execution again. To
//! interpret the counter of a path, take the last block on the path that has an exit edge which the
//! path does not run:
//!
//! - The edges after this block ran as often as the counter says. The edges before this block are
//!   already counted by the left path that ends in the block. If no such block exists, all edges of
//!   the path ran as often as the counter says.
//! - The counter is subtracted from the count of the left path that ends in this block. What
//!   remains of that count is net. It is negative if control continued more often than it arrived,
//!   as in a frame that is re-entered.
//!
//! The count of an exit edge follows from conservation: the flow into its block, minus the flow out
//! of the block through other edges. (More paths may start after a cut than end before it, for
//! example after a call that returns twice. The exit edge accounts for this difference; no left
//! path does.)
//!
//! Example (`fact` of Burger and Dybvig, Figure 3): b0 branches to b1, which returns, and to b2,
//! which calls `fact` and then jumps to b3. There are five calls, and the innermost call leaves all
//! frames. So control reaches b2 4 times and never reaches b3. The path counters are 1 for b0 b1, 0
//! for b0 b2 b3, and 4 for the left path b0 b2. The exit edge of b2 ran 4 times.
//!
//! The counts are exact for every edge if frames are left and re-entered only in blocks with an
//! exit edge. Sums wrap, so they are right whenever the true counts are below 2^63. Cost: the
//! length of each path that has a count.

use crate::cfg::{Cfg, EdgeKind};
use crate::dag::DagEdgeKind;
use crate::ids::{EdgeId, PathId};
use crate::numbering::Numbering;
use crate::path::{Path, PathEnd, PathStart};
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// How often each edge ran, and how often the function was called. The count of an exit edge is
/// net: negative if more calls came back than were made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EdgeFlow {
    /// How often control entered the function.
    pub calls: i64,
    /// The count of each edge, by [`EdgeId`].
    pub edges: Vec<i64>,
}

/// Why edge counts could not be derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountError {
    /// There is a count for a path that the function does not have.
    NoSuchPath(PathId),
    /// The numbering contains an edge that the function does not have.
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

/// Derives how often each edge of `cfg` ran from the counters of its paths.
///
/// # Errors
/// If a counter belongs to a path, or the numbering contains an edge, that the function does not
/// have.
pub fn edge_counts(
    cfg: &Cfg,
    numbering: &Numbering,
    counts: impl IntoIterator<Item = (PathId, u64)>,
) -> Result<EdgeFlow, CountError> {
    let exit_edges = ExitEdges::new(cfg, numbering)?;
    let mut flow = EdgeFlow {
        calls: 0,
        edges: vec![0; cfg.edges().len()],
    };
    for (id, count) in counts {
        let path = numbering.regenerate(id).ok_or(CountError::NoSuchPath(id))?;
        let count = count.cast_signed();
        let last_passed = exit_edges.last_passed_exit(&path);
        if last_passed.is_none() && path.start == PathStart::Entry {
            flow.calls = flow.calls.wrapping_add(count);
        }
        let mut add = |edge: EdgeId| {
            let sum = &mut flow.edges[edge.index()];
            *sum = sum.wrapping_add(count);
        };
        path.edges[last_passed.unwrap_or(0)..]
            .iter()
            .copied()
            .for_each(&mut add);
        if !exit_edges.is_exit(path.end) {
            add(path.end.edge());
        }
    }
    derive_exit_counts(cfg, &mut flow);
    Ok(flow)
}

/// Derives how often each path ran from the path counters. The counter of a left path counts how
/// often control reached the exit edge; the path itself ran only if control did not continue from
/// there. The result is in order of the paths, without paths whose count is 0.
///
/// # Errors
/// If a counter belongs to a path, or the numbering contains an edge, that the function does not
/// have.
pub fn net_counts(
    cfg: &Cfg,
    numbering: &Numbering,
    counts: impl IntoIterator<Item = (PathId, u64)>,
) -> Result<Vec<(PathId, i64)>, CountError> {
    let exit_edges = ExitEdges::new(cfg, numbering)?;
    let mut net: BTreeMap<PathId, i64> = BTreeMap::new();
    let mut add = |id: PathId, count: i64| {
        let sum = net.entry(id).or_default();
        *sum = sum.wrapping_add(count);
    };
    for (id, count) in counts {
        let mut path = numbering.regenerate(id).ok_or(CountError::NoSuchPath(id))?;
        let count = count.cast_signed();
        add(id, count);
        if let Some(last) = exit_edges.last_passed_exit(&path) {
            path.blocks.truncate(last + 1);
            path.edges.truncate(last);
            let exit = exit_edges.exits[path.blocks[last].index()];
            path.end = PathEnd::Exit(exit.expect("the block was found by its exit edge"));
            let left_path = numbering.number_of(&path);
            add(
                left_path.expect("a path's beginning is a path where it can be left"),
                count.wrapping_neg(),
            );
        }
    }
    Ok(net.into_iter().filter(|&(_, count)| count != 0).collect())
}

/// A graph and its exit edges.
struct ExitEdges<'a> {
    cfg: &'a Cfg,
    /// The exit edge of each block.
    exits: Vec<Option<EdgeId>>,
}

impl<'a> ExitEdges<'a> {
    fn new(cfg: &'a Cfg, numbering: &Numbering) -> Result<Self, CountError> {
        let mut exits = vec![None; cfg.block_count() as usize];
        for dag_edge in numbering.dag_edges() {
            let (DagEdgeKind::Edge(id) | DagEdgeKind::Back(id) | DagEdgeKind::Cut(id)) =
                dag_edge.kind
            else {
                continue;
            };
            let edge = cfg
                .edges()
                .get(id.index())
                .ok_or(CountError::NoSuchEdge(id))?;
            if edge.kind == EdgeKind::Exit
                && edge.from == dag_edge.from
                && dag_edge.to == numbering.exit()
            {
                exits[edge.from.index()] = Some(id);
            }
        }
        Ok(Self { cfg, exits })
    }

    fn is_exit(&self, end: PathEnd) -> bool {
        self.cfg.edge(end.edge()).kind == EdgeKind::Exit
    }

    /// The index in the path of its last block that has an exit edge which the path does not run.
    fn last_passed_exit(&self, path: &Path) -> Option<usize> {
        let passed_count = path.blocks.len() - usize::from(self.is_exit(path.end));
        let exit = |index: &usize| self.exits.get(path.blocks[*index].index());
        (0..passed_count)
            .rev()
            .find(|index| exit(index).is_some_and(Option::is_some))
    }
}

/// Sets the count of every exit edge to the flow into its block minus the flow out through other
/// edges.
fn derive_exit_counts(cfg: &Cfg, flow: &mut EdgeFlow) {
    for (index, edge) in cfg.edges().iter().enumerate() {
        if edge.kind != EdgeKind::Exit {
            continue;
        }
        let sum = |edges: &[EdgeId]| {
            let others = edges.iter().filter(|id| id.index() != index);
            others.fold(0i64, |sum, id| sum.wrapping_add(flow.edges[id.index()]))
        };
        let inflow = sum(cfg.predecessors(edge.from));
        let calls = if edge.from == cfg.entry() {
            flow.calls
        } else {
            0
        };
        flow.edges[index] = inflow
            .wrapping_add(calls)
            .wrapping_sub(sum(cfg.successors(edge.from)));
    }
}
