//! Makes the graph of an LLVM function, on which paths are numbered.
//!
//! A node of the graph is a *part*: a range of instructions of one LLVM block. Most blocks are one
//! part. In the following cases, lowering cuts a block into several parts and puts a cut edge
//! between them. The LLVM block itself is not split.
//! - A block is cut at a call that returns twice (`setjmp`, `vfork`). The path ends before the call
//!   and another starts after the call, so no probe uses a stale path register. If the call is the
//!   block's terminator (an invoke), the new path starts before the call. The register's value
//!   there is a constant, which a second return cannot change.
//! - A block is cut before an invoke that does not return. So the code before the invoke is counted
//!   even if the invoke does not unwind either.
//! - A block is cut before a terminator whose edges can carry no probe, if such edges close a
//!   cycle.
//! - In traces, a block is cut before every call, so that the caller's path comes before the
//!   callee's paths in the stream. A call that becomes a jump ends its path as a return does.
//!
//! In graphs with exit edges, an ordinary edge also divides a block after each call that may not
//! come back. So the code after the call does not count as executed if the call does not come back.
//! A part has an exit edge
//! - if it makes a call that may not come back, because of unwinding past the function, `longjmp`,
//!   or the end of the process; or
//! - if it follows a call that returns twice, since the graph has no edge for the second return.
//!
//! A call that does not return ends its block: the code after the call is not part of the graph.
//! All edges out of the function, exit edges included, lead to one virtual exit. Parallel edges
//! between two blocks (cases of a switch) are one edge, because no path can distinguish them.

use holloway_flow::{BlockId, Cfg, EdgeKind};
use holloway_llvm::Function;

use super::calls::CallAttributes;
use super::edges::{self, EdgeInfo};
use super::function_parts::{FunctionParts, Part};
use super::options::{ExitEdges, LoweringOptions};
use crate::reason::Reason;

/// A function as a graph, and the code that each node and edge of the graph represents.
pub(crate) struct LoweredFunction<'m> {
    pub(crate) parts: FunctionParts<'m>,
    pub(crate) cfg: Cfg,
    /// The part of each [`BlockId`], except the virtual exit.
    pub(crate) nodes: Vec<Part>,
    /// Indexed by [`holloway_flow::EdgeId`].
    pub(crate) edges: Vec<EdgeInfo<'m>>,
    /// Parts that almost never run.
    pub(crate) cold: Vec<BlockId>,
    /// Parts in which a path may be left for good in a call, and which have no exit edge.
    pub(crate) leaks: Vec<BlockId>,
}

impl LoweredFunction<'_> {
    /// Whether the graph has exit edges.
    pub(crate) fn has_exits(&self) -> bool {
        let mut edges = self.cfg.edges().iter();
        edges.any(|edge| edge.kind == EdgeKind::Exit)
    }
}

/// Builds the graph of a function.
///
/// # Errors
/// Returns the reason if the function cannot be profiled.
pub(crate) fn lower<'m>(
    function: Function<'m>,
    attributes: &CallAttributes,
    options: LoweringOptions<'_>,
) -> Result<LoweredFunction<'m>, Reason> {
    let parts = FunctionParts::new(function, attributes, options)?;
    let nodes = parts.parts();
    let exit = BlockId(u32::try_from(nodes.len()).map_err(|_| Reason::TooManyBlocks)?);
    let leaving_instructions = parts.leaving_instructions(&nodes, attributes, options);
    let exits = match options.exit_edges {
        ExitEdges::Present => parts.exits(&nodes, &leaving_instructions),
        ExitEdges::Absent => vec![None; nodes.len()],
    };
    let mut edges = Vec::new();
    let mut infos = Vec::new();
    for (edge, info) in edges::edges(&parts, &nodes, &exits, exit) {
        edges.push(edge);
        infos.push(info);
    }
    let cold = edges::cold_nodes(&parts, &edges, &infos);
    let is_leak = |node: &usize| leaving_instructions[*node].is_some() && exits[*node].is_none();
    let leaks = (0..nodes.len()).filter(is_leak).map(block_id).collect();
    let cfg = Cfg::new(exit.0 + 1, BlockId(0), exit, edges).map_err(Reason::Graph)?;
    Ok(LoweredFunction {
        parts,
        cfg,
        nodes,
        edges: infos,
        cold,
        leaks,
    })
}

/// The graph's block for a part.
fn block_id(node: usize) -> BlockId {
    BlockId(u32::try_from(node).expect("the exit's number is larger and fits"))
}
