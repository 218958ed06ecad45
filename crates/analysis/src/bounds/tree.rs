//! The errors of propagated edge counts where frames are left early and nothing counts that.
//!
//! A frame that is left in block `b` runs a way from the entry to `b`. Continue this way from `b`
//! along the spanning tree to the tree's root: the result is a circulation, and all edges behind
//! `b` on it are uncounted. Propagation of a circulation is exact. So the counters of the way alone
//! give the way and, in addition, the tree path from `b` to the root. The tree path is the error:
//! each edge on it is one too high where the path runs along the edge, one too low where it runs
//! against the edge. The sign depends only on the edge, so one pass over the tree finds the signs
//! of all edges for all blocks.
//!
//! The tree has four kinds of roots: the exit, the entry (which the calls join to the exit), and
//! the lower half of each block whose middle is counted (which its exit edge joins to the exit).
//!
//! A block's error is the error of what comes in. It is the same for all frames that were left in
//! the same branch of the tree below the block.
//!
//! Example: b0 calls and goes on to b1, the exit; b0→b1 is counted. The tree has no edge but the
//! one of the calls, from b1 to b0. A frame left in b0 makes the calls one too low.
//!
//! Cost: linear in blocks and edges.

use holloway_flow::EdgeCounters;
use holloway_format::{EdgeKind, FunctionMap};

/// The tree of the uncounted edges. Nodes are blocks; where the middle of a block is counted, the
/// node of its lower half is the block's number plus the number of blocks.
pub(super) struct Tree {
    /// By node: the edge to the node that it hangs on.
    up: Vec<Option<Up>>,
    /// The nodes that hang on others, those farther from the root last.
    order: Vec<usize>,
    /// By block: whether its middle is counted.
    parted: Vec<bool>,
    entry: usize,
}

#[derive(Clone, Copy)]
enum Up {
    /// An edge of the map.
    Edge {
        edge: usize,
        to: usize,
        /// The edge leads into this node, so that the way up runs against it.
        enters: bool,
    },
    /// From the entry: the calls lead into it.
    Calls,
}

/// The errors that frames in some blocks make, in units of 1: which signs occur.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Signs {
    pub(super) too_low: bool,
    pub(super) too_high: bool,
}

impl Signs {
    fn add(&mut self, error: i8) {
        self.too_low |= error < 0;
        self.too_high |= error > 0;
    }
}

/// The errors of a function's counts.
pub(super) struct Errors {
    pub(super) calls: Signs,
    /// By block.
    pub(super) blocks: Vec<Signs>,
    /// By edge.
    pub(super) edges: Vec<Signs>,
}

/// What the frames do that nothing counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Uncounted {
    /// They are left in the block.
    Left,
    /// They go on from the block once more, without having come in.
    Again,
}

impl Tree {
    /// `counters` are those of the map.
    pub(super) fn new(map: &FunctionMap, counters: &EdgeCounters) -> Tree {
        let mut parted = vec![false; map.blocks.len()];
        let counted = counters.counted().iter().map(|edge| edge.index());
        let middles = counted.filter(|&edge| map.edges[edge].kind == EdgeKind::Exit);
        for edge in middles.clone() {
            parted[map.edges[edge].from as usize] = true;
        }
        let (entry, exit) = (map.entry as usize, map.exit as usize);
        let mut tree = Tree {
            up: vec![None; 2 * map.blocks.len()],
            order: vec![entry],
            parted,
            entry,
        };
        tree.up[entry] = Some(Up::Calls);
        for edge in middles {
            let lower = tree.lower(map.edges[edge].from as usize);
            tree.up[lower] = Some(Up::Edge {
                edge,
                to: exit,
                enters: false,
            });
            tree.order.push(lower);
        }
        for edge in counters.tree().iter().map(|edge| edge.index()) {
            let from = tree.lower(map.edges[edge].from as usize);
            let to = map.edges[edge].to as usize;
            // The tree grows from its roots: one end was joined before, the other is new.
            let enters = to != exit && tree.up[to].is_none();
            let (node, other) = if enters { (to, from) } else { (from, to) };
            tree.up[node] = Some(Up::Edge {
                edge,
                to: other,
                enters,
            });
            tree.order.push(node);
        }
        tree
    }

    fn lower(&self, block: usize) -> usize {
        match self.parted[block] {
            true => block + self.parted.len(),
            false => block,
        }
    }

    /// The errors of frames in `blocks`.
    pub(super) fn errors(
        &self,
        map: &FunctionMap,
        blocks: impl Iterator<Item = u32>,
        uncounted: Uncounted,
    ) -> Errors {
        let mut errors = Errors {
            calls: Signs::default(),
            blocks: vec![Signs::default(); map.blocks.len()],
            edges: vec![Signs::default(); map.edges.len()],
        };
        // What a frame that is left does, a frame that goes on once more does the other way.
        let sign = match uncounted {
            Uncounted::Left => 1,
            Uncounted::Again => -1,
        };
        let exit = map.exit as usize;
        let is_joined = |block: usize| block == exit || self.up[block].is_some();
        // By node: whether frames are in it or below it.
        let mut has_frames = vec![false; self.up.len()];
        for block in blocks.map(|block| block as usize) {
            if !is_joined(block) {
                continue;
            }
            has_frames[block] = true;
            let gone_on = match uncounted {
                Uncounted::Left => 0,
                // As often as it is gone on from a block, it counts as reached: once more.
                Uncounted::Again => -1,
            };
            errors.blocks[block].add(sign * self.error_from_above(block) + gone_on);
        }
        for &node in self.order.iter().rev().filter(|&&node| node != self.entry) {
            let Some(Up::Edge { edge, to, enters }) = self.up[node].filter(|_| has_frames[node])
            else {
                continue;
            };
            has_frames[to] = true;
            errors.edges[edge].add(if enters { -sign } else { sign });
            // Into the upper half of a block come the edges.
            if to < map.blocks.len() {
                let error_from_below = i8::from(!enters);
                errors.blocks[to].add(sign * (error_from_below + self.error_from_above(to)));
            }
        }
        if has_frames[self.entry] {
            errors.calls.add(-sign);
        }
        errors
    }

    /// The error of the flow into a node from its parent in the tree.
    fn error_from_above(&self, node: usize) -> i8 {
        match self.up[node] {
            Some(Up::Calls | Up::Edge { enters: true, .. }) => -1,
            Some(Up::Edge { enters: false, .. }) | None => 0,
        }
    }
}
