//! The loops of a function's code: which blocks each holds, which places these have, and where its
//! exits lead.
//!
//! Cost: the graph once; the code of a loop once, when its ways out are first looked at.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use holloway_flow::{BlockId, Dominators, Loops};
use holloway_format::{DagKind, EdgeMap, FunctionMap, Outcome, Place};

use crate::flow::uncut_graph_of;

/// The loops of the code.
pub(super) struct Graph {
    pub(super) loops: Loops,
    /// Edges to heads of loops.
    pub(super) back: HashSet<u32>,
    /// By block: whether a return or the head of a loop can follow.
    pub(super) lives: Vec<bool>,
    /// By loop: the blocks that are in no inner loop, and the loops directly inside.
    own: Vec<Vec<u32>>,
    inner: Vec<Vec<usize>>,
    /// By loop; made when first asked for.
    code: Vec<OnceCell<LoopCode>>,
}

/// The code of a loop, with that of inner loops.
pub(super) struct LoopCode {
    /// All its places.
    pub(super) places: HashSet<Place>,
    /// Targets of the edges out of it behind which a return or the head of a loop can follow, with
    /// how many edges lead there.
    pub(super) exits: HashMap<u32, usize>,
}

impl Graph {
    pub(super) fn new(map: &FunctionMap) -> Option<Self> {
        let cfg = uncut_graph_of(map).ok()?;
        let loops = Loops::new(&cfg, &Dominators::new(&cfg));
        let natural = loops.all().iter().flat_map(|one| &one.back_edges);
        // In cycles without one head, the edges that paths end at.
        let numbered = map.dag.iter().filter_map(|edge| match edge.kind {
            DagKind::Back(edge) => Some(edge),
            DagKind::Edge(_) | DagKind::Start(_) | DagKind::Cut(_) => None,
        });
        let back: HashSet<u32> = natural.map(|edge| edge.0).chain(numbered).collect();
        let goes_on = |number: u32, edge: &EdgeMap| match edge.outcome {
            Outcome::Return | Outcome::TailCall => true,
            _ => back.contains(&number),
        };
        let mut lives = vec![false; map.blocks.len()];
        let mut work = Vec::new();
        for (number, edge) in (0u32..).zip(&map.edges) {
            if goes_on(number, edge) && !std::mem::replace(&mut lives[edge.from as usize], true) {
                work.push(BlockId(edge.from));
            }
        }
        while let Some(block) = work.pop() {
            let into = cfg.predecessors(block).iter();
            for from in into.map(|&edge| cfg.edge(edge).from) {
                if !std::mem::replace(&mut lives[from.index()], true) {
                    work.push(from);
                }
            }
        }
        let mut own = vec![Vec::new(); loops.all().len()];
        for block in cfg.blocks() {
            if let Some(inside) = loops.innermost(block) {
                own[inside].push(block.0);
            }
        }
        let mut inner = vec![Vec::new(); loops.all().len()];
        for (index, one) in loops.all().iter().enumerate() {
            if let Some(parent) = one.parent {
                inner[parent].push(index);
            }
        }
        Some(Self {
            code: own.iter().map(|_| OnceCell::new()).collect(),
            loops,
            back,
            lives,
            own,
            inner,
        })
    }

    /// Whether a loop holds a block.
    pub(super) fn holds(&self, one: usize, block: u32) -> bool {
        let mut around = self.loops.innermost(BlockId(block));
        while let Some(index) = around {
            if index == one {
                return true;
            }
            around = self.loops.all()[index].parent;
        }
        false
    }

    /// The code of a loop; `make` makes it of the loop's blocks.
    pub(super) fn code(&self, one: usize, make: impl FnOnce(&[u32]) -> LoopCode) -> &LoopCode {
        self.code[one].get_or_init(|| make(&self.blocks(one)))
    }

    /// The blocks of a loop.
    fn blocks(&self, one: usize) -> Vec<u32> {
        let (mut blocks, mut work) = (Vec::new(), vec![one]);
        while let Some(one) = work.pop() {
            blocks.extend(&self.own[one]);
            work.extend(&self.inner[one]);
        }
        blocks
    }
}
