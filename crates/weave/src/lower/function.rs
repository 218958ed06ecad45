//! From an LLVM function to the graph that paths are numbered on.
//!
//! A node of the graph is a *segment*: part of an LLVM block, from an instruction up to another.
//! Most blocks are one segment. A block is cut into several (with a `Cut` edge between, no LLVM
//! block split)
//! - at a call that returns twice (setjmp, vfork): the path ends before the call and another starts
//!   after it, so a stale path register is never used. Where the call is the block's terminator (an
//!   invoke) the new path starts before it: the register's value there is a constant, which a
//!   second return can't change;
//! - before an invoke that does not return: what ran before it is counted even if it doesn't unwind
//!   either;
//! - before a terminator whose edges can carry no probe and close a cycle of such edges;
//! - in traces, before every call of a function, so that the caller's path is told before its
//!   callee's. A call that becomes a jump ends its path as a return.
//!
//! Where exit edges are asked for, a block is also divided behind each call that may not come back
//! (by an ordinary edge), so that what stands behind it is not taken for run; and a segment has an
//! exit edge (to the exit, like all ways out) if
//! - it calls something that may not come back: by unwinding past the function, `longjmp`, the end
//!   of the process;
//! - it stands behind a call that returns twice: its second return comes from nowhere.
//!
//! A call that doesn't return ends its block, whatever stands after it. All ways out of the
//! function lead to one virtual exit. Parallel edges between two blocks (cases of a switch) are one
//! edge: no path can tell them apart.

use holloway_flow::{BlockId, Cfg, EdgeKind};
use holloway_llvm::Function;

use super::calls::CallAttributes;
use super::edges::{self, EdgeInfo};
use super::layout::{Layout, Segment};
use super::options::{ExitEdges, LoweringOptions};
use crate::reason::Reason;

/// A function as a graph, and what each part of the graph stands for.
pub(crate) struct LoweredFunction<'m> {
    pub(crate) layout: Layout<'m>,
    pub(crate) cfg: Cfg,
    /// By [`BlockId`], the exit not included.
    pub(crate) nodes: Vec<Segment>,
    /// By [`holloway_flow::EdgeId`].
    pub(crate) edges: Vec<EdgeInfo<'m>>,
    /// Nodes known to run next to never.
    pub(crate) cold: Vec<BlockId>,
    /// Nodes in which a path may be left for good and that have no exit edge for it.
    pub(crate) leaks: Vec<BlockId>,
}

impl LoweredFunction<'_> {
    /// Whether there are exit edges.
    pub(crate) fn has_exits(&self) -> bool {
        let mut edges = self.cfg.edges().iter();
        edges.any(|edge| edge.kind == EdgeKind::Exit)
    }
}

/// Reads a function.
///
/// # Errors
/// The reason why it can't be profiled.
pub(crate) fn lower<'m>(
    function: Function<'m>,
    attributes: &CallAttributes,
    options: LoweringOptions<'_>,
) -> Result<LoweredFunction<'m>, Reason> {
    let layout = Layout::new(function, attributes, options)?;
    let nodes = layout.nodes();
    let exit = BlockId(u32::try_from(nodes.len()).map_err(|_| Reason::TooManyBlocks)?);
    let leaks = layout.leaks(&nodes, attributes, options);
    let exits = match options.exit_edges {
        ExitEdges::Present => layout.exits(&nodes, &leaks),
        ExitEdges::Absent => vec![None; nodes.len()],
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
    let cfg = Cfg::new(exit.0 + 1, BlockId(0), exit, edges).map_err(Reason::Graph)?;
    Ok(LoweredFunction {
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
