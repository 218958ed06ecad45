//! Functions with more paths than there are numbers, and graphs too deep for a stack.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use common::{ends, walk};
use holloway_flow::{
    BlockId, Cfg, Dag, Dominators, Edge, EdgeKind, Loops, Numbering, PathId, Probes,
    SuccessorOrder, estimate_weights,
};
use std::collections::BTreeSet;

/// The weaver's limit: increments fit in 32 bits.
const LIMIT: u64 = (1 << 31) - 1;

fn cfg(blocks: u32, edges: impl IntoIterator<Item = (u32, u32)>) -> Cfg {
    let edges = edges.into_iter().map(|(from, to)| Edge {
        from: BlockId(from),
        to: BlockId(to),
        kind: EdgeKind::Plain,
    });
    Cfg::new(blocks, BlockId(0), BlockId(blocks - 1), edges.collect()).unwrap()
}

/// `count` diamonds, the join of one being the top of the next: 2^count paths.
fn diamonds(count: u32) -> Cfg {
    let tops = (0..count).map(|index| 3 * index);
    let edges = tops.flat_map(|top| {
        [
            (top, top + 1),
            (top, top + 2),
            (top + 1, top + 3),
            (top + 2, top + 3),
        ]
    });
    cfg(3 * count + 2, edges.chain([(3 * count, 3 * count + 1)]))
}

/// Diamonds with a block between a join and the next top.
fn spaced_diamonds(count: u32) -> Cfg {
    let edges = (0..count).map(|index| 4 * index).flat_map(|top| {
        let (a, b, join) = (top + 1, top + 2, top + 3);
        [(top, a), (top, b), (a, join), (b, join), (join, join + 1)]
    });
    cfg(4 * count + 2, edges.chain([(4 * count, 4 * count + 1)]))
}

/// Numbers, and checks everything that does not take all paths: samples of numbers there and back,
/// and a walk.
fn check(cfg: &Cfg, limit: u64) -> usize {
    let weights = estimate_weights(cfg, &[]);
    let order = SuccessorOrder::HottestFirst(&weights);
    let numbering = Numbering::new(cfg, Dag::new(cfg).unwrap(), order, limit).unwrap();
    let count = numbering.path_count();
    assert!(count <= limit);
    let step = (count / 97).max(1);
    for id in (0..count)
        .step_by(usize::try_from(step).unwrap())
        .chain([count - 1])
        .map(PathId)
    {
        let path = numbering.regenerate(id).unwrap();
        assert_eq!(numbering.number_of(&path), Some(id));
    }
    let probes = Probes::new(cfg, &numbering, &weights, &[]).unwrap();
    let choices: Vec<u8> = (0..20_000u64)
        .map(|i| ((i * i * 31) >> 7).to_le_bytes()[0])
        .collect();
    let trace = walk(cfg, &numbering, &probes, &[], &choices);
    let expected = trace
        .paths
        .iter()
        .map(|(path, count)| (numbering.number_of(path).unwrap().0, *count));
    let counted = trace
        .counters
        .iter()
        .map(|(&id, &count)| (id.cast_unsigned(), count));
    let (mut expected, mut counted): (Vec<_>, Vec<_>) = (expected.collect(), counted.collect());
    expected.sort_unstable();
    counted.sort_unstable();
    assert!(!counted.is_empty());
    assert_eq!(counted, expected);
    numbering.cut_edges().count()
}

#[test]
fn no_cut_below_the_limit() {
    assert_eq!(check(&diamonds(30), LIMIT), 0);
    assert_eq!(check(&diamonds(5), 32), 0);
}

#[test]
fn two_to_the_62_paths_are_cut_in_two_places() {
    assert_eq!(check(&diamonds(62), LIMIT), 4);
    assert_eq!(check(&spaced_diamonds(62), LIMIT), 2);
}

#[test]
fn more_paths_than_a_number_can_count() {
    // Pieces of 25 diamonds: 40 pieces of 2^25 paths fit under 2^31, and 39 pieces of 2^26 do not.
    assert_eq!(check(&diamonds(1000), LIMIT), 2 * 39);
    assert_eq!(check(&spaced_diamonds(1000), LIMIT), 39);
}

#[test]
fn a_wide_switch_again_and_again() {
    // Twelve switches of 256 cases each in a row: 2^96 paths.
    let (cases, switches) = (256, 12);
    let edges = (0..switches)
        .map(|index| index * (cases + 1))
        .flat_map(|top| {
            (1..=cases).flat_map(move |case| [(top, top + case), (top + case, top + cases + 1)])
        });
    let last = switches * (cases + 1);
    let cuts = check(&cfg(last + 2, edges.chain([(last, last + 1)])), LIMIT);
    // 256^3 paths fit, and 256^4 do not: three levels of 256 edges each.
    assert_eq!(cuts, 3 * 256);
}

#[test]
fn parallel_edges_explode_too() {
    let edges = (0..40).flat_map(|block| [(block, block + 1); 4]);
    assert!(check(&cfg(42, edges.chain([(40, 41)])), LIMIT) <= 8);
}

#[test]
fn loops_with_exploding_bodies() {
    // A loop around 40 diamonds, in a loop.
    let body = (0..40).map(|index| 2 + 3 * index).flat_map(|top| {
        [
            (top, top + 1),
            (top, top + 2),
            (top + 1, top + 3),
            (top + 2, top + 3),
        ]
    });
    let end = 2 + 3 * 40;
    let edges = [
        (0, 1),
        (1, 2),
        (end, 2),
        (end, end + 1),
        (end + 1, 1),
        (end + 1, end + 2),
    ];
    assert!(check(&cfg(end + 3, body.chain(edges)), LIMIT) <= 4);
}

#[test]
fn a_limit_that_cannot_be_held_is_an_error() {
    let cfg = diamonds(3);
    let dag = Dag::new(&cfg).unwrap();
    let error = Numbering::new(&cfg, dag.clone(), SuccessorOrder::AsGiven, 2).unwrap_err();
    assert!(error.least > 2);
    assert!(
        error
            .to_string()
            .ends_with("paths are left after cutting, the limit is 2")
    );
    assert!(Numbering::new(&cfg, dag, SuccessorOrder::AsGiven, error.least).is_ok());
}

#[test]
fn a_line_of_100_000_blocks() {
    let blocks = 100_000;
    let cfg = cfg(blocks, (1..blocks).map(|to| (to - 1, to)));
    assert_eq!(check(&cfg, LIMIT), 0);
    let dominators = Dominators::new(&cfg);
    assert!(dominators.dominates(BlockId(1), BlockId(blocks - 1)));
    assert_eq!(Loops::new(&cfg, &dominators).all(), []);
}

#[test]
fn a_chain_of_30_000_diamonds() {
    let cuts = check(&diamonds(30_000), LIMIT);
    assert!(cuts < 2 * 30_000 / 20, "{cuts} cuts");
}

#[test]
fn loops_20_000_deep() {
    // Heads 1..=n inside one another, latches n+1..=2n, innermost first.
    let n = 20_000;
    let edges = (1..=n).flat_map(|head| [(head - 1, head), (2 * n + 1 - head, head)]);
    let latches = (n..2 * n + 1).map(|latch| (latch, latch + 1));
    let cfg = cfg(2 * n + 2, edges.chain(latches));
    let dominators = Dominators::new(&cfg);
    let loops = Loops::new(&cfg, &dominators);
    assert_eq!(loops.all().len(), n as usize);
    assert_eq!(loops.depth(BlockId(n)), n);
    assert_eq!(loops.depth(BlockId(2 * n)), 1);
    check(&cfg, LIMIT);
}

#[test]
fn cuts_end_paths_where_they_say() {
    let cfg = diamonds(62);
    let numbering = Numbering::new(
        &cfg,
        Dag::new(&cfg).unwrap(),
        SuccessorOrder::MostPathsLast,
        LIMIT,
    )
    .unwrap();
    let cuts: BTreeSet<_> = numbering.cut_edges().collect();
    assert_eq!(cuts, ends(&numbering).into_keys().collect());
    // Whole levels: all cuts together lead to two joins.
    let joins: BTreeSet<_> = cuts.iter().map(|&edge| cfg.edge(edge).to).collect();
    assert_eq!(joins.len(), 2);
}
