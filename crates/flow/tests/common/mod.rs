//! Random graphs, and a slow reference implementation of the crate: enumeration of all paths of a
//! graph, and walks that record each edge.
#![allow(dead_code, reason = "each test file uses only some of these items")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

pub(crate) mod tracer;
pub(crate) mod walk;

use holloway_flow::{
    BlockId, Cfg, Dag, DagEdgeKind, Edge, EdgeId, EdgeKind, Numbering, Path, PathEnd, PathStart,
    SuccessorOrder,
};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Any graph of up to `blocks` blocks: reducible or not, with parallel edges, self loops, pinned
/// and cut edges, unreachable blocks, and blocks without outgoing edges. Half of the graphs have
/// exit edges. The entry is b0; the exit is the last block.
pub(crate) fn any_cfg(blocks: u32) -> impl Strategy<Value = Cfg> {
    (2..=blocks, any::<bool>()).prop_flat_map(|(blocks, exits)| {
        let edge = (0..blocks - 1, 1..blocks, 0..20u8);
        prop::collection::vec(edge, 0..(3 * blocks as usize)).prop_map(move |edges| {
            let mut edges: Vec<Edge> = edges
                .into_iter()
                .map(|(from, to, kind)| Edge {
                    from: BlockId(from),
                    to: BlockId(to),
                    kind: match kind {
                        0..=2 if to != blocks - 1 => EdgeKind::Pinned,
                        3 if to != blocks - 1 => EdgeKind::Cut,
                        4..=6 if exits => EdgeKind::Exit,
                        _ => EdgeKind::Plain,
                    },
                })
                .collect();
            direct_exit_edges(&mut edges, BlockId(blocks - 1));
            Cfg::new(blocks, BlockId(0), BlockId(blocks - 1), edges).unwrap()
        })
    })
}

/// Directs the first exit edge of each block to the exit, and makes its other exit edges plain.
fn direct_exit_edges(edges: &mut [Edge], exit: BlockId) {
    let mut exit_sources = BTreeSet::new();
    for edge in edges.iter_mut().filter(|edge| edge.kind == EdgeKind::Exit) {
        if exit_sources.insert(edge.from) {
            edge.to = exit;
        } else {
            edge.kind = EdgeKind::Plain;
        }
    }
}

/// Graphs like those of real functions: every block has an outgoing edge, and at most one pinned
/// edge leaves a block (as from an invoke). In half of the graphs, blocks may also have an exit
/// edge.
pub(crate) fn function_cfg(blocks: u32) -> impl Strategy<Value = Cfg> {
    (3..=blocks, any::<bool>()).prop_flat_map(|(blocks, exits)| {
        let block = prop::collection::vec((1..blocks, any::<bool>()), 1..4);
        let bodies = prop::collection::vec((block, 0..24u8, 0..4u8), blocks as usize - 1);
        bodies.prop_map(move |bodies| {
            let mut edges = Vec::new();
            for (from, (targets, cut, exit)) in (0..).zip(bodies) {
                for (index, &(to, is_near)) in targets.iter().enumerate() {
                    // Half of all edges lead only a block or two ahead, so that long paths are
                    // common.
                    let to = if is_near {
                        (from + 1 + to % 2).min(blocks - 1)
                    } else {
                        to
                    };
                    let kind = match (to == blocks - 1, index, cut) {
                        (false, 1, 0..=7) => EdgeKind::Pinned,
                        (false, 0, 8) => EdgeKind::Cut,
                        _ => EdgeKind::Plain,
                    };
                    edges.push(Edge {
                        from: BlockId(from),
                        to: BlockId(to),
                        kind,
                    });
                }
                if exits && exit == 0 {
                    edges.push(Edge {
                        from: BlockId(from),
                        to: BlockId(blocks - 1),
                        kind: EdgeKind::Exit,
                    });
                }
            }
            Cfg::new(blocks, BlockId(0), BlockId(blocks - 1), edges).unwrap()
        })
    })
}

/// Puts a cut edge into each of these blocks, before its terminator, as a caller of `Dag::new`
/// would.
pub(crate) fn split(cfg: &Cfg, blocks: &[BlockId]) -> Cfg {
    let mut edges: Vec<Edge> = cfg.edges().to_vec();
    let mut count = cfg.block_count();
    for &block in blocks {
        let lower = BlockId(count);
        count += 1;
        for edge in edges.iter_mut().filter(|edge| edge.from == block) {
            edge.from = lower;
        }
        edges.push(Edge {
            from: block,
            to: lower,
            kind: EdgeKind::Cut,
        });
    }
    Cfg::new(count, cfg.entry(), cfg.exit(), edges).unwrap()
}

/// The dag of a graph. If pinned edges forbid a dag, splits the blocks that the error names and
/// returns the changed graph with its dag.
pub(crate) fn dag(cfg: Cfg) -> (Cfg, Dag) {
    match Dag::new(&cfg) {
        Ok(dag) => (cfg, dag),
        Err(cycle) => {
            let cfg = split(&cfg, &cycle.blocks);
            let dag = Dag::new(&cfg).expect("splitting these blocks breaks all cycles");
            (cfg, dag)
        }
    }
}

/// Numbers paths under a limit. If that is impossible, uses the smallest number of paths that the
/// attempt reached as the limit.
pub(crate) fn number(cfg: &Cfg, dag: &Dag, order: SuccessorOrder<'_>, limit: u64) -> Numbering {
    let numbering = match Numbering::new(cfg, dag.clone(), order, limit) {
        Ok(numbering) => numbering,
        Err(error) => {
            assert!(error.least > limit && error.limit == limit);
            let renumbered = Numbering::new(cfg, dag.clone(), order, error.least);
            let numbering = renumbered.expect("the number that was reached can be reached again");
            assert!(numbering.path_count() <= error.least);
            return numbering;
        }
    };
    assert!(numbering.path_count() <= limit);
    numbering
}

/// The back and cut edges of a numbering, each with the path end that it is.
pub(crate) fn ends(numbering: &Numbering) -> BTreeMap<EdgeId, PathEnd> {
    let ends = numbering
        .dag_edges()
        .iter()
        .filter_map(|edge| match edge.kind {
            DagEdgeKind::Back(id) => Some((id, PathEnd::Back(id))),
            DagEdgeKind::Cut(id) => Some((id, PathEnd::Cut(id))),
            _ => None,
        });
    ends.collect()
}

/// Blocks that can be reached from the entry.
pub(crate) fn reachable(cfg: &Cfg) -> BTreeSet<BlockId> {
    let mut reached = BTreeSet::from([cfg.entry()]);
    let mut work = vec![cfg.entry()];
    while let Some(block) = work.pop() {
        for &edge in cfg.successors(block) {
            if reached.insert(cfg.edge(edge).to) {
                work.push(cfg.edge(edge).to);
            }
        }
    }
    reached
}

/// Enumerates all paths by walking each of them; `None` if there are more than `max_paths`.
pub(crate) fn all_paths(
    cfg: &Cfg,
    ends: &BTreeMap<EdgeId, PathEnd>,
    max_paths: usize,
) -> Option<Vec<Path>> {
    let reached = reachable(cfg);
    let heads: BTreeSet<BlockId> = ends
        .keys()
        .filter(|edge| reached.contains(&cfg.edge(**edge).from))
        .map(|edge| cfg.edge(*edge).to)
        .collect();
    let starts = [(PathStart::Entry, cfg.entry())].into_iter();
    let starts = starts.chain(heads.into_iter().map(|head| (PathStart::Loop(head), head)));
    let mut paths = Vec::new();
    for (start, block) in starts {
        let mut work = vec![(vec![block], Vec::new())];
        while let Some((blocks, edges)) = work.pop() {
            for &id in cfg.successors(*blocks.last().unwrap()) {
                let to = cfg.edge(id).to;
                let end = if to == cfg.exit() {
                    Some(PathEnd::Exit(id))
                } else {
                    ends.get(&id).copied()
                };
                let (mut blocks, mut edges): (Vec<_>, Vec<_>) = (blocks.clone(), edges.clone());
                match end {
                    Some(end) => paths.push(Path {
                        start,
                        blocks,
                        edges,
                        end,
                    }),
                    None => {
                        blocks.push(to);
                        edges.push(id);
                        work.push((blocks, edges));
                    }
                }
                if paths.len() + work.len() > max_paths {
                    return None;
                }
            }
        }
    }
    Some(paths)
}

/// The edges that leave a block by a jump: all except the exit edge.
pub(crate) fn jumps(cfg: &Cfg, block: BlockId) -> Vec<EdgeId> {
    let successors = cfg.successors(block).iter().copied();
    let jumps = successors.filter(|&edge| cfg.edge(edge).kind != EdgeKind::Exit);
    jumps.collect()
}
