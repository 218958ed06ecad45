//! Counts of lines: small functions by hand, and random ones against a walk that sees every block.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod build;

use build::{function, image, module, profile, slide};
use holloway_analysis::RunProfile;
use holloway_analysis::lines::counts;
use holloway_flow::PathId;
use holloway_format::{FunctionMap, Outcome};

fn run_of(map: FunctionMap, counts: &[(u64, u64)]) -> RunProfile {
    let image = image("app", vec![module("a", vec![map])]);
    let profile = profile(&image, 1, &[(0, 0, counts)]);
    RunProfile::new(vec![(image, vec![profile])])
}

/// The number of the path with these blocks.
fn path(map: &FunctionMap, blocks: &[u32]) -> u64 {
    let numbering = build::number(map);
    let is = |path: &u64| {
        let path = numbering.regenerate(PathId(*path)).unwrap();
        path.blocks
            .iter()
            .map(|block| block.0)
            .eq(blocks.iter().copied())
    };
    (0..map.path_count).find(is).unwrap()
}

fn lines(map: FunctionMap, counts_of: &[(&[u32], u64)]) -> Vec<(String, u32, u64)> {
    let mut by_path: Vec<(u64, u64)> = counts_of
        .iter()
        .map(|(blocks, count)| (path(&map, blocks), *count))
        .collect();
    by_path.sort_unstable();
    let run = run_of(map, &by_path);
    let files = counts(&run, &|_, _| true);
    files
        .into_iter()
        .flat_map(|(file, lines)| {
            lines
                .into_iter()
                .map(move |(line, count)| (file.clone(), line, count))
        })
        .collect()
}

fn check_lines(map: FunctionMap, counts_of: &[(&[u32], u64)], expect: &[(&str, u32, u64)]) {
    let found = lines(map, counts_of);
    let found: Vec<_> = found
        .iter()
        .map(|(file, line, count)| (file.as_str(), *line, *count))
        .collect();
    assert_eq!(found, expect);
}

/// `while (*p) p++;` on one line, then a return: b0 before, b1 the loop, b2 after.
#[test]
fn a_loop_on_one_line_counts_its_rounds() {
    let map = function("f", "f.c", 1)
        .block(1, &[(0, 2)])
        .block(2, &[(0, 3)])
        .block(1, &[(0, 4)])
        .block(0, &[])
        .edge(0, 1, Outcome::Jump)
        .edge(1, 1, Outcome::True)
        .edge(1, 2, Outcome::False)
        .edge(2, 3, Outcome::Return)
        .done();
    check_lines(
        map,
        &[(&[0, 1], 5), (&[1], 15), (&[1, 2], 5)],
        &[("f.c", 2, 5), ("f.c", 3, 25), ("f.c", 4, 5)],
    );
}

/// `for (i = 0; i < n; i++)` on line 2, body on line 3: initialisation, test and step are three blocks of one line.
#[test]
fn a_for_line_counts_its_tests() {
    let map = function("f", "f.c", 1)
        .block(1, &[(0, 2)])
        .block(2, &[(0, 2)])
        .block(3, &[(0, 3)])
        .block(1, &[(0, 2)])
        .block(1, &[(0, 4)])
        .block(0, &[])
        .edge(0, 1, Outcome::Jump)
        .edge(1, 2, Outcome::True)
        .edge(1, 4, Outcome::False)
        .edge(2, 3, Outcome::Jump)
        .edge(3, 1, Outcome::Jump)
        .edge(4, 5, Outcome::Return)
        .done();
    // One call with ten rounds: eleven tests; step and test are one coming to the line.
    let counts: &[(&[u32], u64)] = &[(&[0, 1, 2, 3], 1), (&[1, 2, 3], 9), (&[1, 4], 1)];
    check_lines(
        map,
        counts,
        &[("f.c", 2, 11), ("f.c", 3, 10), ("f.c", 4, 1)],
    );
}

/// `x = c ? f() : g(); y();` all on one line counts once, through a block without places too.
#[test]
fn branches_inside_a_line_count_once() {
    let map = function("f", "f.c", 1)
        .block(1, &[(0, 2)])
        .block(1, &[(0, 2)])
        .block(1, &[])
        .block(1, &[(0, 2), (0, 3)])
        .block(0, &[])
        .edge(0, 1, Outcome::True)
        .edge(0, 2, Outcome::False)
        .edge(1, 3, Outcome::Jump)
        .edge(2, 3, Outcome::Jump)
        .edge(3, 4, Outcome::Return)
        .done();
    check_lines(
        map,
        &[(&[0, 1, 3], 3), (&[0, 2, 3], 4)],
        &[("f.c", 2, 7), ("f.c", 3, 7)],
    );
}

/// `a(); p = fork();` on lines 2 and 3, `b();` on line 4: the child comes back on line 3, where it was never called.
#[test]
fn a_fork_comes_back_twice_on_its_line() {
    let map = function("f", "f.c", 1)
        .block(2, &[(0, 2), (0, 3)])
        .block(2, &[(0, 3), (0, 4)])
        .block(0, &[])
        .edge(0, 1, Outcome::Returned)
        .left(0)
        .edge(1, 2, Outcome::Return)
        .done();
    let counters: &[(&[u32], u64)] = &[(&[0], 1), (&[0, 1], 2)];
    let expect = [("f.c", 2, 1), ("f.c", 3, 2), ("f.c", 4, 2)];
    check_lines(map, counters, &expect);
}

/// `if (setjmp(b))` on line 3, the rest on line 4: three jumps come back to line 3.
#[test]
fn a_setjmp_counts_its_returns() {
    let map = function("f", "f.c", 1)
        .block(2, &[(0, 2), (0, 3)])
        .block(2, &[(0, 3), (0, 4)])
        .block(1, &[(0, 4)])
        .block(0, &[])
        .edge(0, 1, Outcome::Again)
        .cut()
        .edge(1, 2, Outcome::Jump)
        .left(1)
        .edge(2, 3, Outcome::Return)
        .done();
    let counters: &[(&[u32], u64)] = &[(&[0], 1), (&[1], 4), (&[1, 2], 4)];
    let expect = [("f.c", 2, 1), ("f.c", 3, 4), ("f.c", 4, 4)];
    check_lines(map, counters, &expect);
}

/// A call inlined on line 2, with a loop in it: the line of the call counts once a call, the callee's lines their rounds.
#[test]
fn inlined_code_counts_at_its_own_line_and_at_the_call() {
    let map = function("f", "f.c", 1)
        .inlined("g", "g.h", 0, 2)
        .block(1, &[(1, 10)])
        .block(1, &[(1, 11)])
        .block(1, &[(0, 2), (0, 3)])
        .block(0, &[])
        .edge(0, 1, Outcome::Jump)
        .edge(1, 1, Outcome::True)
        .edge(1, 2, Outcome::False)
        .edge(2, 3, Outcome::Return)
        .done();
    let counts: &[(&[u32], u64)] = &[(&[0, 1], 2), (&[1], 6), (&[1, 2], 2)];
    let expect = [
        ("f.c", 2, 2),
        ("f.c", 3, 2),
        ("g.h", 10, 2),
        ("g.h", 11, 10),
    ];
    check_lines(map, counts, &expect);
}

#[test]
fn code_that_never_ran_counts_zero() {
    check_lines(
        slide(),
        &[(&[0, 2, 3, 5], 4)],
        &[
            ("slide.c", 2, 4),
            ("slide.c", 3, 0),
            ("slide.c", 5, 4),
            ("slide.c", 7, 4),
            ("slide.c", 8, 0),
            ("slide.c", 10, 4),
        ],
    );
}
