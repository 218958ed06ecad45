//! From an LLVM function to the graph that paths are numbered on.
//!
//! A node of the graph is a *segment*: part of an LLVM block, from an instruction up to another. Most blocks are one
//! segment. A block is cut into several (with a `Cut` edge between, no LLVM block split)
//! - at a call that returns twice (setjmp, vfork): the path ends before the call and another starts after it, so a
//!   stale path register is never used. Where the call is the block's terminator (an invoke) the new path starts before
//!   it: the register's value there is a constant, which a second return can't change;
//! - before an invoke that does not return: what ran before it is counted even if it doesn't unwind either;
//! - before a terminator whose edges can carry no probe and close a cycle of such edges;
//! - in traces, before every call of a function, so that the caller's path is told before its callee's. A call that becomes a jump
//!   ends its path as a return.
//!
//! Where exit edges are asked for, a block is also divided behind each call that may not come back (by an ordinary edge), so that
//! what stands behind it is not taken for run; and a segment has an exit edge (to the exit, like all ways out) if
//! - it calls something that may not come back: by unwinding past the function, `longjmp`, the end of the process;
//! - it stands behind a call that returns twice: its second return comes from nowhere.
//!
//! A call that doesn't return ends its block, whatever stands after it. All ways out of the function lead to one virtual
//! exit. Parallel edges between two blocks (cases of a switch) are one edge: no path can tell them apart.

mod blocks;
mod calls;
mod edges;
mod places;

use holloway_flow::{BlockId, Cfg, Edge, EdgeKind};
use holloway_format::Outcome;
use holloway_llvm::{Function, Instruction, Location};

pub(crate) use blocks::{BlockInfo, Layout, Node};
pub(crate) use calls::{Attributes, calls};
pub(crate) use places::{Described, Scopes};

/// A function as a graph, and what each part of the graph stands for.
pub(crate) struct Lowered<'m> {
    pub(crate) layout: Layout<'m>,
    pub(crate) cfg: Cfg,
    /// By [`BlockId`], the exit not included.
    pub(crate) nodes: Vec<Node>,
    /// By [`holloway_flow::EdgeId`].
    pub(crate) edges: Vec<EdgeInfo<'m>>,
    /// Nodes known to run next to never.
    pub(crate) cold: Vec<BlockId>,
    /// Nodes in which a path may be left for good and that have no exit edge for it.
    pub(crate) leaks: Vec<BlockId>,
}

impl Lowered<'_> {
    /// Whether there are exit edges.
    pub(crate) fn has_exits(&self) -> bool {
        let mut edges = self.cfg.edges().iter();
        edges.any(|edge| edge.kind == EdgeKind::Exit)
    }
}

/// What a graph is to have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    /// Blocks, by position in the function, to be cut before their terminator.
    pub(crate) split: &'a [usize],
    /// Whether there are exit edges.
    pub(crate) exits: bool,
    /// Whether paths end before calls.
    pub(crate) calls: bool,
}

/// What an edge of the graph stands for.
#[derive(Clone, Copy)]
pub(crate) struct EdgeInfo<'m> {
    pub(crate) outcome: Outcome,
    /// Debug location of the branch.
    pub(crate) location: Option<Location<'m>>,
    pub(crate) site: Site,
}

/// Where a probe on an edge goes: before which instruction of which block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Site {
    /// At the top of the target, which has no other predecessor.
    Top { block: usize },
    /// In the source, which goes on in no other way, or leaves the function there.
    Bottom { block: usize, index: usize },
    /// Inside a block: what ends a path before the one instruction, what starts one before the other.
    Inside {
        block: usize,
        before: usize,
        after: usize,
    },
    /// Before an instruction inside a block that comes by it whether the edge is run or not: an exit edge.
    At { block: usize, index: usize },
    /// Nowhere.
    None,
}

/// Reads a function.
///
/// # Errors
/// The reason why it can't be profiled.
pub(crate) fn lower<'m>(
    function: Function<'m>,
    attributes: &Attributes,
    wanted: Wanted<'_>,
) -> Result<Lowered<'m>, String> {
    let layout = Layout::new(function, attributes, wanted)?;
    let nodes = layout.nodes();
    let exit = BlockId(u32::try_from(nodes.len()).map_err(|_| "too many blocks")?);
    let leaks = layout.leaks(&nodes, attributes, wanted);
    let exits = if wanted.exits {
        layout.exits(&nodes, &leaks)
    } else {
        vec![None; nodes.len()]
    };
    let mut edges = Vec::new();
    let mut infos = Vec::new();
    for (edge, info) in edges::edges(&layout, &nodes, &exits, exit) {
        edges.push(edge);
        infos.push(info);
    }
    let cold = edges::cold_nodes(&layout, &edges, &infos);
    let open = |node: &usize| leaks[*node].is_some() && exits[*node].is_none();
    let leaks = (0..nodes.len()).filter(open).map(block_id).collect();
    let cfg = Cfg::new(exit.0 + 1, BlockId(0), exit, edges).map_err(|error| error.to_string())?;
    Ok(Lowered {
        layout,
        cfg,
        nodes,
        edges: infos,
        cold,
        leaks,
    })
}

/// The block of the graph that a node is.
fn block_id(node: usize) -> BlockId {
    BlockId(u32::try_from(node).expect("the nodes were counted"))
}

/// An edge's parts in one go.
fn edge(from: BlockId, to: BlockId, site: Site) -> Edge {
    let kind = match site {
        Site::None => EdgeKind::Pinned,
        Site::Inside { .. } => EdgeKind::Cut,
        Site::At { .. } => EdgeKind::Exit,
        Site::Top { .. } | Site::Bottom { .. } => EdgeKind::Plain,
    };
    Edge { from, to, kind }
}

/// Instructions that are counted: phis and markers make no code.
pub(crate) fn is_counted(instruction: Instruction<'_>) -> bool {
    instruction.opcode() != holloway_llvm::Opcode::Phi
        && !instruction
            .intrinsic()
            .is_some_and(|name| holloway_llvm::is_marker(&name))
}
