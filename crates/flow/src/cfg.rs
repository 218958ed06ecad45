//! The control-flow graph of one function, as plain numbers.
//!
//! Block ids are `0..n`. Edge ids follow the order in which the caller lists the edges. The
//! successors of a block are in the order of their edge ids. The exit is a separate block: every
//! way out of the function (a return, a call that does not return, an unwinding) is an ordinary
//! edge into the exit. The entry has no predecessors, as in LLVM. So a call of the function and a
//! jump to a loop head are always different edges.
//!
//! An *exit edge* (Burger and Dybvig 1998, section 2.2) stands for a call in the middle of a block
//! that does not come back (longjmp, unwinding, the end of the process). Control then entered the
//! block but never left it through a jump. The count of an exit edge is the net number of such
//! early exits. It is negative if more calls came back than were made, as in a frame that a
//! continuation re-enters. If every block that can be left early has an exit edge, the flow into
//! each block equals the flow out of it.

use crate::ids::{BlockId, EdgeId};
use crate::lists::Lists;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// The kind of an edge: whether it can carry a probe, and whether paths may run through it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EdgeKind {
    /// An edge that can carry a probe.
    Plain,
    /// An edge that cannot carry a probe: to a landing pad, or out of an `indirectbr` or a
    /// `callbr`.
    Pinned,
    /// An edge where one path ends and another starts: at a call that returns twice, or in a block
    /// that the caller split.
    Cut,
    /// An edge to the exit, for calls in the middle of the block that do not come back. A block has
    /// at most one exit edge. Its probe runs whenever control reaches the middle of the block,
    /// whether or not the call comes back.
    Exit,
}

/// One edge of a [`Cfg`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Edge {
    /// The block that the edge leaves.
    pub from: BlockId,
    /// The block that the edge enters.
    pub to: BlockId,
    /// The kind of the edge, which decides which probes it can carry.
    pub kind: EdgeKind,
}

/// A control-flow graph. The constructor checks it; it never changes afterwards.
#[derive(Clone, PartialEq, Eq)]
pub struct Cfg {
    entry: BlockId,
    exit: BlockId,
    blocks: u32,
    edges: Vec<Edge>,
    successors: Lists<EdgeId>,
    predecessors: Lists<EdgeId>,
}

/// Why paths cannot be counted on a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CfgError {
    /// The entry, the exit, or an end of an edge is not below the number of blocks.
    NoSuchBlock(BlockId),
    /// Entry and exit are the same block.
    EntryIsExit(BlockId),
    /// An edge leaves the exit block.
    LeavesExit(EdgeId),
    /// An edge enters the entry block.
    EntersEntry(EdgeId),
    /// An edge into the exit is pinned or cut, so no path could be counted on it.
    ExitNotPlain(EdgeId),
    /// An exit edge leads to a block other than the exit.
    ExitElsewhere(EdgeId),
    /// A block has a second exit edge.
    SecondExit(EdgeId),
    /// More than 2^32 - 2 edges.
    TooManyEdges(usize),
}

impl fmt::Display for CfgError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchBlock(block) => write!(f, "{block} is not a block of this graph"),
            Self::EntryIsExit(block) => {
                write!(
                    f,
                    "{block} is both entry and exit; give the exit a block of its own"
                )
            }
            Self::LeavesExit(edge) => write!(f, "{edge} leaves the exit block"),
            Self::EntersEntry(edge) => {
                write!(
                    f,
                    "{edge} enters the entry block; put an empty block before it"
                )
            }
            Self::ExitNotPlain(edge) => write!(f, "{edge} enters the exit and is not plain"),
            Self::ExitElsewhere(edge) => write!(f, "{edge} is an exit edge and misses the exit"),
            Self::SecondExit(edge) => write!(f, "{edge} is its block's second exit edge"),
            Self::TooManyEdges(count) => write!(f, "{count} edges are more than ids can name"),
        }
    }
}

impl core::error::Error for CfgError {}

impl Cfg {
    /// Makes a graph with the blocks `0..blocks`.
    ///
    /// # Errors
    /// If the edges do not form a graph; see [`CfgError`]. Unreachable blocks, parallel edges, self
    /// loops, blocks without a way out, and graphs that never reach the exit are all valid.
    pub fn new(
        blocks: u32,
        entry: BlockId,
        exit: BlockId,
        edges: Vec<Edge>,
    ) -> Result<Self, CfgError> {
        check(blocks, entry, exit, &edges)?;
        let group_by = |end: fn(&Edge) -> BlockId| {
            let ids = edges.iter().enumerate();
            Lists::new(
                blocks as usize,
                ids.map(move |(i, e)| (end(e).index(), EdgeId::new(i))),
            )
        };
        let (successors, predecessors) = (group_by(|e| e.from), group_by(|e| e.to));
        Ok(Self {
            entry,
            exit,
            blocks,
            edges,
            successors,
            predecessors,
        })
    }

    /// The block that a call of the function runs first.
    #[must_use]
    pub fn entry(&self) -> BlockId {
        self.entry
    }

    /// The block that control reaches by leaving the function.
    #[must_use]
    pub fn exit(&self) -> BlockId {
        self.exit
    }

    /// The number of blocks, including entry and exit.
    #[must_use]
    pub fn block_count(&self) -> u32 {
        self.blocks
    }

    /// All blocks, in order of their ids.
    pub fn blocks(&self) -> impl DoubleEndedIterator<Item = BlockId> + ExactSizeIterator + use<> {
        (0..self.blocks).map(BlockId)
    }

    /// All edges, in order of their ids.
    #[must_use]
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// The edge with this id.
    ///
    /// # Panics
    /// If `edge` is not an edge of this graph.
    #[must_use]
    pub fn edge(&self, edge: EdgeId) -> Edge {
        self.edges[edge.index()]
    }

    /// The edges that leave a block, in order of their ids.
    ///
    /// # Panics
    /// If `block` is not a block of this graph.
    #[must_use]
    pub fn successors(&self, block: BlockId) -> &[EdgeId] {
        self.successors.list(block.index())
    }

    /// The exit edge of a block; `None` if the block has none.
    ///
    /// # Panics
    /// If `block` is not a block of this graph.
    #[must_use]
    pub fn exit_edge(&self, block: BlockId) -> Option<EdgeId> {
        let mut out = self.successors(block).iter().copied();
        out.find(|edge| self.edges[edge.index()].kind == EdgeKind::Exit)
    }

    /// The edges that enter a block, in order of their ids.
    ///
    /// # Panics
    /// If `block` is not a block of this graph.
    #[must_use]
    pub fn predecessors(&self, block: BlockId) -> &[EdgeId] {
        self.predecessors.list(block.index())
    }
}

fn check(blocks: u32, entry: BlockId, exit: BlockId, edges: &[Edge]) -> Result<(), CfgError> {
    if edges.len() >= u32::MAX as usize {
        return Err(CfgError::TooManyEdges(edges.len()));
    }
    let ends = edges.iter().flat_map(|edge| [edge.from, edge.to]);
    if let Some(block) = [entry, exit]
        .into_iter()
        .chain(ends)
        .find(|block| block.0 >= blocks)
    {
        return Err(CfgError::NoSuchBlock(block));
    }
    if entry == exit {
        return Err(CfgError::EntryIsExit(entry));
    }
    let mut has_exit_edge = vec![false; blocks as usize];
    for (index, edge) in edges.iter().enumerate() {
        let id = EdgeId::new(index);
        if edge.from == exit {
            return Err(CfgError::LeavesExit(id));
        }
        if edge.to == entry {
            return Err(CfgError::EntersEntry(id));
        }
        match edge.kind {
            EdgeKind::Pinned | EdgeKind::Cut if edge.to == exit => {
                return Err(CfgError::ExitNotPlain(id));
            }
            EdgeKind::Exit if edge.to != exit => return Err(CfgError::ExitElsewhere(id)),
            EdgeKind::Exit if core::mem::replace(&mut has_exit_edge[edge.from.index()], true) => {
                return Err(CfgError::SecondExit(id));
            }
            _ => {}
        }
    }
    Ok(())
}
