//! Activations of one path and paths left in a call, counted beside the thread's ring where sequences over iterations are collected (`format::map`, "Paths in streams").
//!
//! A path from the entry to the end of its function is all that its activation runs. Sequences say nothing of it but how often it ran, so it is counted as a profile of
//! paths does, and not appended: all paths of a function without loops, and those of others that meet no loop's head. Of the words of Lua these are 54 %, of json 43,
//! markdown 16, bzip2 10, xz 2, zstd 0 (measured once).
//!
//! What ends a path at the exit knows by the path register which it is: paths from the entry have the lowest numbers. That end, of several, can be told by the
//! place of the count, behind which all go the same way; its increment is [`marked`](Alone::mark).
//!
//! Appended all the same: such paths of functions with more paths from the entry than an array of counters is to have (blocks are memory of each thread, words are not), and of functions
//! with loops that exceptions come back to: their next word tells the reader that they did.
//!
//! # Left paths
//! With exit edges a path that may be left in a call is counted beside the ring too, when the call is reached: nothing could be appended once it does not come back. The reader takes off the
//! paths that went on, as it does of a profile of paths. So a function with exit edges has a counter there for each of its paths, though most stay 0: left paths have no numbers of
//! their own.

use holloway_flow::{
    Action, BlockId, CountBase, DagEdge, DagEdgeKind, EdgeKind, Numbering, PathEnd, PathId,
    PathStart, Probes,
};
use holloway_format::Outcome;
use std::collections::HashMap;

use super::plan::{Counted, Plan};
use crate::lower::Lowered;
use crate::options::{Collect, ModuleOptions};

/// Places a module's counters beside the ring, one function after the other.
pub(crate) struct Beside {
    is_wanted: bool,
    /// Most paths of a function that are counted as alone.
    most: u64,
    end: u64,
}

/// What a function counts beside the ring.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// Where its first counter is.
    pub(crate) offset: u64,
    /// Whether paths are counted there that are alone; otherwise only left paths.
    pub(crate) has_alone: bool,
}

impl Beside {
    pub(crate) fn new(options: &ModuleOptions) -> Self {
        Self {
            is_wanted: options.collect == Collect::Loops,
            most: options.array_limit,
            end: 0,
        }
    }

    /// Where the function's counters are, if it is to count there.
    pub(crate) fn place(&mut self, plan: &Plan<'_>) -> Option<Place> {
        let Counted::Paths(numbering) = &plan.counted else {
            return None;
        };
        let (alone, all) = (numbering.paths_before_starts(), numbering.path_count());
        let is_caught = plan.lowered.layout.catches().next().is_some();
        let has_alone = alone > 0 && alone <= self.most && (!is_caught || alone == all);
        let count = match (plan.lowered.has_exits(), has_alone) {
            (true, _) => all,
            (false, true) => alone,
            (false, false) => 0,
        };
        if !self.is_wanted || count == 0 {
            return None;
        }
        let offset = self.end;
        self.end += 8 * count;
        Some(Place { offset, has_alone })
    }
}

/// Which paths of a function are counted beside the ring: left ones, and perhaps those that are alone in their activations.
pub(super) struct Alone<'a, 'm> {
    lowered: &'a Lowered<'m>,
    numbering: &'a Numbering,
    /// Whether there are any that are alone.
    has_alone: bool,
    /// By block: an edge of the dag that leaves it.
    out: HashMap<BlockId, DagEdge>,
}

/// What a count says of the paths that end at it, by what is added to its increment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// Nothing.
    None,
    /// They leave the function by themselves.
    Outside,
    /// They are left in a call.
    Left,
}

/// Added to the increment of a count at which paths end that leave the function: more than any path's number.
const OUTSIDE: i64 = 1 << 40;
/// Added to that of an exit edge.
const LEFT: i64 = 1 << 42;

/// The increment without its mark, and the mark.
pub(super) fn unmarked(increment: i64) -> (i64, Mark) {
    if increment > LEFT / 2 {
        (increment - LEFT, Mark::Left)
    } else if increment > OUTSIDE / 2 {
        (increment - OUTSIDE, Mark::Outside)
    } else {
        (increment, Mark::None)
    }
}

impl<'a, 'm> Alone<'a, 'm> {
    pub(super) fn new(lowered: &'a Lowered<'m>, numbering: &'a Numbering, has_alone: bool) -> Self {
        let edges = numbering.dag_edges().iter();
        let edges = edges.filter(|edge| !matches!(edge.kind, DagEdgeKind::Start(_)));
        Self {
            lowered,
            numbering,
            has_alone,
            out: edges.map(|edge| (edge.from, *edge)).collect(),
        }
    }

    /// Numbers below this are of paths that start at the entry.
    pub(super) fn below(&self) -> u64 {
        self.numbering.paths_before_starts()
    }

    /// How many counters there are.
    pub(super) fn counters(&self) -> u64 {
        self.numbering.path_count()
    }

    /// Whether a path runs from the entry until the function is left by itself.
    pub(super) fn holds(&self, path: u64) -> bool {
        if !self.has_alone {
            return false;
        }
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

    /// The probes with marks: on exit edges, and on counts by the register behind which every path leaves the function by itself.
    pub(super) fn mark(&self, probes: &Probes) -> Probes {
        let edges = self.numbering.dag_edges().iter();
        let inside = edges.filter_map(|edge| match edge.kind {
            DagEdgeKind::Edge(id) => Some((id, *edge)),
            _ => None,
        });
        let inside: HashMap<_, _> = inside.collect();
        let mut marked = probes.clone();
        for (id, probe) in &mut marked.edges {
            let is_left = self.lowered.cfg.edge(*id).kind == EdgeKind::Exit;
            let ends_outside = || inside.get(id).is_some_and(|edge| self.ends_outside(*edge));
            let is_outside = !is_left && self.has_alone && ends_outside();
            for action in &mut probe.before {
                match action {
                    Action::Count { increment, .. } if is_left => *increment += LEFT,
                    Action::Count {
                        base: CountBase::Register,
                        increment,
                    } if is_outside => *increment += OUTSIDE,
                    _ => {}
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
