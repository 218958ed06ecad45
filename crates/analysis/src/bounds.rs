//! Which counts may be wrong where frames that are left early are not counted (`--exits off`), and which way.
//!
//! The map names the blocks in which a frame may be left ([`FunctionMap::leaks`]). What a frame that was left there does to the counts depends on what was counted:
//!
//! - *Paths*: the path that the frame was on is missing. So every block and edge from which such a block can be reached on one path shows too little, never too much.
//! - *Edges*: the counts were propagated as if every call had come back (`flow`). Counted edges have no error; of the others some are too high, some too low (`tree`).
//!
//! A call that comes back once more (`setjmp`) makes the opposite error where edges were counted; a fork's child goes on in any call of its parent, so that in runs
//! with forks all that is said above may be either way.
//!
//! Example (edges): b0 calls and goes on to b1, the exit; the edge b0→b1 is counted, the calls follow. A frame left in b0 has the way of the entry alone:
//! 0 is propagated, so the calls come out as 0, one too low.
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

/// Whether a child of a fork, which goes on in its parent's frames, is among the processes that counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Forks {
    /// None is.
    Absent,
    /// One is.
    Present,
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
    /// The bounds of a function whose indices are checked and whose counters count `unit`.
    pub(crate) fn new(map: &FunctionMap, unit: Unit, forks: Forks) -> Bounds {
        let mut bounds = Bounds {
            calls: Bound::Exact,
            blocks: vec![Bound::Exact; map.blocks.len()],
            edges: vec![Bound::Exact; map.edges.len()],
        };
        if !map.leaks.is_empty() {
            match unit {
                Unit::Paths => bounds.of_paths(map, forks),
                Unit::Edges => bounds.of_edges(map, forks).unwrap_or_default(),
            }
        }
        bounds
    }

    /// Of the instructions run, and of all else that adds up blocks.
    pub fn sum(&self) -> Bound {
        Bound::of_all(self.blocks.iter().copied())
    }

    fn of_paths(&mut self, map: &FunctionMap, forks: Forks) {
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
        let mut open = map.leaks.clone();
        while let Some(block) = open.pop() {
            if self.blocks[block as usize] != Bound::Exact {
                continue;
            }
            self.blocks[block as usize] = bound;
            for &(edge, from) in &into[block as usize] {
                self.edges[edge as usize] = bound;
                open.push(from);
            }
        }
        self.calls = self.blocks[map.entry as usize];
    }

    /// Nothing where the map makes no graph: then there are no counts either.
    fn of_edges(&mut self, map: &FunctionMap, forks: Forks) -> Option<()> {
        let cfg = graph_of(map).ok()?;
        let ids = |edges: &[u32]| edges.iter().copied().map(EdgeId).collect();
        let counters = EdgeCounters::from_parts(&cfg, ids(&map.counted), ids(&map.tree)).ok()?;
        let tree = Tree::new(map, &counters);
        let again = map.edges.iter();
        let again = again.filter(|edge| edge.outcome == Outcome::Again);
        let left = tree.errors(map, map.leaks.iter().copied(), Uncounted::Left);
        self.add(&left, |signs| match Bound::of_signs(signs) {
            Bound::Exact => Bound::Exact,
            _ if forks == Forks::Present => Bound::Either,
            bound => bound,
        });
        let again = tree.errors(map, again.map(|edge| edge.to), Uncounted::Again);
        self.add(&again, Bound::of_signs);
        Some(())
    }

    fn add(&mut self, errors: &Errors, bound: impl Fn(Signs) -> Bound) {
        self.calls = self.calls.and(bound(errors.calls));
        let blocks = self.blocks.iter_mut().zip(&errors.blocks);
        for (known, &signs) in blocks.chain(self.edges.iter_mut().zip(&errors.edges)) {
            *known = known.and(bound(signs));
        }
    }
}
