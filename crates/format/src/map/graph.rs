//! The graph of a function: blocks, edges, and the edges of the acyclic graph that numbers its paths.

use crate::map::place::Place;

/// A block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockMap {
    /// Instructions of the woven IR, without probes, phis and debug markers.
    pub instructions: u32,
    /// The source places it runs through, in order, without repeats.
    pub places: Vec<Place>,
}

/// An edge of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeMap {
    /// Source block.
    pub from: u32,
    /// Target block.
    pub to: u32,
    /// What it can carry.
    pub kind: EdgeKind,
    /// What of the branch leads along it.
    pub outcome: Outcome,
    /// Where the branch stands.
    pub place: Option<Place>,
}

/// As in `flow`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EdgeKind {
    /// An edge like any other.
    #[default]
    Plain,
    /// Can't carry a probe.
    Pinned,
    /// A path ends before it and another starts after it.
    Cut,
    /// To the exit, where a call in the source block doesn't come back. Its count is net: entering the block again
    /// behind a call counts against it.
    Exit,
}

/// What leads along an edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// Unconditional.
    #[default]
    Jump,
    /// The condition holds.
    True,
    /// It doesn't.
    False,
    /// This case of a switch.
    Case(i64),
    /// The default of a switch.
    Default,
    /// A call that may unwind returns.
    Normal,
    /// It unwinds.
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
    /// On after a call that may return twice.
    Again,
    /// On inside a block that was split; in traces, before a call.
    Split,
    /// A call in the block doesn't come back: unwinding or `longjmp` past the function, the end of the process.
    Left,
    /// A call came back: between the parts of a block that calls end, where the graph has exit edges.
    Returned,
}

/// An edge of the acyclic graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DagEdgeMap {
    /// Source block.
    pub from: u32,
    /// Target block.
    pub to: u32,
    /// What it stands for.
    pub kind: DagKind,
    /// What it adds to the path number.
    pub value: u64,
}

/// What an edge of the acyclic graph stands for.
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

/// Source and target that a dag edge of this kind has by its meaning; `None` if it refers to no edge.
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
