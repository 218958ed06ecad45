//! Edge counters: as few as possible, on edges that run as rarely as possible (Burger and Dybvig
//! 1998, sections 2.1 to 2.3, after Ball and Larus, QPT2).
//!
//! The flow into a block equals the flow out of it, if an edge exit→entry stands for the calls. So
//! only the edges off a spanning tree need a counter. The counts of the tree's edges follow from
//! the counters. A *maximum* spanning tree leaves the edges that are cheapest to count. Some edges
//! cannot be counted and must be on the tree: exit→entry and exit edges (no jump of the function
//! runs them), and pinned edges. So the search takes these edges before all others.
//!
//! A *priority-first search* builds the tree. It starts from the exit and the entry, joined by
//! exit→entry. It always adds the best edge between a block on the tree and a block off the tree.
//! So every added edge brings a new block. Once the counts of later tree edges are known, the added
//! edge is the only unknown edge at its new block. Therefore propagation visits the tree edges in
//! reverse order and needs no search.
//!
//! This file adds one thing to the paper. A block with an exit edge has two halves: an upper half,
//! which control enters, and a lower half, which begins at the call and which the exit edge leaves.
//! The flow from the upper into the lower half nearly always follows from other counts. But edges
//! that must be on the tree may close a cycle through both halves. (The exit edge of the *entry
//! block* does so, together with exit→entry.) In that case a counter in the middle of the block
//! counts this flow, as for a left path. The exit edge is then listed among the counted edges. Its
//! counter says how often control reached the middle of the block. The count of the exit edge
//! itself is derived last. If edges that must be on the tree close a cycle that no such block
//! opens, the result is an error.
//!
//! Example (Figure 3, `fact` of Figure 2; X is the exit, the edge X→B1 stands for the calls): the
//! edges are B1→B2, B1→B3, B2→X, B3→B4, B4→X, and the exit edge B3→X. Six edges and five blocks
//! need three counters. The tree contains B3→X and, for example, B1→B2 and B4→X. For `fact 5`, left
//! early, the counters are B1→B3 4, B2→X 1, B3→B4 0. Propagation in reverse order gives B4→X 0,
//! B1→B2 1, B3→X 4, and 1 + 4 calls.
//!
//! Deviation: the paper takes its weights from the last run. Here, weights come from a guide or are
//! estimated. Of edges with equal weight, the search takes the first. Cost: O(E log E) for the
//! tree, O(E) for propagation.

use crate::cfg::{Cfg, EdgeKind};
use crate::counts::EdgeFlow;
use crate::ids::EdgeId;
use crate::probes::{Action, CountBase, EdgeProbe, Probes};
use crate::spanning::{Halves, PinnedCycleOfCounts, reached, span};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// The counted edges of a graph, and the tree from which the counts of the other edges follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EdgeCounters {
    /// The edges with a counter.
    counted: Vec<EdgeId>,
    /// The other edges, in the order in which the search added them.
    tree: Vec<EdgeId>,
    /// For each edge of `tree`: whether it enters the half that it added to the tree. If not, it
    /// leaves that half.
    enters: Vec<bool>,
}

/// Why two lists of edges are not the counted edges and the tree edges of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeError {
    /// The graph has no such edge.
    NoSuchEdge(EdgeId),
    /// An unreachable edge is in a list; it has no count.
    Unreachable(EdgeId),
    /// An edge is named twice.
    Repeated(EdgeId),
    /// An edge is neither counted nor on the tree.
    Missing(EdgeId),
    /// A pinned edge cannot be counted.
    PinnedCounted(EdgeId),
    /// An edge of the tree does not lead from the nodes joined so far to one more node.
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
    /// Chooses the edges to count, such that the heaviest edges need no counter. `weights` is
    /// indexed by [`EdgeId`]. An edge beyond its end weighs 0.
    ///
    /// # Errors
    /// If edges that cannot be counted close a cycle.
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
        Ok(counters.expect("the search adds the edges of a tree"))
    }

    /// Restores counters from the edge lists of a path map.
    ///
    /// # Errors
    /// If `tree` is not a spanning tree in the order in which a search adds edges, or `counted` is
    /// not the list of all other edges; see [`TreeError`]. Never panics, for any input.
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
        // The lists contain all edges. So a block that is not joined is connected only by counted
        // edges.
        let is_disconnected = |id: &&EdgeId| {
            let (from, to) = halves.ends(cfg.edge(**id));
            !joined[from] || !joined[to]
        };
        match counted.iter().find(is_disconnected) {
            Some(&id) => Err(TreeError::NotATree(id)),
            None => Ok(Self {
                counted,
                tree,
                enters,
            }),
        }
    }

    /// The counted edges: counter `k` counts `counted()[k]`. An exit edge in this list stands for
    /// the middle of its block. Its counter says how often control reached the middle. This must
    /// equal the number of times that control entered the block by its edges, so the block may not
    /// follow a call that returns twice.
    #[must_use]
    pub fn counted(&self) -> &[EdgeId] {
        &self.counted
    }

    /// The edges of the tree, in the order in which the search added them. Their counts follow from
    /// the counters.
    #[must_use]
    pub fn tree(&self) -> &[EdgeId] {
        &self.tree
    }

    /// The probes. Counter `k` counts the edge `counted()[k]`.
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
            chords: Vec::new(),
        }
    }

    /// Computes the counts of all edges from the counters. `counts` has a counter for each edge of
    /// [`counted`](Self::counted); counters beyond its end are 0. Sums wrap, so the counts are
    /// right whenever the true counts are below 2^63. An unreachable edge has the count 0.
    ///
    /// # Panics
    /// If `cfg` is not the graph of these counters.
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
            flow.record_counter(id, count.cast_signed());
        }
        for (&id, &enters) in self.tree.iter().zip(&self.enters).rev() {
            let (from, to) = halves.ends(cfg.edge(id));
            let count = if enters {
                flow.surplus[to].wrapping_neg()
            } else {
                flow.surplus[from]
            };
            flow.set_edge(id, count);
        }
        flow.finish(&self.counted)
    }
}

/// The nodes of the graph: a block has two halves if its exit edge is counted.
fn halves(cfg: &Cfg, counted: &[EdgeId]) -> Halves {
    let mut halves = Halves::new(cfg);
    for &id in counted {
        if cfg.edge(id).kind == EdgeKind::Exit {
            halves.split(cfg.edge(id).from);
        }
    }
    halves
}

/// Checks that every reachable edge is in exactly one of the lists, once.
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

/// The edge counts during propagation.
struct Flow<'a> {
    cfg: &'a Cfg,
    halves: &'a Halves,
    edges: Vec<i64>,
    /// The known flow into each half, minus the known flow out of it.
    surplus: Vec<i64>,
}

impl Flow<'_> {
    /// Records the flow that a counter measured.
    fn record_counter(&mut self, id: EdgeId, count: i64) {
        let edge = self.cfg.edge(id);
        if edge.kind == EdgeKind::Exit {
            self.move_flow(
                self.halves.upper(edge.from),
                self.halves.lower(edge.from),
                count,
            );
        } else {
            self.set_edge(id, count);
        }
    }

    fn set_edge(&mut self, id: EdgeId, count: i64) {
        self.edges[id.index()] = count;
        let (from, to) = self.halves.ends(self.cfg.edge(id));
        self.move_flow(from, to, count);
    }

    fn move_flow(&mut self, from: usize, to: usize, count: i64) {
        self.surplus[from] = self.surplus[from].wrapping_sub(count);
        self.surplus[to] = self.surplus[to].wrapping_add(count);
    }

    /// Derives the last unknown flows: counted exit edges, and the calls.
    fn finish(mut self, counted: &[EdgeId]) -> EdgeFlow {
        for &id in counted {
            let edge = self.cfg.edge(id);
            if edge.kind == EdgeKind::Exit {
                self.set_edge(id, self.surplus[self.halves.lower(edge.from)]);
            }
        }
        EdgeFlow {
            calls: self.surplus[self.halves.upper(self.cfg.entry())].wrapping_neg(),
            edges: self.edges,
        }
    }
}
