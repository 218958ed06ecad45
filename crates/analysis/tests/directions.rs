//! Tests of the descriptions of where control goes along edges. The graphs resemble
//! graphs that compilers generate.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use build::{Build, function};
use holloway_analysis::directions::{Destination, Directions, ShownPlace};
use holloway_format::Outcome::{self, Case, Default, False, Jump, Noreturn, Return, True, Unwind};
use holloway_testkit::build;

/// The descriptions of all edges of branches, such as `3→1 leaves`, in the order of the edges.
fn descriptions(build: Build) -> Vec<String> {
    let map = build.unfinished();
    let directions = Directions::new(&map, |file| file.starts_with("<std>"));
    let edges = (0u32..).zip(&map.edges);
    let edges_out = |from: u32| map.edges.iter().filter(|edge| edge.from == from).count();
    let branches = edges.filter(|(_, edge)| edges_out(edge.from) > 1);
    branches
        .map(|(number, edge)| {
            let destination = describe(directions.destination(number));
            format!("{}→{} {destination}", edge.from, edge.to)
        })
        .collect()
}

fn describe(destination: Destination<'_>) -> String {
    match destination {
        Destination::Case(names) => format!("case {}", names.join(" ")),
        Destination::LeavesLoop(None) => "leaves".to_owned(),
        Destination::LeavesLoop(Some(to)) => format!("leaves to {}", format_place(to)),
        Destination::StaysInLoop => "stays in".to_owned(),
        Destination::StaysOnLine => "stays on".to_owned(),
        Destination::Back(to) => format!("back to {}", format_place(to)),
        Destination::Returns => "returns".to_owned(),
        Destination::NeverReturns => "never returns".to_owned(),
        Destination::GoesOn => "goes on".to_owned(),
        Destination::Unwinds => "unwinds".to_owned(),
        Destination::MayReturnAgain => "again".to_owned(),
        Destination::To(to) => format_place(to),
    }
}

/// Formats a place: `f.c:3`, `f.c:3:7`, `f.c:3:7 b2`, or `b2`.
fn format_place(place: ShownPlace<'_>) -> String {
    let position = match (place.line, place.column) {
        (0, _) => String::new(),
        (line, 0) => format!("{}:{line}", place.file),
        (line, column) => format!("{}:{line}:{column}", place.file),
    };
    let block = place.block.map(|block| format!("b{block}"));
    let parts = [position, block.unwrap_or_default()];
    parts.join(" ").trim().to_owned()
}

fn check(build: Build, expect: &[&str]) {
    assert_eq!(descriptions(build), expect);
}

/// The source, with line numbers: `2 for (…) {`, `3 if (a > b) break;`, `4 sum += a; }`, `6 return
/// sum;`. The code is unoptimized. `leaves` is the outcome of the condition that leaves the loop,
/// and `stays` the other outcome.
fn breaks(leaves: Outcome, stays: Outcome) -> Build {
    function("f", "f.c", 1)
        .block_at(&[(0, 1, 5)])
        .block_at(&[(0, 2, 20)])
        .block_at(&[(0, 3, 9)])
        .block_at(&[(0, 3, 16)])
        .block_at(&[(0, 4, 9)])
        .block_at(&[(0, 2, 27)])
        .block_at(&[(0, 6, 5)])
        .block(0, &[])
        .edge(0, 1, Jump)
        .edge(1, 2, True)
        .edge(1, 6, False)
        .edge(2, 3, leaves)
        .edge(2, 4, stays)
        .edge(3, 6, Jump)
        .edge(4, 5, Jump)
        .edge(5, 1, Jump)
        .edge(6, 7, Return)
}

#[test]
fn a_break_leaves_the_loop_even_if_its_condition_is_inverted() {
    let expect = ["1→2 f.c:3", "1→6 leaves", "2→3 leaves", "2→4 f.c:4"];
    check(breaks(True, False), &expect);
    check(breaks(False, True), &expect);
}

/// The same loop, rotated: the condition of the `for` is at the end. `sunk` has the places of the
/// block after the loop: none, or 4:13 if the optimizer has sunk the store of the sum into it.
fn rotated(sunk: &[(u32, u32, u32)]) -> Build {
    function("f", "f.c", 1)
        .block_at(&[(0, 2, 20)])
        .block_at(&[(0, 3, 9)])
        .block_at(&[(0, 4, 9), (0, 4, 13), (0, 2, 20)])
        .block_at(sunk)
        .block_at(&[(0, 6, 5)])
        .block(0, &[])
        .edge(0, 1, True)
        .edge(0, 4, False)
        .edge(1, 3, True)
        .edge(1, 2, False)
        .edge(2, 1, False)
        .edge(2, 3, True)
        .edge(3, 4, Jump)
        .edge(4, 5, Return)
}

#[test]
fn a_rotated_loop_goes_back_or_is_left() {
    let expect = [
        "0→1 f.c:3",
        "0→4 f.c:6",
        "1→3 leaves",
        "1→2 f.c:4",
        "2→1 back to f.c:3",
        "2→3 leaves",
    ];
    check(rotated(&[]), &expect);
    // Sunk code keeps a place inside the loop; the edge still leaves the loop.
    check(rotated(&[(0, 4, 13)]), &expect);
}

#[test]
fn a_loop_that_continues_in_a_remainder_loop_is_not_left() {
    // Line 2 is the `for`, and line 3 its body. Block 1 runs four iterations at a time, and block 3
    // the remaining iterations one by one.
    let build = function("f", "f.c", 1)
        .block_at(&[(0, 2, 20)])
        .block_at(&[(0, 3, 9), (0, 3, 13), (0, 2, 20)])
        .block_at(&[(0, 2, 20)])
        .block_at(&[(0, 3, 9), (0, 3, 13), (0, 2, 20)])
        .block_at(&[(0, 5, 5)])
        .block(0, &[])
        .edge(0, 1, True)
        .edge(0, 2, False)
        .edge(1, 1, True)
        .edge(1, 2, False)
        .edge(2, 3, True)
        .edge(2, 4, False)
        .edge(3, 3, False)
        .edge(3, 4, True)
        .edge(4, 5, Return);
    let expect = [
        "0→1 f.c:3",
        "0→2 stays on",
        "1→1 back to f.c:3",
        "1→2 stays on",
        "2→3 f.c:3",
        "2→4 f.c:5",
        "3→3 back to f.c:3",
        "3→4 leaves",
    ];
    check(build, &expect);
}

/// `2 for {`, `3 for {`, `4 body } }`, `6 return`. `head` holds the places of the outer loop's
/// head. An edge leaves the inner loop only if these places show that the outer loop is another
/// loop.
fn nested(head: &[(u32, u32, u32)]) -> Build {
    function("f", "f.c", 1)
        .block_at(&[(0, 1, 5)])
        .block_at(head)
        .block_at(&[(0, 4, 9), (0, 3, 24)])
        .block_at(&[(0, 2, 20)])
        .block_at(&[(0, 6, 5)])
        .block(0, &[])
        .edge(0, 1, Jump)
        .edge(1, 2, Jump)
        .edge(2, 2, True)
        .edge(2, 3, False)
        .edge(3, 1, True)
        .edge(3, 4, False)
        .edge(4, 5, Return)
}

#[test]
fn an_edge_may_leave_an_inner_loop_for_the_outer_loop() {
    let expect = [
        "2→2 back to f.c:4",
        "2→3 leaves",
        "3→1 back to f.c:3",
        "3→4 leaves",
    ];
    check(nested(&[(0, 3, 9)]), &expect);
}

#[test]
fn two_loops_of_the_graph_may_be_one_loop_of_the_source() {
    // `continue` in the middle of a body: some compilers turn the two back edges into two nested
    // loops.
    let expect = [
        "2→2 back to f.c:4",
        "2→3 back to f.c:2",
        "3→1 back to f.c:4",
        "3→4 leaves",
    ];
    check(nested(&[]), &expect);
}

#[test]
fn an_edge_to_later_lines_of_the_loops_text_shows_the_line() {
    // `2 while (1) {`, `3 if (x) {`, `4 found = i;`, `5 break; }`, `7 i++; }`, `9 return`.
    let build = function("f", "f.c", 1)
        .block_at(&[(0, 1, 5)])
        .block_at(&[(0, 3, 9)])
        .block_at(&[(0, 4, 9), (0, 5, 9)])
        .block_at(&[(0, 7, 9)])
        .block_at(&[(0, 9, 5)])
        .block(0, &[])
        .edge(0, 1, Jump)
        .edge(1, 2, False)
        .edge(1, 3, True)
        .edge(2, 4, Jump)
        .edge(3, 1, Jump)
        .edge(4, 5, Return);
    check(build, &["1→2 f.c:4", "1→3 f.c:7"]);
}

/// A branch at 2:9 whose edges lead to these places and join at line 5.
fn branch(a: &[(u32, u32, u32)], b: &[(u32, u32, u32)]) -> Build {
    function("f", "f.c", 1)
        .block_at(&[(0, 2, 9)])
        .block_at(a)
        .block_at(b)
        .block_at(&[(0, 5, 5), (0, 5, 12)])
        .block(0, &[])
        .edge(0, 1, True)
        .edge(0, 2, False)
        .edge(1, 3, Jump)
        .edge(2, 3, Jump)
        .edge(3, 4, Return)
}

#[test]
fn edges_have_the_shortest_descriptions_that_differ() {
    check(
        branch(&[(0, 3, 5)], &[(0, 4, 5)]),
        &["0→1 f.c:3", "0→2 f.c:4"],
    );
    // Both targets are on the same line.
    check(
        branch(&[(0, 3, 5)], &[(0, 3, 15)]),
        &["0→1 f.c:3:5", "0→2 f.c:3:15"],
    );
    // Both targets are on the line of the branch: `x = a ? b : c;`.
    check(
        branch(&[(0, 2, 13)], &[(0, 2, 17)]),
        &["0→1 f.c:2:13", "0→2 f.c:2:17"],
    );
    // The places are equal, so the blocks distinguish the edges.
    check(
        branch(&[(0, 3, 5)], &[(0, 3, 5)]),
        &["0→1 f.c:3:5 b1", "0→2 f.c:3:5 b2"],
    );
    check(branch(&[(0, 2, 13)], &[(0, 2, 13)]), &["0→1 b1", "0→2 b2"]);
    // A block without places leads to the place after it.
    check(branch(&[(0, 3, 5)], &[]), &["0→1 f.c:3", "0→2 f.c:5"]);
    check(
        branch(&[(0, 2, 9)], &[(0, 4, 5)]),
        &["0→1 stays on", "0→2 f.c:4"],
    );
}

#[test]
fn a_return_on_the_line_of_its_condition() {
    // `2 if (n < 0) return -1;`, `3 …`, `5 }`. Both edges share the return on line 5.
    let build = |end: &[(u32, u32, u32)]| {
        function("f", "f.c", 1)
            .block_at(&[(0, 2, 9)])
            .block_at(&[(0, 2, 16)])
            .block_at(&[(0, 3, 5)])
            .block_at(end)
            .block(0, &[])
            .edge(0, 1, False)
            .edge(0, 2, True)
            .edge(1, 3, Jump)
            .edge(2, 3, Jump)
            .edge(3, 4, Return)
    };
    check(build(&[(0, 5, 1)]), &["0→1 returns", "0→2 f.c:3"]);
    // `if (n < 0) n = 1;`, and a return with an expression.
    check(
        build(&[(0, 5, 5), (0, 5, 12)]),
        &["0→1 f.c:2:16", "0→2 f.c:3"],
    );
    // `if (n < 0) n = 1;`. The other edge leads directly to the code after it.
    let joins = function("f", "f.c", 1)
        .block_at(&[(0, 2, 9)])
        .block_at(&[(0, 2, 16)])
        .block_at(&[(0, 5, 1)])
        .block(0, &[])
        .edge(0, 1, True)
        .edge(0, 2, False)
        .edge(1, 2, Jump)
        .edge(2, 3, Return);
    check(joins, &["0→1 f.c:2:16", "0→2 f.c:5"]);
}

#[test]
fn a_return_in_a_loop() {
    // `2 for (…)`, `3 if (a == b) return i;`, `4 return -1;`, `5 }`.
    let build = function("f", "f.c", 1)
        .block_at(&[(0, 1, 5)])
        .block_at(&[(0, 2, 20)])
        .block_at(&[(0, 3, 9)])
        .block_at(&[(0, 3, 16)])
        .block_at(&[(0, 4, 5)])
        .block_at(&[(0, 5, 1)])
        .block(0, &[])
        .edge(0, 1, Jump)
        .edge(1, 2, True)
        .edge(1, 4, False)
        .edge(2, 3, True)
        .edge(2, 1, False)
        .edge(3, 5, Jump)
        .edge(4, 5, Jump)
        .edge(5, 6, Return);
    let expect = [
        "1→2 f.c:3",
        "1→4 leaves",
        "2→3 returns",
        "2→1 back to f.c:2",
    ];
    check(build, &expect);
}

#[test]
fn control_goes_on_after_a_check_that_holds() {
    // `2 total += a[i];`, `3 return total;`, with a check at 2:14 in the middle.
    let build = |after: &[(u32, u32, u32)]| {
        function("f", "f.rs", 1)
            .block_at(&[(0, 2, 14)])
            .block_at(&[(0, 2, 14)])
            .block_at(after)
            .block(0, &[])
            .edge(0, 1, False)
            .edge(0, 2, True)
            .edge(1, 3, Noreturn)
            .edge(2, 3, Return)
    };
    check(
        build(&[(0, 2, 5), (0, 3, 5)]),
        &["0→1 never returns", "0→2 goes on"],
    );
    check(build(&[(0, 3, 5)]), &["0→1 never returns", "0→2 f.rs:3"]);
}

#[test]
fn library_code_is_described_by_the_users_lines() {
    // `2 for i in 0..n {`, `3 work(i); }`. `next` is inlined at line 2, and `lt` is inlined into
    // `next`.
    let build = |body: (u32, u32, u32)| {
        function("f", "f.rs", 1)
            .inlined("next", "<std>/range.rs", 0, 2)
            .inlined("lt", "<std>/cmp.rs", 1, 700)
            .block_at(&[(0, 1, 5)])
            .block_at(&[(2, 70, 9)])
            .block_at(&[body])
            .block_at(&[(0, 5, 5)])
            .block(0, &[])
            .edge(0, 1, Jump)
            .edge(1, 2, True)
            .edge(1, 3, False)
            .edge(2, 1, Jump)
            .edge(3, 4, Return)
    };
    check(build((0, 3, 9)), &["1→2 f.rs:3", "1→3 leaves"]);
    check(build((1, 711, 9)), &["1→2 stays in", "1→3 leaves"]);
    // If all code is in one library function, its lines are shown.
    let inside = function("f", "f.rs", 1)
        .inlined("pop", "<std>/vec.rs", 0, 2)
        .block_at(&[(1, 90, 9)])
        .block_at(&[(1, 91, 9)])
        .block_at(&[(1, 93, 9)])
        .block_at(&[(0, 5, 5), (0, 5, 9)])
        .block(0, &[])
        .edge(0, 1, True)
        .edge(0, 2, False)
        .edge(1, 3, Jump)
        .edge(2, 3, Jump)
        .edge(3, 4, Return);
    check(inside, &["0→1 <std>/vec.rs:91", "0→2 <std>/vec.rs:93"]);
}

#[test]
fn inlined_code_is_shown_at_the_line_that_calls_it() {
    // `2 match op {`, `3 A => push(x),`, `4 B => {}`: push is inlined.
    let build = function("f", "f.rs", 1)
        .inlined("push", "vec.rs", 0, 3)
        .block_at(&[(0, 2, 9)])
        .block_at(&[(1, 66, 9)])
        .block_at(&[(0, 4, 9)])
        .block_at(&[(0, 9, 5), (0, 9, 6)])
        .block(0, &[])
        .edge(0, 1, Case(0))
        .edge(0, 2, Default)
        .edge(1, 3, Jump)
        .edge(2, 3, Jump)
        .edge(3, 4, Return);
    check(build, &["0→1 f.rs:3", "0→2 f.rs:4"]);
}

#[test]
fn arms_of_a_switch_in_a_loop_are_shown_by_their_lines() {
    // `2 loop { match op {`, `3 A => x += 1,`, `4 B => x += 2,`, `5 C => return x } }`.
    let build = function("f", "f.rs", 1)
        .block_at(&[(0, 1, 5)])
        .block_at(&[(0, 2, 9)])
        .block_at(&[(0, 3, 9)])
        .block_at(&[(0, 4, 9)])
        .block_at(&[(0, 5, 9)])
        .block(0, &[])
        .edge(0, 1, Jump)
        .edge(1, 2, Case(0))
        .edge(1, 3, Case(1))
        .edge(1, 4, Default)
        .edge(2, 1, Jump)
        .edge(3, 1, Jump)
        .edge(4, 5, Return);
    check(build, &["1→2 f.rs:3", "1→3 f.rs:4", "1→4 f.rs:5"]);
}

#[test]
fn cases_are_shown_by_name_if_they_have_one() {
    let build = function("f", "f.c", 1)
        .block_at(&[(0, 2, 9)])
        .block_at(&[(0, 3, 9)])
        .block_at(&[(0, 4, 9)])
        .block_at(&[(0, 5, 9)])
        .block(0, &[])
        .edge(0, 1, Case(0))
        .edge(0, 2, Case(3))
        .edge(0, 3, Default)
        .edge(1, 4, Return)
        .edge(2, 4, Return)
        .edge(3, 4, Return)
        .case(0, &["Push"])
        .case(1, &["Add", "Mul"]);
    check(build, &["0→1 case Push", "0→2 case Add Mul", "0→3 f.c:5"]);
}

#[test]
fn a_call_returns_or_unwinds() {
    let build = function("f", "f.rs", 1)
        .block_at(&[(0, 2, 9)])
        .block_at(&[(0, 3, 9)])
        .block_at(&[(0, 4, 9)])
        .block(0, &[])
        .edge(0, 1, Outcome::Normal)
        .edge(0, 2, Unwind)
        .edge(1, 3, Return)
        .edge(2, 3, Outcome::Resume);
    check(build, &["0→1 f.rs:3", "0→2 unwinds"]);
}

#[test]
fn a_switch_with_ten_thousand_cases_in_a_loop_takes_linear_time() {
    // Arms with named cases continue in the loop. The other arms leave the loop, each after a
    // different line.
    const ARMS: u32 = 10_000;
    let (switch, end, exit) = (1, ARMS + 2, ARMS + 3);
    let mut build = function("f", "f.c", 1)
        .block_at(&[(0, 1, 5)])
        .block_at(&[(0, 2, 9)]);
    for arm in 0..ARMS {
        build = build.block_at(&[(0, 10 + arm, 13)]);
    }
    build = build.block_at(&[(0, 5, 5)]).block(0, &[]);
    build = build.edge(0, switch, Jump);
    for arm in 0..ARMS {
        build = build.edge(switch, 2 + arm, Case(arm.into()));
    }
    for arm in 0..ARMS {
        let to = if arm % 2 == 0 { switch } else { end };
        build = build.edge(2 + arm, to, Jump);
    }
    build = build.edge(end, exit, Return);
    for arm in (0..ARMS).step_by(2) {
        build = build.case(1 + arm, &[&format!("a{arm}")]);
    }
    let expect = (0..ARMS).map(|arm| match arm % 2 {
        0 => format!("1→{} case a{arm}", 2 + arm),
        _ => format!("1→{} f.c:{}", 2 + arm, 10 + arm),
    });
    let expect: Vec<String> = expect.collect();
    let map = build.unfinished();
    let directions = Directions::new(&map, |_| false);
    let descriptions = (1..=ARMS).map(|edge| {
        let to = map.edges[edge as usize].to;
        format!("1→{to} {}", describe(directions.destination(edge)))
    });
    assert_eq!(descriptions.collect::<Vec<_>>(), expect);
    // This takes a second. Comparing each edge with all others would take hours.
}

/// Both edges of the branch come to block 3, by blocks without a line.
#[test]
fn edges_to_one_block_by_different_blocks_are_distinguished() {
    let build = function("f", "f.c", 1)
        .block_at(&[(0, 2, 5)])
        .block_at(&[])
        .block_at(&[])
        .block_at(&[(0, 89, 63)])
        .block(0, &[])
        .edge(0, 1, True)
        .edge(0, 2, False)
        .edge(1, 3, Outcome::Jump)
        .edge(2, 3, Outcome::Jump)
        .edge(3, 4, Return);
    check(build, &["0→1 f.c:89:63 b1", "0→2 f.c:89:63 b2"]);
}

/// The source: `2 key = f(p);`, `4 if (small)`, `5 value = shift(key);`, `7 else`, `8 value = 0;`,
/// `10 return value;`. The optimizer moved line 2 into the arm that needs it.
#[test]
fn code_that_was_moved_into_an_arm_does_not_hide_its_line() {
    let moved = |arm: &[(u32, u32, u32)]| {
        function("f", "f.c", 1)
            .block_at(&[(0, 4, 7)])
            .block_at(arm)
            .block_at(&[(0, 8, 5)])
            .block_at(&[(0, 10, 3)])
            .block(0, &[])
            .edge(0, 1, True)
            .edge(0, 2, False)
            .edge(1, 3, Jump)
            .edge(2, 3, Jump)
            .edge(3, 4, Return)
    };
    check(
        moved(&[(0, 2, 9), (0, 2, 5), (0, 5, 9)]),
        &["0→1 f.c:5", "0→2 f.c:8"],
    );
    // If all code of the arm was moved there, the next line that runs after it is shown.
    check(moved(&[(0, 2, 9)]), &["0→1 f.c:10", "0→2 f.c:8"]);
}

/// The source: `4 if (small)`, `5 value = -1;`, `10 if (value != 0)`, `11 flags = info->flags;`,
/// `13 if (a(flags) && b(key))`. The optimizer knows that the condition on line 10 holds, and moved
/// a part of line 13 above line 11.
#[test]
fn a_later_line_that_was_moved_up_does_not_hide_the_lines_before_it() {
    let moved = |arm: &[(u32, u32, u32)]| {
        function("f", "f.c", 1)
            .block_at(&[(0, 4, 7)])
            .block_at(arm)
            .block_at(&[(0, 8, 5)])
            .block(0, &[])
            .edge(0, 1, True)
            .edge(0, 2, False)
            .edge(1, 3, Return)
            .edge(2, 3, Return)
    };
    let check_arm = |arm: &[(u32, u32, u32)], expect: &str| {
        check(moved(arm), &[expect, "0→2 f.c:8"]);
    };
    check_arm(&[(0, 13, 9), (0, 11, 5), (0, 13, 7)], "0→1 f.c:11");
    // The branch's line and lines before it are not lines of the arm: a loop steps there.
    check_arm(&[(0, 13, 9), (0, 4, 5), (0, 2, 1)], "0→1 f.c:13");
}

/// The line of an edge is the line of its description, or where a longer description leads.
#[test]
fn an_edge_has_the_line_that_its_description_names() {
    let build = function("f", "f.c", 1)
        .block_at(&[(0, 2, 12)])
        .block_at(&[(0, 3, 9)])
        .block_at(&[(0, 4, 7)])
        .block_at(&[(0, 2, 27), (0, 2, 20)])
        .block_at(&[(0, 6, 3)])
        .block_at(&[])
        .block(0, &[])
        .edge(0, 1, Jump)
        .edge(1, 2, True)
        .edge(1, 5, False)
        .edge(5, 3, Jump)
        .at(0, 3)
        .edge(2, 3, Jump)
        .edge(3, 1, True)
        .edge(3, 4, False)
        .edge(4, 6, Return);
    let map = build.unfinished();
    let directions = Directions::new(&map, |_| false);
    let lines = (0..map.edges.len() as u32).filter_map(|edge| {
        let place = directions.target(edge)?;
        let edge = &map.edges[edge as usize];
        Some((edge.from, edge.to, place.line))
    });
    let lines: Vec<_> = lines.filter(|(from, ..)| [1, 3].contains(from)).collect();
    // The edge 3→4 leaves the loop. Its line follows the loop.
    assert_eq!(lines, [(1, 2, 4), (1, 5, 2), (3, 1, 3), (3, 4, 6)]);
}

/// The branch at the end of the arm is a line of the arm, too.
#[test]
fn moved_code_before_another_branch_does_not_hide_the_branch() {
    let build = function("f", "f.c", 1)
        .block_at(&[(0, 4, 7)])
        .block_at(&[(0, 2, 9)])
        .block_at(&[(0, 8, 5)])
        .block_at(&[(0, 6, 5)])
        .block(0, &[])
        .edge(0, 1, True)
        .edge(0, 2, False)
        .edge(1, 2, True)
        .at(0, 5)
        .edge(1, 3, False)
        .at(0, 5)
        .edge(3, 2, Jump)
        .edge(2, 4, Return);
    check(build, &["0→1 f.c:5", "0→2 f.c:8", "1→2 f.c:8", "1→3 f.c:6"]);
}

/// The source: `2 for (i = 0; i < n; i++) {`, `3 if (a[i])`, `4 sum++; }`, `6 return sum;`. The
/// step of the loop has a block of its own, and its condition is at the end. Another block before
/// the step only jumps, and its jump has the line of the branch.
#[test]
fn an_edge_to_the_step_of_its_loop_goes_back() {
    let build = function("f", "f.c", 1)
        .block_at(&[(0, 2, 12)])
        .block_at(&[(0, 3, 9)])
        .block_at(&[(0, 4, 7)])
        .block_at(&[(0, 2, 27), (0, 2, 20)])
        .block_at(&[(0, 6, 3)])
        .block_at(&[])
        .block(0, &[])
        .edge(0, 1, Jump)
        .edge(1, 2, True)
        .edge(1, 5, False)
        .edge(5, 3, Jump)
        .at(0, 3)
        .edge(2, 3, Jump)
        .edge(3, 1, True)
        .edge(3, 4, False)
        .edge(4, 6, Return);
    let expect = [
        "1→2 f.c:4",
        "1→5 back to f.c:2",
        "3→1 back to f.c:3",
        "3→4 leaves",
    ];
    check(build, &expect);
}

/// A `goto` to an earlier line that is not a loop, and a call whose arguments are on later lines.
#[test]
fn an_earlier_line_that_is_no_iteration_is_shown_as_it_is() {
    let build = function("f", "f.c", 1)
        .block_at(&[(0, 4, 7)])
        .block_at(&[(0, 2, 9)])
        .block_at(&[(0, 8, 5)])
        .block(0, &[])
        .edge(0, 1, True)
        .edge(0, 2, False)
        .edge(1, 3, Return)
        .edge(2, 3, Return);
    check(build, &["0→1 f.c:2", "0→2 f.c:8"]);
}
