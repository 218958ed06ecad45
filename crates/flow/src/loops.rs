//! Natural loops and their nesting.
//!
//! In this file, a back edge is an edge whose target dominates its source. ([`Dag`](crate::Dag) has
//! more back edges: those of irreducible cycles, too.) The loop of a head contains every block that
//! reaches a back edge of the head without passing the head. The search visits heads from the
//! innermost outward, and skips each known inner loop in one step per level, as LLVM's `LoopInfo`
//! does. Cycles without a dominating head (irreducible cycles) are not loops here.

use crate::cfg::Cfg;
use crate::dominators::Dominators;
use crate::ids::{BlockId, EdgeId};
use alloc::vec;
use alloc::vec::Vec;

/// One natural loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The target of all back edges of the loop.
    pub head: BlockId,
    /// The back edges of the loop, in order of their ids.
    pub back_edges: Vec<EdgeId>,
    /// The next enclosing loop, as an index into [`Loops::all`].
    pub parent: Option<usize>,
    /// The nesting depth: 1 for an outermost loop.
    pub depth: u32,
}

/// The natural loops of a graph.
#[derive(Clone, Debug)]
pub struct Loops {
    loops: Vec<Loop>,
    /// The innermost loop of each block.
    innermost: Vec<Option<usize>>,
}

impl Loops {
    /// Finds the loops of a graph. `dominators` are the dominators of `cfg`.
    ///
    /// # Panics
    /// If the dominators belong to another graph.
    #[must_use]
    pub fn new(cfg: &Cfg, dominators: &Dominators) -> Self {
        let mut finder = Finder {
            cfg,
            dominators,
            loops: Vec::new(),
            innermost: vec![None; cfg.block_count() as usize],
            enclosing: Vec::new(),
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
            // An enclosing loop has a higher index than its inner loops, so its depth is already
            // known.
            let parent = loops[index].parent;
            loops[index].depth = 1 + parent.map_or(0, |parent| loops[parent].depth);
        }
        Self {
            loops,
            innermost: finder.innermost,
        }
    }

    /// All loops. Each loop comes before the loops that enclose it.
    #[must_use]
    pub fn all(&self) -> &[Loop] {
        &self.loops
    }

    /// The innermost loop that contains a block, as an index into [`Loops::all`].
    ///
    /// # Panics
    /// If `block` is not a block of the graph.
    #[must_use]
    pub fn innermost(&self, block: BlockId) -> Option<usize> {
        self.innermost[block.index()]
    }

    /// The number of loops that contain a block.
    ///
    /// # Panics
    /// If `block` is not a block of the graph.
    #[must_use]
    pub fn depth(&self, block: BlockId) -> u32 {
        self.innermost(block)
            .map_or(0, |index| self.loops[index].depth)
    }

    /// Whether the innermost loop that contains `from` does not contain `to`.
    ///
    /// # Panics
    /// If `from` or `to` is not a block of the graph.
    #[must_use]
    pub fn leaves(&self, from: BlockId, to: BlockId) -> bool {
        let Some(inside) = self.innermost(from) else {
            return false;
        };
        let depth = self.loops[inside].depth;
        let mut enclosing = self.innermost(to);
        // Loops with a smaller depth than `inside` cannot be the same loop.
        while let Some(index) = enclosing.filter(|&index| self.loops[index].depth >= depth) {
            if index == inside {
                return false;
            }
            enclosing = self.loops[index].parent;
        }
        true
    }
}

/// The loops found so far.
struct Finder<'a> {
    cfg: &'a Cfg,
    dominators: &'a Dominators,
    loops: Vec<Loop>,
    innermost: Vec<Option<usize>>,
    /// For each loop, an enclosing loop or the loop itself. `outermost` shortens these links while
    /// it follows them, so deep nests cost no more.
    enclosing: Vec<usize>,
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
        self.enclosing.push(index);
        self.innermost[head.index()] = Some(index);
        while let Some(block) = work.pop() {
            let entered = match self.outermost(block) {
                Some(outermost) if outermost == index => continue,
                Some(inner) => {
                    self.loops[inner].parent = Some(index);
                    self.enclosing[inner] = index;
                    self.loops[inner].head
                }
                None => {
                    self.innermost[block.index()] = Some(index);
                    block
                }
            };
            let into = cfg.predecessors(entered).iter();
            let sources = into.map(|&edge| cfg.edge(edge).from);
            work.extend(sources.filter(|&source| dominators.dominates(head, source)));
        }
    }

    /// The outermost loop found so far that contains a block.
    fn outermost(&mut self, block: BlockId) -> Option<usize> {
        let mut index = self.innermost[block.index()]?;
        while self.enclosing[index] != index {
            self.enclosing[index] = self.enclosing[self.enclosing[index]];
            index = self.enclosing[index];
        }
        Some(index)
    }
}
