//! Computes the errors of propagated edge counts that come from frames which were left in calls and
//! are not counted.
//!
//! A frame that is left in block `b` takes a route from the entry to `b`. Extend this route from
//! `b` along the spanning tree to the tree's root. The result is a circulation, for which
//! propagation is exact. The edges of the extension have no counters. So propagation from the
//! counters of the route alone gives the circulation: the route plus the tree path from `b` to the
//! root. The tree path is the error. The count of each edge on it is one too high if the tree path
//! follows the edge's direction, and one too low if the tree path runs against it. The sign depends
//! only on the edge, so one pass over the tree finds the signs of all edges for all blocks.
//!
//! The tree has three kinds of roots:
//!
//! - the exit
//! - the entry, which the artificial edge of the calls joins to the exit
//! - the lower half of each block whose exit edge is counted; the exit edge joins it to the exit
//!
//! The error of a block's count is the error of its inflow. It is the same for all frames that were
//! left in the same subtree of the block.
//!
//! Example: b0 makes a call and leads to b1, the exit. The edge b0→b1 is counted. The only edge of
//! the tree is the edge of the calls, from b1 to b0. So a frame that is left in b0 makes the number
//! of calls one too low.
//!
//! Cost: linear in blocks and edges.

use holloway_flow::EdgeCounters;
use holloway_format::{EdgeKind, FunctionMap};

/// The tree of the uncounted edges. Its nodes are blocks. If a block's exit edge is counted, the
/// lower half of the block is a separate node: the block's number plus the number of blocks.
pub(super) struct Tree {
    /// By node: the edge to its parent.
    parents: Vec<Option<ParentEdge>>,
    /// The nodes that have parents. A parent comes before its children.
    order: Vec<usize>,
    /// By block: whether its exit edge is counted.
    divided: Vec<bool>,
    entry: usize,
}

#[derive(Clone, Copy)]
enum ParentEdge {
    /// An edge of the map.
    Edge {
        edge: usize,
        to: usize,
        /// Whether the edge leads from the parent to this node. The path to the root then runs
        /// against the edge.
        enters: bool,
    },
    /// The parent edge of the entry: the artificial edge of the calls.
    Calls,
}

/// The directions in which a count may be wrong. Each uncounted frame changes the count by 1.
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

/// The event of a frame that is not counted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Uncounted {
    /// The frame is left in the block.
    Left,
    /// The frame continues from the block once more, without having entered the block again.
    Reentered,
}

impl Tree {
    /// Builds the tree of a map with these counters.
    pub(super) fn new(map: &FunctionMap, counters: &EdgeCounters) -> Tree {
        let mut divided = vec![false; map.blocks.len()];
        let counted = counters.counted().iter().map(|edge| edge.index());
        let middles = counted.filter(|&edge| map.edges[edge].kind == EdgeKind::Exit);
        for edge in middles.clone() {
            divided[map.edges[edge].from as usize] = true;
        }
        let (entry, exit) = (map.entry as usize, map.exit as usize);
        let mut tree = Tree {
            parents: vec![None; 2 * map.blocks.len()],
            order: vec![entry],
            divided,
            entry,
        };
        tree.parents[entry] = Some(ParentEdge::Calls);
        for edge in middles {
            let lower = tree.lower(map.edges[edge].from as usize);
            tree.parents[lower] = Some(ParentEdge::Edge {
                edge,
                to: exit,
                enters: false,
            });
            tree.order.push(lower);
        }
        for edge in counters.tree().iter().map(|edge| edge.index()) {
            let from = tree.lower(map.edges[edge].from as usize);
            let to = map.edges[edge].to as usize;
            // The tree grows from its roots: one end of the edge is in the tree already, the other
            // is new.
            let enters = to != exit && tree.parents[to].is_none();
            let (node, parent) = if enters { (to, from) } else { (from, to) };
            tree.parents[node] = Some(ParentEdge::Edge {
                edge,
                to: parent,
                enters,
            });
            tree.order.push(node);
        }
        tree
    }

    /// The node of the lower half of a block.
    fn lower(&self, block: usize) -> usize {
        match self.divided[block] {
            true => block + self.divided.len(),
            false => block,
        }
    }

    /// Returns the errors that uncounted frames in `blocks` cause.
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
        // A frame that continues once more causes the opposite errors of a frame that is left.
        let sign = match uncounted {
            Uncounted::Left => 1,
            Uncounted::Reentered => -1,
        };
        let exit = map.exit as usize;
        let is_in_tree = |block: usize| block == exit || self.parents[block].is_some();
        // By node: whether uncounted frames are in the node or in its subtree.
        let mut has_frames = vec![false; self.parents.len()];
        for block in blocks.map(|block| block as usize) {
            if !is_in_tree(block) {
                continue;
            }
            has_frames[block] = true;
            let reentry_error = match uncounted {
                Uncounted::Left => 0,
                // A block counts as reached at least as often as control leaves it.
                Uncounted::Reentered => -1,
            };
            errors.blocks[block].add(sign * self.error_from_above(block) + reentry_error);
        }
        for &node in self.order.iter().rev().filter(|&&node| node != self.entry) {
            let Some(ParentEdge::Edge { edge, to, enters }) =
                self.parents[node].filter(|_| has_frames[node])
            else {
                continue;
            };
            has_frames[to] = true;
            errors.edges[edge].add(if enters { -sign } else { sign });
            // Edges lead into the upper half of a block.
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

    /// The error of the flow from a node's parent into the node.
    fn error_from_above(&self, node: usize) -> i8 {
        match self.parents[node] {
            Some(ParentEdge::Calls | ParentEdge::Edge { enters: true, .. }) => -1,
            Some(ParentEdge::Edge { enters: false, .. }) | None => 0,
        }
    }
}
