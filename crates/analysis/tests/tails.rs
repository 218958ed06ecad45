//! Tests which paths are found whose blocks should be copied.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::sync::Arc;

use build::{function, path_number, run_of};
use holloway_abi::Kind;
use holloway_analysis::branches::PreviousPaths;
use holloway_analysis::loops::{Limits, LoopsBuilder, LoopsRun, seal};
use holloway_analysis::stream::Words;
use holloway_analysis::tails::{candidates, tails};
use holloway_format::{Count, FunctionMap, ImageMap, LoopsHead, Outcome, ProcessImage};
use holloway_testkit::build;
use holloway_testkit::streams::placed;

/// b0 leads to b1 or b2, both lead to b3, and b3 leads to b4 or b5. `size` is that of b3.
fn join(size: u32) -> FunctionMap {
    let build = function("f", "f.c", 1);
    let build = [1, 1, 1, size, 1, 1]
        .into_iter()
        .fold(build, |build, size| build.block(size, &[]));
    build
        .block(0, &[])
        .edge(0, 1, Outcome::True)
        .edge(0, 2, Outcome::False)
        .edge(1, 3, Outcome::Jump)
        .edge(2, 3, Outcome::Jump)
        .edge(3, 4, Outcome::True)
        .edge(3, 5, Outcome::False)
        .edge(4, 6, Outcome::Return)
        .edge(5, 6, Outcome::Return)
        .done()
}

/// The tails of runs of `join` with these executions: b1 b4, b1 b5, b2 b4, b2 b5.
fn tails_of_join(size: u32, executions: [u64; 4], least: u64) -> Vec<(Vec<usize>, u64)> {
    let map = join(size);
    let paths = [[0, 1, 3, 4], [0, 1, 3, 5], [0, 2, 3, 4], [0, 2, 3, 5]];
    let numbers = paths.map(|path| path_number(&map, &path));
    let mut counters: Vec<(u64, u64)> = numbers.into_iter().zip(executions).collect();
    counters.retain(|(_, count)| *count > 0);
    counters.sort_unstable();
    let run = run_of(map, &counters);
    let tails = tails(&run, &PreviousPaths::default(), Count(least));
    tails
        .into_iter()
        .map(|tail| (tail.edges, tail.count.0))
        .collect()
}

#[test]
fn the_way_to_a_join_decides_its_branch() {
    // The window 1→3 leaves nothing open for the executions from b2.
    let expect = vec![(vec![2, 4], 50)];
    assert_eq!(tails_of_join(10, [50, 0, 0, 50], 10), expect);
    // Another outcome is a line, too.
    let expect = vec![(vec![2, 4], 900), (vec![2, 5], 100)];
    assert_eq!(tails_of_join(10, [900, 100, 100, 900], 10), expect);
}

#[test]
fn a_copy_must_save_enough() {
    let check = |size, executions, least, expect| {
        let found = !tails_of_join(size, executions, least).is_empty();
        assert_eq!(found, expect, "{size} {executions:?} {least}");
    };
    check(10, [50, 50, 50, 50], 1, false);
    check(10, [50, 0, 50, 0], 1, false);
    check(0, [50, 0, 0, 50], 50, true);
    check(0, [50, 0, 0, 50], 51, false);
    // 64 instructions double the price.
    check(64, [50, 0, 0, 50], 25, true);
    check(65, [50, 0, 0, 50], 26, false);
    // Less than four fifths go one way.
    check(10, [75, 25, 25, 75], 1, false);
    check(10, [80, 20, 20, 80], 1, true);
}

#[test]
fn functions_with_an_open_branch_are_candidates() {
    let map = join(1);
    let counters = [
        (path_number(&map, &[0, 1, 3, 4]), 30),
        (path_number(&map, &[0, 2, 3, 5]), 70),
    ];
    let run = run_of(map, &counters);
    assert_eq!(candidates(&run, Count(30)), ["f".into()].into());
    assert_eq!(candidates(&run, Count(31)), [].into());
}

/// The head b1 of a loop leads to b2 or b3, both lead to b4, and b4 leads back or out.
fn alternating_loop() -> FunctionMap {
    let build = (0..5).fold(function("f", "f.c", 1), |build, _| build.block(1, &[]));
    build
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

fn loops_run(image: &Arc<ImageMap>, paths: &[u64]) -> LoopsRun {
    let words = Words::new(image);
    let first = words.functions().next().unwrap().first;
    let mut builder = LoopsBuilder::new(Words::new(image), 4, Limits::default());
    let stream: Vec<u32> = paths.iter().map(|path| first + *path as u32).collect();
    builder.feed(0, &stream);
    let process = ProcessImage {
        build_id: image.build_id,
        ..ProcessImage::default()
    };
    let head = LoopsHead {
        process,
        ..LoopsHead::default()
    };
    let counts = builder.stream_counts();
    let profile = seal(head, &words, &builder.finish(), counts);
    LoopsRun::new(vec![((**image).clone(), vec![profile])])
}

#[test]
fn a_loop_with_a_period_is_unrolled() {
    let map = alternating_loop();
    let numbering = build::compute_numbering(&map);
    let find = |blocks: &[u32], leaves: bool| {
        let is_wanted = |id: &u64| {
            let path = numbering.regenerate(holloway_flow::PathId(*id)).unwrap();
            let same = path
                .blocks
                .iter()
                .map(|block| block.0)
                .eq(blocks.iter().copied());
            same && matches!(path.end, holloway_flow::PathEnd::Exit(_)) == leaves
        };
        (0..map.path_count).find(is_wanted).unwrap()
    };
    let image = placed(vec![map.clone()], Kind::Loops);
    let (left, right) = (find(&[1, 2, 4], false), find(&[1, 3, 4], false));
    let mut paths = vec![find(&[0, 1, 2, 4], false)];
    paths.extend([right, left].repeat(100));
    paths.push(find(&[1, 3, 4], true));
    let run = loops_run(&image, &paths);
    let mut previous = PreviousPaths::default();
    previous.add_loops(&run);
    let found = tails(&run.run, &previous, Count(10));
    // After b2, the copies of b4 and b1 lead to b3.
    let found: Vec<(Vec<usize>, u64)> = found.into_iter().map(|t| (t.edges, t.count.0)).collect();
    let expect = [(vec![3, 5], 101), (vec![3, 5, 2], 101)];
    assert_eq!(found, expect);
    // Without the order of paths, nothing is known.
    assert_eq!(tails(&run.run, &PreviousPaths::default(), Count(10)), []);
}
