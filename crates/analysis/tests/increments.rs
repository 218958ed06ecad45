//! The sum of the values along a path, and the sum of the increments, are the number of the path.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use holloway_analysis::increments::{Increment, Increments};
use holloway_analysis::paths::regenerate;
use holloway_format::{FunctionMap, Outcome, PathId};
use holloway_testkit::build::{function, run_of, slide};

/// A loop with a branch in it.
fn looping() -> FunctionMap {
    function("looping", "a.c", 1)
        .block(1, &[(0, 1)])
        .block(1, &[(0, 2)])
        .block(1, &[(0, 3)])
        .block(1, &[(0, 4)])
        .block(1, &[(0, 5)])
        .block(0, &[])
        .edge(0, 1, Outcome::Jump)
        .edge(1, 2, Outcome::True)
        .edge(1, 3, Outcome::False)
        .edge(2, 4, Outcome::Jump)
        .edge(3, 4, Outcome::Jump)
        .edge(4, 1, Outcome::True)
        .edge(4, 5, Outcome::False)
        .done()
}

/// Checks all paths of a function. Returns the number of chords.
fn check(map: &FunctionMap) -> usize {
    let run = run_of(map.clone(), &[(0, 1)]);
    let function = &run.functions[0];
    let increments = Increments::new(&function.map, function.graph().unwrap());
    for number in 0..map.path_count {
        let path = regenerate(function, PathId(number)).unwrap();
        let along = increments.along(&function.map, &path);
        let values: u64 = along.iter().map(|term| term.value).sum();
        assert_eq!(values, number);
        let added = along.iter().map(|term| match term.increment {
            Increment::Chord(increment) => increment,
            Increment::Tree => 0,
            Increment::Unknown => panic!("the map marks the chords"),
        });
        assert_eq!(added.sum::<i64>(), number.cast_signed());
    }
    map.chords.len()
}

#[test]
fn sums_are_path_numbers() {
    // Nine edges and seven blocks, so six edges with EXIT→ENTRY are the tree.
    assert_eq!(check(&slide()), 4);
    // Paths that start at the loop head have an edge more: its start edge.
    assert_eq!(check(&looping()), looping().dag.len() - (6 - 2));
}

#[test]
fn a_back_edge_has_the_terms_of_both_paths() {
    let map = looping();
    let run = run_of(map.clone(), &[(0, 1)]);
    let function = &run.functions[0];
    let increments = Increments::new(&map, function.graph().unwrap());
    let ends = |edge: usize| {
        let terms = increments.edges[edge];
        (terms.before.is_some(), terms.after.is_some())
    };
    let all: Vec<_> = (0..map.edges.len()).map(ends).collect();
    let only_back_edge = |edge| (true, edge == 5);
    assert_eq!(all, (0..7).map(only_back_edge).collect::<Vec<_>>());
}

/// Maps of earlier versions do not mark the chords.
#[test]
fn increments_of_unmarked_maps_are_unknown() {
    let map = FunctionMap {
        chords: Vec::new(),
        ..slide()
    };
    let run = run_of(map, &[(0, 1)]);
    let function = &run.functions[0];
    let increments = Increments::new(&function.map, function.graph().unwrap());
    let terms = increments.edges.iter().filter_map(|terms| terms.before);
    assert!(
        terms
            .map(|term| term.increment)
            .all(|increment| increment == Increment::Unknown)
    );
}
