//! Depth-first search without recursion: real functions are deep enough to overflow a stack.
//!
//! All callers share one routine. It walks the edges that a filter accepts, from several roots in
//! turn, and lists the blocks in postorder. A *retreating* edge leads to a block whose successors
//! are still being visited, or back to the same block. Without the retreating edges, the reversed
//! postorder is a topological order. So removing them makes any graph acyclic, whether it is
//! reducible or not. Cost: one step for each block and each edge.

use crate::cfg::{Cfg, Edge, EdgeKind};
use crate::ids::BlockId;
use alloc::vec;
use alloc::vec::Vec;

/// The state of a block during a search.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Not visited yet.
    New,
    /// Visited; not all of its successors are done.
    Open,
    /// Finished, with all of its successors.
    Done,
}

/// A depth-first search over the edges that `follow` lets through.
pub(crate) struct Search<'a, F> {
    cfg: &'a Cfg,
    follow: F,
    /// The state of each block.
    pub(crate) marks: Vec<Mark>,
    /// Blocks in the order in which the search finished them.
    pub(crate) postorder: Vec<BlockId>,
}

impl<'a, F: Fn(&Edge) -> bool> Search<'a, F> {
    pub(crate) fn new(cfg: &'a Cfg, follow: F) -> Self {
        let marks = vec![Mark::New; cfg.block_count() as usize];
        Self {
            cfg,
            follow,
            marks,
            postorder: Vec::new(),
        }
    }

    /// Visits all unvisited blocks that are reachable from `root`. Calls `on_retreating` with every
    /// retreating edge: a followed edge to a block that is still open, or to its own source.
    pub(crate) fn run(&mut self, root: BlockId, mut on_retreating: impl FnMut(&Edge)) {
        if self.marks[root.index()] != Mark::New {
            return;
        }
        self.marks[root.index()] = Mark::Open;
        let mut stack = vec![(root, 0usize)];
        while let Some((block, next)) = stack.last_mut() {
            let Some(&edge) = self.cfg.successors(*block).get(*next) else {
                self.marks[block.index()] = Mark::Done;
                self.postorder.push(*block);
                stack.pop();
                continue;
            };
            *next += 1;
            let edge = self.cfg.edge(edge);
            if !(self.follow)(&edge) {
                continue;
            }
            match self.marks[edge.to.index()] {
                Mark::New => {
                    self.marks[edge.to.index()] = Mark::Open;
                    stack.push((edge.to, 0));
                }
                Mark::Open => on_retreating(&edge),
                Mark::Done => {}
            }
        }
    }
}

/// The blocks reachable from the entry, in reverse postorder. The entry comes first. Every block
/// comes before its successors, except along retreating edges.
#[must_use]
pub fn reverse_postorder(cfg: &Cfg) -> Vec<BlockId> {
    let mut search = Search::new(cfg, |_| true);
    search.run(cfg.entry(), |_| {});
    search.postorder.reverse();
    search.postorder
}

/// Like [`reverse_postorder`], but the search does not walk `Cut` edges: the target of a cut edge
/// is a separate root. The entry comes first. The exit comes last if it is reachable.
pub(crate) fn order_between_cuts(cfg: &Cfg) -> Vec<BlockId> {
    let mut search = Search::new(cfg, |edge| edge.kind != EdgeKind::Cut);
    search.run(cfg.entry(), |_| {});
    let mut next = 0;
    while let Some(&block) = search.postorder.get(next) {
        next += 1;
        for &edge in cfg.successors(block) {
            search.run(cfg.edge(edge).to, |_| {});
        }
    }
    // No edge leaves the exit or enters the entry, so the exit may come last and the entry first.
    let inner = search.postorder.iter().rev().copied();
    let inner = inner.filter(|&block| block != cfg.entry() && block != cfg.exit());
    let mut order: Vec<BlockId> = [cfg.entry()].into_iter().chain(inner).collect();
    if search.marks[cfg.exit().index()] == Mark::Done {
        order.push(cfg.exit());
    }
    order
}
