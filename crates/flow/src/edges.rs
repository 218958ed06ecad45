//! Edge counters: as few as can be, on edges that run as little as can be (Burger and Dybvig 1998,
//! sections 2.1 to 2.3, after Ball and Larus, QPT2).
//!
//! As much flows into a block as out of it, counting an edge exit→entry for the calls. So only the
//! edges off a spanning tree need a counter; the others follow, and a *maximum* spanning tree
//! leaves the cheapest to count. Some edges can't be counted and must be on the tree: exit→entry
//! and exit edges (no jump of the function runs them), and pinned edges. So they are taken before
//! all others.
//!
//! The tree is found by *priority-first search*: from the exit and the entry, joined by exit→entry,
//! always the best edge that leads from a block on the tree to one that isn't. Every edge is added
//! with a new block, and when those added later are known, so is all else at that block: counts
//! are propagated in the reverse order, and that needs no search of its own.
//!
//! One thing has to be added to the paper. A block with an exit edge is, in truth, two: an upper
//! half, where it is entered, and a lower half, from the call on, which the exit edge leaves. What
//! flows from one into the other is nearly always left to follow. But where edges that must be on
//! the tree close a cycle through both (entry and exit edge of the *entry block* do, with
//! exit→entry), that flow is what is counted: the middle of the block carries the counter, as it
//! does on a left path. Then the exit edge stands among the counted edges, its counter says how
//! often the block was reached, and its own flow follows last. A cycle of edges that must be on the
//! tree, which no such block opens, is an error.
//!
//! Example (Figure 3, `fact` of Figure 2; exit X, calls the edge X→B1): the edges are B1→B2, B1→B3,
//! B2→X, B3→B4, B4→X and the exit edge B3→X. Six edges, five blocks, so three counters: the tree
//! holds B3→X, and say B1→B2 and B4→X. `fact 5`, left early: B1→B3 4, B2→X 1, B3→B4 0 are counted;
//! in reverse B4→X is 0, B1→B2 is 1, B3→X is 4, and there were 1 + 4 calls.
//!
//! Deviation: the paper's weights are of the last run, ours as well or an estimate; of equal edges
//! the first is taken. Cost: O(E log E) for the tree, O(E) to propagate.

use crate::cfg::{Cfg, EdgeKind};
use crate::counts::EdgeFlow;
use crate::ids::EdgeId;
use crate::probes::{Action, CountBase, EdgeProbe, Probes};
use crate::spanning::{Halves, PinnedCycleOfCounts, reached, span};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// Which edges of a graph are counted, and how the counts of the others follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EdgeCounters {
    counted: Vec<EdgeId>,
    tree: Vec<EdgeId>,
    /// By place in `tree`: whether the edge leads to the half that it added, not from it.
    enters: Vec<bool>,
}

/// Why two lists of edges are not those counted and those that follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeError {
    /// The graph has no such edge.
    NoSuchEdge(EdgeId),
    /// An edge that nothing reaches has no count.
    Unreachable(EdgeId),
    /// An edge is named twice.
    Repeated(EdgeId),
    /// An edge is neither counted nor on the tree.
    Missing(EdgeId),
    /// A pinned edge cannot be counted.
    PinnedCounted(EdgeId),
    /// An edge of the tree does not lead from what was joined before to one block more.
    NotATree(EdgeId),
}

impl fmt::Display for TreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchEdge(edge) => write!(f, "{edge} is not an edge of this function"),
            Self::Unreachable(edge) => write!(f, "{edge} cannot be reached and is given a count"),
            Self::Repeated(edge) => write!(f, "{edge} is counted or follows twice"),
            Self::Missing(edge) => write!(f, "{edge} is neither counted nor does it follow"),
            Self::PinnedCounted(edge) => write!(f, "{edge} is counted and can carry no counter"),
            Self::NotATree(edge) => write!(f, "{edge} does not join one block more to the tree"),
        }
    }
}

impl core::error::Error for TreeError {}

impl EdgeCounters {
    /// Chooses the edges to count, such that the heaviest are not. `weights` are by [`EdgeId`]; an
    /// edge beyond their end weighs 0.
    ///
    /// # Errors
    /// Where edges that cannot be counted close a cycle.
    pub fn new(cfg: &Cfg, weights: &[u64]) -> Result<Self, PinnedCycleOfCounts> {
        let tree = span(cfg, weights)?;
        let mut on_tree = vec![false; cfg.edges().len()];
        for edge in &tree {
            on_tree[edge.index()] = true;
        }
        let reached = reached(cfg);
        let counted = (0..on_tree.len())
            .map(EdgeId::new)
            .filter(|&id| !on_tree[id.index()] && reached[cfg.edge(id).from.index()]);
        let counters = Self::from_parts(cfg, counted.collect(), tree);
        Ok(counters.expect("what the search added is a tree"))
    }

    /// Counters that someone else chose: a program's map, read back.
    ///
    /// # Errors
    /// Where the lists are not a spanning tree, in an order in which a search adds it, and all
    /// other edges; see [`TreeError`]. Never panics, whatever is given.
    pub fn from_parts(
        cfg: &Cfg,
        counted: Vec<EdgeId>,
        tree: Vec<EdgeId>,
    ) -> Result<Self, TreeError> {
        check_lists(cfg, &counted, &tree)?;
        let halves = halves(cfg, &counted);
        let mut joined = halves.roots(cfg);
        let mut enters = Vec::with_capacity(tree.len());
        for &id in &tree {
            let (from, to) = halves.ends(cfg.edge(id));
            if joined[from] == joined[to] {
                return Err(TreeError::NotATree(id));
            }
            enters.push(joined[from]);
            joined[from] = true;
            joined[to] = true;
        }
        // All edges are listed, so a block that is not joined hangs on one that is counted.
        let apart = |id: &&EdgeId| {
            let (from, to) = halves.ends(cfg.edge(**id));
            !joined[from] || !joined[to]
        };
        match counted.iter().find(apart) {
            Some(&id) => Err(TreeError::NotATree(id)),
            None => Ok(Self {
                counted,
                tree,
                enters,
            }),
        }
    }

    /// The edge of each counter. An exit edge among them stands for the middle of its block: its
    /// counter says how often that was reached, which must be as often as the block was entered by
    /// its edges (so not behind a call that returns twice).
    #[must_use]
    pub fn counted(&self) -> &[EdgeId] {
        &self.counted
    }

    /// The edges whose counts follow, in the order in which the search added them.
    #[must_use]
    pub fn tree(&self) -> &[EdgeId] {
        &self.tree
    }

    /// The probes: counter `k` counts the edge `counted()[k]`.
    #[must_use]
    pub fn probes(&self) -> Probes {
        let probes = self.counted.iter().zip(0i64..).map(|(&id, increment)| {
            let count = Action::Count {
                base: CountBase::Zero,
                increment,
            };
            let probe = EdgeProbe {
                before: vec![count],
                after: Vec::new(),
            };
            (id, probe)
        });
        let mut edges: Vec<_> = probes.collect();
        edges.sort_unstable_by_key(|entry| entry.0);
        Probes {
            entry: Vec::new(),
            edges,
        }
    }

    /// All edges' counts from the counters', one for each of [`counted`](Self::counted); counters
    /// beyond the end of `counts` are 0. Sums wrap, so what comes out is right whenever the true
    /// counts are below 2^63. An edge that nothing reaches has 0.
    ///
    /// # Panics
    /// Where `cfg` is not the graph that the counters are of.
    #[must_use]
    pub fn propagate(&self, cfg: &Cfg, counts: &[u64]) -> EdgeFlow {
        let halves = halves(cfg, &self.counted);
        let mut flow = Flow {
            cfg,
            halves: &halves,
            edges: vec![0; cfg.edges().len()],
            surplus: vec![0; halves.count()],
        };
        let counts = counts.iter().copied().chain(core::iter::repeat(0));
        for (&id, count) in self.counted.iter().zip(counts) {
            flow.know(id, count.cast_signed());
        }
        for (&id, &enters) in self.tree.iter().zip(&self.enters).rev() {
            let (from, to) = halves.ends(cfg.edge(id));
            let count = if enters {
                flow.surplus[to].wrapping_neg()
            } else {
                flow.surplus[from]
            };
            flow.run(id, count);
        }
        flow.finish(&self.counted)
    }
}

/// A block is in two halves where its exit edge is counted.
fn halves(cfg: &Cfg, counted: &[EdgeId]) -> Halves {
    let mut halves = Halves::new(cfg);
    for &id in counted {
        if cfg.edge(id).kind == EdgeKind::Exit {
            halves.part(cfg.edge(id).from);
        }
    }
    halves
}

/// Every edge that can be reached is in one of the lists, once.
fn check_lists(cfg: &Cfg, counted: &[EdgeId], tree: &[EdgeId]) -> Result<(), TreeError> {
    let reached = reached(cfg);
    let mut listed = vec![false; cfg.edges().len()];
    for &id in counted.iter().chain(tree) {
        let Some(edge) = cfg.edges().get(id.index()) else {
            return Err(TreeError::NoSuchEdge(id));
        };
        if !reached[edge.from.index()] {
            return Err(TreeError::Unreachable(id));
        }
        if core::mem::replace(&mut listed[id.index()], true) {
            return Err(TreeError::Repeated(id));
        }
    }
    let live = |id: EdgeId| reached[cfg.edge(id).from.index()];
    let mut all = (0..listed.len()).map(EdgeId::new);
    if let Some(id) = all.find(|&id| live(id) && !listed[id.index()]) {
        return Err(TreeError::Missing(id));
    }
    let pinned = |id: &&EdgeId| cfg.edge(**id).kind == EdgeKind::Pinned;
    match counted.iter().find(pinned) {
        Some(&id) => Err(TreeError::PinnedCounted(id)),
        None => Ok(()),
    }
}

/// Counts on the way to being known.
struct Flow<'a> {
    cfg: &'a Cfg,
    halves: &'a Halves,
    edges: Vec<i64>,
    /// By half: what is known to flow in, less what is known to flow out.
    surplus: Vec<i64>,
}

impl Flow<'_> {
    /// What a counter says.
    fn know(&mut self, id: EdgeId, count: i64) {
        let edge = self.cfg.edge(id);
        if edge.kind == EdgeKind::Exit {
            self.pass(
                self.halves.upper(edge.from),
                self.halves.lower(edge.from),
                count,
            );
        } else {
            self.run(id, count);
        }
    }

    fn run(&mut self, id: EdgeId, count: i64) {
        self.edges[id.index()] = count;
        let (from, to) = self.halves.ends(self.cfg.edge(id));
        self.pass(from, to, count);
    }

    fn pass(&mut self, from: usize, to: usize, count: i64) {
        self.surplus[from] = self.surplus[from].wrapping_sub(count);
        self.surplus[to] = self.surplus[to].wrapping_add(count);
    }

    /// What is left to know: exit edges behind counters, and the calls.
    fn finish(mut self, counted: &[EdgeId]) -> EdgeFlow {
        for &id in counted {
            let edge = self.cfg.edge(id);
            if edge.kind == EdgeKind::Exit {
                self.run(id, self.surplus[self.halves.lower(edge.from)]);
            }
        }
        EdgeFlow {
            calls: self.surplus[self.halves.upper(self.cfg.entry())].wrapping_neg(),
            edges: self.edges,
        }
    }
}
