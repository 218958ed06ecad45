//! Natural loops and how they nest.
//!
//! A back edge is one whose target dominates its source; the loop of a head holds every block that
//! reaches one of the head's back edges without passing the head. Found from the innermost head
//! outward, each block climbed past once a level, as in LLVM's LoopInfo. Cycles without a
//! dominating head (irreducible ones) are not loops here.

use crate::cfg::Cfg;
use crate::dominators::Dominators;
use crate::ids::{BlockId, EdgeId};
use alloc::vec;
use alloc::vec::Vec;

/// One natural loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The block that all its back edges lead to.
    pub head: BlockId,
    /// Its back edges, in order of their ids.
    pub back_edges: Vec<EdgeId>,
    /// The loop directly around it, as an index into [`Loops::all`].
    pub parent: Option<usize>,
    /// 1 for a loop in no other.
    pub depth: u32,
}

/// The natural loops of a graph.
#[derive(Clone, Debug)]
pub struct Loops {
    loops: Vec<Loop>,
    innermost: Vec<Option<usize>>,
}

impl Loops {
    /// The loops of a graph whose dominators these are.
    ///
    /// # Panics
    /// Where the dominators are another graph's.
    #[must_use]
    pub fn new(cfg: &Cfg, dominators: &Dominators) -> Self {
        let mut finder = Finder {
            cfg,
            dominators,
            loops: Vec::new(),
            innermost: vec![None; cfg.block_count() as usize],
            around: Vec::new(),
        };
        for &head in dominators.order().iter().rev() {
            let into = cfg.predecessors(head).iter().copied();
            let back_edges: Vec<EdgeId> = into
                .filter(|&edge| dominators.dominates(head, cfg.edge(edge).from))
                .collect();
            if !back_edges.is_empty() {
                finder.add(head, back_edges);
            }
        }
        let mut loops = finder.loops;
        for index in (0..loops.len()).rev() {
            // An outer loop has a higher index than what it holds, so its depth is known.
            let parent = loops[index].parent;
            loops[index].depth = 1 + parent.map_or(0, |parent| loops[parent].depth);
        }
        Self {
            loops,
            innermost: finder.innermost,
        }
    }

    /// All loops, each before those around it.
    #[must_use]
    pub fn all(&self) -> &[Loop] {
        &self.loops
    }

    /// The innermost loop that holds a block, as an index into [`Loops::all`].
    ///
    /// # Panics
    /// Where `block` is not one of the graph.
    #[must_use]
    pub fn innermost(&self, block: BlockId) -> Option<usize> {
        self.innermost[block.index()]
    }

    /// In how many loops a block is.
    ///
    /// # Panics
    /// Where `block` is not one of the graph.
    #[must_use]
    pub fn depth(&self, block: BlockId) -> u32 {
        self.innermost(block)
            .map_or(0, |index| self.loops[index].depth)
    }

    /// Whether the innermost loop of `from` does not hold `to`.
    ///
    /// # Panics
    /// Where either is not a block of the graph.
    #[must_use]
    pub fn leaves(&self, from: BlockId, to: BlockId) -> bool {
        let Some(inside) = self.innermost(from) else {
            return false;
        };
        let depth = self.loops[inside].depth;
        let mut around = self.innermost(to);
        // Loops further out than `inside` cannot be it.
        while let Some(index) = around.filter(|&index| self.loops[index].depth >= depth) {
            if index == inside {
                return false;
            }
            around = self.loops[index].parent;
        }
        true
    }
}

/// Loops while they are being found.
struct Finder<'a> {
    cfg: &'a Cfg,
    dominators: &'a Dominators,
    loops: Vec<Loop>,
    innermost: Vec<Option<usize>>,
    /// For each loop one that is around it, or itself; ways are halved when walked, so deep nests
    /// cost no more.
    around: Vec<usize>,
}

impl Finder<'_> {
    fn add(&mut self, head: BlockId, back_edges: Vec<EdgeId>) {
        let (cfg, dominators) = (self.cfg, self.dominators);
        let index = self.loops.len();
        let mut work: Vec<BlockId> = back_edges.iter().map(|&edge| cfg.edge(edge).from).collect();
        self.loops.push(Loop {
            head,
            back_edges,
            parent: None,
            depth: 0,
        });
        self.around.push(index);
        self.innermost[head.index()] = Some(index);
        while let Some(block) = work.pop() {
            let from = match self.outermost(block) {
                Some(outermost) if outermost == index => continue,
                Some(inner) => {
                    self.loops[inner].parent = Some(index);
                    self.around[inner] = index;
                    self.loops[inner].head
                }
                None => {
                    self.innermost[block.index()] = Some(index);
                    block
                }
            };
            let into = cfg.predecessors(from).iter();
            let sources = into.map(|&edge| cfg.edge(edge).from);
            work.extend(sources.filter(|&source| dominators.dominates(head, source)));
        }
    }

    /// The outermost loop known so far that holds a block.
    fn outermost(&mut self, block: BlockId) -> Option<usize> {
        let mut index = self.innermost[block.index()]?;
        while self.around[index] != index {
            self.around[index] = self.around[self.around[index]];
            index = self.around[index];
        }
        Some(index)
    }
}
