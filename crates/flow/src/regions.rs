//! Finds the regions of the dag that decide each probe's action; see `probes` for their purpose.
//!
//! Each region is the greatest set of nodes that satisfies its conditions. The search starts with
//! all candidates and removes, with a work list, every node that violates a condition. Cost:
//! linear.

use crate::cfg::{Cfg, EdgeKind};
use crate::dag::DagEdgeKind;
use crate::ids::{BlockId, DagEdgeId};
use crate::lists::Lists;
use crate::numbering::Numbering;
use alloc::vec;
use alloc::vec::Vec;

/// The early region, the done region, and the constant nodes, by node.
pub(crate) struct Regions {
    /// The register is not set yet at the node. For the entry, this describes calls; a start edge
    /// always begins with an unset register.
    pub(crate) early: Vec<bool>,
    /// The path has been counted before the node.
    pub(crate) done: Vec<bool>,
    /// Exactly one path leads to the node, so the sum of increments so far is a constant.
    pub(crate) constant: Vec<bool>,
}

impl Regions {
    /// Finds the regions. `leaks` are blocks in which a path may be left; a path is not counted
    /// before it has passed them. A path is also not counted before the end of a block with an exit
    /// edge.
    pub(crate) fn new(
        cfg: &Cfg,
        numbering: &Numbering,
        pinned: &[bool],
        leaks: &[BlockId],
    ) -> Self {
        let shape = &numbering.shape;
        let targets = shape
            .edge_ids()
            .map(|edge| (shape.targets[edge.index()] as usize, edge));
        let into = Lists::new(shape.nodes.len(), targets);
        let done = done(cfg, numbering, &into, pinned, leaks);
        let constant = constant(numbering);
        let early = early(numbering, &into, pinned, &constant);
        Self {
            early,
            done,
            constant,
        }
    }

    /// Whether the register is unset where an edge begins.
    pub(crate) fn register_is_unset(&self, numbering: &Numbering, edge: DagEdgeId) -> bool {
        let shape = &numbering.shape;
        let is_start = matches!(shape.edges[edge.index()].kind, DagEdgeKind::Start(_));
        is_start || self.early[shape.sources[edge.index()] as usize]
    }

    /// Whether an increment on this edge would need an `Add`.
    pub(crate) fn needs_add(&self, numbering: &Numbering, edge: DagEdgeId) -> bool {
        let target = numbering.shape.targets[edge.index()] as usize;
        !self.register_is_unset(numbering, edge) && !self.done[target]
    }
}

/// How many paths lead to a node.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ways {
    None,
    One,
    More,
}

/// Nodes to which exactly one path leads.
fn constant(numbering: &Numbering) -> Vec<bool> {
    let shape = &numbering.shape;
    let mut ways = vec![Ways::None; shape.nodes.len()];
    ways[shape.entry] = Ways::One;
    for node in 0..shape.nodes.len() {
        for edge in shape.out.list(node) {
            let target = shape.targets[edge.index()] as usize;
            ways[target] = match (ways[node], ways[target]) {
                (Ways::None, target_ways) => target_ways,
                (source_ways, Ways::None) => source_ways,
                _ => Ways::More,
            };
        }
    }
    ways.into_iter().map(|ways| ways == Ways::One).collect()
}

/// The greatest set of nodes with these properties:
///
/// - Exactly one path leads from each node to the exit.
/// - No edge of a node leads to a block from which no path ends.
/// - No node is a leak.
/// - The successors of each node are in the set.
/// - No pinned edge enters the set.
fn done(
    cfg: &Cfg,
    numbering: &Numbering,
    into: &Lists<DagEdgeId>,
    pinned: &[bool],
    leaks: &[BlockId],
) -> Vec<bool> {
    let shape = &numbering.shape;
    let mut leaky = vec![false; cfg.block_count() as usize];
    for leak in leaks {
        leaky[leak.index()] = *leak != cfg.exit();
    }
    for edge in cfg.edges().iter().filter(|e| e.kind == EdgeKind::Exit) {
        leaky[edge.from.index()] = true;
    }
    let is_candidate = |node: usize| {
        let mut real = cfg.successors(shape.nodes[node]).iter();
        numbering.path_counts[node] == 1
            && !leaky[shape.nodes[node].index()]
            && real.all(|&edge| shape.dag_edge_of(edge).is_some())
    };
    let mut done: Vec<bool> = (0..shape.nodes.len()).map(is_candidate).collect();
    let mut removed: Vec<usize> = (0..done.len()).filter(|&node| !done[node]).collect();
    while let Some(node) = removed.pop() {
        let sources = into
            .list(node)
            .iter()
            .map(|edge| shape.sources[edge.index()]);
        let after = shape
            .out
            .list(node)
            .iter()
            .filter(|edge| pinned[edge.index()]);
        let after = after.map(|edge| shape.targets[edge.index()]);
        for neighbor in sources.chain(after) {
            if core::mem::replace(&mut done[neighbor as usize], false) {
                removed.push(neighbor as usize);
            }
        }
    }
    done
}

/// The greatest set of nodes with these properties:
///
/// - Exactly one path leads from the entry to each node.
/// - The predecessors of each node are in the set.
/// - No pinned edge leaves the set.
fn early(
    numbering: &Numbering,
    into: &Lists<DagEdgeId>,
    pinned: &[bool],
    constant: &[bool],
) -> Vec<bool> {
    let shape = &numbering.shape;
    let mut early = constant.to_vec();
    let mut removed: Vec<usize> = (0..early.len()).filter(|&node| !early[node]).collect();
    while let Some(node) = removed.pop() {
        let is_inner =
            |edge: &&DagEdgeId| !matches!(shape.edges[edge.index()].kind, DagEdgeKind::Start(_));
        let after = shape.out.list(node).iter().filter(is_inner);
        let after = after.map(|edge| shape.targets[edge.index()]);
        let before = into.list(node).iter().filter(|edge| pinned[edge.index()]);
        let before = before.map(|edge| shape.sources[edge.index()]);
        for neighbor in after.chain(before) {
            if core::mem::replace(&mut early[neighbor as usize], false) {
                removed.push(neighbor as usize);
            }
        }
    }
    early
}
