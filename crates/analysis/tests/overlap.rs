//! Tests of the comparison of two runs.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use holloway_testkit::build;
use std::rc::Rc;

use build::{
    SLIDE_FIRST, SLIDE_SECOND, count_edges, function, image, mangled, module, profile, slide,
};
use holloway_abi::Unit;
use holloway_analysis::overlap::{Overlap, Why, edge_of, overlap, share};
use holloway_analysis::{Function, RunProfile};
use holloway_flow::{PathId, SuccessorOrder};
use holloway_format::{Count, FunctionMap, Outcome};
use proptest::prelude::*;

type Counts<'a> = &'a [(u64, u64)];

fn run_of(functions: Vec<FunctionMap>, counts: &[Counts<'_>]) -> RunProfile {
    let image = image("app", vec![module("a", functions)]);
    let functions: Vec<_> = (0u32..)
        .zip(counts)
        .map(|(f, &counts)| (0, f, counts))
        .collect();
    let profile = profile(&image, 1, &functions);
    RunProfile::new(vec![(image, vec![profile])])
}

fn source_name(function: &Function) -> Rc<str> {
    Rc::from(&*function.map.name)
}

fn compare(a: &RunProfile, b: &RunProfile) -> Overlap {
    overlap([a, b], &|_| true, &source_name)
}

fn straight(linkage_name: &str, name: &str) -> FunctionMap {
    mangled(linkage_name, name, "s.c", 1)
        .block(3, &[(0, 1)])
        .block(0, &[])
        .edge(0, 1, Outcome::Return)
        .done()
}

/// The rounded shares of these counts add up to more than 1.
#[test]
fn a_run_overlaps_itself_by_exactly_1() {
    let run = run_of(vec![slide()], &[&[(0, 1), (1, 3), (2, 3), (3, 3), (4, 3)]]);
    assert_eq!(compare(&run, &run).overlap.to_string(), "1");
}

/// The two path profiles of the slides about PP: ACDF 90/110, ACDEF 60/40, ABCDEF 100/100, ABDF
/// 20/0, ABDEF 0/20.
#[test]
fn pp_slides_two_profiles_share_most_paths() {
    let (a, b) = (
        run_of(vec![slide()], &[SLIDE_FIRST]),
        run_of(vec![slide()], &[SLIDE_SECOND]),
    );
    let actual = compare(&a, &b);
    assert_eq!(actual.unit, Unit::Paths);
    assert_eq!(actual.common, 3);
    for side in actual.sides {
        assert_eq!(
            (side.distinct, side.executions, side.common_executions),
            (4, Count(270), Count(250))
        );
    }
    assert_eq!(actual.sides[0].instructions, Count(2600));
    assert_eq!(actual.sides[0].common_instructions, Count(2600 - 20 * 8));
    assert!(
        (actual.overlap - 230.0 / 270.0).abs() < 1e-9,
        "{}",
        actual.overlap
    );
    let differences: Vec<_> = actual
        .differences
        .iter()
        .map(|difference| (difference.unit, difference.counts.map(u64::from)))
        .collect();
    assert_eq!(
        differences,
        [(0, [90, 110]), (1, [60, 40]), (4, [20, 0]), (5, [0, 20])]
    );
    assert!((actual.difference([Count(90), Count(110)]) + 20.0 / 270.0).abs() < 1e-9);
    assert!(actual.alone.iter().all(Vec::is_empty));
}

/// The edge counts of both profiles are equal.
#[test]
fn pp_slides_two_profiles_are_equal_by_edges() {
    let map = count_edges(&slide(), &[]).unwrap();
    let count_of = |edge: u32| match edge {
        0 => 150,
        1 => 120,
        2 => 100,
        3 => 20,
        4 => 250,
        5 => 110,
        6 | 7 => 160,
        _ => 270,
    };
    let counts: Vec<(u64, u64)> = (0u64..)
        .zip(map.counted.iter().map(|&edge| count_of(edge)))
        .collect();
    let edges = run_of(vec![map], &[&counts]);
    let paths = run_of(vec![slide()], &[SLIDE_SECOND]);
    for [a, b] in [[&edges, &edges], [&edges, &paths], [&paths, &edges]] {
        let actual = compare(a, b);
        assert_eq!(actual.unit, Unit::Edges);
        assert_eq!(
            (
                actual.common,
                actual.sides[0].executions,
                actual.sides[1].executions
            ),
            (9, Count(1340), Count(1340))
        );
        assert_eq!(actual.sides[0].common_instructions, Count(2600));
        assert!((actual.overlap - 1.0).abs() < 1e-9);
        assert_eq!(actual.differences, []);
        assert_eq!(
            edge_of(&a.functions[0].map, 8).map(|(_, edge)| edge.from),
            Some(5)
        );
    }
}

/// A guide changes the numbers of paths. The paths stay the same.
#[test]
fn paths_with_different_numbers_are_matched() {
    let weights = [0, 9, 0, 9, 0, 0, 9];
    let guided = build::count_paths(&slide(), SuccessorOrder::HottestFirst(&weights), 100).unwrap();
    let numberings = [build::numbering_of(&slide()), build::numbering_of(&guided)];
    let renumbered = |counts: Counts<'_>| -> Vec<(u64, u64)> {
        let path = |id: u64| numberings[0].regenerate(PathId(id)).unwrap();
        let id = |id: u64| numberings[1].number_of(&path(id)).unwrap().0;
        let mut counts: Vec<_> = counts
            .iter()
            .map(|&(path, count)| (id(path), count))
            .collect();
        counts.sort_unstable();
        counts
    };
    let (first, second) = (renumbered(SLIDE_FIRST), renumbered(SLIDE_SECOND));
    assert_ne!(first, SLIDE_FIRST);
    let plain = run_of(vec![slide()], &[SLIDE_FIRST]);
    let actual = compare(&plain, &run_of(vec![guided.clone()], &[&first]));
    assert!((actual.overlap - 1.0).abs() < 1e-9, "{actual:?}");
    let actual = compare(&plain, &run_of(vec![guided], &[&second]));
    let straight = compare(&plain, &run_of(vec![slide()], &[SLIDE_SECOND]));
    assert_eq!(actual.differences, straight.differences);
    assert_eq!(actual.sides, straight.sides);
}

/// The second build cuts paths at other edges. Paths that only this build has are listed by their
/// numbers in this build.
#[test]
fn paths_cut_elsewhere_are_different() {
    let cut = build::count_paths(&slide(), SuccessorOrder::MostPathsLast, 5).unwrap();
    assert!(cut.path_count < 6);
    let all: Vec<(u64, u64)> = (0..cut.path_count).map(|path| (path, 10)).collect();
    let a = run_of(vec![slide()], &[&[(0, 7), (3, 8)]]);
    let b = run_of(vec![cut], &[&all]);
    let actual = compare(&a, &b);
    assert_eq!(actual.pairs.len(), 1);
    let own: Vec<_> = actual
        .differences
        .iter()
        .filter(|difference| difference.side == 1)
        .collect();
    assert!(!own.is_empty());
    for difference in own {
        assert_eq!(difference.counts, [Count(0), Count(10)]);
        assert!(difference.unit < b.functions[0].map.path_count);
    }
    assert!(actual.differences.iter().any(|difference| (
        difference.side,
        difference.unit,
        difference.counts[0]
    ) == (0, 3, Count(8))));
}

/// Copies of a function whose paths are cut at different edges: a path that only one copy has is
/// not merged with another path.
#[test]
fn copies_with_different_cuts_are_not_merged() {
    let cut = |order| build::count_paths(&slide(), order, 5).unwrap();
    let weights = [0, 9, 0, 9, 0, 0, 9];
    let first_copy = cut(SuccessorOrder::MostPathsLast);
    let second_copy = cut(SuccessorOrder::HottestFirst(&weights));
    assert_ne!(first_copy.structure_hash(), second_copy.structure_hash());
    let every_path = |map: &FunctionMap| -> Vec<(u64, u64)> {
        (0..map.path_count).map(|path| (path, 10)).collect()
    };
    let counts = [every_path(&first_copy), every_path(&second_copy)];
    let maps = || vec![slide(), first_copy.clone(), second_copy.clone()];
    let run = || run_of(maps(), &[&[(0, 7)], &counts[0], &counts[1]]);
    let actual = compare(&run(), &run());
    assert_eq!((actual.pairs.len(), actual.differences.len()), (1, 0));
    assert!((actual.overlap - 1.0).abs() < 1e-9);
    let executions = 7 + 10 * (first_copy.path_count + second_copy.path_count);
    assert_eq!(actual.sides[0].executions, Count(executions));
    // The last copy never ran in the first run. The paths of this copy are listed by their numbers
    // in this copy.
    let other = run_of(maps(), &[&[(0, 7)], &counts[0], &[]]);
    let actual = compare(&other, &run());
    let own: Vec<_> = actual
        .differences
        .iter()
        .filter(|difference| difference.counts[0] == Count(0))
        .collect();
    assert!(!own.is_empty());
    assert!(
        own.iter()
            .all(|difference| difference.unit < second_copy.path_count
                && difference.counts[1] == Count(10))
    );
}

/// A build without exit edges has the same paths, except left paths.
#[test]
fn exit_edges_do_not_change_other_paths() {
    let with = build::fact().done();
    let mut without = with.clone();
    without.edges.retain(|edge| edge.outcome != Outcome::Left);
    let without = build::count_paths(&without, SuccessorOrder::AsGiven, 100).unwrap();
    let numbering = build::numbering_of(&with);
    let left = (0..3).find(|&id| {
        let path = numbering.regenerate(PathId(id)).unwrap();
        with.edges[path.end.edge().index()].outcome == Outcome::Left
    });
    // Two paths return, each twice. The call was reached five times, so it was left three times.
    let mut counters: Vec<(u64, u64)> = (0..3).map(|id| (id, 2)).collect();
    counters[left.unwrap() as usize].1 = 5;
    let actual = compare(
        &run_of(vec![with], &[&counters]),
        &run_of(vec![without], &[&[(0, 2), (1, 2)]]),
    );
    assert_eq!(
        (
            actual.common,
            actual.sides[0].distinct,
            actual.sides[1].distinct
        ),
        (2, 3, 2)
    );
    assert_eq!(
        (actual.sides[0].executions, actual.sides[1].executions),
        (Count(7), Count(4))
    );
}

/// How the weaver builds the block with calls.
#[derive(Clone, Copy, PartialEq)]
enum Blocks {
    /// Each block is undivided.
    Undivided,
    /// Blocks are divided into parts after calls.
    Divided,
}

/// A loop with a branch, whose first block makes two calls. In a build that measures exit edges,
/// the block is divided after each call.
fn calls(blocks: Blocks) -> FunctionMap {
    let mut build = function("f", "f.c", 1);
    // If undivided, b0 is the entry, b1 contains the calls and the branch, b2 and b3 are the
    // targets of the branch, and b4 is the end.
    for instructions in [1, 6, 2, 3, 4] {
        build = match (blocks, instructions) {
            (Blocks::Divided, 6) => build.block(1, &[]).block(2, &[]).block(3, &[]),
            _ => build.block(instructions, &[]),
        };
    }
    let is_divided = blocks == Blocks::Divided;
    let shift = if is_divided { 2 } else { 0 };
    build = build.block(0, &[]).edge(0, 1, Outcome::Jump);
    if is_divided {
        build = build
            .edge(1, 2, Outcome::Returned)
            .left(1)
            .edge(2, 3, Outcome::Returned)
            .left(2);
    }
    let [tail, yes, no, end] = [1, 2, 3, 4].map(|block| block + shift);
    build
        .edge(tail, yes, Outcome::True)
        .edge(tail, no, Outcome::False)
        .edge(yes, 1, Outcome::Jump)
        .edge(no, 1, Outcome::True)
        .edge(no, end, Outcome::False)
        .edge(end, end + 1, Outcome::Return)
        .unfinished()
}

#[test]
fn divided_blocks_equal_undivided_blocks() {
    let weights = [5, 1, 0, 3, 0, 9, 2, 7];
    let undivided = build::count_paths(
        &calls(Blocks::Undivided),
        SuccessorOrder::MostPathsLast,
        100,
    )
    .unwrap();
    let divided = build::count_paths(
        &calls(Blocks::Divided),
        SuccessorOrder::HottestFirst(&weights),
        100,
    )
    .unwrap();
    assert_eq!(undivided.graph_hash(), divided.graph_hash());
    // The paths, by the undivided blocks that they run.
    let counts: &[(&[u32], u64)] = &[(&[0, 1, 2], 3), (&[1, 2], 5), (&[1, 3], 7), (&[1, 3, 4], 3)];
    let counters = |map: &FunctionMap, build_blocks: Blocks| -> Vec<(u64, u64)> {
        let is_divided = build_blocks == Blocks::Divided;
        let numbering = build::numbering_of(map);
        let divide = |&block: &u32| match block {
            1 if is_divided => vec![1, 2, 3],
            2.. if is_divided => vec![block + 2],
            _ => vec![block],
        };
        let id = |blocks: &[u32]| {
            let blocks: Vec<u32> = blocks.iter().flat_map(divide).collect();
            let fits = |&id: &u64| {
                let path = numbering.regenerate(PathId(id)).unwrap();
                path.blocks
                    .iter()
                    .map(|block| block.0)
                    .eq(blocks.iter().copied())
                    && map.edges[path.end.edge().index()].outcome != Outcome::Left
            };
            (0..map.path_count).find(fits).unwrap()
        };
        let mut counters: Vec<_> = counts
            .iter()
            .map(|&(blocks, count)| (id(blocks), count))
            .collect();
        if is_divided {
            // Each call was reached as often as it came back, on paths from the entry and from the
            // loop head.
            let lefts = (0..map.path_count).filter(|&id| {
                let path = numbering.regenerate(PathId(id)).unwrap();
                map.edges[path.end.edge().index()].outcome == Outcome::Left
            });
            for left in lefts {
                let entry = numbering.regenerate(PathId(left)).unwrap().blocks[0].0 == 0;
                counters.push((left, if entry { 3 } else { 15 }));
            }
        }
        counters.sort_unstable();
        counters
    };
    let a = run_of(
        vec![undivided.clone()],
        &[&counters(&undivided, Blocks::Undivided)],
    );
    let b = run_of(
        vec![divided.clone()],
        &[&counters(&divided, Blocks::Divided)],
    );
    assert_eq!(
        (a.functions[0].executions(), b.functions[0].executions()),
        (Count(18), Count(18))
    );
    for [a, b] in [[&a, &b], [&b, &a]] {
        let actual = compare(a, b);
        assert!((actual.overlap - 1.0).abs() < 1e-9, "{actual:?}");
        assert_eq!(
            (actual.common, actual.sides[0].common_instructions),
            (4, actual.sides[1].instructions)
        );
    }
    let count_all = |map: &FunctionMap| {
        let map = count_edges(map, &[]).unwrap();
        let counts: Vec<(u64, u64)> = (0..map.counted.len() as u64).map(|k| (k, 1)).collect();
        run_of(vec![map], &[&counts])
    };
    let actual = compare(&count_all(&calls(Blocks::Divided)), &a);
    assert_eq!(
        (actual.unit, actual.pairs.len(), actual.alone[0].len()),
        (Unit::Edges, 1, 0)
    );
}

/// If only one build has exit edges, the other edges are compared.
#[test]
fn exit_edges_are_left_out() {
    let fact = build::fact();
    let with = fact.edges();
    let mut without = with.clone();
    without.edges.retain(|edge| edge.outcome != Outcome::Left);
    let without = build::count_edges(&without, &[]).unwrap();
    let run = |map: FunctionMap| {
        let counts: Vec<(u64, u64)> = (0..map.counted.len() as u64).map(|k| (k, 2)).collect();
        run_of(vec![map], &[&counts])
    };
    let actual = compare(&run(with), &run(without));
    assert_eq!(actual.pairs.len(), 1);
    assert_eq!(actual.common, 5);
}

#[test]
fn functions_are_matched_by_name_and_structure() {
    let a = run_of(
        vec![
            slide(),
            straight("_R1one", "one"),
            straight("_R1two", "two"),
            straight("_R1changed", "changed"),
            straight("_R1idle", "idle"),
        ],
        &[&[(0, 1)], &[(0, 10)], &[(0, 5)], &[(0, 4)], &[]],
    );
    let changed = function("changed", "s.c", 1)
        .block(3, &[])
        .block(1, &[])
        .block(0, &[])
        .edge(0, 1, Outcome::Jump)
        .edge(1, 2, Outcome::Return)
        .done();
    let b = run_of(
        vec![
            straight("_R2one", "one"),
            changed,
            straight("_R2idle", "idle"),
            slide(),
        ],
        &[&[(0, 10)], &[(0, 4)], &[], &[(3, 6)]],
    );
    let actual = compare(&a, &b);
    let names: Vec<_> = actual
        .pairs
        .iter()
        .map(|pair| source_name(a.function(pair.functions[0])))
        .collect();
    // `one` matches by the name that the user knows, although the linkage names differ. Functions
    // that never ran are not listed.
    assert_eq!(
        names.iter().map(|name| &**name).collect::<Vec<_>>(),
        ["slide", "one"]
    );
    let alone = |side: usize, run: &RunProfile| -> Vec<(String, u64, Why)> {
        let alone = actual.alone[side].iter();
        alone
            .map(|alone| {
                (
                    source_name(run.function(alone.function)).to_string(),
                    alone.executions.0,
                    alone.why,
                )
            })
            .collect()
    };
    assert_eq!(
        alone(0, &a),
        [
            ("two".to_owned(), 5, Why::Missing),
            ("changed".to_owned(), 4, Why::Changed)
        ]
    );
    assert_eq!(alone(1, &b), [("changed".to_owned(), 4, Why::Changed)]);
    // `one` has 10 of 20 executions in both runs, which is half. The paths of `slide` differ.
    assert_eq!(
        (actual.sides[0].executions, actual.sides[1].executions),
        (Count(20), Count(20))
    );
    assert!((actual.overlap - 0.5).abs() < 1e-9);
    assert_eq!(actual.common, 1);
}

/// Copies are added up. If several functions have the same name, functions of the same file match.
#[test]
fn copies_and_functions_with_equal_names_are_matched() {
    let copy = |file: &str| FunctionMap {
        file: file.into(),
        ..straight("helper", "helper")
    };
    let run = |files: [&str; 3], counts: [Counts<'_>; 3]| {
        let modules = files.map(|file| module(file, vec![copy(file)])).into();
        let image = image("app", modules);
        let functions: Vec<_> = (0u32..)
            .zip(counts)
            .map(|(m, counts)| (m, 0, counts))
            .collect();
        let profile = profile(&image, 1, &functions);
        RunProfile::new(vec![(image, vec![profile])])
    };
    let a = run(["x.c", "y.c", "x.c"], [&[(0, 1)], &[(0, 5)], &[(0, 2)]]);
    let b = run(["y.c", "z.c", "x.c"], [&[(0, 5)], &[(0, 9)], &[(0, 3)]]);
    let actual = compare(&a, &b);
    let executions: Vec<_> = actual
        .pairs
        .iter()
        .map(|pair| pair.sides.map(|side| side.executions))
        .collect();
    assert_eq!(executions.len(), 2);
    assert!(
        executions.contains(&[Count(3), Count(3)]) && executions.contains(&[Count(5), Count(5)]),
        "{executions:?}"
    );
    assert_eq!(actual.alone[1].len(), 1);
}

#[test]
fn empty_runs_have_no_overlap() {
    let empty = || run_of(vec![slide()], &[&[]]);
    let actual = compare(&empty(), &empty());
    assert_eq!((actual.pairs.len(), actual.common), (0, 0));
    assert_eq!(share(0u64, 0u64), 0.0);
}

proptest! {
    #[test]
    fn an_overlap_is_the_sum_of_smaller_shares(
        a in prop::collection::btree_map(0u64..6, 1u64..100, 1..6),
        b in prop::collection::btree_map(0u64..6, 1u64..100, 1..6),
    ) {
        let counts = |map: &std::collections::BTreeMap<u64, u64>| -> Vec<(u64, u64)> {
            map.iter().map(|(&path, &count)| (path, count)).collect()
        };
        let (first, second) = (run_of(vec![slide()], &[&counts(&a)]), run_of(vec![slide()], &[&counts(&b)]));
        let actual = compare(&first, &second);
        let total = |map: &std::collections::BTreeMap<u64, u64>| map.values().sum::<u64>() as f64;
        let part = |map: &std::collections::BTreeMap<u64, u64>, path: u64| map.get(&path).copied().unwrap_or(0) as f64;
        let expect: f64 = (0..6).map(|path| (part(&a, path) / total(&a)).min(part(&b, path) / total(&b))).sum();
        prop_assert!((actual.overlap - expect).abs() < 1e-9);
        let common: Vec<u64> = (0..6).filter(|path| a.contains_key(path) && b.contains_key(path)).collect();
        prop_assert_eq!(actual.common as usize, common.len());
        prop_assert_eq!(actual.sides[0].common_executions, Count(common.iter().map(|path| a[path]).sum()));
        prop_assert_eq!(actual.sides[1].common_executions, Count(common.iter().map(|path| b[path]).sum()));
        let swapped = compare(&second, &first);
        prop_assert!((swapped.overlap - actual.overlap).abs() < 1e-9);
        prop_assert_eq!([swapped.sides[1], swapped.sides[0]], actual.sides);
        let itself = compare(&first, &first);
        prop_assert!((itself.overlap - 1.0).abs() < 1e-9 && itself.differences.is_empty());
    }
}
