//! The laws of edge counters on random graphs, checked against two slow reference implementations:
//! one counts every edge that a walk runs, the other is Kruskal's algorithm.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use common::tracer::Tracer;
use common::{any_cfg, function_cfg, jumps, reachable};
use holloway_flow::{BlockId, Cfg, Edge, EdgeCounters, EdgeId, EdgeKind, Probes, estimate_weights};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// The counts of a walk, taken twice: `calls` and `edges` from the walk itself, `counters` by
/// probes.
struct Walk {
    calls: i64,
    edges: Vec<i64>,
    counters: Vec<u64>,
}

/// Walks as `choices` direct. The walk sometimes leaves a block by its exit edge, and sometimes
/// re-enters such a block. The counts leave out the last call if the walk does not reach its end.
fn walk(cfg: &Cfg, probes: &Probes, choices: &[u8]) -> Walk {
    let mut tracer = Tracer::new(cfg, probes);
    let (mut calls, mut edges) = (0, vec![0i64; cfg.edges().len()]);
    let leaky: Vec<_> = reachable(cfg)
        .into_iter()
        .filter(|&block| cfg.exit_edge(block).is_some())
        .collect();
    let mut current = cfg.exit();
    let mut before_last_call = (0, edges.clone(), Vec::new());
    for &choice in choices {
        if current == cfg.exit() {
            before_last_call = (calls, edges.clone(), tracer.counters.clone());
            if choice >= 128 && !leaky.is_empty() {
                current = leaky[choice as usize % leaky.len()];
                edges[cfg.exit_edge(current).unwrap().index()] -= 1;
            } else {
                current = cfg.entry();
                calls += 1;
                tracer.arrive(current);
            }
        }
        let jumps = jumps(cfg, current);
        match cfg.exit_edge(current) {
            Some(exit) if choice >= 200 || jumps.is_empty() => {
                edges[exit.index()] += 1;
                current = cfg.exit();
            }
            _ if jumps.is_empty() => break,
            _ => {
                let edge = jumps[choice as usize % jumps.len()];
                edges[edge.index()] += 1;
                tracer.run_probe(edge);
                current = cfg.edge(edge).to;
                tracer.arrive(current);
            }
        }
    }
    if current != cfg.exit() {
        (calls, edges, tracer.counters) = before_last_call;
    }
    Walk {
        calls,
        edges,
        counters: tracer.counters,
    }
}

/// The reference for the search: Kruskal's algorithm, with two halves for blocks with exit edges,
/// and edges in the same ranks. Returns the weight of the plain edges on its tree; `None` if pinned
/// edges close a cycle.
fn kruskal(cfg: &Cfg, weights: &[u64]) -> Option<u128> {
    let weight = |id: usize| weights.get(id).copied().unwrap_or(0);
    let reached = reachable(cfg);
    let is_live = |edge: &Edge| reached.contains(&edge.from);
    let blocks = cfg.block_count();
    let lower = |block: BlockId| {
        block.0
            + if cfg.exit_edge(block).is_some() {
                blocks
            } else {
                0
            }
    };
    let mut connections: Vec<(u8, u64, u32, u32)> = vec![(5, 0, cfg.exit().0, cfg.entry().0)];
    for (id, edge) in cfg
        .edges()
        .iter()
        .enumerate()
        .filter(|(_, edge)| is_live(edge))
    {
        let rank = match edge.kind {
            EdgeKind::Exit => 4,
            EdgeKind::Pinned => 3,
            EdgeKind::Plain | EdgeKind::Cut => 1,
        };
        connections.push((rank, weight(id), lower(edge.from), edge.to.0));
    }
    for &block in &reached {
        let into = cfg.predecessors(block).iter();
        let weight = into.fold(0u64, |sum, id| sum.saturating_add(weight(id.index())));
        if cfg.exit_edge(block).is_some() {
            connections.push((2, weight, block.0, lower(block)));
        }
    }
    connections.sort_unstable_by(|a, b| b.cmp(a));
    let mut set: Vec<u32> = (0..2 * blocks).collect();
    let mut sum = 0;
    for (rank, weight, from, to) in connections {
        let (from, to) = (set[from as usize], set[to as usize]);
        if from == to && rank >= 3 {
            return None;
        }
        sum += u128::from(weight) * u128::from(rank == 1 && from != to);
        set.iter_mut()
            .filter(|set| **set == from)
            .for_each(|set| *set = to);
    }
    Some(sum)
}

/// Checks that the flow into each block equals the flow out of it, and that counted edges have
/// their counters' values. Only one flow satisfies both conditions.
fn check_conserved(cfg: &Cfg, counters: &EdgeCounters, counts: &[u64]) {
    let flow = counters.propagate(cfg, counts);
    let sum = |edges: &[EdgeId]| {
        edges
            .iter()
            .fold(0i64, |sum, id| sum.wrapping_add(flow.edges[id.index()]))
    };
    for block in cfg.blocks() {
        let (mut into, mut out) = (sum(cfg.predecessors(block)), sum(cfg.successors(block)));
        if block == cfg.entry() {
            into = into.wrapping_add(flow.calls);
        }
        if block == cfg.exit() {
            out = out.wrapping_add(flow.calls);
        }
        assert_eq!(into, out, "{block}");
        if let Some(exit) = cfg.exit_edge(block)
            && let Some(counter) = counters.counted().iter().position(|&id| id == exit)
        {
            assert_eq!(into, counts[counter].cast_signed(), "{block}");
        }
    }
    for (&id, count) in counters.counted().iter().zip(counts) {
        let exact =
            cfg.edge(id).kind == EdgeKind::Exit || flow.edges[id.index()] == count.cast_signed();
        assert!(exact, "{id}");
    }
}

fn check_tree(cfg: &Cfg, counters: &EdgeCounters, weights: &[u64]) {
    let reached = reachable(cfg);
    let is_live = |id: &EdgeId| reached.contains(&cfg.edge(*id).from);
    let edges = (0u32..).map(EdgeId).take(cfg.edges().len()).filter(is_live);
    let listed = counters.counted().iter().chain(counters.tree()).copied();
    assert_eq!(listed.collect::<BTreeSet<_>>(), edges.clone().collect());
    assert_eq!(
        counters.counted().len() + counters.tree().len(),
        edges.clone().count()
    );
    // Exit→entry is an edge too. The exit is a block even if no edge leads there.
    let blocks = reached.len() + usize::from(!reached.contains(&cfg.exit()));
    assert_eq!(counters.counted().len(), edges.count() + 1 - (blocks - 1));
    let plain = |id: &&EdgeId| matches!(cfg.edge(**id).kind, EdgeKind::Plain | EdgeKind::Cut);
    let tree = counters.tree().iter().filter(plain);
    let weight: u128 = tree
        .map(|id| u128::from(weights.get(id.index()).copied().unwrap_or(0)))
        .sum();
    assert_eq!(Some(weight), kruskal(cfg, weights));
    let (counted, tree) = (counters.counted().to_vec(), counters.tree().to_vec());
    assert_eq!(
        EdgeCounters::from_parts(cfg, counted, tree).as_ref(),
        Ok(counters)
    );
}

fn check(cfg: &Cfg, weights: &[u64], choices: &[u8], counts: &[u64]) {
    let counters = match EdgeCounters::new(cfg, weights) {
        Ok(counters) => counters,
        Err(error) => return check_cycle(cfg, weights, &error.edges),
    };
    check_tree(cfg, &counters, weights);
    check_conserved(cfg, &counters, counts);
    let walk = walk(cfg, &counters.probes(), choices);
    let flow = counters.propagate(cfg, &walk.counters);
    assert_eq!(
        (flow.calls, flow.edges),
        (walk.calls, walk.edges),
        "{counters:?}"
    );
}

/// Checks that none of the edges can carry a counter and that each leads to the next. If they pass
/// through both the exit and the entry, the calls may close the cycle.
fn check_cycle(cfg: &Cfg, weights: &[u64], edges: &[EdgeId]) {
    assert_eq!(kruskal(cfg, weights), None);
    assert_eq!(edges.iter().collect::<BTreeSet<_>>().len(), edges.len());
    let uncountable = [EdgeKind::Pinned, EdgeKind::Exit];
    assert!(
        edges
            .iter()
            .all(|&id| uncountable.contains(&cfg.edge(id).kind))
    );
    let mut degree: BTreeMap<BlockId, u32> = BTreeMap::new();
    for &id in edges {
        for end in [cfg.edge(id).from, cfg.edge(id).to] {
            *degree.entry(end).or_default() += 1;
        }
    }
    let odd_degree: BTreeSet<_> = degree
        .iter()
        .filter(|entry| entry.1 % 2 == 1)
        .map(|entry| *entry.0)
        .collect();
    assert!(
        odd_degree.is_empty() || odd_degree == BTreeSet::from([cfg.entry(), cfg.exit()]),
        "{edges:?}"
    );
}

fn weights() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(prop_oneof![0..5u64, 0..1000u64, Just(u64::MAX)], 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn counters_of_any_graph_are_exact(cfg in any_cfg(10), weights in weights(), choices in prop::collection::vec(any::<u8>(), 0..200), counts in prop::collection::vec(any::<u64>(), 40)) {
        check(&cfg, &weights, &choices, &counts);
    }

    #[test]
    fn counters_of_functions_are_exact(cfg in function_cfg(14), choices in prop::collection::vec(any::<u8>(), 0..300), counts in prop::collection::vec(any::<u64>(), 60)) {
        check(&cfg, &estimate_weights(&cfg, &[]), &choices, &counts);
    }

    /// Any two lists form counters or give an error; nothing panics.
    #[test]
    fn any_parts_are_counters_or_an_error(cfg in any_cfg(6), counted in prop::collection::vec(0..20u32, 0..8), tree in prop::collection::vec(0..20u32, 0..8)) {
        let ids = |list: Vec<u32>| list.into_iter().map(EdgeId).collect();
        if let Ok(counters) = EdgeCounters::from_parts(&cfg, ids(counted), ids(tree)) {
            check_conserved(&cfg, &counters, &[7; 20]);
        }
    }

    /// A tree with two edges exchanged, moved, or dropped propagates correctly or gives an error.
    #[test]
    fn changed_parts_are_counters_or_an_error(cfg in any_cfg(8), from in any::<prop::sample::Index>(), to in any::<prop::sample::Index>(), change in 0..4u8) {
        let Ok(counters) = EdgeCounters::new(&cfg, &[]) else {
            return Ok(());
        };
        let (mut counted, mut tree) = (counters.counted().to_vec(), counters.tree().to_vec());
        if counted.is_empty() || tree.is_empty() {
            return Ok(());
        }
        let (a, b) = (from.index(tree.len()), to.index(tree.len()));
        match change {
            0 => tree.swap(a, b),
            1 => std::mem::swap(&mut tree[a], &mut counted[to.index(counters.counted().len())]),
            2 => counted.push(tree.remove(a)),
            _ => tree.insert(a, counted.remove(to.index(counters.counted().len()))),
        }
        let changed = EdgeCounters::from_parts(&cfg, counted, tree);
        prop_assert!(change < 2 || changed.is_err());
        if let Ok(changed) = changed {
            check_conserved(&cfg, &changed, &[7; 30]);
        }
    }
}
