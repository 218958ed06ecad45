//! What path counters say: how often each edge ran, and how often each path was left.
//!
//! Without exit edges this is plain: each path runs the edges it is made of, and ends by running
//! one more. A path that ends by a back edge counts for that back edge and no other, since the dag
//! has one dummy for each.
//!
//! A path that ends by an exit edge was counted when the middle of its last block was *reached*,
//! and may have gone on from there. So the count of such a left path is how often its blocks
//! were entered all the way to the last one; what went on is counted again by the paths that have
//! the same beginning, the nearest on each of them. From a counter to what it says:
//!
//! - the edges behind the last block with an exit edge on the path (all of them, where there is
//!   none) ran that often: those before it are counted by the left path that ends there;
//! - that left path was left that much less often. What remains is net: negative where more went
//!   on than came, as in a frame that is re-entered.
//!
//! An exit edge's own count is what conservation asks for: what came into its block, less what went
//! out by other edges. (Where a path starts behind a cut more often than one ends before it, as
//! behind a call that returns twice, the exit edge accounts for that; no left path does.)
//!
//! Example (`fact` of Burger and Dybvig, Figure 3: b0 branches to b1, which returns, and b2, which
//! calls and goes on to b3): five calls, the innermost leaves all: b2 is reached 4 times, never
//! b3. The paths are b0 b1 (1), b0 b2 b3 (0) and b0 b2 left there (4): b2's exit edge ran 4 times.
//!
//! Exact for every edge as long as frames are left and re-entered in blocks with an exit edge only.
//! Sums wrap, so they are right whenever the true counts are below 2^63. Cost: the length of each
//! path given.

use crate::cfg::{Cfg, EdgeKind};
use crate::dag::DagEdgeKind;
use crate::ids::{EdgeId, PathId};
use crate::numbering::Numbering;
use crate::path::{Path, PathEnd, PathStart};
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// How often each edge ran, and how often the function was called. An exit edge's count is net:
/// negative where more calls came back than were made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EdgeFlow {
    /// Times that the entry was entered.
    pub calls: i64,
    /// By [`EdgeId`].
    pub edges: Vec<i64>,
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

/// Derives how often each edge of `cfg` ran from what its paths' counters hold.
///
/// # Errors
/// Where a path or an edge does not exist.
pub fn edge_counts(
    cfg: &Cfg,
    numbering: &Numbering,
    counts: impl IntoIterator<Item = (PathId, u64)>,
) -> Result<EdgeFlow, CountError> {
    let reader = Reader::new(cfg, numbering)?;
    let mut flow = EdgeFlow {
        calls: 0,
        edges: vec![0; cfg.edges().len()],
    };
    for (id, count) in counts {
        let path = numbering.regenerate(id).ok_or(CountError::NoSuchPath(id))?;
        let count = count.cast_signed();
        let known = reader.passed(&path);
        if known.is_none() && path.start == PathStart::Entry {
            flow.calls = flow.calls.wrapping_add(count);
        }
        let mut add = |edge: EdgeId| {
            let sum = &mut flow.edges[edge.index()];
            *sum = sum.wrapping_add(count);
        };
        path.edges[known.unwrap_or(0)..]
            .iter()
            .copied()
            .for_each(&mut add);
        if !reader.is_exit(path.end) {
            add(path.end.edge());
        }
    }
    conserve(cfg, &mut flow);
    Ok(flow)
}

/// Derives how often each path ran from what the counters hold: a path that ends by an exit edge is
/// counted where that was reached, and ran only where nothing went on from there. In order of the
/// paths; those that come out as 0 are left out.
///
/// # Errors
/// Where a path or an edge does not exist.
pub fn net_counts(
    cfg: &Cfg,
    numbering: &Numbering,
    counts: impl IntoIterator<Item = (PathId, u64)>,
) -> Result<Vec<(PathId, i64)>, CountError> {
    let reader = Reader::new(cfg, numbering)?;
    let mut net: BTreeMap<PathId, i64> = BTreeMap::new();
    let mut add = |id: PathId, count: i64| {
        let sum = net.entry(id).or_default();
        *sum = sum.wrapping_add(count);
    };
    for (id, count) in counts {
        let mut path = numbering.regenerate(id).ok_or(CountError::NoSuchPath(id))?;
        let count = count.cast_signed();
        add(id, count);
        if let Some(last) = reader.passed(&path) {
            path.blocks.truncate(last + 1);
            path.edges.truncate(last);
            let exit = reader.exits[path.blocks[last].index()];
            path.end = PathEnd::Exit(exit.expect("the block was found by its exit edge"));
            let left = numbering.number_of(&path);
            add(
                left.expect("a path's beginning is a path where it can be left"),
                count.wrapping_neg(),
            );
        }
    }
    Ok(net.into_iter().filter(|&(_, count)| count != 0).collect())
}

/// What both need to know of a graph.
struct Reader<'a> {
    cfg: &'a Cfg,
    /// By block: its exit edge.
    exits: Vec<Option<EdgeId>>,
}

impl<'a> Reader<'a> {
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

    /// The last block of a path, as an index, that has an exit edge which the path does not run.
    fn passed(&self, path: &Path) -> Option<usize> {
        let passed = path.blocks.len() - usize::from(self.is_exit(path.end));
        let exit = |index: &usize| self.exits.get(path.blocks[*index].index());
        (0..passed)
            .rev()
            .find(|index| exit(index).is_some_and(Option::is_some))
    }
}

/// Gives every exit edge what comes into its block and does not go out by another edge.
fn conserve(cfg: &Cfg, flow: &mut EdgeFlow) {
    for (index, edge) in cfg.edges().iter().enumerate() {
        if edge.kind != EdgeKind::Exit {
            continue;
        }
        let sum = |edges: &[EdgeId]| {
            let others = edges.iter().filter(|id| id.index() != index);
            others.fold(0i64, |sum, id| sum.wrapping_add(flow.edges[id.index()]))
        };
        let into = sum(cfg.predecessors(edge.from));
        let calls = if edge.from == cfg.entry() {
            flow.calls
        } else {
            0
        };
        flow.edges[index] = into
            .wrapping_add(calls)
            .wrapping_sub(sum(cfg.successors(edge.from)));
    }
}
