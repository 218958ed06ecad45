//! Tests of the decision that decides a path.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use build::{function, path_number, run_of, slide};
use holloway_analysis::Function;
use holloway_analysis::deciding::deciding_edges;
use holloway_analysis::paths::{instructions, regenerate};
use holloway_format::{FunctionMap, Outcome};
use holloway_testkit::build;
use proptest::prelude::*;

/// Three branches in a row, with a call in some arms: eight paths.
fn three_branches() -> FunctionMap {
    let mut build = function("f", "f.c", 1);
    for block in 0..10 {
        build = build.block(1 + block % 3, &[(0, 1 + block)]);
    }
    build = build.block(0, &[]);
    for top in [0, 3, 6] {
        build = build
            .edge(top, top + 1, Outcome::True)
            .edge(top, top + 2, Outcome::False)
            .edge(top + 1, top + 3, Outcome::Jump)
            .edge(top + 2, top + 3, Outcome::Jump);
    }
    build.edge(9, 10, Outcome::Return).done()
}

/// A loop with a branch in it. Paths start at the entry or at the loop head.
fn looped() -> FunctionMap {
    let mut build = function("f", "f.c", 1);
    for block in 0..6 {
        build = build.block(1 + block, &[(0, 1 + block)]);
    }
    build
        .block(0, &[])
        .edge(0, 1, Outcome::Jump)
        .edge(1, 2, Outcome::True)
        .edge(1, 5, Outcome::False)
        .edge(2, 3, Outcome::True)
        .edge(2, 4, Outcome::False)
        .edge(3, 4, Outcome::Jump)
        .edge(4, 1, Outcome::Jump)
        .edge(5, 6, Outcome::Return)
        .done()
}

/// The start and the edges of each path that ran, with its executed instructions.
fn routes(function: &Function) -> Vec<(Vec<u32>, f64)> {
    let paths = function.counts.iter().map(|&(id, count)| {
        let path = regenerate(function, id).unwrap();
        // The first element tells starts apart.
        let start = u32::MAX - path.blocks[0].0;
        let edges = path.edges.iter().map(|edge| edge.0);
        let end = path.end.edge().0;
        let all = [start].into_iter().chain(edges).chain([end]).collect();
        let work = u64::from(count) as f64 * instructions(function, &path) as f64;
        (all, work)
    });
    paths.collect()
}

/// The same by the definition: for each path, all prefixes are compared with all paths.
fn naive(function: &Function) -> Vec<Option<u32>> {
    let routes = routes(function);
    let deciding = |(route, _): &(Vec<u32>, f64)| {
        let mut best = (0.0, None);
        for length in 1..route.len() {
            let alike = routes
                .iter()
                .filter(|(other, _)| other.starts_with(&route[..length]));
            let mut ways = std::collections::BTreeMap::new();
            for (other, work) in alike {
                *ways.entry(other[length]).or_insert(0.0) += work;
            }
            let whole: f64 = ways.values().sum();
            let bits = ways.values().filter(|work| **work > 0.0);
            let split: f64 = bits.map(|work| work * (whole / work).log2()).sum();
            let edge = &function.map.edges[route[length] as usize];
            let is_decision = matches!(edge.outcome, Outcome::True | Outcome::False);
            // Sums in another order differ in their last digits.
            if is_decision && split > best.0 * (1.0 + 1e-9) {
                best = (split, Some(route[length]));
            }
        }
        best.1
    };
    routes.iter().map(deciding).collect()
}

fn deciding(function: &Function) -> Vec<Option<u32>> {
    let edges = &function.map.edges;
    deciding_edges(function, &|edge| {
        matches!(edges[edge as usize].outcome, Outcome::True | Outcome::False)
    })
}

/// Checks which edges decide the paths with these blocks and counts.
fn check(map: FunctionMap, paths: &[(&[u32], u64)], expect: &[Option<(u32, u32)>]) {
    let mut expected: Vec<_> = paths
        .iter()
        .zip(expect)
        .map(|((blocks, count), edge)| ((path_number(&map, blocks), *count), *edge))
        .collect();
    expected.sort_unstable();
    let counters: Vec<_> = expected.iter().map(|(counter, _)| *counter).collect();
    let run = run_of(map, &counters);
    let function = &run.functions[0];
    let ends = |edge: Option<u32>| {
        let edge = &function.map.edges[edge? as usize];
        Some((edge.from, edge.to))
    };
    let found: Vec<_> = deciding(function).into_iter().map(ends).collect();
    let expected: Vec<_> = expected.into_iter().map(|(_, edge)| edge).collect();
    assert_eq!(found, expected);
    assert_eq!(deciding(function), naive(function));
}

#[test]
fn the_most_even_split_of_much_work_decides() {
    // Nearly all paths take the same way at the first branch. The third branch splits them evenly.
    check(
        three_branches(),
        &[
            (&[0, 1, 3, 4, 6, 7, 9], 500),
            (&[0, 1, 3, 4, 6, 8, 9], 480),
            (&[0, 1, 3, 5, 6, 7, 9], 20),
            (&[0, 2, 3, 4, 6, 7, 9], 15),
        ],
        &[Some((6, 7)), Some((6, 8)), Some((3, 5)), Some((0, 2))],
    );
}

#[test]
fn a_path_that_ran_alone_has_no_decision() {
    check(three_branches(), &[(&[0, 1, 3, 4, 6, 7, 9], 7)], &[None]);
}

fn counts(paths: u64) -> impl Strategy<Value = Vec<(u64, u64)>> {
    let counts = prop::collection::vec(
        prop_oneof![Just(0), 1..20_u64, 1..1_000_000_u64],
        paths as usize,
    );
    counts.prop_map(|counts| (0..).zip(counts).filter(|&(_, count)| count > 0).collect())
}

proptest! {
    #[test]
    fn the_tree_of_prefixes_has_the_split_of_the_definition(
        a in counts(8), b in counts(6), c in counts(6)
    ) {
        for (map, counts) in [(three_branches(), a), (slide(), b), (looped(), c)] {
            let counts: Vec<_> = counts.into_iter().filter(|&(path, _)| path < map.path_count).collect();
            let run = run_of(map, &counts);
            prop_assert_eq!(deciding(&run.functions[0]), naive(&run.functions[0]));
        }
    }
}
