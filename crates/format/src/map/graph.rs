//! The graph of a function: blocks, edges, and the acyclic graph's edges, which number its paths.

use crate::map::place::Place;

/// A block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockMap {
    /// Instructions of the woven IR, without probes, phis and debug markers.
    pub instructions: u32,
    /// Its source places, in order, without repeats.
    pub places: Vec<Place>,
}

/// An edge of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeMap {
    /// Source block.
    pub from: u32,
    /// Target block.
    pub to: u32,
    /// Whether it can carry a probe, and whether paths end there.
    pub kind: EdgeKind,
    /// The outcome of the branch that leads along it.
    pub outcome: Outcome,
    /// Source place of the branch.
    pub place: Option<Place>,
}

/// The kind of an edge, as in `holloway_flow`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EdgeKind {
    /// An edge like any other.
    #[default]
    Plain,
    /// Can't carry a probe.
    Pinned,
    /// A path ends before it and another starts after it.
    Cut,
    /// An edge to the exit, for a call in the source block that does not come back. Its count is
    /// net: each time that the block is entered again behind the call, the count goes down by one.
    Exit,
}

/// The outcome of a branch or call that leads along an edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// Unconditional.
    #[default]
    Jump,
    /// The condition holds.
    True,
    /// The condition does not hold.
    False,
    /// This case of a switch.
    Case(i64),
    /// The default of a switch.
    Default,
    /// A call that may unwind returns.
    Normal,
    /// A call unwinds.
    Unwind,
    /// A computed goto.
    Indirect,
    /// A label of an `asm goto`.
    AsmGoto,
    /// The function returns.
    Return,
    /// A call that does not return, or unreachable code.
    Noreturn,
    /// Unwinding goes on to the caller.
    Resume,
    /// A `musttail` call.
    TailCall,
    /// Control goes on behind a call that may return twice.
    Again,
    /// Control goes on inside a block that was split; in traces, before a call.
    Split,
    /// A call in the block does not come back: it unwinds or jumps past the function, or the
    /// process ends.
    Left,
    /// A call came back. Such edges connect the parts of a block, in graphs with exit edges.
    Returned,
}

/// An edge of the acyclic graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DagEdgeMap {
    /// Source block.
    pub from: u32,
    /// Target block.
    pub to: u32,
    /// Its meaning.
    pub kind: DagKind,
    /// The value that it adds to the path number.
    pub value: u64,
}

/// The meaning of an edge of the acyclic graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DagKind {
    /// This edge of the graph.
    Edge(u32),
    /// Paths that start at this block: entry → block.
    Start(u32),
    /// Paths that end with this back edge: its source → exit.
    Back(u32),
    /// Paths that end with this cut edge: its source → exit.
    Cut(u32),
}

/// Source and target that the meaning of this kind of dag edge implies; `None` if it refers to a
/// missing edge.
pub(super) fn implied_ends(
    kind: DagKind,
    edges: &[EdgeMap],
    entry: u32,
    exit: u32,
) -> Option<(u32, u32)> {
    match kind {
        DagKind::Edge(edge) => edges.get(edge as usize).map(|edge| (edge.from, edge.to)),
        DagKind::Start(block) => Some((entry, block)),
        DagKind::Back(edge) | DagKind::Cut(edge) => {
            edges.get(edge as usize).map(|edge| (edge.from, exit))
        }
    }
}
