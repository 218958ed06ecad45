//! The graph of a function: its blocks, its edges, and the edges of the acyclic graph (*dag*) that
//! numbers its paths.

use crate::map::place::Place;

/// A block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockMap {
    /// Number of LLVM instructions of the woven block, without probes, phis, and debug markers.
    pub instructions: u32,
    /// The source places of the block, in order and without repetitions.
    pub places: Vec<Place>,
}

/// An edge of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeMap {
    /// Source block.
    pub from: u32,
    /// Target block.
    pub to: u32,
    /// Whether the edge can carry a probe, and whether paths end at it.
    pub kind: EdgeKind,
    /// The outcome of the branch for which control takes the edge.
    pub outcome: Outcome,
    /// Source place of the branch.
    pub place: Option<Place>,
}

/// The kind of an edge, as in `holloway_flow`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EdgeKind {
    /// An edge that can carry a probe. A path ends at it only if it is a back edge.
    #[default]
    Plain,
    /// An edge that cannot carry a probe.
    Pinned,
    /// An edge at which a path ends and the next path starts, without being a back edge.
    Cut,
    /// An edge to the exit, for a call in the source block that does not come back. Its count is
    /// net: each time that control enters the block again after the call, the count decreases by
    /// one.
    Exit,
}

/// The outcome of a branch or call for which control takes an edge.
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
    /// Control continues after a call that may return twice.
    Again,
    /// Control continues inside a block that was split. In traces, blocks are split before calls.
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
    /// The meaning of the edge.
    pub kind: DagKind,
    /// The edge value: the edge adds it to the path number.
    pub value: u64,
}

/// The meaning of an edge of the acyclic graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DagKind {
    /// The edge of the graph that has this number.
    Edge(u32),
    /// The start edge of paths that start at this block: entry → block.
    Start(u32),
    /// The last edge of paths that end with this back edge: source of the back edge → exit.
    Back(u32),
    /// The last edge of paths that end with this cut edge: source of the cut edge → exit.
    Cut(u32),
}

/// The source and target that a dag edge of this kind usually has. Returns `None` if the kind
/// refers to a missing edge.
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
