//! Dominators, by the algorithm Semi-NCA (Georgiadis, "Linear-time algorithms for dominators",
//! 2005).
//!
//! Blocks are numbered by a depth-first search. A block's *semidominator* is the least number from
//! which a path comes to it through greater numbers only; found from the last block to the first,
//! with ways up the search tree compressed. Then, from first to last, the immediate dominator is
//! the nearest ancestor of the parent, among the dominators known, that is not above the
//! semidominator. Numbers given on a walk of the finished tree answer "does a dominate b" in two
//! comparisons. Cost: close to linear, deep loops and many `continue`s included, which the simpler
//! iterative way (Cooper, Harvey, Kennedy) pays for with the square: 20,000 loops inside one
//! another took it 3.6 s.

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
        let tree = Tree::new(cfg);
        let immediate = immediate(cfg, &tree);
        let span = spans(&immediate);
        let mut by_block = vec![None; cfg.block_count() as usize];
        for (node, block) in tree.blocks.iter().enumerate().skip(1) {
            by_block[block.index()] = Some(tree.blocks[immediate[node]]);
        }
        let mut block_span = vec![(0, 0); by_block.len()];
        for (node, block) in tree.blocks.iter().enumerate() {
            block_span[block.index()] = span[node];
        }
        Self {
            order: reverse_postorder(cfg),
            immediate: by_block,
            span: block_span,
        }
    }

    /// The reachable blocks in reverse postorder.
    #[must_use]
    pub fn order(&self) -> &[BlockId] {
        &self.order
    }

    /// The nearest block that every way to `block` leads through; `None` for the entry and where
    /// nothing leads.
    ///
    /// # Panics
    /// Where `block` is not one of the graph.
    #[must_use]
    pub fn immediate(&self, block: BlockId) -> Option<BlockId> {
        self.immediate[block.index()]
    }

    /// Whether every way from the entry to `b` leads through `a`; a reachable block dominates
    /// itself.
    ///
    /// # Panics
    /// Where either is not a block of the graph.
    #[must_use]
    pub fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        let (a, b) = (self.span[a.index()], self.span[b.index()]);
        a.1 > 0 && b.1 > 0 && a.0 <= b.0 && b.1 <= a.1
    }
}

/// A depth-first search tree; nodes are numbered as they were first seen.
struct Tree {
    blocks: Vec<BlockId>,
    /// The entry's is itself.
    parents: Vec<usize>,
    /// By block; `usize::MAX` where it was not reached.
    nodes: Vec<usize>,
}

impl Tree {
    fn new(cfg: &Cfg) -> Self {
        let nodes = vec![usize::MAX; cfg.block_count() as usize];
        let mut tree = Self {
            blocks: Vec::new(),
            parents: Vec::new(),
            nodes,
        };
        let mut stack = vec![(cfg.entry(), 0)];
        while let Some((block, parent)) = stack.pop() {
            if tree.nodes[block.index()] != usize::MAX {
                continue;
            }
            let node = tree.blocks.len();
            tree.nodes[block.index()] = node;
            tree.blocks.push(block);
            tree.parents.push(parent);
            let targets = cfg
                .successors(block)
                .iter()
                .rev()
                .map(|&edge| cfg.edge(edge).to);
            let new = targets.filter(|to| tree.nodes[to.index()] == usize::MAX);
            stack.extend(new.map(|to| (to, node)));
        }
        tree
    }
}

/// Semidominators on the way, all by node.
struct Semi {
    /// Nearest ancestor not compressed away yet.
    up: Vec<usize>,
    /// The node of least semidominator between here and there.
    label: Vec<usize>,
    semi: Vec<usize>,
    stack: Vec<usize>,
}

impl Semi {
    /// The node of least semidominator from `node` up to the first ancestor below `linked`.
    fn least(&mut self, mut node: usize, linked: usize) -> usize {
        while self.up[node] >= linked {
            self.stack.push(node);
            node = self.up[node];
        }
        let mut above = node;
        while let Some(node) = self.stack.pop() {
            self.up[node] = self.up[above];
            if self.semi[self.label[above]] < self.semi[self.label[node]] {
                self.label[node] = self.label[above];
            }
            above = node;
        }
        self.label[above]
    }
}

/// Immediate dominators by node; the entry's is itself.
fn immediate(cfg: &Cfg, tree: &Tree) -> Vec<usize> {
    let count = tree.blocks.len();
    let own: Vec<usize> = (0..count).collect();
    let mut find = Semi {
        up: tree.parents.clone(),
        label: own.clone(),
        semi: own,
        stack: Vec::new(),
    };
    for node in (1..count).rev() {
        let into = cfg.predecessors(tree.blocks[node]).iter();
        let sources = into.map(|&edge| tree.nodes[cfg.edge(edge).from.index()]);
        let semi = sources.filter(|&from| from != usize::MAX).map(|from| {
            let least = find.least(from, node + 1);
            find.semi[least]
        });
        find.semi[node] = semi.fold(tree.parents[node], usize::min);
    }
    let mut immediate = tree.parents.clone();
    for node in 1..count {
        while immediate[node] > find.semi[node] {
            immediate[node] = immediate[immediate[node]];
        }
    }
    immediate
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
