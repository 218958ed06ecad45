//! Counters next to a thread's ring, for kinds that append most paths to a stream and count the
//! others (`format::map`, "Ring counters"). Two sorts of paths are counted instead of appended.
//!
//! # Paths that are a whole activation
//! A path from the entry of its function to the end is all that its activation runs. It is in no
//! sequence with other paths of the activation, so its count says everything. All paths of a
//! function without loops are of this sort. So are the paths of other functions that pass no loop
//! head. Share of such paths among all words (measured once): Lua 54 %, json 43, markdown 16, bzip2
//! 10, xz 2, zstd 0.
//!
//! Paths from the entry have the lowest numbers. So where a path ends by leaving the function, the
//! probe compares the path register with a constant to decide whether the path is a whole
//! activation ([`Destination::RingCounterFromEntry`]).
//!
//! These paths are appended nevertheless
//! - if the function has more paths from the entry than an array of counters may have. Every thread
//!   reserves memory for counters, but not for words; or
//! - if exceptions may come back to a function with loops. The analysis of the stream learns from
//!   the function's next word that the function has caught the exception.
//!
//! # Paths that may be left in a call
//! With exit edges, a path that may be left in a call is counted when control reaches the call,
//! because the probe could append nothing if the call does not come back. The analysis subtracts
//! the paths that continued after the call, as it does for a path profile. Left paths have no
//! separate range of numbers, so a function with exit edges has a counter for each of its paths,
//! although most of them stay 0.

use std::collections::HashMap;

use holloway_abi::InlineCounts;
use holloway_flow::{
    BlockId, DagEdge, DagEdgeKind, EdgeId, EdgeKind, Numbering, PathEnd, PathId, PathStart,
};
use holloway_format::Outcome;

use super::plan::{Plan, PlannedCounts};
use super::sites::Destination;
use crate::lower::LoweredFunction;
use crate::options::ModuleOptions;

/// Assigns the functions of a module their counters next to the ring, one function after the other.
pub(crate) struct RingCounterAllocator {
    inline_counts: InlineCounts,
    /// The maximum number of paths of a function that are counted as whole activations.
    limit: u64,
    /// The offset after the last assigned counter, in bytes.
    end: u64,
}

/// The counters of a function next to the ring.
#[derive(Clone, Copy)]
pub(crate) struct RingCounters {
    /// The offset of path 0's counter from the module's first counter, in bytes.
    pub(crate) offset: u64,
    pub(crate) whole_activations: WholeActivations,
}

/// How paths that are whole activations are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WholeActivations {
    /// The path is counted next to the ring.
    Counted,
    /// The path is appended, as other paths are.
    Appended,
}

impl RingCounterAllocator {
    pub(crate) fn new(options: &ModuleOptions) -> Self {
        Self {
            inline_counts: options.collect.traits().inline_counts,
            limit: options.array_limit,
            end: 0,
        }
    }

    /// Assigns a function its counters. `None` if it needs none.
    pub(crate) fn allocate(&mut self, plan: &Plan<'_>) -> Option<RingCounters> {
        match self.inline_counts {
            InlineCounts::Activations => {}
            InlineCounts::Nothing | InlineCounts::Paths | InlineCounts::Edges => return None,
        }
        let PlannedCounts::Paths(numbering) = &plan.counts else {
            return None;
        };
        let from_entry = numbering.paths_from_entry();
        let all = numbering.path_count();
        let may_catch = plan.lowered.parts.catch_points().next().is_some();
        let may_count = (1..=self.limit).contains(&from_entry) && (!may_catch || from_entry == all);
        let whole_activations = match may_count {
            true => WholeActivations::Counted,
            false => WholeActivations::Appended,
        };
        let count = match (plan.lowered.has_exits(), whole_activations) {
            (true, _) => all,
            (false, WholeActivations::Counted) => from_entry,
            (false, WholeActivations::Appended) => return None,
        };
        if count == 0 {
            return None;
        }
        let offset = self.end;
        self.end += 8 * count;
        Some(RingCounters {
            offset,
            whole_activations,
        })
    }
}

/// Decides which paths of a function are counted next to the ring.
pub(super) struct RingCountedPaths<'a, 'm> {
    lowered: &'a LoweredFunction<'m>,
    numbering: &'a Numbering,
    whole_activations: WholeActivations,
    /// By block: one edge of the acyclic graph that leaves it.
    out: HashMap<BlockId, DagEdge>,
    /// By edge of the graph: the same edge of the acyclic graph.
    dag_edges: HashMap<EdgeId, DagEdge>,
}

impl<'a, 'm> RingCountedPaths<'a, 'm> {
    pub(super) fn new(
        lowered: &'a LoweredFunction<'m>,
        numbering: &'a Numbering,
        whole_activations: WholeActivations,
    ) -> Self {
        let edges = || numbering.dag_edges().iter();
        let out = edges().filter(|edge| !matches!(edge.kind, DagEdgeKind::Start(_)));
        let dag_edges = edges().filter_map(|edge| match edge.kind {
            DagEdgeKind::Edge(id) => Some((id, *edge)),
            DagEdgeKind::Start(_) | DagEdgeKind::Back(_) | DagEdgeKind::Cut(_) => None,
        });
        Self {
            lowered,
            numbering,
            whole_activations,
            out: out.map(|edge| (edge.from, *edge)).collect(),
            dag_edges: dag_edges.collect(),
        }
    }

    /// The lowest number of a path that does not start at the function's entry.
    pub(super) fn first_from_loop(&self) -> PathId {
        PathId(self.numbering.paths_from_entry())
    }

    /// The number of counters.
    pub(super) fn counter_count(&self) -> u64 {
        self.numbering.path_count()
    }

    /// Whether this path is counted because it is a whole activation.
    pub(super) fn is_whole_activation(&self, path: PathId) -> bool {
        if self.whole_activations == WholeActivations::Appended {
            return false;
        }
        let path = self.numbering.regenerate(path);
        path.is_some_and(|path| {
            let ends_at_exit =
                matches!(path.end, PathEnd::Exit(edge) if self.leaves_function(edge));
            path.start == PathStart::Entry && ends_at_exit
        })
    }

    /// How the counts of an edge are recorded.
    pub(super) fn destination(&self, edge: EdgeId) -> Destination {
        if self.lowered.cfg.edge(edge).kind == EdgeKind::Exit {
            return Destination::RingCounter;
        }
        let leaves = || {
            let edge = self.dag_edges.get(&edge);
            edge.is_some_and(|edge| self.only_leaves_function(*edge))
        };
        match self.whole_activations {
            WholeActivations::Counted if leaves() => Destination::RingCounterFromEntry,
            WholeActivations::Counted | WholeActivations::Appended => Destination::Usual,
        }
    }

    fn leaves_function(&self, edge: EdgeId) -> bool {
        matches!(
            self.lowered.edges[edge.index()].outcome,
            Outcome::Return | Outcome::TailCall | Outcome::Resume
        )
    }

    /// Whether the paths that are counted on an edge leave the function, and not in a call. A path
    /// is counted only where a single way to its end remains, so this follows one edge out of each
    /// block.
    fn only_leaves_function(&self, mut edge: DagEdge) -> bool {
        while let DagEdgeKind::Edge(id) = edge.kind {
            if edge.to == self.numbering.exit() {
                return self.leaves_function(id);
            }
            let Some(next) = self.out.get(&edge.to) else {
                return false;
            };
            edge = *next;
        }
        false
    }
}
