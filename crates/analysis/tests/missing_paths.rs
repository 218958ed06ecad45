//! Missing paths, compared with all paths of random graphs.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::{BTreeMap, HashSet};

use holloway_analysis::missing_paths::{MAX_LISTED, path_coverage};
use holloway_flow::{Path, PathId};
use holloway_format::{Count, FunctionMap, Outcome};
use holloway_testkit::build::{compute_numbering, function, run_of};
use proptest::prelude::*;

fn edges(path: &Path) -> Vec<u32> {
    let end = path.end.edge();
    path.edges.iter().chain([&end]).map(|edge| edge.0).collect()
}

/// A chain of diamonds: each has a branch to one of two blocks.
fn diamonds(count: u32) -> FunctionMap {
    let mut build = function("f", "f.c", 1);
    for block in 0..3 * count + 2 {
        build = build.block(1, &[(0, block + 1)]);
    }
    let exit = 3 * count + 1;
    for diamond in 0..count {
        let head = 3 * diamond;
        build = build
            .edge(head, head + 1, Outcome::True)
            .edge(head, head + 2, Outcome::False)
            .edge(head + 1, head + 3, Outcome::Jump)
            .edge(head + 2, head + 3, Outcome::Jump);
    }
    build.edge(exit - 1, exit, Outcome::Return).done()
}

#[test]
fn a_path_that_fails_a_check_is_not_listed() {
    let map = function("f", "f.rs", 1)
        .block(1, &[(0, 1)])
        .block(1, &[(0, 2)])
        .block(1, &[(0, 3)])
        .block(0, &[])
        .edge(0, 1, Outcome::True)
        .edge(0, 2, Outcome::False)
        .edge(1, 3, Outcome::Return)
        .edge(2, 3, Outcome::Noreturn)
        .done();
    let ran = (0..2).find(|&path| {
        let path = compute_numbering(&map).regenerate(PathId(path)).unwrap();
        path.blocks.len() == 2 && path.blocks[1].0 == 1
    });
    let run = run_of(map, &[(ran.unwrap(), 4)]);
    let function = &run.functions[0];
    let ran: BTreeMap<PathId, Count> = function.counts.iter().copied().collect();
    let coverage = path_coverage(function, &ran, 9);
    assert_eq!((coverage.ran, coverage.possible), (1, 1));
    assert!(coverage.missing.is_empty() && coverage.is_complete);
}

#[test]
fn a_large_function_lists_the_neighbors_of_its_paths() {
    // One of 2^20 paths ran. It has 20 neighbors at distance 1.
    let map = diamonds(20);
    let numbering = compute_numbering(&map);
    let run = run_of(map, &[(12_345, 7)]);
    let function = &run.functions[0];
    assert!(function.map.path_count > MAX_LISTED);
    let ran: BTreeMap<PathId, Count> = function.counts.iter().copied().collect();
    let coverage = path_coverage(function, &ran, 100);
    assert_eq!((coverage.ran, coverage.possible), (1, 1 << 20));
    assert_eq!(coverage.missing.len(), 20);
    assert!(!coverage.is_complete);
    let own = edges(&numbering.regenerate(PathId(12_345)).unwrap());
    for missing in &coverage.missing {
        assert_eq!(missing.nearest.path, PathId(12_345));
        assert_eq!(
            (missing.nearest.distance, missing.nearest.count),
            (1, Count(7))
        );
        let path = edges(&numbering.regenerate(missing.path).unwrap());
        let other: Vec<&u32> = path.iter().filter(|edge| !own.contains(edge)).collect();
        // The branch, and the jump back.
        assert_eq!(other.len(), 2);
        assert_eq!(missing.nearest.departures, [*other[0]]);
    }
}

/// An acyclic graph: each block branches to one or two later blocks.
fn acyclic() -> impl Strategy<Value = (FunctionMap, Vec<bool>)> {
    let targets = prop::collection::vec((1u32..4, 1u32..4), 1..9);
    (targets, prop::collection::vec(any::<bool>(), 64)).prop_map(|(targets, ran)| {
        let blocks = targets.len() as u32 + 1;
        let mut build = function("f", "f.c", 1);
        for block in 0..blocks {
            build = build.block(1, &[(0, block + 1)]);
        }
        build = build.block(0, &[]);
        for (block, (first, second)) in (0u32..).zip(targets) {
            let [first, second] = [first, second].map(|step| (block + step).min(blocks - 1));
            build = match first == second {
                true => build.edge(block, first, Outcome::Jump),
                false => {
                    build
                        .edge(block, first, Outcome::True)
                        .edge(block, second, Outcome::False)
                }
            };
        }
        (build.edge(blocks - 1, blocks, Outcome::Return).done(), ran)
    })
}

proptest! {
    #[test]
    fn the_nearest_path_is_the_nearest_of_all((map, ran) in acyclic()) {
        let numbering = compute_numbering(&map);
        let paths: Vec<Path> = (0..map.path_count)
            .map(|path| numbering.regenerate(PathId(path)).unwrap())
            .collect();
        let has_run = |path: u64| ran[path as usize % ran.len()];
        let counters: Vec<(u64, u64)> = (0..map.path_count)
            .filter(|&path| has_run(path))
            .map(|path| (path, path % 3 + 1))
            .collect();
        prop_assume!(!counters.is_empty());
        let choices: HashSet<u32> = (0u32..)
            .zip(&map.edges)
            .filter(|(_, edge)| edge.outcome != Outcome::Jump && edge.outcome != Outcome::Return)
            .map(|(number, _)| number)
            .collect();
        let distance = |missing: &Path, other: &Path| {
            let other: HashSet<u32> = edges(other).into_iter().collect();
            let missing = edges(missing).into_iter();
            missing.filter(|edge| choices.contains(edge) && !other.contains(edge)).count()
        };
        let expected: Vec<(u64, usize)> = (0..map.path_count)
            .filter(|&path| !has_run(path))
            .map(|path| {
                let distances = counters
                    .iter()
                    .map(|&(other, _)| distance(&paths[path as usize], &paths[other as usize]));
                (path, distances.min().unwrap())
            })
            .collect();
        let run = run_of(map, &counters);
        let function = &run.functions[0];
        let counted: BTreeMap<PathId, Count> = function.counts.iter().copied().collect();
        let coverage = path_coverage(function, &counted, usize::MAX);
        prop_assert_eq!(coverage.ran, counters.len() as u64);
        prop_assert_eq!(coverage.possible, paths.len() as u64);
        prop_assert!(coverage.is_complete);
        let mut found: Vec<(u64, usize)> = coverage
            .missing
            .iter()
            .map(|missing| (missing.path.0, missing.nearest.distance))
            .collect();
        prop_assert!(found.is_sorted_by_key(|(_, distance)| *distance));
        found.sort_unstable();
        prop_assert_eq!(found, expected);
    }
}
