//! Tests of line counts: small functions made by hand, and random functions compared with a walk
//! that visits every block.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use build::{
    Build, count_edges, function, image, mangled, module, path_number, profile, run_of, slide,
};
use holloway_analysis::RunProfile;
use holloway_analysis::bounds::Bound;
use holloway_analysis::glue_lines::glue_lines;
use holloway_analysis::lines::{bounds, counts, frame_entries};
use holloway_format::{FunctionMap, Outcome};
use holloway_testkit::build;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Line counts of a run, by file and line. `edges` are the counts of all edges.
fn lines_of_edges(map: &FunctionMap, edges: &[u64]) -> BTreeMap<(String, u32), u64> {
    let counters = (0..).zip(&map.counted);
    let counters: Vec<(u64, u64)> = counters
        .map(|(counter, &edge)| (counter, edges[edge as usize]))
        .collect();
    line_counts(&run_of(map.clone(), &counters))
}

fn lines(map: FunctionMap, path_counts: &[(&[u32], u64)]) -> BTreeMap<(String, u32), u64> {
    let mut by_path: Vec<(u64, u64)> = path_counts
        .iter()
        .map(|(blocks, count)| (path_number(&map, blocks), *count))
        .collect();
    by_path.sort_unstable();
    line_counts(&run_of(map, &by_path))
}

fn line_counts(run: &RunProfile) -> BTreeMap<(String, u32), u64> {
    let files = counts(run, &|_, _| true).into_iter();
    let lines = files.flat_map(|(file, lines)| {
        let key = move |(line, count)| ((file.clone(), line), u64::from(count));
        lines.into_iter().map(key)
    });
    lines.collect()
}

fn check_lines(map: FunctionMap, path_counts: &[(&[u32], u64)], expect: &[(&str, u32, u64)]) {
    check(&lines(map, path_counts), expect);
}

fn check(actual: &BTreeMap<(String, u32), u64>, expect: &[(&str, u32, u64)]) {
    let actual: Vec<_> = actual
        .iter()
        .map(|((file, line), count)| (file.as_str(), *line, *count))
        .collect();
    assert_eq!(actual, expect);
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
        &[("f.c", 1, 5), ("f.c", 2, 5), ("f.c", 3, 25), ("f.c", 4, 5)],
    );
}

/// `for (i = 0; i < n; i++)` is on line 2, and the body is on line 3. Initialization, test, and
/// step are three blocks of one line.
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
    // One call with ten rounds runs eleven tests. Step and test together are one arrival at the
    // line.
    let counts: &[(&[u32], u64)] = &[(&[0, 1, 2, 3], 1), (&[1, 2, 3], 9), (&[1, 4], 1)];
    check_lines(
        map,
        counts,
        &[("f.c", 1, 1), ("f.c", 2, 11), ("f.c", 3, 10), ("f.c", 4, 1)],
    );
}

/// `x = c ? f() : g(); y();` all on one line counts once, even through a block without places.
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
        &[("f.c", 1, 7), ("f.c", 2, 7), ("f.c", 3, 7)],
    );
}

/// `a(); p = fork();` is on lines 2 and 3, and `b();` on line 4. The child comes back to line 3,
/// which still counts once, and continues to line 4.
#[test]
fn a_fork_comes_back_to_the_lines_after_it() {
    let map = function("f", "f.c", 1)
        .block(2, &[(0, 2), (0, 3)])
        .block(2, &[(0, 3), (0, 4)])
        .block(0, &[])
        .edge(0, 1, Outcome::Returned)
        .left(0)
        .edge(1, 2, Outcome::Return)
        .done();
    let counters: &[(&[u32], u64)] = &[(&[0], 1), (&[0, 1], 2)];
    let expect = [("f.c", 1, 1), ("f.c", 2, 1), ("f.c", 3, 1), ("f.c", 4, 2)];
    check_lines(map, counters, &expect);
}

/// `if (setjmp(b))` is on line 3, and the following code on line 4. Three jumps come back to line 3
/// and continue to line 4.
#[test]
fn a_setjmp_comes_back_to_the_lines_after_it() {
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
    let expect = [("f.c", 1, 1), ("f.c", 2, 1), ("f.c", 3, 1), ("f.c", 4, 4)];
    check_lines(map, counters, &expect);
}

/// A call with a loop is inlined on line 2. The line of the call counts the calls, and the lines of
/// the callee count the rounds of the loop.
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
        ("f.c", 1, 2),
        ("f.c", 2, 2),
        ("f.c", 3, 2),
        ("g.h", 1, 2),
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
            ("slide.c", 1, 4),
            ("slide.c", 2, 4),
            ("slide.c", 3, 0),
            ("slide.c", 5, 4),
            ("slide.c", 7, 4),
            ("slide.c", 8, 0),
            ("slide.c", 10, 4),
        ],
    );
}

/// `for (i = 0; i < 100; i++) if (i & 1) n++;` is on line 2. Control comes once from outside, and
/// takes 100 rounds along two routes.
#[test]
fn a_for_with_an_if_on_one_line_counts_its_tests() {
    let map = function("f", "f.c", 1)
        .block(1, &[(0, 2)])
        .block(2, &[(0, 2)])
        .block(2, &[(0, 2)])
        .block(1, &[(0, 2)])
        .block(1, &[(0, 2)])
        .block(1, &[(0, 3)])
        .block(0, &[])
        .edge(0, 1, Outcome::Jump)
        .edge(1, 2, Outcome::True)
        .edge(1, 5, Outcome::False)
        .edge(2, 3, Outcome::True)
        .edge(2, 4, Outcome::False)
        .edge(3, 4, Outcome::Jump)
        .edge(4, 1, Outcome::Jump)
        .edge(5, 6, Outcome::Return)
        .done();
    let counts: &[(&[u32], u64)] = &[
        (&[0, 1, 2, 4], 1),
        (&[1, 2, 3, 4], 50),
        (&[1, 2, 4], 49),
        (&[1, 5], 1),
    ];
    let expect = [("f.c", 1, 1), ("f.c", 2, 101), ("f.c", 3, 1)];
    check_lines(map, counts, &expect);
}

/// `while (c)` is on line 2, and `if (d) continue;` on lines 3 and 4. The jump of `continue` is on
/// line 4, and the jump at the loop's end is on line 2.
#[test]
fn a_block_is_on_the_line_of_its_jump() {
    let map = function("f", "f.c", 1)
        .block(0, &[])
        .block(1, &[(0, 2)])
        .block(1, &[(0, 3)])
        .block(0, &[])
        .block(1, &[(0, 5)])
        .block(1, &[(0, 6)])
        .block(0, &[])
        .edge(0, 1, Outcome::Jump)
        .edge(1, 2, Outcome::True)
        .edge(1, 5, Outcome::False)
        .edge(2, 3, Outcome::True)
        .edge(2, 4, Outcome::False)
        .edge(3, 1, Outcome::Jump)
        .at(0, 4)
        .edge(4, 1, Outcome::Jump)
        .at(0, 2)
        .edge(5, 6, Outcome::Return)
        .done();
    let counts: &[(&[u32], u64)] = &[
        (&[0, 1, 2, 3], 1),
        (&[1, 2, 3], 3),
        (&[1, 2, 4], 6),
        (&[1, 5], 1),
    ];
    let expect = [
        ("f.c", 1, 1),
        ("f.c", 2, 11),
        ("f.c", 3, 10),
        ("f.c", 4, 4),
        ("f.c", 5, 6),
        ("f.c", 6, 1),
    ];
    check_lines(map, counts, &expect);
}

/// `if (a) {` on line 2, an arm on line 3, `} else if (b) {` on line 4, an arm on line 5. The jump
/// that ends the first arm is in column `jump` of line 4, and the test of `b` in column 14.
fn else_if(jump: u32) -> FunctionMap {
    function("f", "f.c", 1)
        .block_at(&[(0, 2, 7)])
        .block_at(&[(0, 3, 5)])
        .block_at(&[(0, 4, 14)])
        .block_at(&[(0, 5, 5)])
        .block_at(&[(0, 7, 3)])
        .block(0, &[])
        .edge(0, 1, Outcome::True)
        .edge(0, 2, Outcome::False)
        .edge(1, 4, Outcome::Jump)
        .at_column(0, 4, jump)
        .edge(2, 3, Outcome::True)
        .edge(2, 4, Outcome::False)
        .edge(3, 4, Outcome::Jump)
        .at_column(0, 6, 3)
        .edge(4, 5, Outcome::Return)
        .done()
}

#[test]
fn the_end_of_an_arm_is_not_code_of_the_else_if_on_its_line() {
    let counts: &[(&[u32], u64)] = &[(&[0, 1, 4], 100), (&[0, 2, 3, 4], 7), (&[0, 2, 4], 1)];
    let expect = |else_if| {
        [
            ("f.c", 1, 108),
            ("f.c", 2, 108),
            ("f.c", 3, 100),
            ("f.c", 4, else_if),
            ("f.c", 5, 7),
            ("f.c", 6, 7),
            ("f.c", 7, 108),
        ]
    };
    check_lines(else_if(3), counts, &expect(8));
    // A jump without a column, and one after other code of its line, are on the line.
    check_lines(else_if(0), counts, &expect(108));
    check_lines(else_if(20), counts, &expect(108));
}

/// `if (a ||` is on line 2, and `b) g();` on line 3. Block b1 tests `b`, and its branch is on line
/// 2. Block b2 divides the edge from there to the call.
#[test]
fn a_block_that_divides_an_edge_is_on_no_line() {
    let map = function("f", "f.c", 1)
        .block(1, &[(0, 2)])
        .block(1, &[(0, 3)])
        .block(0, &[])
        .block(1, &[(0, 3)])
        .block(1, &[(0, 4)])
        .block(0, &[])
        .edge(0, 3, Outcome::True)
        .edge(0, 1, Outcome::False)
        .edge(1, 2, Outcome::True)
        .at(0, 2)
        .edge(1, 4, Outcome::False)
        .at(0, 2)
        .edge(2, 3, Outcome::Jump)
        .at(0, 2)
        .edge(3, 4, Outcome::Jump)
        .edge(4, 5, Outcome::Return)
        .done();
    let counts: &[(&[u32], u64)] = &[(&[0, 1, 2, 3, 4], 31), (&[0, 1, 4], 1)];
    let expect = [
        ("f.c", 1, 32),
        ("f.c", 2, 32),
        ("f.c", 3, 32),
        ("f.c", 4, 32),
    ];
    check_lines(map, counts, &expect);
}

/// `s = f(x) +` is on line 2, and `g(y);` on line 3, in one block. Control comes to line 2 twice.
#[test]
fn a_statement_over_two_lines_comes_to_the_first_line_twice() {
    let build = || {
        function("f", "f.c", 1)
            .block(4, &[(0, 2), (0, 3), (0, 2)])
            .block(0, &[])
            .edge(0, 1, Outcome::Return)
    };
    let unoptimized = build().in_source_order().done();
    let expect = [("f.c", 1, 5), ("f.c", 2, 10), ("f.c", 3, 5)];
    check_lines(unoptimized, &[(&[0], 5)], &expect);
    let expect = [("f.c", 1, 5), ("f.c", 2, 5), ("f.c", 3, 5)];
    check_lines(build().done(), &[(&[0], 5)], &expect);
}

/// A call on line 2 comes back in 3 of 10 cases. A jump on line 4 follows.
#[test]
fn the_jump_after_a_call_runs_as_often_as_the_call_comes_back() {
    let map = function("f", "f.c", 1)
        .block(2, &[(0, 2)])
        .block(1, &[(0, 5)])
        .block(0, &[])
        .left(0)
        .edge(0, 1, Outcome::Jump)
        .at(0, 4)
        .edge(1, 2, Outcome::Return)
        .done();
    let counters: &[(&[u32], u64)] = &[(&[0], 10), (&[0, 1], 3)];
    let expect = [("f.c", 1, 10), ("f.c", 2, 10), ("f.c", 4, 3), ("f.c", 5, 3)];
    check_lines(map, counters, &expect);
}

/// Line 2 makes a call, line 3 makes a call, and line 2 continues. These are three parts of one
/// block. Two frames are left in the second part.
#[test]
fn the_parts_of_a_block_are_counted_as_one() {
    let build = || {
        function("f", "f.c", 1)
            .block(1, &[(0, 2)])
            .block(1, &[(0, 3)])
            .block(1, &[(0, 2), (0, 4)])
            .block(0, &[])
            .edge(0, 1, Outcome::Returned)
            .edge(1, 2, Outcome::Returned)
            .left(1)
            .edge(2, 3, Outcome::Return)
    };
    let counters: &[(&[u32], u64)] = &[(&[0, 1], 9), (&[0, 1, 2], 7)];
    let expect = [("f.c", 1, 9), ("f.c", 2, 9), ("f.c", 3, 9), ("f.c", 4, 7)];
    check_lines(build().done(), counters, &expect);
    let expect = [("f.c", 1, 9), ("f.c", 2, 16), ("f.c", 3, 9), ("f.c", 4, 7)];
    check_lines(build().in_source_order().done(), counters, &expect);
}

/// `while (more) g();` is on line 2. `g` is inlined and contains a loop. Line 2 counts only the
/// rounds of the `while` loop.
#[test]
fn a_line_counts_its_own_loop_around_inlined_code() {
    let map = function("f", "f.c", 1)
        .inlined("g", "g.h", 0, 2)
        .block(0, &[])
        .block(1, &[(0, 2)])
        .block(2, &[(1, 11)])
        .block(1, &[(0, 3)])
        .block(0, &[])
        .edge(0, 1, Outcome::Jump)
        .edge(1, 2, Outcome::True)
        .edge(1, 3, Outcome::False)
        .edge(2, 2, Outcome::True)
        .edge(2, 1, Outcome::False)
        .edge(3, 4, Outcome::Return)
        .edges();
    // One call with 4 rounds. In each round, the loop of `g` takes its back edge 3 times.
    let actual = lines_of_edges(&map, &[1, 4, 1, 12, 4, 1]);
    let expect = [
        ("f.c", 1, 1),
        ("f.c", 2, 5),
        ("f.c", 3, 1),
        ("g.h", 1, 4),
        ("g.h", 11, 16),
    ];
    check(&actual, &expect);
}

/// `f` is called twice. Each call runs the `while` loop of `f` twice, with `g` inlined in it, whose
/// loop takes its back edge 3 times. The rounds of the inner loop are no entries of `g`.
#[test]
fn frames_are_entered_by_calls_and_not_by_loops() {
    let map = function("f", "f.c", 1)
        .inlined("g", "g.h", 0, 2)
        .block(0, &[])
        .block(1, &[(0, 2)])
        .block(2, &[(1, 11)])
        .block(1, &[(0, 3)])
        .block(0, &[])
        .edge(0, 1, Outcome::Jump)
        .edge(1, 2, Outcome::True)
        .edge(1, 3, Outcome::False)
        .edge(2, 2, Outcome::True)
        .edge(2, 1, Outcome::False)
        .edge(3, 4, Outcome::Return)
        .edges();
    let edges = [2, 4, 2, 12, 4, 2];
    let counters = (0..).zip(&map.counted);
    let counters: Vec<(u64, u64)> = counters
        .map(|(counter, &edge)| (counter, edges[edge as usize]))
        .collect();
    let run = run_of(map, &counters);
    let entries = frame_entries(&run.functions[0]).into_iter();
    let entries: Vec<(u32, u64)> = entries
        .map(|(scope, count)| (scope, count.into()))
        .collect();
    assert_eq!(entries, [(0, 2), (1, 4)]);
}

/// Random graphs whose blocks have one line each, with choices for a walk.
fn graphs() -> impl Strategy<Value = (FunctionMap, Vec<u8>)> {
    let blocks = prop::collection::vec(2u32..6, 1..8);
    let walk = prop::collection::vec(any::<u8>(), 1..300);
    blocks.prop_flat_map(move |lines| {
        let count = lines.len() as u32;
        let extra_edges = prop::collection::vec((0..count, 1..count.max(2)), 0..10);
        (Just(lines), extra_edges, walk.clone()).prop_map(|(lines, extra_edges, walk)| {
            let count = lines.len() as u32;
            let mut build = function("f", "f.c", 1);
            for &line in &lines {
                build = build.block(1, &[(0, line)]);
            }
            build = build.block(0, &[]);
            let mut edges: Vec<(u32, u32)> = (0..count).map(|from| (from, from + 1)).collect();
            edges.extend(extra_edges.into_iter().filter(|&(_, to)| to < count));
            edges.sort_unstable();
            edges.dedup();
            for (from, to) in edges {
                build = build.edge(from, to, Outcome::Jump);
            }
            (build.edges(), walk)
        })
    })
}

/// Walks from the entry to the exit until the choices are used up. Returns the count of each edge,
/// and how often control came to each line from another line.
fn walk(map: &FunctionMap, choices: &[u8]) -> (Vec<u64>, BTreeMap<u32, u64>) {
    let (mut edges, mut arrivals) = (vec![0; map.edges.len()], BTreeMap::from([(1, 0)]));
    let line_of = |block: u32| map.blocks[block as usize].places[0].line;
    let mut choices = choices.iter().copied();
    while let Some(first) = choices.next() {
        let (mut block, mut line) = (map.entry, line_of(map.entry));
        *arrivals.entry(1).or_default() += 1;
        *arrivals.entry(line).or_default() += 1;
        let mut choice = first;
        while block != map.exit {
            let mut out = (0..).zip(&map.edges).filter(|(_, edge)| edge.from == block);
            let number = out.clone().count();
            // Without remaining choices, the walk takes the edge to the next block.
            let forward = out
                .clone()
                .position(|(_, edge)| edge.to == block + 1)
                .unwrap();
            let nth = if choice == 0 {
                forward
            } else {
                usize::from(choice) % number
            };
            let (index, edge) = out.nth(nth).unwrap();
            let index: usize = index;
            edges[index] += 1;
            block = edge.to;
            if block != map.exit && line_of(block) != line {
                line = line_of(block);
                *arrivals.entry(line).or_default() += 1;
            }
            choice = choices.next().unwrap_or(0);
        }
    }
    (edges, arrivals)
}

/// Whether blocks of one line form a cycle. Then the count of the line includes rounds.
fn has_cycle_on_a_line(map: &FunctionMap) -> bool {
    let line_of = |block: u32| {
        map.blocks[block as usize]
            .places
            .first()
            .map(|place| place.line)
    };
    let mut edges: Vec<(u32, u32)> = map.edges.iter().map(|edge| (edge.from, edge.to)).collect();
    edges.retain(|&(from, to)| line_of(from) == line_of(to));
    loop {
        let starts: Vec<u32> = edges.iter().map(|edge| edge.0).collect();
        let before = edges.len();
        edges.retain(|edge| starts.contains(&edge.1));
        if edges.len() == before {
            return !edges.is_empty();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    /// If no cycle lies completely on a line, the line's count is the number of times that the walk
    /// came to the line.
    #[test]
    fn lines_without_cycles_count_arrivals((map, choices) in graphs()) {
        prop_assume!(!has_cycle_on_a_line(&map));
        let (edges, arrivals) = walk(&map, &choices);
        let mut actual = lines_of_edges(&map, &edges);
        actual.retain(|_, count| *count > 0);
        let actual: BTreeMap<u32, u64> = actual.into_iter().map(|((_, line), count)| (line, count)).collect();
        prop_assert_eq!(actual, arrivals);
    }
}

/// The bounds of line counts that are not exact.
fn bounds_of(map: FunctionMap) -> Vec<(String, u32, Bound)> {
    let files = bounds(&run_of(map, &[]), &|_, _| true).into_iter();
    let lines = files.flat_map(|(file, lines)| {
        let key = move |(line, bound)| (file.clone(), line, bound);
        lines.into_iter().map(key)
    });
    lines.collect()
}

/// Block b1 makes a call that may not come back. Its code is inlined at line 2 from `g`, declared
/// on line 1 of g.c. Block b2 is an alternative to block b1.
fn leaking() -> Build {
    function("f", "f.c", 1)
        .inlined("g", "g.c", 0, 2)
        .block(1, &[(0, 2)])
        .block(1, &[(1, 8)])
        .block(1, &[(0, 4)])
        .block(1, &[(0, 5)])
        .block(0, &[])
        .edge(0, 1, Outcome::True)
        .edge(0, 2, Outcome::False)
        .edge(1, 3, Outcome::Jump)
        .at(0, 7)
        .edge(2, 3, Outcome::Jump)
        .edge(3, 4, Outcome::Return)
}

/// The declaration of an inlined function has the bound of the block's places.
#[test]
fn lines_before_a_leaking_call_have_bounds() {
    let mut map = leaking().done();
    assert_eq!(bounds_of(map.clone()), []);
    map.leaks = vec![1];
    let at_least = |file: &str, line| (file.to_owned(), line, Bound::AtLeast);
    let expect = [
        at_least("f.c", 1),
        at_least("f.c", 2),
        // The inlined frame's declaration and its line.
        at_least("g.c", 1),
        at_least("g.c", 8),
    ];
    let actual: Vec<_> = bounds_of(map)
        .into_iter()
        .filter(|bound| bound.1 != 7)
        .collect();
    assert_eq!(actual, expect);
}

/// If edges were counted, the count of a jump after the call is too high, like the count of the
/// call.
#[test]
fn the_line_of_a_jump_has_the_bound_of_its_edge() {
    // The count of the jump (edge 2) follows from the edge into the block, which is counted.
    let mut map = count_edges(&leaking().done(), &[1, 2, 9, 9, 9]).unwrap();
    map.leaks = vec![1];
    let run = run_of(map.clone(), &[]);
    let function_bounds = run.functions[0].bounds();
    let actual = bounds_of(map);
    let bound = |line| {
        let bound = actual
            .iter()
            .find(|bound| bound.0 == "f.c" && bound.1 == line);
        bound.map_or(Bound::Exact, |bound| bound.2)
    };
    assert_eq!(function_bounds.edges[0], Bound::Exact);
    assert_eq!(
        (function_bounds.edges[2], bound(7)),
        (Bound::AtMost, Bound::AtMost)
    );
    assert_eq!(bound(2), Bound::AtMost);
    assert_eq!(bound(1), function_bounds.calls);
}

/// In a long chain of blocks without places, each block is replaced by the next.
#[test]
fn a_long_chain_of_blocks_without_places_is_followed_once() {
    let blocks = 100_000;
    let mut build = function("f", "f.c", 1).block(1, &[(0, 2)]);
    for _ in 1..blocks {
        build = build.block(1, &[]);
    }
    build = build.block(1, &[(0, 3)]).block(0, &[]);
    for block in 0..blocks {
        build = build.edge(block, block + 1, Outcome::Jump);
    }
    let map = build.edge(blocks, blocks + 1, Outcome::Return).edges();
    let counts: Vec<(u64, u64)> = (0..map.counted.len() as u64)
        .map(|counter| (counter, 3))
        .collect();
    let actual = line_counts(&run_of(map, &counts));
    check(&actual, &[("f.c", 1, 3), ("f.c", 2, 3), ("f.c", 3, 3)]);
}

/// A map may have no scopes at all.
#[test]
fn a_function_without_scopes_has_no_lines() {
    let mut map = leaking().done();
    map.scopes.clear();
    map.blocks.iter_mut().for_each(|block| block.places.clear());
    map.edges.iter_mut().for_each(|edge| edge.place = None);
    map.leaks = vec![1];
    assert_eq!(bounds_of(map.clone()), []);
    assert!(line_counts(&run_of(map, &[(0, 1)])).is_empty());
}

/// The counts of a function: its module, its number, (path, executions).
type FunctionCounts = (u32, u32, &'static [(u64, u64)]);

#[test]
fn lines_of_glue_are_those_without_other_code() {
    let function = |name: &str, line: u32, instructions: u32| {
        mangled(name, name, "a.rs", line)
            .inlined("xfree", "lib.rs", 0, line + 1)
            .block(instructions, &[(0, line + 1), (1, 8)])
            .block(0, &[])
            .edge(0, 1, Outcome::Return)
            .done()
    };
    let functions = vec![
        function("__rust_alloc", 10, 9),
        function("getter", 20, 2),
        function("work", 30, 9),
        // The same lines as of `getter`, with more code.
        function("copy", 20, 9),
        function("never_ran", 40, 2),
    ];
    let image = image("app", vec![module("app", functions)]);
    let counts: Vec<FunctionCounts> = vec![(0, 0, &[(0, 5)]), (0, 1, &[(0, 5)]), (0, 2, &[(0, 5)])];
    let glue = |with_copy: bool| {
        let mut counts = counts.clone();
        let copy: FunctionCounts = (0, 3, &[(0, 1)]);
        counts.extend(with_copy.then_some(copy));
        let profile = profile(&image, 1, &counts);
        let run = RunProfile::new(vec![(image.clone(), vec![profile])]);
        let lines = glue_lines(&run, &|_, _| true);
        let lines = lines.into_iter().flat_map(|(file, lines)| {
            let lines = lines.into_iter();
            lines.map(move |line| format!("{file}:{line}"))
        });
        lines.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        glue(false),
        "a.rs:10 a.rs:11 a.rs:20 a.rs:21 lib.rs:1 lib.rs:8"
    );
    assert_eq!(glue(true), "a.rs:10 a.rs:11 lib.rs:1 lib.rs:8");
}
