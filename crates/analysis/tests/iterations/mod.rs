//! Tests of iteration counts against random walks through graphs: an iteration begins where the
//! body begins.

use std::collections::BTreeMap;

use holloway_abi::Kind;
use holloway_analysis::RunProfile;
use holloway_analysis::loops::shape::{self, Finding};
use holloway_analysis::loops::{Limits, LoopsBuilder, LoopsRun, seal};
use holloway_analysis::stream::Words;
use holloway_flow::{PathEnd, PathId, PathStart};
use holloway_format::{
    Count, FunctionIndex, FunctionMap, LoopMap, LoopsHead, Outcome, Place, ProcessImage,
};

use crate::build::{function, image, module, numbering_of, profile};
use crate::streams::placed;

/// A function with these blocks, given by their lines, and these edges. The first block is the
/// entry, the last block the exit. Of two edges from one block, the first is True, the second
/// False.
fn graph(blocks: &[&[u32]], edges: &[(u32, u32)]) -> FunctionMap {
    let last = blocks.len() as u32 - 1;
    let mut build = function("graph", "graph.c", 1);
    for lines in blocks {
        let places: Vec<(u32, u32)> = lines.iter().map(|&line| (0, line)).collect();
        build = build.block(lines.len() as u32, &places);
    }
    for &(from, to) in edges {
        let mut out = edges.iter().filter(|edge| edge.0 == from);
        let is_first = out.next() == Some(&(from, to));
        let outcome = match (is_first, out.next().is_some()) {
            _ if to == last => Outcome::Return,
            (true, false) => Outcome::Jump,
            (true, true) => Outcome::True,
            (false, _) => Outcome::False,
        };
        build = build.edge(from, to, outcome);
    }
    build.done()
}

/// Adds to the map that the keyword of the loop at `head` is on this line.
fn keyword(mut map: FunctionMap, head: u32, line: u32) -> FunctionMap {
    let start = Place {
        scope: 0,
        line,
        column: 3,
    };
    map.loops.push(LoopMap {
        head,
        start: Some(start),
        copies: 1,
        peeled: 0,
        vectorized: false,
        must_progress: true,
    });
    map
}

/// Random walks from entry to exit.
fn walks(map: &FunctionMap, mut seed: u64) -> Vec<Vec<u32>> {
    let mut next = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed >> 33) as usize % below
    };
    let walk = |_| {
        let mut walk = vec![map.entry];
        while *walk.last().unwrap() != map.exit {
            let out = map
                .edges
                .iter()
                .filter(|edge| Some(&edge.from) == walk.last());
            let out: Vec<u32> = out.map(|edge| edge.to).collect();
            walk.push(out[next(out.len())]);
        }
        walk
    };
    (0..40).map(walk).collect()
}

/// A run whose activations take these walks.
fn run(map: &FunctionMap, walks: &[Vec<u32>]) -> LoopsRun {
    let image = placed(vec![map.clone()], Kind::Loops);
    let map = image.function(FunctionIndex::default()).unwrap();
    let numbering = numbering_of(map);
    let mut paths: BTreeMap<(Vec<u32>, u32, bool), u32> = BTreeMap::new();
    for number in 0..map.path_count {
        let path = numbering.regenerate(PathId(number)).unwrap();
        let (PathEnd::Back(edge) | PathEnd::Cut(edge) | PathEnd::Exit(edge)) = path.end;
        let blocks = path.blocks.iter().map(|block| block.0).collect();
        let is_first = path.start == PathStart::Entry;
        paths.insert(
            (blocks, map.edges[edge.index()].to, is_first),
            number as u32,
        );
    }
    let back = |from: u32, to: u32| {
        map.dag.iter().any(|edge| match edge.kind {
            holloway_format::DagKind::Back(edge) => {
                let edge = map.edges[edge as usize];
                (edge.from, edge.to) == (from, to)
            }
            _ => false,
        })
    };
    let words = Words::new(&image);
    let first = words.function(0).first;
    let mut builder = LoopsBuilder::new(words, 8, Limits::default());
    let mut stream = Vec::new();
    for walk in walks {
        let (mut path, mut is_first) = (Vec::new(), true);
        for step in walk.windows(2) {
            path.push(step[0]);
            if step[1] == map.exit || back(step[0], step[1]) {
                let key = (std::mem::take(&mut path), step[1], is_first);
                stream.push(first + paths[&key]);
                is_first = false;
            }
        }
    }
    builder.feed(0, &stream);
    let head = LoopsHead {
        process: ProcessImage {
            build_id: image.build_id,
            ..ProcessImage::default()
        },
        ..LoopsHead::default()
    };
    let counts = builder.stream_counts();
    let sealed = seal(head, &Words::new(&image), &builder.finish(), counts);
    LoopsRun::new(vec![((*image).clone(), vec![sealed])])
}

/// Checks that the loop at `head` has one iteration for each of the steps `begins` in the walks,
/// and one execution for each walk with such a step.
#[track_caller]
fn check(map: &FunctionMap, head: u32, begins: &[(u32, u32)]) {
    for seed in [0x9E37_79B9, 0x51_7CC1_B727, 77] {
        let walks = walks(map, seed);
        let (mut iterations, mut executions) = (0, 0);
        for walk in &walks {
            let mut inside = false;
            for step in walk.windows(2) {
                if begins.contains(&(step[0], step[1])) {
                    iterations += 1;
                    executions += u64::from(!inside);
                    inside = true;
                }
            }
        }
        let run = run(map, &walks);
        let loops = shape::count(&run.run.functions[0]);
        let loop_count = loops.iter().find(|loop_count| loop_count.head == head);
        let counts = loop_count.map_or((0, 0), |loop_count| {
            (loop_count.executions.0, loop_count.iterations.0)
        });
        assert_eq!(counts, (executions, iterations), "seed {seed}");
        assert!(iterations > 0);
    }
}

/// A loop with its test at the top. The body is on a later line than the test.
fn at_the_top() -> FunctionMap {
    graph(
        &[&[1], &[2], &[3], &[4], &[]],
        &[(0, 1), (1, 2), (1, 3), (2, 1), (3, 4)],
    )
}

/// The same loop with the test at the end of the body and a copy of the test before the loop.
fn rotated() -> FunctionMap {
    graph(
        &[&[1, 2], &[3, 2], &[4], &[]],
        &[(0, 1), (0, 2), (1, 1), (1, 2), (2, 3)],
    )
}

#[test]
fn a_test_at_the_top_is_no_iteration() {
    check(&at_the_top(), 1, &[(1, 2)]);
    check(&keyword(at_the_top(), 1, 2), 1, &[(1, 2)]);
    check(&rotated(), 1, &[(0, 1), (1, 1)]);
    check(&keyword(rotated(), 1, 2), 1, &[(0, 1), (1, 1)]);
}

#[test]
fn without_places_the_test_closest_to_the_head_decides() {
    let blind = |mut map: FunctionMap| {
        map.blocks.iter_mut().for_each(|block| block.places.clear());
        map.edges.iter_mut().for_each(|edge| edge.place = None);
        map
    };
    check(&blind(at_the_top()), 1, &[(1, 2)]);
    check(&blind(rotated()), 1, &[(0, 1), (1, 1)]);
}

/// A loop with two tests and code between them. Block 1 is the head, 2 the body; either test leaves
/// the loop. The tests are on lines a and b.
fn two_tests(a: u32, b: u32) -> FunctionMap {
    graph(
        &[&[1], &[a], &[b], &[9], &[]],
        &[(0, 1), (1, 3), (1, 2), (2, 1), (2, 3), (3, 4)],
    )
}

#[test]
fn places_decide_which_of_two_tests_is_the_condition() {
    let (all, passed) = ([(0, 1), (2, 1)], [(1, 2)]);
    // `do { if (x) break; … } while (c);`, the `do` on line 2.
    check(&keyword(two_tests(3, 5), 1, 2), 1, &all);
    // `while (c) { if (x) break; … }`, rotated.
    check(&keyword(two_tests(6, 5), 1, 5), 1, &all);
    // `while (c) { …; if (x) break; }`.
    check(&keyword(two_tests(3, 5), 1, 3), 1, &passed);
    // Without a keyword, the first line decides.
    check(&two_tests(3, 5), 1, &passed);
    check(&two_tests(5, 3), 1, &all);
    // `for (;;) { if (x) break; …; if (c) break; }`: it has a keyword, but need not end
    // (`must_progress`).
    let mut endless = keyword(two_tests(3, 5), 1, 2);
    endless.loops[0].must_progress = false;
    check(&endless, 1, &passed);
}

#[test]
fn tests_of_one_condition_belong_together() {
    let blocks: [&[u32]; 6] = [&[1], &[2], &[2], &[3], &[9], &[]];
    let edges = [(0, 1), (1, 4), (1, 2), (2, 4), (2, 3), (3, 1), (4, 5)];
    check(&graph(&blocks, &edges), 1, &[(2, 3)]);
    // The first test after the body: `a && b`, rotated.
    let blocks: [&[u32]; 5] = [&[1, 2], &[2], &[3, 2], &[9], &[]];
    let edges = [(0, 1), (0, 3), (1, 3), (1, 2), (2, 1), (2, 3), (3, 4)];
    check(&graph(&blocks, &edges), 1, &[(1, 2)]);
    // `a || b`: either test leads to the body.
    let blocks: [&[u32]; 6] = [&[1], &[2], &[2], &[3], &[9], &[]];
    let edges = [(0, 1), (1, 3), (1, 2), (2, 4), (2, 3), (3, 1), (4, 5)];
    check(&graph(&blocks, &edges), 1, &[(1, 3), (2, 3)]);
    check(&keyword(graph(&blocks, &edges), 1, 2), 1, &[(1, 3), (2, 3)]);
}

#[test]
fn a_break_out_of_the_body_ends_an_iteration() {
    let blocks: [&[u32]; 7] = [&[1], &[2], &[3], &[4], &[5], &[9], &[]];
    // Block 2 may `break`. Block 3, which follows, may `continue`.
    let edges = [
        (0, 1),
        (1, 5),
        (1, 2),
        (2, 5),
        (2, 3),
        (3, 1),
        (3, 4),
        (4, 1),
        (5, 6),
    ];
    check(&graph(&blocks, &edges), 1, &[(1, 2)]);
    check(&keyword(graph(&blocks, &edges), 1, 2), 1, &[(1, 2)]);
}

#[test]
fn a_panic_is_no_test() {
    // `loop { assert!(…); …; if c { break } }`
    let blocks: [&[u32]; 6] = [&[1], &[2], &[3], &[9], &[2], &[]];
    let edges = [(0, 1), (1, 4), (1, 2), (2, 1), (2, 3), (3, 5), (4, 5)];
    let mut map = graph(&blocks, &edges);
    map.edges[6].outcome = Outcome::Noreturn;
    check(&map, 1, &[(0, 1), (2, 1)]);
}

#[test]
fn inner_loops_do_not_decide_for_outer_loops() {
    // 1 and 2 are heads; 3 leaves both loops.
    let blocks: [&[u32]; 7] = [&[1], &[2], &[3], &[4], &[5], &[9], &[]];
    let edges = [
        (0, 1),
        (1, 5),
        (1, 2),
        (2, 4),
        (2, 3),
        (3, 5),
        (3, 2),
        (4, 1),
        (5, 6),
    ];
    check(&graph(&blocks, &edges), 1, &[(1, 2)]);
    // A loop that ends only if the inner loop breaks out of both.
    let edges = [
        (0, 1),
        (1, 2),
        (2, 4),
        (2, 3),
        (3, 5),
        (3, 2),
        (4, 1),
        (5, 6),
    ];
    check(&graph(&blocks, &edges), 1, &[(0, 1), (4, 1)]);
    // The outer head 1 leads only to the inner loop, which is block 2 alone. The inner loop's test
    // does not leave the outer loop, so it is no condition.
    let blocks: [&[u32]; 6] = [&[1], &[2], &[2], &[3], &[9], &[]];
    let edges = [(0, 1), (1, 2), (2, 2), (2, 3), (3, 1), (3, 4), (4, 5)];
    check(&graph(&blocks, &edges), 1, &[(0, 1), (3, 1)]);
}

#[test]
fn blocks_of_only_jumps_are_no_body() {
    // `loop { …; if c { break } }` without rotation: 2 jumps back.
    let blocks: [&[u32]; 5] = [&[1], &[2, 3], &[], &[9], &[]];
    let edges = [(0, 1), (1, 3), (1, 2), (2, 1), (3, 4)];
    check(&graph(&blocks, &edges), 1, &[(0, 1), (2, 1)]);
    // A head that consists only of a jump.
    let blocks: [&[u32]; 6] = [&[1], &[], &[3], &[4, 2], &[9], &[]];
    let edges = [(0, 1), (1, 2), (2, 2), (2, 3), (3, 1), (3, 4), (4, 5)];
    check(&keyword(graph(&blocks, &edges), 1, 2), 1, &[(0, 1), (3, 1)]);
}

#[test]
fn inlined_tests_have_the_line_of_their_call() {
    // The test is at a later line of another function, which is called on line 2.
    let mut map = at_the_top();
    map.scopes.push(holloway_format::Scope {
        parent: Some(0),
        call_line: 2,
        call_column: 14,
        ..map.scopes[0].clone()
    });
    for edge in map.edges.iter_mut().filter(|edge| edge.from == 1) {
        edge.place = Some(Place {
            scope: 1,
            line: 700,
            column: 1,
        });
    }
    check(&map, 1, &[(1, 2)]);
    let mut map = two_tests(6, 5);
    map.scopes.push(holloway_format::Scope {
        parent: Some(0),
        call_line: 2,
        call_column: 14,
        ..map.scopes[0].clone()
    });
    for edge in map.edges.iter_mut().filter(|edge| edge.from == 2) {
        edge.place = Some(Place {
            scope: 1,
            line: 700,
            column: 1,
        });
    }
    check(&map, 1, &[(0, 1), (2, 1)]);
}

#[test]
fn a_loop_with_two_entries_counts_runs_of_its_head() {
    let blocks: [&[u32]; 5] = [&[1], &[2], &[3], &[9], &[]];
    let edges = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 1), (2, 3), (3, 4)];
    let map = graph(&blocks, &edges);
    let walks = walks(&map, 5);
    let run = run(&map, &walks);
    for one in shape::count(&run.run.functions[0]) {
        let ran = walks.iter().flatten().filter(|block| **block == one.head);
        assert_eq!(one.iterations, Count(ran.count() as u64));
    }
}

#[test]
fn trips_are_iterations() {
    for map in [at_the_top(), rotated()] {
        for trips in 2..6 {
            let body = if map.blocks.len() == 5 {
                [1, 2].repeat(trips)
            } else {
                [1].repeat(trips)
            };
            let end: &[u32] = if map.blocks.len() == 5 {
                &[1, 3, 4]
            } else {
                &[2, 3]
            };
            let walk = [&[0], &body[..], end].concat();
            let run = run(&map, &vec![walk; 20]);
            let function = &run.run.functions[0];
            let one = &shape::count(function)[0];
            assert_eq!(
                (one.executions, one.iterations),
                (Count(20), Count(20 * trips as u64))
            );
            assert_eq!(one.starts(), Count(20 * (trips as u64 - 1)));
            let kipf = run.functions[0].for_loops(&[one], 100);
            let expect = Finding::Trips {
                turns: trips as u32,
                share: 1000,
            };
            assert!(one.findings(function, &kipf).contains(&expect), "{trips}");
        }
    }
}

/// Counts come from files, and files may be damaged.
#[test]
fn counts_that_overflow_stay_at_the_maximum() {
    let map = graph(
        &[&[1], &[2], &[3], &[4], &[5], &[]],
        &[(0, 1), (1, 2), (1, 4), (2, 3), (2, 1), (3, 1), (4, 5)],
    );
    let numbering = numbering_of(&map);
    let goes_round = |number: &u64| {
        let path = numbering.regenerate(PathId(*number)).unwrap();
        matches!(path.end, PathEnd::Back(_))
    };
    let numbers = (0..map.path_count).filter(goes_round);
    let counts: Vec<(u64, u64)> = numbers.map(|number| (number, u64::MAX)).collect();
    let app = image("app", vec![module("a", vec![map])]);
    let profile = profile(&app, 1, &[(0, 0, &counts)]);
    let run = RunProfile::new(vec![(app, vec![profile])]);
    let found = shape::count(&run.functions[0]);
    // There are two ways around the loop. A path along either may also come from before the loop.
    assert_eq!(found[0].turns.len(), 2);
    assert_eq!(found[0].starts(), Count(u64::MAX));
    assert_eq!(found[0].iterations, Count(u64::MAX));
}
