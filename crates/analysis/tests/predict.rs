//! Tests of the paths predicted from an edge profile, and of their comparison with the paths that
//! ran.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use build::{SLIDE_FIRST, SLIDE_SECOND, fact, function, run_of, slide};
use holloway_analysis::paths::{instructions, regenerate};
use holloway_analysis::predict::{Prediction, predict_paths, prediction};
use holloway_analysis::{Function, RunProfile};
use holloway_flow::PathId;
use holloway_format::{Count, FunctionMap, Outcome};
use holloway_testkit::build;
use proptest::prelude::*;

fn predicted(function: &Function) -> Vec<(u64, u64)> {
    let paths = predict_paths(function).into_iter();
    paths.map(|path| (path.path.0, path.count.0)).collect()
}

fn predict_all(run: &RunProfile) -> Prediction {
    prediction(run, &|_| true)
}

/// The slides of Ball and Larus about PP, "why paths": two path profiles with one edge profile.
/// Following the heaviest edges predicts ACDEF (1), the hottest path of neither.
#[test]
fn pp_slides_the_heaviest_edges_predict_acdef() {
    let (first, second) = (run_of(slide(), SLIDE_FIRST), run_of(slide(), SLIDE_SECOND));
    let expect = [(1, 150), (2, 100), (4, 10), (5, 10)];
    assert_eq!(predicted(&first.functions[0]), expect);
    assert_eq!(predicted(&second.functions[0]), expect);
    // ACDEF ran 60 and 40 times. ABDF and ABDEF ran 20 times each, and are predicted 10 times each.
    let (first, second) = (predict_all(&first), predict_all(&second));
    assert_eq!(
        (first.right.executions, second.right.executions),
        (Count(70), Count(50))
    );
    assert_eq!((first.right.paths, second.right.paths), (2, 2));
    assert_eq!(first.right.edges.executed, 60 * 5 + 10 * 4);
    assert_eq!((first.hottest_right, second.hottest_right), (0, 0));
    assert_eq!(first.real.executions, Count(270));
    assert_eq!(first.predicted.executions, Count(270));
    // So two of the four different paths are predicted right, and 70 of 270 executions. The slides'
    // "correct" is the share of paths.
    assert_eq!((first.real.paths, first.predicted.paths), (4, 4));
}

/// The lengths are 4 edges for ACDF, 5 for ACDEF, 6 for ABCDEF, and 4 for ABDF, including the edge
/// out of F.
#[test]
fn lengths_are_weighted_by_paths_and_by_executions() {
    let real = predict_all(&run_of(slide(), SLIDE_FIRST)).real;
    assert_eq!((real.edges.longest, real.edges.sum), (6, 4 + 5 + 6 + 4));
    assert_eq!(real.edges.executed, 90 * 4 + 60 * 5 + 100 * 6 + 20 * 4);
    assert_eq!(
        (real.instructions.longest, real.instructions.sum),
        (13, 6 + 10 + 13 + 8)
    );
    assert_eq!(real.instructions.executed, 2600);
}

/// A single path is always predicted right.
#[test]
fn a_function_with_one_path_is_right() {
    let prediction = predict_all(&run_of(slide(), &[(3, 7)]));
    assert_eq!(
        (prediction.right.executions, prediction.hottest_right),
        (Count(7), 1)
    );
    assert_eq!(prediction.real, prediction.predicted);
}

#[test]
fn functions_with_edge_counters_are_not_compared() {
    let run = run_of(fact().edges(), &[(0, 3)]);
    assert!(run.functions[0].ran());
    assert_eq!(predict_all(&run), Prediction::default());
    assert!(predict_paths(&run.functions[0]).is_empty());
}

#[test]
fn the_search_ends_if_sums_saturate() {
    let run = run_of(slide(), &[(0, u64::MAX), (1, u64::MAX), (5, u64::MAX)]);
    assert!(!predict_paths(&run.functions[0]).is_empty());
}

/// A loop of branches. Paths begin at the entry or at the loop head, and end with a back edge or at
/// the exit.
fn branches() -> FunctionMap {
    let mut build = function("f", "f.c", 1);
    for block in 0..7 {
        build = build.block(block + 1, &[]);
    }
    build
        .block(0, &[])
        .edge(0, 1, Outcome::Jump)
        .edge(1, 2, Outcome::True)
        .edge(1, 3, Outcome::False)
        .edge(2, 4, Outcome::Jump)
        .edge(3, 4, Outcome::Jump)
        .edge(4, 5, Outcome::True)
        .edge(4, 6, Outcome::False)
        .edge(5, 1, Outcome::Jump)
        .left(5)
        .edge(6, 1, Outcome::True)
        .edge(6, 7, Outcome::Return)
        .done()
}

proptest! {
    #[test]
    fn a_prediction_has_the_edge_counts_that_it_was_made_from(counts in prop::collection::btree_map(0u64..30, 1u64..1000, 0..12)) {
        let map = branches();
        let counts: Vec<(u64, u64)> = counts.into_iter().filter(|&(path, _)| path < map.path_count).collect();
        let run = run_of(map.clone(), &counts);
        let function = &run.functions[0];
        let paths = predict_paths(function);
        // The edges follow from the execution counts of the run, not from its counters.
        let edges_of = |paths: &[(PathId, Count)]| {
            let mut edges = vec![Count(0); map.dag.len()];
            for &(path, count) in paths {
                let path = regenerate(function, path).unwrap();
                for edge in path.edges.iter().chain([&path.end.edge()]) {
                    edges[edge.index()] += count;
                }
            }
            edges
        };
        prop_assert_eq!(edges_of(&paths.iter().map(|path| (path.path, path.count)).collect::<Vec<_>>()), edges_of(&function.counts));
        prop_assert!(paths.len() <= map.dag.len());
        for path in &paths {
            let regenerated = regenerate(function, path.path).unwrap();
            prop_assert_eq!(path.instructions, instructions(function, &regenerated));
            prop_assert_eq!(path.edges as usize, regenerated.edges.len() + 1);
            prop_assert!(path.count > Count(0));
        }
        let prediction = predict_all(&run);
        prop_assert_eq!(prediction.real.executions, prediction.predicted.executions);
        prop_assert!(prediction.right.executions <= prediction.real.executions);
        prop_assert_eq!(prediction.real.edges.executed, prediction.predicted.edges.executed);
        prop_assert_eq!(prediction.real.instructions.executed, prediction.predicted.instructions.executed);
    }
}
