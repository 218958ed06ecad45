//! Derives the counts of edges and blocks from a path map and counters.

use std::collections::BTreeMap;

use holloway_flow::{
    BlockId, Cfg, Chords, DagEdge, DagEdgeId, DagEdgeKind, Edge, EdgeCounters, EdgeFlow, EdgeId,
    EdgeKind, Numbering, PathId, edge_counts,
};
use holloway_format::{Counters, DagKind, FunctionMap};

/// The graph of a function, from the path map.
pub fn graph(function: &FunctionMap) -> Cfg {
    let edges = function.edges.iter().map(|edge| Edge {
        from: BlockId(edge.from),
        to: BlockId(edge.to),
        kind: match edge.kind {
            holloway_format::EdgeKind::Plain => EdgeKind::Plain,
            holloway_format::EdgeKind::Pinned => EdgeKind::Pinned,
            holloway_format::EdgeKind::Cut => EdgeKind::Cut,
            holloway_format::EdgeKind::Exit => EdgeKind::Exit,
        },
    });
    let (entry, exit) = (BlockId(function.entry), BlockId(function.exit));
    Cfg::new(function.blocks.len() as u32, entry, exit, edges.collect()).unwrap()
}

/// The numbering of a function whose paths are counted.
pub fn numbering(function: &FunctionMap) -> Numbering {
    let dag = function.dag.iter().map(|edge| {
        let kind = match edge.kind {
            DagKind::Edge(id) => DagEdgeKind::Edge(EdgeId(id)),
            DagKind::Start(block) => DagEdgeKind::Start(BlockId(block)),
            DagKind::Back(id) => DagEdgeKind::Back(EdgeId(id)),
            DagKind::Cut(id) => DagEdgeKind::Cut(EdgeId(id)),
        };
        (
            DagEdge {
                from: BlockId(edge.from),
                to: BlockId(edge.to),
                kind,
            },
            edge.value,
        )
    });
    let (entry, exit) = (BlockId(function.entry), BlockId(function.exit));
    let numbering = Numbering::from_parts(entry, exit, dag.collect()).unwrap();
    assert_eq!(numbering.path_count(), function.path_count);
    let chords: Vec<DagEdgeId> = function
        .chords
        .iter()
        .map(|&edge| DagEdgeId(edge))
        .collect();
    assert!(
        Chords::of_chords(&numbering, &chords).is_some(),
        "the map marks the edges off a spanning tree"
    );
    numbering
}

/// How often control took each edge of a function, derived from its counters.
pub fn flow(function: &FunctionMap, counts: &BTreeMap<u64, u64>) -> EdgeFlow {
    let cfg = graph(function);
    if let Counters::Edges { len, .. } = function.counters {
        let ids = |list: &[u32]| list.iter().map(|&edge| EdgeId(edge)).collect();
        let (counted, tree) = (ids(&function.counted), ids(&function.tree));
        let counters = EdgeCounters::from_parts(&cfg, counted, tree).unwrap();
        let counts: Vec<u64> = (0..len)
            .map(|counter| counts.get(&counter).copied().unwrap_or(0))
            .collect();
        return counters.propagate(&cfg, &counts);
    }
    let numbering = numbering(function);
    let paths = counts.iter().map(|(&path, &count)| (PathId(path), count));
    edge_counts(&cfg, &numbering, paths).unwrap()
}

/// How often each block of a function ran: the flow into it or out of it, whichever is greater.
pub fn block_counts(function: &FunctionMap, counts: &BTreeMap<u64, u64>) -> Vec<u64> {
    let flow = flow(function, counts);
    let mut inflow = vec![0; function.blocks.len()];
    let mut outflow = inflow.clone();
    inflow[function.entry as usize] = flow.calls;
    for (edge, count) in function.edges.iter().zip(&flow.edges) {
        if edge.kind != holloway_format::EdgeKind::Exit {
            assert!(
                *count >= 0,
                "{edge:?} of {} ran {count} times",
                function.name
            );
            outflow[edge.from as usize] += count;
            inflow[edge.to as usize] += count;
        }
    }
    let blocks: Vec<u64> = inflow
        .iter()
        .zip(&outflow)
        .map(|(inflow, outflow)| (*inflow).max(*outflow).cast_unsigned())
        .collect();
    let counts_paths = !matches!(function.counters, Counters::Edges { .. });
    let kinds = || function.edges.iter().map(|edge| edge.kind);
    // With cut and exit edges, both counts may differ: a path that starts after a cut and is left
    // before its end is not counted, but the cut edge is.
    let is_ordinary = |kind| {
        matches!(
            kind,
            holloway_format::EdgeKind::Plain | holloway_format::EdgeKind::Pinned
        )
    };
    if counts_paths && kinds().all(is_ordinary) {
        assert_eq!(blocks, naive_block_counts(function, counts));
    }
    blocks
}

/// A slow reference implementation of [`block_counts`] for functions without cut and exit edges:
/// adds each path's count to its blocks, and to the exit if the path ends there.
fn naive_block_counts(function: &FunctionMap, counts: &BTreeMap<u64, u64>) -> Vec<u64> {
    let numbering = numbering(function);
    let mut blocks = vec![0; function.blocks.len()];
    for (&path, &count) in counts {
        let path = numbering
            .regenerate(PathId(path))
            .expect("the number is a path's");
        for block in path.blocks {
            blocks[block.index()] += count;
        }
        if function.edges[path.end.edge().index()].to == function.exit {
            blocks[function.exit as usize] += count;
        }
    }
    blocks
}
