//! Depth-first search without recursion: real functions are deep enough to overflow a stack.
//!
//! One routine serves all: it walks the edges that a filter lets through, from several roots in
//! turn, and gives the blocks in postorder. Reversed, that is a topological order of whatever is
//! left once the *retreating* edges (those that lead to a block not finished yet, or back to the
//! same block) are taken away; so any graph, reducible or not, becomes acyclic by removing them.
//! Cost: one step for each block and each edge.

use crate::cfg::{Cfg, Edge, EdgeKind};
use crate::ids::BlockId;
use alloc::vec;
use alloc::vec::Vec;

/// Where a block stands in a search that is not over.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    New,
    Open,
    Done,
}

/// A depth-first search over the edges that `follow` lets through.
pub(crate) struct Search<'a, F> {
    cfg: &'a Cfg,
    follow: F,
    /// How far each block has got.
    pub(crate) marks: Vec<Mark>,
    /// Blocks in the order in which they were finished.
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

    /// Visits all that is reachable from `root` and not visited yet. `see` is told every followed
    /// edge that leads to a block still open, itself included: the retreating edges.
    pub(crate) fn run(&mut self, root: BlockId, mut see: impl FnMut(&Edge)) {
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
                Mark::Open => see(&edge),
                Mark::Done => {}
            }
        }
    }
}

/// The blocks reachable from the entry, in reverse postorder: the entry first, every block before
/// what it leads to except along retreating edges.
#[must_use]
pub fn reverse_postorder(cfg: &Cfg) -> Vec<BlockId> {
    let mut search = Search::new(cfg, |_| true);
    search.run(cfg.entry(), |_| {});
    search.postorder.reverse();
    search.postorder
}

/// As [`reverse_postorder`], but `Cut` edges are not walked: what lies behind one is a root of its
/// own. The entry comes first and the exit, where reached, last.
pub(crate) fn order_between_cuts(cfg: &Cfg) -> Vec<BlockId> {
    let mut search = Search::new(cfg, |edge| edge.kind != EdgeKind::Cut);
    search.run(cfg.entry(), |_| {});
    let mut seen = 0;
    while let Some(&block) = search.postorder.get(seen) {
        seen += 1;
        for &edge in cfg.successors(block) {
            search.run(cfg.edge(edge).to, |_| {});
        }
    }
    // An edge is never walked from the exit or to the entry, so these two may stand where they are
    // wanted.
    let inner = search.postorder.iter().rev().copied();
    let inner = inner.filter(|&block| block != cfg.entry() && block != cfg.exit());
    let mut order: Vec<BlockId> = [cfg.entry()].into_iter().chain(inner).collect();
    if search.marks[cfg.exit().index()] == Mark::Done {
        order.push(cfg.exit());
    }
    order
}
