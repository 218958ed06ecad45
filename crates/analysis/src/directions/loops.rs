//! Finds the loops of a function's control-flow graph: the blocks and places of each loop, and the
//! targets of its exits.
//!
//! Cost: linear in the graph. The places of a loop are collected when an edge out of the loop is
//! described for the first time.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use holloway_flow::{BlockId, Dominators, Loops};
use holloway_format::{DagKind, EdgeMap, FunctionMap, Outcome, Place};

use crate::flow::uncut_graph_of;

/// The loops of a function's control-flow graph.
pub(super) struct LoopGraph {
    pub(super) loops: Loops,
    /// Edges back to the heads of their loops.
    pub(super) back_edges: HashSet<u32>,
    /// By block: whether control can reach a return or a back edge from it.
    pub(super) can_continue: Vec<bool>,
    /// By loop: the blocks that are in no inner loop.
    own_blocks: Vec<Vec<u32>>,
    /// By loop: the loops directly inside.
    inner: Vec<Vec<usize>>,
    /// By loop: its code, computed on first use.
    code: Vec<OnceCell<LoopCode>>,
}

/// The code of a loop, including its inner loops.
pub(super) struct LoopCode {
    /// All places of the loop.
    pub(super) places: HashSet<Place>,
    /// The targets of edges out of the loop, each with the number of these edges. Contains only
    /// targets from which control can reach a return or a back edge.
    pub(super) exits: HashMap<u32, usize>,
}

impl LoopGraph {
    pub(super) fn new(map: &FunctionMap) -> Option<Self> {
        let cfg = uncut_graph_of(map).ok()?;
        let loops = Loops::new(&cfg, &Dominators::new(&cfg));
        let natural_back_edges = loops
            .all()
            .iter()
            .flat_map(|natural_loop| &natural_loop.back_edges);
        // A cycle with several heads is no natural loop. Paths end at these edges of it.
        let path_ends = map.dag.iter().filter_map(|edge| match edge.kind {
            DagKind::Back(edge) => Some(edge),
            DagKind::Edge(_) | DagKind::Start(_) | DagKind::Cut(_) => None,
        });
        let back_edges: HashSet<u32> = natural_back_edges
            .map(|edge| edge.0)
            .chain(path_ends)
            .collect();
        let ends_path = |number: u32, edge: &EdgeMap| match edge.outcome {
            Outcome::Return | Outcome::TailCall => true,
            _ => back_edges.contains(&number),
        };
        let mut can_continue = vec![false; map.blocks.len()];
        let mut worklist = Vec::new();
        for (number, edge) in (0u32..).zip(&map.edges) {
            if ends_path(number, edge)
                && !std::mem::replace(&mut can_continue[edge.from as usize], true)
            {
                worklist.push(BlockId(edge.from));
            }
        }
        while let Some(block) = worklist.pop() {
            let into = cfg.predecessors(block).iter();
            for from in into.map(|&edge| cfg.edge(edge).from) {
                if !std::mem::replace(&mut can_continue[from.index()], true) {
                    worklist.push(from);
                }
            }
        }
        let mut own_blocks = vec![Vec::new(); loops.all().len()];
        for block in cfg.blocks() {
            if let Some(inside) = loops.innermost(block) {
                own_blocks[inside].push(block.0);
            }
        }
        let mut inner = vec![Vec::new(); loops.all().len()];
        for (index, natural_loop) in loops.all().iter().enumerate() {
            if let Some(parent) = natural_loop.parent {
                inner[parent].push(index);
            }
        }
        Some(Self {
            code: own_blocks.iter().map(|_| OnceCell::new()).collect(),
            loops,
            back_edges,
            can_continue,
            own_blocks,
            inner,
        })
    }

    /// Whether a loop contains a block.
    pub(super) fn contains(&self, loop_index: usize, block: u32) -> bool {
        let mut enclosing = self.loops.innermost(BlockId(block));
        while let Some(index) = enclosing {
            if index == loop_index {
                return true;
            }
            enclosing = self.loops.all()[index].parent;
        }
        false
    }

    /// The code of a loop. `compute` computes it from the loop's blocks.
    pub(super) fn code(
        &self,
        loop_index: usize,
        compute: impl FnOnce(&[u32]) -> LoopCode,
    ) -> &LoopCode {
        self.code[loop_index].get_or_init(|| compute(&self.blocks(loop_index)))
    }

    /// The blocks of a loop.
    fn blocks(&self, loop_index: usize) -> Vec<u32> {
        let (mut blocks, mut worklist) = (Vec::new(), vec![loop_index]);
        while let Some(index) = worklist.pop() {
            blocks.extend(&self.own_blocks[index]);
            worklist.extend(&self.inner[index]);
        }
        blocks
    }
}
