//! The natural loops of LLVM's graph of a function: the innermost, or the outermost that fit.

use std::collections::BTreeSet;

use holloway_flow::{BlockId, Cfg, Dominators, Edge, EdgeKind, Loops};

use super::graph::BlockGraph;
use crate::lower::BlockIndex;

/// A natural loop, by positions of blocks.
#[derive(Clone, Debug)]
pub(super) struct NaturalLoop {
    pub(super) head: BlockIndex,
    pub(super) blocks: BTreeSet<BlockIndex>,
    /// Blocks outside that lead to the head.
    pub(super) entries: Vec<BlockIndex>,
    /// Blocks outside that the loop leads to.
    pub(super) exits: Vec<BlockIndex>,
}

/// All innermost loops, in order of their heads.
pub(super) fn innermost_loops(graph: &BlockGraph) -> Vec<NaturalLoop> {
    let all = all_loops(graph);
    let around: BTreeSet<usize> = all.iter().filter_map(|(_, parent)| *parent).collect();
    let all = all.into_iter().enumerate();
    let inner = all.filter(|(index, _)| !around.contains(index));
    in_order(inner.map(|(_, (found, _))| found))
}

/// The loops for which `holds`, except those inside another such loop, in order of their heads.
pub(super) fn outermost_loops(
    graph: &BlockGraph,
    holds: impl Fn(&NaturalLoop) -> bool,
) -> Vec<NaturalLoop> {
    let all = all_loops(graph);
    let held: Vec<bool> = all.iter().map(|(found, _)| holds(found)).collect();
    let outermost = |index: usize| {
        let mut around = std::iter::successors(all[index].1, |&parent| all[parent].1);
        held[index] && !around.any(|parent| held[parent])
    };
    let outer: Vec<usize> = (0..all.len()).filter(|&index| outermost(index)).collect();
    in_order(outer.into_iter().map(|index| all[index].0.clone()))
}

fn in_order(loops: impl Iterator<Item = NaturalLoop>) -> Vec<NaturalLoop> {
    let mut loops: Vec<_> = loops.collect();
    loops.sort_unstable_by_key(|found| found.head);
    loops
}

/// All loops, each with the index of the loop around it.
fn all_loops(graph: &BlockGraph) -> Vec<(NaturalLoop, Option<usize>)> {
    let count = graph.successors.len();
    let id = |index: usize| BlockId(u32::try_from(index).expect("lowering counted the blocks"));
    let exit = id(count);
    let edge = |from: BlockIndex, to: BlockId| Edge {
        from: id(from.index()),
        to,
        kind: EdgeKind::Plain,
    };
    let mut edges = Vec::new();
    for (block, targets) in BlockIndex::enumerate(&graph.successors) {
        edges.extend(
            targets
                .iter()
                .map(|&target| edge(block, id(target.index()))),
        );
        if targets.is_empty() {
            edges.push(edge(block, exit));
        }
    }
    let cfg = Cfg::new(exit.0 + 1, BlockId(0), exit, edges)
        .expect("nothing leads to LLVM's entry block, and only new edges to the exit");
    let loops = Loops::new(&cfg, &Dominators::new(&cfg));
    let all = loops.all();
    let mut blocks = vec![BTreeSet::new(); all.len()];
    for block in BlockIndex::all(count) {
        let innermost = loops.innermost(id(block.index()));
        for index in std::iter::successors(innermost, |&index| all[index].parent) {
            blocks[index].insert(block);
        }
    }
    let all = all.iter().zip(blocks);
    all.map(|(found, blocks)| {
        let head = BlockIndex::new(found.head.index());
        (with_ways(graph, head, blocks), found.parent)
    })
    .collect()
}

/// The loop of these blocks, with its entries and exits.
fn with_ways(graph: &BlockGraph, head: BlockIndex, blocks: BTreeSet<BlockIndex>) -> NaturalLoop {
    let outside = |block: &BlockIndex| !blocks.contains(block);
    let entries = graph.sources[head].iter().copied().filter(outside);
    let targets = blocks.iter().flat_map(|&block| &graph.successors[block]);
    let exits: BTreeSet<BlockIndex> = targets.copied().filter(outside).collect();
    NaturalLoop {
        head,
        entries: entries.collect(),
        exits: exits.into_iter().collect(),
        blocks,
    }
}
