//! Dominators, after Cooper, Harvey and Kennedy, "A simple, fast dominance algorithm".
//!
//! Each block's immediate dominator is the nearest common ancestor, in the tree so far, of its predecessors; repeated
//! in reverse postorder until nothing changes. Numbers given on a walk of the finished tree then answer "does a dominate b" in
//! two comparisons. Cost: linear for reducible graphs, a few rounds for others.

use crate::cfg::Cfg;
use crate::ids::BlockId;
use crate::lists::Lists;
use crate::search::reverse_postorder;
use alloc::vec;
use alloc::vec::Vec;

/// The dominator tree of the blocks that can be reached.
#[derive(Clone, Debug)]
pub struct Dominators {
    /// Reached blocks, the entry first.
    order: Vec<BlockId>,
    immediate: Vec<Option<BlockId>>,
    /// When the walk of the tree came to each block and left it; (0, 0) where it never came.
    span: Vec<(u32, u32)>,
}

impl Dominators {
    /// The dominators of a graph.
    #[must_use]
    pub fn new(cfg: &Cfg) -> Self {
        let order = reverse_postorder(cfg);
        let mut place = vec![usize::MAX; cfg.block_count() as usize];
        for (index, block) in order.iter().enumerate() {
            place[block.index()] = index;
        }
        let immediate = immediate(cfg, &order, &place);
        let span = spans(&immediate);
        let mut by_block = vec![None; place.len()];
        for (index, block) in order.iter().enumerate().skip(1) {
            by_block[block.index()] = Some(order[immediate[index]]);
        }
        let mut block_span = vec![(0, 0); place.len()];
        for (index, block) in order.iter().enumerate() {
            block_span[block.index()] = span[index];
        }
        Self {
            order,
            immediate: by_block,
            span: block_span,
        }
    }

    /// The reachable blocks in reverse postorder.
    #[must_use]
    pub fn order(&self) -> &[BlockId] {
        &self.order
    }

    /// The nearest block that every way to `block` leads through; `None` for the entry and where nothing leads.
    ///
    /// # Panics
    /// Where `block` is not one of the graph.
    #[must_use]
    pub fn immediate(&self, block: BlockId) -> Option<BlockId> {
        self.immediate[block.index()]
    }

    /// Whether every way from the entry to `b` leads through `a`; a reachable block dominates itself.
    ///
    /// # Panics
    /// Where either is not a block of the graph.
    #[must_use]
    pub fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        let (a, b) = (self.span[a.index()], self.span[b.index()]);
        a.1 > 0 && b.1 > 0 && a.0 <= b.0 && b.1 <= a.1
    }
}

/// Immediate dominators by place in the order; the entry's is itself.
fn immediate(cfg: &Cfg, order: &[BlockId], place: &[usize]) -> Vec<usize> {
    let mut immediate = vec![usize::MAX; order.len()];
    immediate[0] = 0;
    let mut changed = true;
    while changed {
        changed = false;
        for (index, &block) in order.iter().enumerate().skip(1) {
            let edges = cfg.predecessors(block).iter();
            let sources = edges.map(|&edge| place[cfg.edge(edge).from.index()]);
            let known = sources.filter(|&from| from != usize::MAX && immediate[from] != usize::MAX);
            let common = known.reduce(|a, b| meet(&immediate, a, b));
            let common = common.expect("a reached block has a predecessor before it");
            changed |= core::mem::replace(&mut immediate[index], common) != common;
        }
    }
    immediate
}

fn meet(immediate: &[usize], mut a: usize, mut b: usize) -> usize {
    while a != b {
        if a > b {
            a = immediate[a];
        } else {
            b = immediate[b];
        }
    }
    a
}

/// When a walk of the tree comes to each node, and leaves it; both count from 1.
fn spans(immediate: &[usize]) -> Vec<(u32, u32)> {
    let children = Lists::new(
        immediate.len(),
        immediate
            .iter()
            .enumerate()
            .skip(1)
            .map(|(node, &parent)| (parent, node)),
    );
    let mut span = vec![(0u32, 0u32); immediate.len()];
    let mut clock = 1;
    span[0].0 = clock;
    let mut stack = vec![(0usize, 0usize)];
    while let Some((node, next)) = stack.last_mut() {
        clock += 1;
        if let Some(&child) = children.list(*node).get(*next) {
            *next += 1;
            span[child].0 = clock;
            stack.push((child, 0));
        } else {
            span[*node].1 = clock;
            stack.pop();
        }
    }
    span
}
