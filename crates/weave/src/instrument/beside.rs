//! Activations of one path, counted beside the thread's ring where sequences over iterations are collected (`format::map`, "Paths in streams").
//!
//! A path from the entry to the end of its function is all that its activation runs. Sequences say nothing of it but how often it ran, so it is counted as a profile of
//! paths does, and not appended: all paths of a function without loops, and those of others that meet no loop's head. Of the words of Lua these are 54 %, of json 43,
//! markdown 16, bzip2 10, xz 2, zstd 0 (measured once).
//!
//! What ends a path at the exit knows by the path register which it is: paths from the entry have the lowest numbers. That end, of several, can be told by the
//! place of the count, behind which all go the same way; its increment is [`marked`](Alone::mark).
//!
//! Left as they are: functions with more paths from the entry than an array of counters is to have (blocks are memory of each thread, words are not), and functions
//! with loops that exceptions come back to: their next word tells the reader that they did.

use holloway_flow::{
    Action, BlockId, DagEdge, DagEdgeKind, Numbering, PathEnd, PathId, PathStart, Probes,
};
use holloway_format::Outcome;
use std::collections::HashMap;

use super::plan::{Counted, Plan};
use crate::lower::Lowered;
use crate::options::{Collect, ModuleOptions};

/// Places a module's counters beside the ring, one function after the other.
pub(crate) struct Beside {
    /// Most paths of a function there; 0: none is.
    most: u64,
    end: u64,
}

impl Beside {
    pub(crate) fn new(options: &ModuleOptions) -> Self {
        let is_wanted = options.collect == Collect::Loops;
        Self {
            most: if is_wanted { options.array_limit } else { 0 },
            end: 0,
        }
    }

    /// Where the function's first counter is, if it is to count there.
    pub(crate) fn place(&mut self, plan: &Plan<'_>) -> Option<u64> {
        let Counted::Paths(numbering) = &plan.counted else {
            return None;
        };
        let count = numbering.paths_before_starts();
        let is_caught = plan.lowered.layout.catches().next().is_some();
        if count == 0 || count > self.most || (is_caught && count < numbering.path_count()) {
            return None;
        }
        let offset = self.end;
        self.end += 8 * count;
        Some(offset)
    }
}

/// Which paths of a function with loops are alone in their activations.
pub(super) struct Alone<'a, 'm> {
    lowered: &'a Lowered<'m>,
    numbering: &'a Numbering,
    /// By block: an edge of the dag that leaves it.
    out: HashMap<BlockId, DagEdge>,
}

/// Added to the increment of a count at which paths end that leave the function: more than any path's number.
const MARK: i64 = 1 << 40;

/// The increment without its mark, and whether it had one.
pub(super) fn unmarked(increment: i64) -> (i64, bool) {
    match increment > MARK / 2 {
        true => (increment - MARK, true),
        false => (increment, false),
    }
}

impl<'a, 'm> Alone<'a, 'm> {
    pub(super) fn new(lowered: &'a Lowered<'m>, numbering: &'a Numbering) -> Self {
        let edges = numbering.dag_edges().iter();
        let edges = edges.filter(|edge| !matches!(edge.kind, DagEdgeKind::Start(_)));
        Self {
            lowered,
            numbering,
            out: edges.map(|edge| (edge.from, *edge)).collect(),
        }
    }

    /// How many paths start at the entry; theirs are the lowest numbers.
    pub(super) fn count(&self) -> u64 {
        self.numbering.paths_before_starts()
    }

    /// Whether a path runs from the entry until the function is left by itself.
    pub(super) fn holds(&self, path: u64) -> bool {
        let path = self.numbering.regenerate(PathId(path));
        path.is_some_and(|path| {
            let closes = matches!(path.end, PathEnd::Exit(edge) if self.leaves(edge.index()));
            path.start == PathStart::Entry && closes
        })
    }

    fn leaves(&self, edge: usize) -> bool {
        matches!(
            self.lowered.edges[edge].outcome,
            Outcome::Return | Outcome::TailCall | Outcome::Resume
        )
    }

    /// The probes, those counts by the register marked behind which every path leaves the function by itself.
    pub(super) fn mark(&self, probes: &Probes) -> Probes {
        let edges = self.numbering.dag_edges().iter();
        let inside = edges.filter_map(|edge| match edge.kind {
            DagEdgeKind::Edge(id) => Some((id, *edge)),
            _ => None,
        });
        let inside: HashMap<_, _> = inside.collect();
        let mut marked = probes.clone();
        for (id, probe) in &mut marked.edges {
            if !inside.get(id).is_some_and(|edge| self.ends_outside(*edge)) {
                continue;
            }
            for action in &mut probe.before {
                if let Action::Count {
                    register: true,
                    increment,
                } = action
                {
                    *increment += MARK;
                }
            }
        }
        marked
    }

    /// Whether the one way on from an edge leaves the function by itself.
    fn ends_outside(&self, mut edge: DagEdge) -> bool {
        while let DagEdgeKind::Edge(id) = edge.kind {
            if edge.to == self.numbering.exit() {
                return self.leaves(id.index());
            }
            let Some(next) = self.out.get(&edge.to) else {
                return false;
            };
            edge = *next;
        }
        false
    }
}
