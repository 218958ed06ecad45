//! Which counts may be wrong where frames that are left early are not counted (`--exits off`), and which way.
//!
//! The map names the blocks in which a frame may be left ([`FunctionMap::leaks`]). What a frame that was left there does to the counts depends on what was counted:
//!
//! - *Paths*: the path that the frame was on is missing. So every block and edge from which such a block can be reached on one path shows too little, never too much.
//! - *Edges*: the counts were propagated as if every call had come back (`flow`). The error of one frame is found by doing that to a way from the entry to the block:
//!   what comes out less the way itself is the error of each edge. It is the same for all ways, since propagation of a flow that is conserved is exact. Counted
//!   edges have none; of the others some are too high, some too low.
//!
//! A call that comes back once more (`setjmp`) makes the opposite error where edges were counted; a fork's child goes on in any call of its parent, so that in runs
//! with forks all that is said above may be either way.
//!
//! Example (edges): b0 calls and goes on to b1, the exit; the edge b0→b1 is counted, the calls follow. A frame left in b0 has the way of the entry alone:
//! 0 is propagated, so the calls come out as 0, one too low.
//!
//! Cost: linear in the graph; where edges were counted, times the blocks in which a frame may be left.

use std::collections::VecDeque;

use holloway_flow::{EdgeCounters, EdgeId};
use holloway_format::{DagKind, FunctionMap, Outcome};

use crate::flow::graph_of;
use crate::run::{Collected, Function};

/// How a count may differ from what ran.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Bound {
    /// It does not.
    #[default]
    Exact,
    /// As much ran, or more.
    AtLeast,
    /// As much ran, or less.
    AtMost,
    /// More or less may have run.
    Either,
}

impl Bound {
    /// Of a sum, or where either may hold.
    #[must_use]
    pub fn and(self, other: Bound) -> Bound {
        match (self, other) {
            (Bound::Exact, one) | (one, Bound::Exact) => one,
            (one, other) if one == other => one,
            _ => Bound::Either,
        }
    }

    /// The other way.
    fn opposite(self) -> Bound {
        match self {
            Bound::Exact => Bound::Exact,
            Bound::AtLeast => Bound::AtMost,
            Bound::AtMost => Bound::AtLeast,
            Bound::Either => Bound::Either,
        }
    }

    /// Of all of these.
    pub fn of_all(all: impl IntoIterator<Item = Bound>) -> Bound {
        all.into_iter().fold(Bound::Exact, Bound::and)
    }
}

/// How a function's counts may differ from what ran.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// Of the times that it was entered.
    pub calls: Bound,
    /// Of each block.
    pub blocks: Vec<Bound>,
    /// Of each edge.
    pub edges: Vec<Bound>,
}

impl Bounds {
    /// Of a function whose indices are checked.
    pub(crate) fn of(function: &Function) -> Bounds {
        let map = &function.map;
        let mut bounds = Bounds {
            calls: Bound::Exact,
            blocks: vec![Bound::Exact; map.blocks.len()],
            edges: vec![Bound::Exact; map.edges.len()],
        };
        if !map.leaks.is_empty() {
            match function.collected() {
                Collected::Paths => bounds.of_paths(map, function.is_forked),
                Collected::Edges => bounds.of_edges(map, function.is_forked).unwrap_or_default(),
            }
        }
        bounds
    }

    /// Of the instructions run, and of all else that adds up blocks.
    pub fn sum(&self) -> Bound {
        Bound::of_all(self.blocks.iter().copied())
    }

    /// Of the lines of a block: control may come to them by some of the edges into it only. Where edges were counted, a frame that was left in the block shows as
    /// having run all of it.
    pub(crate) fn arriving(&self, function: &Function, block: usize) -> Bound {
        let map = &function.map;
        let edges = map.edges.iter().zip(&self.edges);
        let into = edges.filter(|(edge, _)| edge.to as usize == block);
        let behind = match function.collected() {
            Collected::Edges if map.leaks.contains(&(block as u32)) => Bound::AtMost,
            Collected::Edges | Collected::Paths => Bound::Exact,
        };
        let into = Bound::of_all(into.map(|(_, bound)| *bound));
        into.and(behind).and(self.blocks[block])
    }

    fn of_paths(&mut self, map: &FunctionMap, is_forked: bool) {
        let bound = match is_forked {
            true => Bound::Either,
            false => Bound::AtLeast,
        };
        let mut open = map.leaks.clone();
        while let Some(block) = open.pop() {
            if self.blocks[block as usize] != Bound::Exact {
                continue;
            }
            self.blocks[block as usize] = bound;
            for dag in map.dag.iter().filter(|dag| dag.to == block) {
                if let DagKind::Edge(edge) = dag.kind {
                    self.edges[edge as usize] = bound;
                    open.push(dag.from);
                }
            }
        }
        self.calls = self.blocks[map.entry as usize];
    }

    /// Nothing where the map makes no graph: then there are no counts either.
    fn of_edges(&mut self, map: &FunctionMap, is_forked: bool) -> Option<()> {
        let cfg = graph_of(map).ok()?;
        let ids = |edges: &[u32]| edges.iter().copied().map(EdgeId).collect();
        let counters = EdgeCounters::from_parts(&cfg, ids(&map.counted), ids(&map.tree)).ok()?;
        let ways = Ways::new(map);
        let again = map.edges.iter();
        let again = again.filter(|edge| edge.outcome == Outcome::Again);
        let leaks = map.leaks.iter().map(|&block| (block, Entered::Once));
        for (block, entered) in leaks.chain(again.map(|edge| (edge.to, Entered::Again))) {
            let Some(way) = ways.to(map, block) else {
                continue;
            };
            let bound = |error: i64| match (bound(error), entered) {
                (Bound::Exact, _) => Bound::Exact,
                (_, Entered::Once) if is_forked => Bound::Either,
                (one, Entered::Once) => one,
                (one, Entered::Again) => one.opposite(),
            };
            let counted = map.counted.iter();
            let counted: Vec<u64> = counted.map(|&edge| way[edge as usize]).collect();
            let found = counters.propagate(&cfg, &counted);
            let mut blocks = vec![0i64; map.blocks.len()];
            // Where a call comes back once more, what counts is what goes on: one more than comes in.
            blocks[block as usize] += match entered {
                Entered::Once => 0,
                Entered::Again => 1,
            };
            let calls = found.calls - 1;
            blocks[map.entry as usize] += calls;
            self.calls = self.calls.and(bound(calls));
            let edges = map.edges.iter().zip(found.edges.iter().zip(&way));
            for ((edge, (&found, &way)), known) in edges.zip(&mut self.edges) {
                let error = found - way.cast_signed();
                *known = known.and(bound(error));
                blocks[edge.to as usize] += error;
            }
            for (known, error) in self.blocks.iter_mut().zip(blocks) {
                *known = known.and(bound(error));
            }
        }
        Some(())
    }
}

/// How control comes to a block that it does not leave by an edge, or does not come to by one.
#[derive(Clone, Copy)]
enum Entered {
    /// By an edge: it is left in a call.
    Once,
    /// By a call that comes back once more.
    Again,
}

/// What a count is that comes out so much too high.
fn bound(error: i64) -> Bound {
    match error {
        0 => Bound::Exact,
        1.. => Bound::AtMost,
        _ => Bound::AtLeast,
    }
}

/// A way from the entry to each block: by block, the edge that it ends with.
struct Ways(Vec<Option<usize>>);

impl Ways {
    fn new(map: &FunctionMap) -> Ways {
        let mut out: Vec<Vec<usize>> = vec![Vec::new(); map.blocks.len()];
        for (index, edge) in map.edges.iter().enumerate() {
            out[edge.from as usize].push(index);
        }
        let mut last = vec![None; map.blocks.len()];
        let mut open = VecDeque::from([map.entry]);
        while let Some(block) = open.pop_front() {
            for &index in &out[block as usize] {
                let to = map.edges[index].to;
                if to != map.entry && last[to as usize].is_none() {
                    last[to as usize] = Some(index);
                    open.push_back(to);
                }
            }
        }
        Ways(last)
    }

    /// By edge, how often the way to a block runs it; none where nothing leads there.
    fn to(&self, map: &FunctionMap, block: u32) -> Option<Vec<u64>> {
        let mut way = vec![0; map.edges.len()];
        let mut at = block;
        while at != map.entry {
            let edge = self.0[at as usize]?;
            way[edge] += 1;
            at = map.edges[edge].from;
        }
        Some(way)
    }
}
