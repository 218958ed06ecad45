//! The laws of path profiling on random graphs, checked against a slow reference implementation,
//! which enumerates all paths and records each edge of a walk.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use common::walk::walk;
use common::{all_paths, any_cfg, dag, ends, function_cfg, number, reachable};
use holloway_flow::{
    Action, BlockId, Cfg, Chords, CountBase, Dag, DagEdge, DagEdgeId, DagEdgeKind, EdgeId,
    EdgeKind, Numbering, PathEnd, PathId, PathStart, Probes, SuccessorOrder, edge_counts,
    estimate_weights, net_counts,
};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// The options of a numbering.
#[derive(Clone, Debug)]
struct Plan {
    order: u8,
    starts_last: bool,
    weights: Vec<u64>,
    limit: u64,
    /// Whether each block leaks.
    leaks: Vec<bool>,
}

fn plan() -> impl Strategy<Value = Plan> {
    let weights = prop::collection::vec(prop_oneof![0..5u64, 0..1000u64, Just(u64::MAX)], 0..40);
    let limit = prop_oneof![Just(1u64), Just(3), Just(6), Just(20), Just(1 << 40)];
    let leaks = prop::collection::vec(prop::bool::weighted(0.2), 0..16);
    (0..4u8, any::<bool>(), weights, limit, leaks).prop_map(
        |(order, starts_last, weights, limit, leaks)| Plan {
            order,
            starts_last,
            weights,
            limit,
            leaks,
        },
    )
}

impl Plan {
    fn number(&self, cfg: &Cfg, dag: &Dag) -> Numbering {
        let estimate = estimate_weights(cfg, &[]);
        let order = match self.order {
            0 => SuccessorOrder::MostPathsLast,
            1 => SuccessorOrder::HottestFirst(&self.weights),
            2 => SuccessorOrder::HottestFirst(&estimate),
            _ => SuccessorOrder::AsGiven,
        };
        let numbering = number(cfg, dag, order, self.limit);
        match self.starts_last {
            true => numbering.starts_last(),
            false => numbering,
        }
    }

    fn leaks(&self, cfg: &Cfg) -> Vec<BlockId> {
        let blocks = (0..cfg.block_count()).map(BlockId);
        let leaky = blocks.zip(&self.leaks).filter(|&(_, &leaks)| leaks);
        leaky.map(|(block, _)| block).collect()
    }
}

/// Checks the edges that end paths. Without these edges there is no cycle. They include all of the
/// caller's cuts and no pinned edge.
fn check_ends(cfg: &Cfg, dag: &Dag, numbering: &Numbering) {
    let ends = ends(numbering);
    let reached = reachable(cfg);
    let backs: BTreeSet<_> = dag.back_edges().collect();
    for (id, edge) in (0..).map(EdgeId).zip(cfg.edges()) {
        let is_live = reached.contains(&edge.from);
        match ends.get(&id) {
            Some(PathEnd::Back(_)) => assert!(is_live && backs.contains(&id)),
            Some(_) => assert!(is_live && !backs.contains(&id) && edge.to != cfg.exit()),
            None => assert!(!(is_live && (edge.kind == EdgeKind::Cut || backs.contains(&id)))),
        }
        assert!(edge.kind != EdgeKind::Pinned || !ends.contains_key(&id));
    }
    let position: BTreeMap<_, _> = dag.order().iter().zip(0..).collect();
    assert_eq!(
        position
            .keys()
            .map(|block| **block)
            .collect::<BTreeSet<_>>(),
        reached
    );
    for (id, edge) in (0..).map(EdgeId).zip(cfg.edges()) {
        if reached.contains(&edge.from) && !ends.contains_key(&id) {
            assert!(
                position[&edge.from] < position[&edge.to],
                "{id} leads forward"
            );
        }
    }
}

/// Checks that paths from the entry have the lowest numbers if `starts_last` asks for it.
fn check_starts(numbering: &Numbering, starts_last: bool) {
    let count = numbering.paths_from_entry();
    assert!(count <= numbering.path_count());
    let from_entry = |number| {
        let path = numbering.regenerate(PathId(number)).unwrap();
        path.start == PathStart::Entry
    };
    assert!((0..count.min(3000)).all(from_entry));
    let after = count..numbering.path_count().min(count.saturating_add(3000));
    assert!(!starts_last || !after.into_iter().any(from_entry));
}

/// Checks that an exit edge gets its value after all other edges of its block. With `starts_last`,
/// the start edges come even later.
fn check_exit_values(cfg: &Cfg, numbering: &Numbering, starts_last: bool) {
    let edges = numbering.dag_edges().iter().zip((0..).map(DagEdgeId));
    let edges: Vec<_> = edges.collect();
    for (edge, id) in &edges {
        if matches!(edge.kind, DagEdgeKind::Edge(id) if cfg.edge(id).kind == EdgeKind::Exit) {
            let is_start = |edge: &DagEdge| matches!(edge.kind, DagEdgeKind::Start(_));
            let others = edges.iter().filter(|(other, _)| other.from == edge.from);
            let mut others = others.filter(|(other, _)| !starts_last || !is_start(other));
            assert!(others.all(|&(_, other)| numbering.value(other) <= numbering.value(*id)));
        }
    }
}

fn check_bijection(cfg: &Cfg, numbering: &Numbering) {
    let Some(paths) = all_paths(cfg, &ends(numbering), 3000) else {
        return;
    };
    assert_eq!(numbering.path_count(), paths.len() as u64);
    let mut numbers = BTreeSet::new();
    for path in &paths {
        let number = numbering.number_of(path).expect("every path has a number");
        assert!(number.0 < numbering.path_count());
        assert_eq!(numbering.regenerate(number).as_ref(), Some(path));
        numbers.insert(number);
    }
    assert_eq!(
        numbers.len(),
        paths.len(),
        "each number belongs to one path"
    );
    assert_eq!(numbering.regenerate(PathId(paths.len() as u64)), None);
}

/// Checks that the sum of increments along each path is its number, for any tree.
fn check_chords(numbering: &Numbering, weights: &[u64]) {
    let edges = numbering.dag_edges();
    let weights: Vec<u64> = (0..edges.len())
        .map(|i| weights.get(i % weights.len().max(1)).copied().unwrap_or(1))
        .collect();
    let chords = Chords::new(numbering, &weights);
    let blocks: BTreeSet<_> = edges.iter().flat_map(|edge| [edge.from, edge.to]).collect();
    let ids = || (0..).map(DagEdgeId).take(edges.len());
    let off_tree: Vec<DagEdgeId> = ids().filter(|&id| chords.is_chord(id)).collect();
    if !edges.is_empty() {
        assert_eq!(
            Chords::of_chords(numbering, &off_tree),
            Some(chords.clone())
        );
        // One chord fewer closes a cycle.
        assert_eq!(Chords::of_chords(numbering, &off_tree[1..]), None);
    }
    assert!(ids().all(|id| chords.is_chord(id) || chords.increment(id) == 0));
    if !edges.is_empty() {
        // A tree of n nodes has n − 1 edges, and one of them is EXIT→ENTRY.
        assert_eq!(
            ids().filter(|&id| !chords.is_chord(id)).count(),
            blocks.len() - 2
        );
    }
    for number in (0..numbering.path_count().min(300)).map(PathId) {
        let path = numbering.regenerate(number).unwrap();
        let on_path = |kind: DagEdgeKind| match kind {
            DagEdgeKind::Start(head) => path.start == PathStart::Loop(head),
            DagEdgeKind::Edge(id) | DagEdgeKind::Back(id) | DagEdgeKind::Cut(id) => {
                path.edges.contains(&id) || path.end.edge() == id
            }
        };
        let sum = ids().filter(|id| on_path(edges[id.index()].kind));
        let sum = sum.fold(0i64, |sum, id| sum.wrapping_add(chords.increment(id)));
        assert_eq!(u64::try_from(sum), Ok(number.0));
    }
}

/// Checks that the probes count the paths that the walker counted, and that the derived edge counts
/// equal the counts of the walker.
fn check_walk(
    cfg: &Cfg,
    numbering: &Numbering,
    probes: &Probes,
    leaks: &[BlockId],
    choices: &[u8],
) {
    for (id, probe) in &probes.edges {
        assert!(
            cfg.edge(*id).kind != EdgeKind::Pinned,
            "{id} carries {probe:?}"
        );
    }
    let trace = walk(cfg, numbering, probes, leaks, choices);
    let number = |path| {
        numbering
            .number_of(path)
            .expect("the walker records only paths of the numbering")
    };
    let raw = trace.raw.iter();
    let raw = raw.map(|(path, &count)| (number(path).0.cast_signed(), count));
    assert_eq!(
        trace.counters,
        raw.collect::<BTreeMap<_, _>>(),
        "{probes:?}"
    );
    let counters = trace.counters.iter();
    let counters = counters.map(|(&path, &count)| (PathId(path.cast_unsigned()), count));
    let derived = edge_counts(cfg, numbering, counters.clone()).unwrap();
    assert_eq!(derived.calls, trace.calls);
    for (id, count) in (0..).map(EdgeId).zip(derived.edges) {
        assert_eq!(count, trace.edges.get(&id).copied().unwrap_or(0), "{id}");
    }
    let net = trace.net.iter().filter(|(_, count)| **count != 0);
    let net: BTreeMap<_, _> = net.map(|(path, &count)| (number(path), count)).collect();
    let derived = net_counts(cfg, numbering, counters).unwrap();
    assert_eq!(derived, net.into_iter().collect::<Vec<_>>());
}

/// Checks that no action is useless: an `Add` never adds 0, and some path reads every `Set` before
/// another `Set`.
fn check_all_actions_are_needed(cfg: &Cfg, numbering: &Numbering, probes: &Probes) {
    if numbering.path_count() > 3000 {
        return;
    }
    // A probe's position: the id of its edge (or u32::MAX), and whether it runs after the edge.
    let (mut read, mut sets) = (BTreeSet::new(), BTreeSet::new());
    let mut run = |actions: Vec<((u32, bool), &[Action])>| {
        let mut last_set = None;
        for (position, action) in actions
            .iter()
            .flat_map(|(position, probe)| probe.iter().map(|action| (*position, action)))
        {
            match *action {
                Action::Set(_) => {
                    last_set = Some(position);
                    sets.insert(position);
                }
                Action::Add(value) => assert!(value != 0 && last_set.is_some()),
                Action::Count {
                    base: CountBase::Register,
                    ..
                } => drop(read.insert(last_set.expect("the register is set"))),
                Action::Count {
                    base: CountBase::Zero,
                    ..
                } => {}
            }
        }
    };
    for path in (0..numbering.path_count()).map(|id| numbering.regenerate(PathId(id)).unwrap()) {
        // A path that starts at a head starts after each edge that ends a path and leads to the
        // head.
        let starts: Vec<((u32, bool), &[Action])> = match path.start {
            PathStart::Entry => vec![((u32::MAX, true), &probes.entry)],
            PathStart::Loop(head) => {
                let into = ends(numbering)
                    .into_keys()
                    .filter(|&end| cfg.edge(end).to == head);
                let probe = |end| probes.edge(end).map_or(&[][..], |probe| &probe.after);
                into.map(|end| ((end.0, true), probe(end))).collect()
            }
        };
        let edges = path.edges.iter().copied().chain([path.end.edge()]);
        let inner =
            edges.filter_map(|edge| Some(((edge.0, false), &probes.edge(edge)?.before[..])));
        let inner: Vec<_> = inner.collect();
        for start in starts {
            run([start].into_iter().chain(inner.iter().copied()).collect());
        }
    }
    assert_eq!(read, sets, "{probes:?}");
}

fn check_parts(cfg: &Cfg, numbering: &Numbering) {
    let values = (0..).map(|id| numbering.value(DagEdgeId(id)));
    let parts = numbering.dag_edges().iter().copied().zip(values).collect();
    let restored = Numbering::from_parts(cfg.entry(), cfg.exit(), parts);
    assert_eq!(restored.as_ref(), Ok(numbering));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn paths_of_any_graph_are_exact(cfg in any_cfg(10), plan in plan(), choices in prop::collection::vec(any::<u8>(), 0..200)) {
        let (cfg, dag) = dag(cfg);
        let numbering = plan.number(&cfg, &dag);
        check_ends(&cfg, &dag, &numbering);
        check_exit_values(&cfg, &numbering, plan.starts_last);
        check_starts(&numbering, plan.starts_last);
        check_bijection(&cfg, &numbering);
        check_chords(&numbering, &plan.weights);
        check_parts(&cfg, &numbering);
        // Pinned edges that cross each other may leave no placement for the probes. Then the error
        // names these edges.
        let leaks = plan.leaks(&cfg);
        match Probes::new(&cfg, &numbering, &plan.weights, &leaks) {
            Ok(probes) => check_walk(&cfg, &numbering, &probes, &leaks, &choices),
            Err(error) => {
                prop_assert!(!error.edges.is_empty());
                prop_assert!(error.edges.iter().all(|&edge| cfg.edge(edge).kind == EdgeKind::Pinned));
            }
        }
    }

    #[test]
    fn paths_of_functions_are_exact(cfg in function_cfg(14), plan in plan(), choices in prop::collection::vec(any::<u8>(), 0..300)) {
        let (cfg, dag) = dag(cfg);
        let numbering = plan.number(&cfg, &dag);
        check_ends(&cfg, &dag, &numbering);
        check_exit_values(&cfg, &numbering, plan.starts_last);
        check_starts(&numbering, plan.starts_last);
        check_bijection(&cfg, &numbering);
        check_chords(&numbering, &plan.weights);
        check_parts(&cfg, &numbering);
        let leaks = plan.leaks(&cfg);
        let probes = Probes::new(&cfg, &numbering, &plan.weights, &leaks);
        let probes = probes.expect("one pinned edge for each block never closes a cycle");
        check_walk(&cfg, &numbering, &probes, &leaks, &choices);
        check_all_actions_are_needed(&cfg, &numbering, &probes);
    }

    #[test]
    fn printed_text_parses_to_the_same_graph(cfg in any_cfg(12)) {
        prop_assert_eq!(cfg.to_string().parse::<Cfg>(), Ok(cfg));
    }

    #[test]
    fn weights_are_positive_where_code_runs(cfg in any_cfg(12)) {
        let weights = estimate_weights(&cfg, &[]);
        let reached = reachable(&cfg);
        for (edge, weight) in cfg.edges().iter().zip(weights) {
            let is_live = reached.contains(&edge.from);
            let has_weight = is_live && edge.kind != EdgeKind::Exit;
            prop_assert!(has_weight || weight == 0);
            prop_assert!(!has_weight || edge.to == cfg.exit() || weight > 0);
        }
    }
}
