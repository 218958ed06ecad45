//! Edge counters: the figures of Burger and Dybvig 1998, small graphs, and refused graphs.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use common::tracer::Tracer;
use holloway_flow::{
    BlockId, Cfg, Dag, Edge, EdgeCounters, EdgeId, EdgeKind, Numbering, PathId, Probes,
    SuccessorOrder, TreeError, edge_counts, estimate_weights, net_counts,
};
use std::collections::BTreeMap;

/// `fact` of Figure 2: B1 to B4 are b0 to b3. B1 tests, B2 is the base case and jumps to `done`, B3
/// calls `fact`, B4 comes after that call.
const FACT: &str = "
    b0: entry
      e0 -> b1
      e1 -> b2
    b1:
      e2 -> b4
    b2:
      e3 -> b3
      e4 -> b4 exit-edge
    b3:
      e5 -> b4
    b4: exit";

/// The same function without its exit edge.
const FACT_WITHOUT_EXIT_EDGE: &str = "
    b0: entry
      e0 -> b1
      e1 -> b2
    b1:
      e2 -> b4
    b2:
      e3 -> b3
    b3:
      e4 -> b4
    b4: exit";

/// `remq` of Figure 1: B1 to B6 are b0 to b5. B1 tests for the empty list, and B2 returns it. B3
/// compares. B4 calls `remq` in tail position. B5 calls it for the tail of the list, and B6 comes
/// after that call.
const REMQ: &str = "
    b0: entry
      e0 -> b1
      e1 -> b2
    b1:
      e2 -> b6
    b2:
      e3 -> b3
      e4 -> b4
    b3:
      e5 -> b6
    b4:
      e6 -> b5
    b5:
      e7 -> b6
    b6: exit";

/// Checks the counts that path counters and edge counters give for these runs: the number of calls,
/// and the count of each edge. Edge counters give the same counts for any weights.
#[track_caller]
fn check_runs(cfg: &str, runs: &[&[u32]], calls: i64, edges: &[i64]) {
    let cfg: Cfg = cfg.parse().unwrap();
    for weights in [vec![], estimate_weights(&cfg, &[]), (0..6).collect()] {
        let counters = EdgeCounters::new(&cfg, &weights).unwrap();
        let probes = counters.probes();
        let mut tracer = Tracer::new(&cfg, &probes);
        runs.iter().for_each(|run| tracer.run(run));
        let flow = counters.propagate(&cfg, &tracer.counters);
        assert_eq!(
            (flow.calls, &flow.edges[..]),
            (calls, edges),
            "{counters:?}"
        );
    }
    let dag = Dag::new(&cfg).unwrap();
    let numbering = Numbering::new(&cfg, dag, SuccessorOrder::MostPathsLast, 100).unwrap();
    let probes = Probes::new(&cfg, &numbering, &[], &[]).unwrap();
    let mut tracer = Tracer::new(&cfg, &probes);
    runs.iter().for_each(|run| tracer.run(run));
    let counts = (0..).map(PathId).zip(tracer.counters);
    let flow = edge_counts(&cfg, &numbering, counts).unwrap();
    assert_eq!((flow.calls, &flow.edges[..]), (calls, edges), "by paths");
}

/// Figure 1: `remq` of 'b from '(b a b c d). With the edge exit→entry, the graph has twelve
/// spanning trees of maximum weight, and the search finds one of them. Each of these trees needs
/// three counters, which are incremented six times, and determines the count of every edge.
#[test]
fn figure_1_remq() {
    let cfg: Cfg = REMQ.parse().unwrap();
    // The function is called once for each tail of the list. Two tails begin with b, three with
    // another letter, and one is empty.
    let (equal, other, empty) = (&[0, 2, 3, 6][..], &[0, 2, 4, 5, 6][..], &[0, 1, 6][..]);
    let runs = [equal, other, equal, other, other, empty];
    let counts = [1, 5, 1, 2, 3, 2, 3, 3];
    let weights = counts.map(i64::cast_unsigned);
    check_runs(REMQ, &runs, 6, &counts);

    let heaviest = maximum_trees(&cfg, 6, &weights);
    assert_eq!(heaviest.len(), 12);
    let mut tree = EdgeCounters::new(&cfg, &weights).unwrap().tree().to_vec();
    tree.sort_unstable();
    assert!(heaviest.contains(&tree), "{tree:?}");
    for tree in heaviest {
        let is_counted = |edge: &EdgeId| !tree.contains(edge);
        let counted: Vec<EdgeId> = (0..8).map(EdgeId).filter(is_counted).collect();
        let counters =
            EdgeCounters::from_parts(&cfg, counted, in_growing_order(&cfg, &tree)).unwrap();
        let probes = counters.probes();
        let mut tracer = Tracer::new(&cfg, &probes);
        runs.iter().for_each(|run| tracer.run(run));
        assert_eq!(counters.counted().len(), 3, "{tree:?}");
        assert_eq!(tracer.counters.iter().sum::<u64>(), 6, "{tree:?}");
        let flow = counters.propagate(&cfg, &tracer.counters);
        assert_eq!((flow.calls, &flow.edges[..]), (6, &counts[..]), "{tree:?}");
    }
}

/// All spanning trees of maximum weight that contain exit→entry, found by trying all sets of edges.
/// The returned trees leave exit→entry out.
fn maximum_trees(cfg: &Cfg, calls: u64, weights: &[u64]) -> Vec<Vec<EdgeId>> {
    let mut ends: Vec<_> = cfg
        .edges()
        .iter()
        .map(|edge| (edge.from, edge.to))
        .collect();
    let mut weights = weights.to_vec();
    ends.push((cfg.exit(), cfg.entry()));
    weights.push(calls);
    let (mut trees, mut max_weight) = (Vec::new(), 0);
    for set in 0u32..1 << ends.len() {
        let edges: Vec<usize> = (0..ends.len())
            .filter(|&edge| set >> edge & 1 == 1)
            .collect();
        // A set of edges without a cycle joins two components with each edge.
        let mut component: Vec<usize> = (0..cfg.block_count() as usize).collect();
        let is_acyclic = edges.iter().all(|&edge| {
            let [from, to] = [ends[edge].0, ends[edge].1].map(|block| component[block.index()]);
            component
                .iter_mut()
                .filter(|component| **component == from)
                .for_each(|component| *component = to);
            from != to
        });
        if !is_acyclic || edges.len() + 1 != cfg.block_count() as usize {
            continue;
        }
        let weight: u64 = edges.iter().map(|&edge| weights[edge]).sum();
        if weight > max_weight {
            trees.clear();
            max_weight = weight;
        }
        if weight == max_weight {
            trees.push(edges);
        }
    }
    let calls = ends.len() - 1;
    let without_calls = |tree: Vec<usize>| {
        assert_eq!(
            tree.last(),
            Some(&calls),
            "the heaviest edge is on every such tree"
        );
        let edges = tree[..tree.len() - 1].iter();
        edges.map(|&edge| EdgeId(edge as u32)).collect()
    };
    trees.into_iter().map(without_calls).collect()
}

/// Sorts the edges of a tree such that each edge joins one more block to the exit and the entry.
fn in_growing_order(cfg: &Cfg, tree: &[EdgeId]) -> Vec<EdgeId> {
    let mut joined = vec![cfg.exit(), cfg.entry()];
    let (mut remaining, mut ordered) = (tree.to_vec(), Vec::new());
    while !remaining.is_empty() {
        let next = remaining.iter().position(|&id| {
            let edge = cfg.edge(id);
            joined.contains(&edge.from) != joined.contains(&edge.to)
        });
        let id = remaining.remove(next.expect("the edges form a tree"));
        joined.extend([cfg.edge(id).from, cfg.edge(id).to]);
        ordered.push(id);
    }
    ordered
}

/// Figure 3: `fact 5`, where `done` leaves all frames for good.
#[test]
fn figure_3_nonlocal_exit() {
    let runs: &[&[u32]] = &[&[0, 2], &[0, 2], &[0, 2], &[0, 2], &[0, 1, 4]];
    check_runs(FACT, runs, 5, &[1, 4, 1, 0, 4, 0]);
}

/// Figure 3, on the left: without a count for B3's exit edge, conservation gives B4 the count 4.
#[test]
fn figure_3_without_an_exit_edge() {
    let cfg: Cfg = FACT_WITHOUT_EXIT_EDGE.parse().unwrap();
    let counters = EdgeCounters::new(&cfg, &[0, 0, 1, 1, 1]).unwrap();
    assert_eq!(counters.counted(), [EdgeId(0), EdgeId(1)]);
    let flow = counters.propagate(&cfg, &[1, 4]);
    assert_eq!((flow.calls, flow.edges), (5, vec![1, 4, 1, 4, 4]));
}

/// Figure 4: `fact 4` returns 24. Then the program calls the continuation captured in the base
/// case, and the three calls in B3 return once more.
#[test]
fn figure_4_re_entry() {
    let calls: &[&[u32]] = &[&[0, 2, 3, 4], &[0, 2, 3, 4], &[0, 2, 3, 4], &[0, 1, 4]];
    let runs = [calls, &[&[2, 3, 4], &[2, 3, 4], &[2, 3, 4]]].concat();
    check_runs(FACT, &runs, 4, &[1, 3, 1, 6, -3, 6]);
}

/// The paths of both figures, with net counts of left paths.
#[test]
fn figures_3_and_4_as_paths() {
    let cfg: Cfg = FACT.parse().unwrap();
    let dag = Dag::new(&cfg).unwrap();
    let numbering = Numbering::new(&cfg, dag, SuccessorOrder::MostPathsLast, 100).unwrap();
    let net_by_name = |counts: [u64; 3]| {
        let counts = (0..).map(PathId).zip(counts);
        let net = net_counts(&cfg, &numbering, counts).unwrap();
        let name = |id| {
            let path = numbering.regenerate(id).unwrap();
            format!("{:?} {}", path.blocks, path.end.edge())
        };
        net.into_iter()
            .map(|(id, count)| (name(id), count))
            .collect::<BTreeMap<_, _>>()
    };
    let (base_path, recursive_path, left_path) = ("[b0, b1] e2", "[b0, b2, b3] e5", "[b0, b2] e4");
    let path_ends: Vec<_> = (0..3)
        .map(|id| numbering.regenerate(PathId(id)).unwrap().end.edge())
        .collect();
    assert_eq!(path_ends, [2, 5, 4].map(EdgeId));
    assert_eq!(
        net_by_name([1, 0, 4]),
        [(base_path, 1), (left_path, 4)]
            .map(|(n, c)| (n.into(), c))
            .into()
    );
    let re_entered = [(base_path, 1), (recursive_path, 6), (left_path, -3)];
    assert_eq!(
        net_by_name([1, 6, 3]),
        re_entered.map(|(n, c)| (n.into(), c)).into()
    );
}

/// The entry block has an exit edge. Returns need a counter, and calls need a counter in the middle
/// of the block.
#[test]
fn entry_block_with_an_exit_edge() {
    let text = "b0: entry\n e0 -> b1\n e1 -> b1 exit-edge\nb1: exit";
    let cfg: Cfg = text.parse().unwrap();
    let counters = EdgeCounters::new(&cfg, &[]).unwrap();
    assert_eq!(
        (counters.counted(), counters.tree()),
        (&[EdgeId(0), EdgeId(1)][..], &[][..])
    );
    check_runs(text, &[&[0, 1], &[0], &[0]], 3, &[1, 2]);
    check_runs(text, &[&[0, 1], &[0, 1]], 2, &[2, 0]);
}

/// A child made by `fork` returns from a frame that it never entered.
#[test]
fn more_returns_than_calls() {
    let text = "b0: entry\n e0 -> b1\n e1 -> b1 exit-edge\nb1: exit";
    let cfg: Cfg = text.parse().unwrap();
    let counters = EdgeCounters::new(&cfg, &[]).unwrap();
    let flow = counters.propagate(&cfg, &[1, 0]);
    assert_eq!((flow.calls, flow.edges), (0, vec![1, -1]));
}

/// Control never leaves the loop. The iterations that ran to their end are counted; the last one is
/// not.
#[test]
fn endless_loop() {
    let text = "
        b0: entry
          e0 -> b1
        b1:
          e1 -> b2
          e2 -> b3
        b2:
          e3 -> b1
        b3:
          e4 -> b1
        b4: exit";
    let cfg: Cfg = text.parse().unwrap();
    let counters = EdgeCounters::new(&cfg, &[1, 5, 3, 5, 3]).unwrap();
    assert_eq!(counters.tree(), [0, 1, 2].map(EdgeId));
    let flow = counters.propagate(&cfg, &[70, 30]);
    assert_eq!((flow.calls, flow.edges), (0, vec![0, 70, 30, 70, 30]));
}

/// Pinned edges connect two blocks with exit edges. The middle of one block carries a counter.
#[test]
fn pinned_edge_between_blocks_with_exit_edges() {
    let text = "
        b0: entry
          e0 -> b1
        b1:
          e1 -> b2 pinned
          e2 -> b3
          e3 -> b3 exit-edge
        b2:
          e4 -> b3
          e5 -> b3 exit-edge
        b3: exit";
    let cfg: Cfg = text.parse().unwrap();
    let counters = EdgeCounters::new(&cfg, &[]).unwrap();
    assert!(counters.counted().contains(&EdgeId(5)));
    check_runs(
        text,
        &[&[0, 1, 3], &[0, 1], &[0, 1, 2], &[0, 1, 2], &[0, 1, 2, 3]],
        5,
        &[5, 3, 1, 1, 1, 2],
    );
}

#[test]
fn cycles_that_cannot_be_counted() {
    let check = |edges: &str, message: &str| {
        let cfg: Cfg = edges.parse().unwrap();
        let error = EdgeCounters::new(&cfg, &[]).unwrap_err();
        let expected = format!("edges that can carry no counter close a cycle: {message}");
        assert_eq!(error.to_string(), expected);
    };
    check(
        "b0: entry\n e0 -> b1\nb1:\n e1 -> b1 pinned\n e2 -> b2\nb2: exit",
        "e1",
    );
    check(
        "b0: entry\n e0 -> b1 pinned\n e1 -> b1 pinned\nb1:\n e2 -> b2\nb2: exit",
        "e1, e0",
    );
    // Two calls share a landing pad, and control may leave the function in either call.
    check(
        "b0: entry\n e0 -> b1\n e1 -> b2\nb1:\n e2 -> b3 pinned\n e3 -> b4 exit-edge
         b2:\n e4 -> b3 pinned\n e5 -> b4 exit-edge\nb3:\n e6 -> b4\nb4: exit",
        "e4, e2, e3, e5",
    );
    // The calls close the cycle.
    check(
        "b0: entry\n e0 -> b1 pinned\n e1 -> b2\nb1:\n e2 -> b3 pinned\nb2:\n e3 -> b3 pinned
          e4 -> b4 exit-edge\nb3:\n e5 -> b4\nb4: exit",
        "e3, e2, e0, e4",
    );
}

#[test]
fn deep_graphs() {
    let blocks = 200_000;
    let edges = (1..blocks).flat_map(|to| {
        let edge = |from, to, kind| Edge {
            from: BlockId(from),
            to: BlockId(to),
            kind,
        };
        [
            edge(to - 1, to, EdgeKind::Plain),
            edge(to - 1, blocks - 1, EdgeKind::Exit),
        ]
    });
    let cfg = Cfg::new(blocks, BlockId(0), BlockId(blocks - 1), edges.collect()).unwrap();
    let counters = EdgeCounters::new(&cfg, &estimate_weights(&cfg, &[])).unwrap();
    assert_eq!(counters.counted().len(), blocks as usize);
    let ones = vec![1; blocks as usize];
    let flow = counters.propagate(&cfg, &ones);
    assert_eq!(flow.calls, 1);
    assert!(flow.edges.iter().step_by(2).all(|&count| count == 1));
    assert!(
        flow.edges
            .iter()
            .skip(1)
            .step_by(2)
            .all(|&count| count == 0)
    );
}

#[test]
fn invalid_parts_are_refused() {
    let cfg: Cfg = FACT.parse().unwrap();
    let restore = |counted: &[u32], tree: &[u32]| {
        let ids = |list: &[u32]| list.iter().copied().map(EdgeId).collect();
        EdgeCounters::from_parts(&cfg, ids(counted), ids(tree)).map(drop)
    };
    use TreeError as E;
    assert_eq!(restore(&[1, 2, 3], &[4, 0, 5]), Ok(()));
    assert_eq!(restore(&[1, 2, 3], &[5, 0, 4]), Ok(()));
    assert_eq!(
        restore(&[1, 2, 3], &[4, 0, 6]),
        Err(E::NoSuchEdge(EdgeId(6)))
    );
    assert_eq!(restore(&[1, 2, 3], &[4, 0]), Err(E::Missing(EdgeId(5))));
    assert_eq!(
        restore(&[1, 2, 3, 0], &[4, 0, 5]),
        Err(E::Repeated(EdgeId(0)))
    );
    assert_eq!(restore(&[2, 3], &[4, 0, 5, 1]), Err(E::NotATree(EdgeId(1))));
    assert_eq!(restore(&[0, 1, 2, 3], &[4, 5]), Err(E::NotATree(EdgeId(0))));
    let cfg: Cfg =
        "b0: entry\n e0 -> b1 pinned\n e1 -> b1\nb1:\n e2 -> b2\nb2: exit\nb3:\n e3 -> b2"
            .parse()
            .unwrap();
    let restore = |counted: &[u32], tree: &[u32]| {
        let ids = |list: &[u32]| list.iter().copied().map(EdgeId).collect();
        EdgeCounters::from_parts(&cfg, ids(counted), ids(tree)).map(drop)
    };
    assert_eq!(restore(&[1, 2], &[0]), Ok(()));
    assert_eq!(restore(&[0, 2], &[1]), Err(E::PinnedCounted(EdgeId(0))));
    assert_eq!(restore(&[1, 2], &[0, 3]), Err(E::Unreachable(EdgeId(3))));
}
