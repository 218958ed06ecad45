//! The natural loops of LLVM's graph of a function: the innermost, or the outermost that fit.

use std::collections::BTreeSet;

use holloway_flow::{BlockId, Cfg, Dominators, Edge, EdgeKind, Loops};

use super::graph::BlockGraph;

/// A natural loop, by positions of blocks.
#[derive(Clone, Debug)]
pub(super) struct NaturalLoop {
    pub(super) head: usize,
    pub(super) blocks: BTreeSet<usize>,
    /// Blocks outside that lead to the head.
    pub(super) entries: Vec<usize>,
    /// Blocks outside that the loop leads to.
    pub(super) exits: Vec<usize>,
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
    let id = |block: usize| BlockId(u32::try_from(block).expect("lowering counted the blocks"));
    let edge = |from: usize, to: usize| Edge {
        from: id(from),
        to: id(to),
        kind: EdgeKind::Plain,
    };
    let mut edges = Vec::new();
    for (block, targets) in graph.successors.iter().enumerate() {
        edges.extend(targets.iter().map(|&target| edge(block, target)));
        if targets.is_empty() {
            edges.push(edge(block, count));
        }
    }
    let cfg = Cfg::new(id(count).0 + 1, BlockId(0), id(count), edges)
        .expect("nothing leads to LLVM's entry block, and only new edges to the exit");
    let loops = Loops::new(&cfg, &Dominators::new(&cfg));
    let all = loops.all();
    let mut blocks = vec![BTreeSet::new(); all.len()];
    for block in 0..count {
        let innermost = loops.innermost(id(block));
        for index in std::iter::successors(innermost, |&index| all[index].parent) {
            blocks[index].insert(block);
        }
    }
    let all = all.iter().zip(blocks);
    all.map(|(found, blocks)| (with_ways(graph, found.head.index(), blocks), found.parent))
        .collect()
}

/// The loop of these blocks, with its entries and exits.
fn with_ways(graph: &BlockGraph, head: usize, blocks: BTreeSet<usize>) -> NaturalLoop {
    let outside = |block: &usize| !blocks.contains(block);
    let entries = graph.sources[head].iter().copied().filter(outside);
    let targets = blocks.iter().flat_map(|&block| &graph.successors[block]);
    let exits: BTreeSet<usize> = targets.copied().filter(outside).collect();
    NaturalLoop {
        head,
        entries: entries.collect(),
        exits: exits.into_iter().collect(),
        blocks,
    }
}
