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

mod tree;

use holloway_flow::{EdgeCounters, EdgeId};
use holloway_format::{DagKind, FunctionMap, Outcome};

use crate::flow::graph_of;
use crate::run::Function;
use holloway_abi::Unit;
use tree::{Errors, Signs, Tree, Uncounted};

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
    pub(crate) fn opposite(self) -> Bound {
        match self {
            Bound::Exact => Bound::Exact,
            Bound::AtLeast => Bound::AtMost,
            Bound::AtMost => Bound::AtLeast,
            Bound::Either => Bound::Either,
        }
    }

    /// Of a count that has errors of these signs.
    fn of_signs(signs: Signs) -> Bound {
        match (signs.too_low, signs.too_high) {
            (false, false) => Bound::Exact,
            (true, false) => Bound::AtLeast,
            (false, true) => Bound::AtMost,
            (true, true) => Bound::Either,
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
            match function.unit() {
                Unit::Paths => bounds.of_paths(map, function.is_forked),
                Unit::Edges => bounds.of_edges(map, function.is_forked).unwrap_or_default(),
            }
        }
        bounds
    }

    /// Of the instructions run, and of all else that adds up blocks.
    pub fn sum(&self) -> Bound {
        Bound::of_all(self.blocks.iter().copied())
    }

    fn of_paths(&mut self, map: &FunctionMap, is_forked: bool) {
        let bound = match is_forked {
            true => Bound::Either,
            false => Bound::AtLeast,
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
    fn of_edges(&mut self, map: &FunctionMap, is_forked: bool) -> Option<()> {
        let cfg = graph_of(map).ok()?;
        let ids = |edges: &[u32]| edges.iter().copied().map(EdgeId).collect();
        let counters = EdgeCounters::from_parts(&cfg, ids(&map.counted), ids(&map.tree)).ok()?;
        let tree = Tree::new(map, &counters);
        let again = map.edges.iter();
        let again = again.filter(|edge| edge.outcome == Outcome::Again);
        let left = tree.errors(map, map.leaks.iter().copied(), Uncounted::Left);
        self.add(&left, |signs| match Bound::of_signs(signs) {
            Bound::Exact => Bound::Exact,
            _ if is_forked => Bound::Either,
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
