//! Functions with too many paths for 32-bit or 64-bit path numbers, and graphs too deep for
//! recursion.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use common::ends;
use common::walk::walk;
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

/// `count` diamonds, where the join of each is the top of the next: 2^count paths.
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

/// Numbers the paths, and checks all properties that do not require every path: a sample of numbers
/// converted to paths and back, and a walk.
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
        .raw
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
fn two_to_the_62_paths_are_cut_at_two_levels() {
    assert_eq!(check(&diamonds(62), LIMIT), 4);
    assert_eq!(check(&spaced_diamonds(62), LIMIT), 2);
}

#[test]
fn more_paths_than_64_bits_can_count() {
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

/// If one side of every diamond never runs, only such sides are cut.
#[test]
fn edges_that_never_run_are_cut_first() {
    let cfg = diamonds(62);
    let sides = [[9, 0, 9, 0], [0, 7, 0, 7]];
    let weights: Vec<u64> = (0..62).flat_map(|diamond| sides[diamond % 2]).collect();
    for limit in [4096, 1 << 20, LIMIT] {
        let dag = Dag::new(&cfg).unwrap();
        let order = SuccessorOrder::HottestFirst(&weights);
        let numbering = Numbering::new(&cfg, dag, order, limit).unwrap();
        assert!(numbering.path_count() <= limit);
        assert!(numbering.cut_edges().all(|edge| weights[edge.index()] == 0));
    }
}

/// A call after each diamond may leave the function. The cutter ignores exit edges when it looks
/// for the only edge out of a join.
#[test]
fn exit_edges_do_not_prevent_cuts() {
    let plain = spaced_diamonds(62);
    let exit = |from| Edge {
        from: BlockId(from),
        to: plain.exit(),
        kind: EdgeKind::Exit,
    };
    let joins = (0..62).map(|index| 4 * index + 3);
    let edges = plain.edges().iter().copied().chain(joins.map(exit));
    let cfg = Cfg::new(
        plain.block_count(),
        plain.entry(),
        plain.exit(),
        edges.collect(),
    )
    .unwrap();
    assert_eq!(check(&cfg, LIMIT), 2);
}

/// A fixed pseudo-random sequence.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % end
    }
}

/// A function as compilers produce them: a loop around `pieces` branches. Each branch is an `if`
/// with or without `else`, a switch, an inner loop, or an edge out of the loop.
fn program(random: &mut Random, pieces: u32) -> Cfg {
    let mut edges = vec![(0, 1)];
    let (head, mut current, mut leaving_blocks) = (1, 1, Vec::new());
    for _ in 0..pieces {
        let join = match random.below(10) {
            0..=3 => {
                edges.extend([
                    (current, current + 1),
                    (current, current + 2),
                    (current + 1, current + 2),
                ]);
                current + 2
            }
            4..=5 => {
                let (a, b, join) = (current + 1, current + 2, current + 3);
                edges.extend([(current, a), (current, b), (a, join), (b, join)]);
                join
            }
            6 => {
                let join = current + 5;
                edges.extend(
                    (1..5).flat_map(|case| [(current, current + case), (current + case, join)]),
                );
                join
            }
            7..=8 => {
                edges.extend([
                    (current, current + 1),
                    (current + 1, current),
                    (current, current + 2),
                ]);
                current + 2
            }
            _ => {
                leaving_blocks.push(current);
                edges.push((current, current + 1));
                current + 1
            }
        };
        current = join;
    }
    edges.extend([(current, head), (current, current + 1)]);
    edges.extend(leaving_blocks.into_iter().map(|block| (block, current + 1)));
    cfg(
        current + 3,
        edges.into_iter().chain([(current + 1, current + 2)]),
    )
}

/// Counts how often each edge runs in a long walk. Each block has a random probability with which
/// the walk takes a random edge instead of the block's usual edge: 0, 1/256, 20/256, or 1/2.
fn measure(random: &mut Random, cfg: &Cfg) -> Vec<u64> {
    let rare_chance: Vec<u64> = cfg
        .blocks()
        .map(|_| [0, 0, 1, 20, 128][random.below(5) as usize])
        .collect();
    let mut runs = vec![0; cfg.edges().len()];
    let mut current = cfg.entry();
    for step in 0..50_000 {
        let successors = cfg.successors(current);
        let is_rare = random.below(256) < rare_chance[current.index()];
        let choice = if is_rare {
            random.below(successors.len() as u64)
        } else {
            rare_chance[current.index()] % successors.len() as u64
        };
        let edge = successors[choice as usize];
        runs[edge.index()] += 1;
        current = cfg.edge(edge).to;
        // Some loops would almost never end.
        if current == cfg.exit() || step % 500 == 0 {
            current = cfg.entry();
        }
    }
    runs
}

/// The share of executed edges that are cut, with a measured profile and without, at a limit of
/// 4096 paths.
#[test]
fn cuts_run_little() {
    let random = &mut Random(0x9e37_79b9_7f4a_7c15);
    let (
        mut executed,
        mut executed_cuts,
        mut executed_cuts_unweighted,
        mut cut_count,
        mut cut_count_unweighted,
    ) = (0, 0, 0, 0, 0);
    for size in 20..120 {
        let cfg = program(random, size);
        let weights = measure(random, &cfg);
        let cuts = |order| {
            let numbering = Numbering::new(&cfg, Dag::new(&cfg).unwrap(), order, 4096).unwrap();
            let weights: Vec<u64> = numbering
                .cut_edges()
                .map(|edge| weights[edge.index()])
                .collect();
            (weights.iter().sum::<u64>(), weights.len())
        };
        let (measured, unweighted) = (
            cuts(SuccessorOrder::HottestFirst(&weights)),
            cuts(SuccessorOrder::AsGiven),
        );
        executed += weights.iter().sum::<u64>();
        executed_cuts += measured.0;
        cut_count += measured.1;
        executed_cuts_unweighted += unweighted.0;
        cut_count_unweighted += unweighted.1;
    }
    let share = |part: u64| format!("{:.3} %", 100.0 * part as f64 / executed as f64);
    let shares = format!(
        "{} in {cut_count} edges, blindly {} in {cut_count_unweighted}",
        share(executed_cuts),
        share(executed_cuts_unweighted)
    );
    expect_test::expect!["0.034 % in 2245 edges, blindly 0.601 % in 1472"].assert_eq(&shares);
}

#[test]
fn an_unreachable_limit_is_an_error() {
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
    // Nested heads 1..=n, and latches n+1..=2n, innermost first.
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
fn cut_edges_end_paths() {
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
    // Whole levels are cut: all cuts together lead to two joins.
    let joins: BTreeSet<_> = cuts.iter().map(|&edge| cfg.edge(edge).to).collect();
    assert_eq!(joins.len(), 2);
}
