//! The natural loops among a function's LLVM blocks: all innermost loops, or the outermost loops
//! with a given property.

use std::collections::BTreeSet;

use holloway_flow::{BlockId, Cfg, Dominators, Edge, EdgeKind, Loops};

use super::graph::BlockGraph;
use crate::lower::BlockIndex;

/// A natural loop of LLVM blocks.
#[derive(Clone, Debug)]
pub(super) struct NaturalLoop {
    pub(super) head: BlockIndex,
    pub(super) blocks: BTreeSet<BlockIndex>,
    /// Blocks outside the loop that lead to the head.
    pub(super) entries: Vec<BlockIndex>,
    /// Blocks outside the loop that the loop leads to.
    pub(super) exits: Vec<BlockIndex>,
}

/// All innermost loops, in order of their heads.
pub(super) fn innermost_loops(graph: &BlockGraph) -> Vec<NaturalLoop> {
    let all = all_loops(graph);
    let parents: BTreeSet<usize> = all.iter().filter_map(|(_, parent)| *parent).collect();
    let all = all.into_iter().enumerate();
    let inner = all.filter(|(index, _)| !parents.contains(index));
    in_order(inner.map(|(_, (natural, _))| natural))
}

/// The loops that `select` accepts, without loops inside another accepted loop, in order of their
/// heads.
pub(super) fn outermost_loops(
    graph: &BlockGraph,
    select: impl Fn(&NaturalLoop) -> bool,
) -> Vec<NaturalLoop> {
    let all = all_loops(graph);
    let selected: Vec<bool> = all.iter().map(|(natural, _)| select(natural)).collect();
    let outermost = |index: usize| {
        let mut parents = std::iter::successors(all[index].1, |&parent| all[parent].1);
        selected[index] && !parents.any(|parent| selected[parent])
    };
    let outer: Vec<usize> = (0..all.len()).filter(|&index| outermost(index)).collect();
    in_order(outer.into_iter().map(|index| all[index].0.clone()))
}

fn in_order(loops: impl Iterator<Item = NaturalLoop>) -> Vec<NaturalLoop> {
    let mut loops: Vec<_> = loops.collect();
    loops.sort_unstable_by_key(|natural| natural.head);
    loops
}

/// All loops, each with the index of the innermost loop that contains it.
fn all_loops(graph: &BlockGraph) -> Vec<(NaturalLoop, Option<usize>)> {
    let count = graph.successors.len();
    // The graph gets a virtual exit, to which all blocks without successors lead.
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
    all.map(|(natural, blocks)| {
        let head = BlockIndex::new(natural.head.index());
        (natural_loop(graph, head, blocks), natural.parent)
    })
    .collect()
}

/// The loop with these blocks. Finds its entries and exits.
fn natural_loop(graph: &BlockGraph, head: BlockIndex, blocks: BTreeSet<BlockIndex>) -> NaturalLoop {
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
