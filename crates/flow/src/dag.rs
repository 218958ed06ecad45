//! The acyclic graph that paths are numbered on (PP, section "arbitrary control flow").
//!
//! Every back edge w→v is dropped and stood for by two dummy edges: ENTRY→v, along which a path
//! starts at the loop head, and w→EXIT, along which one ends. As in the paper, except:
//!
//! - one `Start` edge for each distinct head v and one `Back` edge for each back *edge*, so that a
//!   path is the same path whichever back edge led to its head, and back-edge counts still follow
//!   exactly from path counts;
//! - self loops are back edges like any other (the paper counts them apart);
//! - `Cut` edges are treated as back edges are: a path ends before, another starts after;
//! - exit edges are edges to the exit like any other: a path may end in the middle of a block;
//! - back edges are the edges that retreat in a depth-first search, so irreducible graphs work as
//!   well.
//!
//! A pinned edge can carry no probe, so it must not be a back edge. Where the search would make it
//! one, blocks are put in another order: the search's, bent only so far that pinned edges all lead
//! forward. That fails exactly where pinned edges alone form a cycle; the error names blocks whose
//! splitting breaks all such cycles.
//!
//! Example: b0→b1, b1→b2, b2→b1, b2→b3 with exit b3. The back edge is b2→b1; the dag has b0→b1,
//! b1→b2, b2→b3 and the dummies `Start(b1)`: b0→b1 and `Back`: b2→b3. Cost: linear, with a
//! logarithm where pinned edges bend the order.

use crate::cfg::{Cfg, EdgeKind};
use crate::ids::{BlockId, EdgeId};
use crate::search::{Search, order_between_cuts};
use alloc::collections::BinaryHeap;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::fmt;

/// What an edge of the dag stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DagEdgeKind {
    /// A real edge, run inside a path (or out of the function, where it leads to the exit).
    Edge(EdgeId),
    /// ENTRY→head: a path starts at this block, behind a back or cut edge. One for each distinct
    /// head.
    Start(BlockId),
    /// w→EXIT: a path ends by running this back edge.
    Back(EdgeId),
    /// w→EXIT: a path ends by running this cut edge.
    Cut(EdgeId),
}

/// An edge of the dag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DagEdge {
    /// The block it leaves; the entry for a `Start`.
    pub from: BlockId,
    /// The block it enters; the exit for `Back` and `Cut`.
    pub to: BlockId,
    /// What it stands for.
    pub kind: DagEdgeKind,
}

/// How a real edge appears in the dag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Its source is unreachable.
    Absent,
    Inside,
    Back,
    Cut,
}

/// A graph with its cycles cut: which edges are back edges, and an order in which all others lead
/// forward.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dag {
    order: Vec<BlockId>,
    roles: Vec<Role>,
}

/// Pinned edges form a cycle among themselves: a path could not be ended on it.
///
/// Splitting each of these blocks (a `Cut` edge inside, before the terminator) breaks all such
/// cycles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinnedCycle {
    /// The blocks to split, each the source of a pinned edge that closes a cycle.
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
    /// Where pinned edges alone form a cycle.
    pub fn new(cfg: &Cfg) -> Result<Self, PinnedCycle> {
        let mut order = order_between_cuts(cfg);
        let mut position = positions(cfg, &order);
        if pinned_edges(cfg, &position).any(|(from, to)| position[to] <= position[from]) {
            check_pinned(cfg)?;
            order = bend(cfg, &order, &position);
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

    /// The reachable blocks in an order in which every edge leads forward, back and cut edges
    /// apart. The entry is the first, the exit, where reached, the last.
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

    /// Lets paths end at an edge that they ran through until now.
    pub(crate) fn cut(&mut self, edge: EdgeId) {
        debug_assert_eq!(self.roles[edge.index()], Role::Inside);
        self.roles[edge.index()] = Role::Cut;
    }

    /// The edges of the dag by block, dummies included: each block's in the order of its real
    /// edges, then, at the entry, the starts in order of their blocks.
    pub(crate) fn edges(&self, cfg: &Cfg) -> Vec<DagEdge> {
        let mut edges = Vec::with_capacity(cfg.edges().len());
        let mut head = vec![false; cfg.block_count() as usize];
        for block in cfg.blocks() {
            for &id in cfg.successors(block) {
                let to = cfg.edge(id).to;
                let (to, kind) = match self.role(id) {
                    Role::Absent => continue,
                    Role::Inside => (to, DagEdgeKind::Edge(id)),
                    Role::Back => (cfg.exit(), DagEdgeKind::Back(id)),
                    Role::Cut => (cfg.exit(), DagEdgeKind::Cut(id)),
                };
                head[cfg.edge(id).to.index()] |= !matches!(kind, DagEdgeKind::Edge(_));
                edges.push(DagEdge {
                    from: block,
                    to,
                    kind,
                });
            }
        }
        let heads = cfg.blocks().filter(|block| head[block.index()]);
        edges.extend(heads.map(|block| DagEdge {
            from: cfg.entry(),
            to: block,
            kind: DagEdgeKind::Start(block),
        }));
        edges
    }
}

/// Each block's place in an order, `None` where it is not in it.
fn positions(cfg: &Cfg, order: &[BlockId]) -> Vec<Option<u32>> {
    let mut position = vec![None; cfg.block_count() as usize];
    for (place, block) in (0u32..).zip(order) {
        position[block.index()] = Some(place);
    }
    position
}

/// Ends of the pinned edges that can be reached, as indices.
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

/// Refuses cycles of pinned edges only.
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

/// A topological order of the pinned edges that stays as near to the given order as it can: always
/// the earliest block none of whose pinned predecessors is still missing.
fn bend(cfg: &Cfg, order: &[BlockId], position: &[Option<u32>]) -> Vec<BlockId> {
    let mut missing = vec![0u32; cfg.block_count() as usize];
    for (_, to) in pinned_edges(cfg, position) {
        missing[to] += 1;
    }
    let place =
        |block: BlockId| Reverse(position[block.index()].expect("reached, so it has a place"));
    let free = order.iter().filter(|block| missing[block.index()] == 0);
    let mut ready: BinaryHeap<_> = free.map(|&block| place(block)).collect();
    let mut bent = Vec::with_capacity(order.len());
    while let Some(Reverse(next)) = ready.pop() {
        let block = order[next as usize];
        bent.push(block);
        for &edge in cfg.successors(block) {
            let edge = cfg.edge(edge);
            if edge.kind == EdgeKind::Pinned {
                missing[edge.to.index()] -= 1;
                if missing[edge.to.index()] == 0 {
                    ready.push(place(edge.to));
                }
            }
        }
    }
    bent
}
