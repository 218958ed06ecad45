//! The acyclic graph (dag) whose paths are numbered (Ball and Larus 1996, section "arbitrary
//! control flow").
//!
//! Two dummy edges replace every back edge w→v: ENTRY→v, along which a path starts at the loop
//! head, and w→EXIT, along which a path ends. The construction differs from the paper in these
//! points:
//!
//! - There is one `Start` edge for each distinct head v, and one `Back` edge for each back *edge*.
//!   So a path is the same path whichever back edge led to its head, and back-edge counts still
//!   follow exactly from path counts.
//! - Self loops are ordinary back edges (the paper counts them separately).
//! - `Cut` edges are treated like back edges: a path ends before the edge, and another starts after
//!   it.
//! - Exit edges are ordinary edges to the exit: a path may end in the middle of a block.
//! - Back edges are the retreating edges of a depth-first search, so irreducible graphs work too.
//!
//! A pinned edge can carry no probe, so it must not be a back edge. If the search makes a pinned
//! edge a back edge, the dag uses another block order. This order stays as close to the search's
//! order as it can, while all pinned edges lead forward. Such an order exists unless pinned edges
//! alone form a cycle. In that case the error names blocks; splitting these blocks breaks all such
//! cycles.
//!
//! Example: b0→b1, b1→b2, b2→b1, b2→b3 with exit b3. The back edge is b2→b1. The dag has b0→b1,
//! b1→b2, b2→b3, and the dummies `Start(b1)`: b0→b1 and `Back`: b2→b3. Cost: linear, with a
//! logarithmic factor if pinned edges change the order.

use crate::cfg::{Cfg, EdgeKind};
use crate::ids::{BlockId, EdgeId};
use crate::search::{Search, order_between_cuts};
use alloc::collections::BinaryHeap;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::fmt;

/// The origin of an edge of the dag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DagEdgeKind {
    /// A real edge, inside a path or out of the function (to the exit).
    Edge(EdgeId),
    /// ENTRY→head: a path starts at this block, after a back or cut edge. The dag has one `Start`
    /// edge for each distinct head.
    Start(BlockId),
    /// w→EXIT: a path ends with this back edge.
    Back(EdgeId),
    /// w→EXIT: a path ends with this cut edge.
    Cut(EdgeId),
}

/// An edge of the dag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DagEdge {
    /// The block that the edge leaves; the entry for a `Start`.
    pub from: BlockId,
    /// The block that the edge enters; the exit for `Back` and `Cut`.
    pub to: BlockId,
    /// The origin of the edge: a real edge, or a dummy.
    pub kind: DagEdgeKind,
}

/// The role of a real edge in the dag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The edge is not in the dag, because its source is unreachable.
    Absent,
    /// Paths run through the edge.
    Inside,
    /// The edge is a back edge: a path ends there.
    Back,
    /// The edge is a cut edge: a path ends there.
    Cut,
}

/// The acyclic form of a graph: its back edges, and a block order in which all other edges lead
/// forward.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dag {
    order: Vec<BlockId>,
    roles: Vec<Role>,
}

/// An error: pinned edges alone form a cycle, so no path could end on it.
///
/// Splitting each of these blocks (with a `Cut` edge inside, before the terminator) breaks all such
/// cycles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinnedCycle {
    /// The blocks to split. Each is the source of a pinned edge that closes a cycle.
    pub blocks: Vec<BlockId>,
}

impl fmt::Display for PinnedCycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a loop made only of edges that can carry no probe, closed by"
        )?;
        for (index, block) in self.blocks.iter().enumerate() {
            write!(f, "{} {block}", if index == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl core::error::Error for PinnedCycle {}

impl Dag {
    /// Finds the back edges of a graph.
    ///
    /// # Errors
    /// If pinned edges alone form a cycle.
    pub fn new(cfg: &Cfg) -> Result<Self, PinnedCycle> {
        let mut order = order_between_cuts(cfg);
        let mut position = positions(cfg, &order);
        if pinned_edges(cfg, &position).any(|(from, to)| position[to] <= position[from]) {
            check_pinned(cfg)?;
            order = reorder(cfg, &order, &position);
            position = positions(cfg, &order);
        }
        let roles = cfg
            .edges()
            .iter()
            .map(|edge| match position[edge.from.index()] {
                None => Role::Absent,
                _ if edge.kind == EdgeKind::Cut => Role::Cut,
                from if position[edge.to.index()] <= from => Role::Back,
                _ => Role::Inside,
            });
        Ok(Self {
            roles: roles.collect(),
            order,
        })
    }

    /// The reachable blocks, in an order in which every edge except back and cut edges leads
    /// forward. The entry comes first. The exit comes last if it is reachable.
    #[must_use]
    pub fn order(&self) -> &[BlockId] {
        &self.order
    }

    /// The back edges, in order of their ids.
    pub fn back_edges(&self) -> impl Iterator<Item = EdgeId> {
        let roles = self.roles.iter().enumerate();
        roles
            .filter(|(_, role)| **role == Role::Back)
            .map(|(index, _)| EdgeId::new(index))
    }

    pub(crate) fn role(&self, edge: EdgeId) -> Role {
        self.roles[edge.index()]
    }

    /// Turns an edge inside paths into a cut edge.
    pub(crate) fn cut(&mut self, edge: EdgeId) {
        debug_assert_eq!(self.roles[edge.index()], Role::Inside);
        self.roles[edge.index()] = Role::Cut;
    }

    /// The edges of the dag, including dummies. Edges are grouped by source block, in the order of
    /// their real edges. The start edges come last, in order of their heads.
    pub(crate) fn edges(&self, cfg: &Cfg) -> Vec<DagEdge> {
        let mut edges = Vec::with_capacity(cfg.edges().len());
        let mut is_head = vec![false; cfg.block_count() as usize];
        for block in cfg.blocks() {
            for &id in cfg.successors(block) {
                let to = cfg.edge(id).to;
                let (to, kind) = match self.role(id) {
                    Role::Absent => continue,
                    Role::Inside => (to, DagEdgeKind::Edge(id)),
                    Role::Back => (cfg.exit(), DagEdgeKind::Back(id)),
                    Role::Cut => (cfg.exit(), DagEdgeKind::Cut(id)),
                };
                is_head[cfg.edge(id).to.index()] |= !matches!(kind, DagEdgeKind::Edge(_));
                edges.push(DagEdge {
                    from: block,
                    to,
                    kind,
                });
            }
        }
        let heads = cfg.blocks().filter(|block| is_head[block.index()]);
        edges.extend(heads.map(|block| DagEdge {
            from: cfg.entry(),
            to: block,
            kind: DagEdgeKind::Start(block),
        }));
        edges
    }
}

/// The position of each block in `order`; `None` if the block is not in `order`.
fn positions(cfg: &Cfg, order: &[BlockId]) -> Vec<Option<u32>> {
    let mut position = vec![None; cfg.block_count() as usize];
    for (index, block) in (0u32..).zip(order) {
        position[block.index()] = Some(index);
    }
    position
}

/// The source and target of each reachable pinned edge, as block indices.
fn pinned_edges<'a>(
    cfg: &'a Cfg,
    position: &'a [Option<u32>],
) -> impl Iterator<Item = (usize, usize)> + Clone + 'a {
    let pinned = cfg
        .edges()
        .iter()
        .filter(|edge| edge.kind == EdgeKind::Pinned);
    pinned
        .map(|edge| (edge.from.index(), edge.to.index()))
        .filter(|&(from, _)| position[from].is_some())
}

/// Returns an error if pinned edges alone form a cycle.
fn check_pinned(cfg: &Cfg) -> Result<(), PinnedCycle> {
    let mut search = Search::new(cfg, |edge| edge.kind == EdgeKind::Pinned);
    let mut blocks = Vec::new();
    for block in crate::search::reverse_postorder(cfg) {
        search.run(block, |edge| blocks.push(edge.from));
    }
    blocks.sort_unstable();
    blocks.dedup();
    if blocks.is_empty() {
        Ok(())
    } else {
        Err(PinnedCycle { blocks })
    }
}

/// Reorders the blocks such that all pinned edges lead forward, and stays as close to `order` as it
/// can. The next block is always the earliest block of `order` whose predecessors along pinned
/// edges are all in the new order.
fn reorder(cfg: &Cfg, order: &[BlockId], position: &[Option<u32>]) -> Vec<BlockId> {
    // For each block: the number of its incoming pinned edges from blocks not in the new order yet.
    let mut pending_sources = vec![0u32; cfg.block_count() as usize];
    for (_, to) in pinned_edges(cfg, position) {
        pending_sources[to] += 1;
    }
    let priority = |block: BlockId| {
        Reverse(position[block.index()].expect("the block is reachable, so it has a position"))
    };
    let free_blocks = order
        .iter()
        .filter(|block| pending_sources[block.index()] == 0);
    let mut ready: BinaryHeap<_> = free_blocks.map(|&block| priority(block)).collect();
    let mut reordered = Vec::with_capacity(order.len());
    while let Some(Reverse(next)) = ready.pop() {
        let block = order[next as usize];
        reordered.push(block);
        for &edge in cfg.successors(block) {
            let edge = cfg.edge(edge);
            if edge.kind == EdgeKind::Pinned {
                pending_sources[edge.to.index()] -= 1;
                if pending_sources[edge.to.index()] == 0 {
                    ready.push(priority(edge.to));
                }
            }
        }
    }
    reordered
}
