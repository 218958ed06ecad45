//! Tests of the changes from one run to another.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::rc::Rc;

use holloway_abi::Unit;
use holloway_analysis::diff::{Diff, FunctionChange, Pairing, Trend, change, diff};
use holloway_analysis::{Function, RunProfile};
use holloway_format::{Count, FunctionMap, Outcome};
use holloway_testkit::build::{
    SLIDE_FIRST, SLIDE_SECOND, count_edges, image, mangled, module, profile, slide,
};
use proptest::prelude::*;

type Counts<'a> = &'a [(u64, u64)];

fn run_of(functions: Vec<(FunctionMap, Counts<'_>)>) -> RunProfile {
    let (maps, counts): (Vec<_>, Vec<_>) = functions.into_iter().unzip();
    let image = image("app", vec![module("a", maps)]);
    let functions: Vec<_> = (0u32..)
        .zip(counts)
        .map(|(number, counts)| (0, number, counts))
        .collect();
    let profile = profile(&image, 1, &functions);
    RunProfile::new(vec![(image, vec![profile])])
}

fn source_name(function: &Function) -> Rc<str> {
    Rc::from(&*function.map.name)
}

fn changes(a: &RunProfile, b: &RunProfile) -> Diff {
    diff([a, b], &|_| true, &source_name)
}

/// A function of one block with 3 instructions.
fn straight(name: &str, file: &str, line: u32) -> FunctionMap {
    mangled(&format!("_R{name}"), name, file, line)
        .block(3, &[(0, line)])
        .block(0, &[])
        .edge(0, 1, Outcome::Return)
        .done()
}

/// A function with another graph and 4 instructions.
fn longer(name: &str, file: &str, line: u32) -> FunctionMap {
    mangled(&format!("_R{name}"), name, file, line)
        .block(3, &[])
        .block(1, &[])
        .block(0, &[])
        .edge(0, 1, Outcome::Jump)
        .edge(1, 2, Outcome::Return)
        .done()
}

fn names(runs: [&RunProfile; 2], change: &FunctionChange) -> [Option<String>; 2] {
    [0, 1].map(|side: usize| {
        let id = change.functions[side]?;
        Some(runs[side].function(id).map.name.to_string())
    })
}

fn slide_named(name: &str, file: &str) -> FunctionMap {
    FunctionMap {
        name: name.into(),
        linkage_name: format!("_R{name}").as_str().into(),
        file: file.into(),
        line: 900,
        ..slide()
    }
}

#[test]
fn a_run_does_not_differ_from_itself() {
    let run = run_of(vec![(slide(), SLIDE_FIRST)]);
    let actual = changes(&run, &run);
    assert!(!actual.is_different());
    assert_eq!(
        (actual.ran, actual.functions.len(), actual.parts.len()),
        (1, 0, 0)
    );
    assert_eq!(change(actual.totals), 0);
}

/// The two path profiles of the slides about PP have equal edge counts, so they have equal costs,
/// but different paths. A path ACDF has 9 instructions, for example.
#[test]
fn pp_slides_two_profiles_take_other_ways() {
    let a = run_of(vec![(slide(), SLIDE_FIRST)]);
    let b = run_of(vec![(slide(), SLIDE_SECOND)]);
    let actual = changes(&a, &b);
    assert!(actual.is_different());
    let [function] = actual.functions.as_slice() else {
        panic!("{actual:?}");
    };
    assert_eq!(function.trend(), Some(Trend::Shifted));
    assert_eq!((function.parts, function.change()), (4, 0));
    assert_eq!(function.by_calls(), Some(0.0));
    let counts: Vec<_> = actual
        .parts
        .iter()
        .map(|part| (part.number, part.counts.map(u64::from)))
        .collect();
    let mut in_order = counts.clone();
    in_order.sort_unstable();
    assert_eq!(
        in_order,
        [(0, [90, 110]), (1, [60, 40]), (4, [20, 0]), (5, [0, 20])]
    );
    let sum: i128 = actual
        .parts
        .iter()
        .map(|part| i128::from(part.instructions[1].0) - i128::from(part.instructions[0].0))
        .sum();
    assert_eq!(sum, 0, "the changes of the paths add up to the function's");
    let weight = |index: usize| {
        let [a, b] = actual.parts[index].instructions;
        a.0.abs_diff(b.0)
    };
    assert!(
        (1..4).all(|index| weight(index - 1) >= weight(index)),
        "{counts:?}"
    );
}

#[test]
fn equal_edge_counts_are_no_difference() {
    let map = count_edges(&slide(), &[]).unwrap();
    let counted: Vec<(u64, u64)> = (0u64..)
        .zip(map.counted.iter().map(|&edge| match edge {
            0 => 150,
            1 => 120,
            2 => 100,
            3 => 20,
            4 => 250,
            5 => 110,
            6 | 7 => 160,
            _ => 270,
        }))
        .collect();
    let edges = run_of(vec![(map, &counted)]);
    let paths = run_of(vec![(slide(), SLIDE_SECOND)]);
    let actual = changes(&edges, &paths);
    assert_eq!(actual.unit, Unit::Edges);
    assert!(actual.parts.is_empty(), "{actual:?}");
    assert_eq!(actual.totals[0].instructions, actual.totals[1].instructions);
}

#[test]
fn functions_are_found_again() {
    let a = run_of(vec![
        (straight("same", "a.c", 1), &[(0, 10)]),
        (slide_named("a::old::moved", "a.c"), SLIDE_SECOND),
        (straight("static_helper", "a.c", 3), &[(0, 7)]),
        (straight("before", "a.c", 4), &[(0, 40)]),
        (slide_named("solve", "a.c"), SLIDE_FIRST),
        (straight("changed", "a.c", 6), &[(0, 50)]),
        (straight("removed", "a.c", 7), &[(0, 60)]),
        (straight("stopped", "a.c", 8), &[(0, 70)]),
        (straight("idle", "a.c", 9), &[]),
    ]);
    let b = run_of(vec![
        (straight("same", "a.c", 11), &[(0, 10)]),
        (slide_named("b::new::moved", "b.c"), SLIDE_SECOND),
        (straight("static_helper", "b.c", 3), &[(0, 9)]),
        (straight("after", "a.c", 4), &[(0, 41)]),
        (slide_named("answer", "z.c"), SLIDE_FIRST),
        (longer("changed", "a.c", 6), &[(0, 50)]),
        (longer("added", "a.c", 17), &[(0, 80)]),
        (straight("stopped", "a.c", 8), &[]),
        (straight("idle", "a.c", 9), &[]),
    ]);
    let actual = changes(&a, &b);
    let mut found: Vec<_> = actual
        .functions
        .iter()
        .map(|change| {
            let [from, to] = names([&a, &b], change);
            let either = |name: Option<String>| name.unwrap_or_default();
            (
                either(from),
                either(to),
                change.pairing,
                change.trend(),
                change.change(),
            )
        })
        .collect();
    found.sort();
    let expect = |from: &str, to: &str, pairing, trend, change| {
        (from.to_owned(), to.to_owned(), pairing, trend, change)
    };
    let mut expected = [
        expect("a::old::moved", "b::new::moved", Pairing::Moved, None, 0),
        expect(
            "static_helper",
            "static_helper",
            Pairing::Moved,
            Some(Trend::Hotter),
            6,
        ),
        expect("before", "after", Pairing::Renamed, Some(Trend::Hotter), 3),
        expect("solve", "answer", Pairing::Renamed, None, 0),
        expect(
            "changed",
            "changed",
            Pairing::Changed,
            Some(Trend::Hotter),
            50,
        ),
        expect("removed", "", Pairing::Absent, Some(Trend::Gone), -180),
        expect("", "added", Pairing::Absent, Some(Trend::New), 320),
        expect("stopped", "stopped", Pairing::Same, Some(Trend::Gone), -210),
    ];
    expected.sort();
    assert_eq!(found, expected);
    let sum: i128 = actual.functions.iter().map(FunctionChange::change).sum();
    assert_eq!(sum, change(actual.totals));
    // `static_helper` is called twice more often, at the same cost of 3 instructions for each call.
    let helper = actual
        .functions
        .iter()
        .find(|change| names([&a, &b], change)[0].as_deref() == Some("static_helper"));
    assert_eq!(helper.unwrap().by_calls(), Some(6.0));
}

/// The linkage names of the instances of a generic function differ in a hash, and so do those of
/// two builds. Their counts are added up.
#[test]
fn instances_of_a_generic_function_are_added_up() {
    let instance = |hash: &str, line: u32| FunctionMap {
        linkage_name: format!("_R{hash}grow").as_str().into(),
        ..straight("grow", "raw.rs", line)
    };
    let a = run_of(vec![
        (instance("a", 1), &[(0, 20)]),
        (instance("b", 1), &[(0, 2400)]),
        (instance("c", 1), &[]),
    ]);
    let b = run_of(vec![
        (instance("d", 1), &[(0, 2400)]),
        (instance("e", 1), &[(0, 21)]),
    ]);
    let actual = changes(&a, &b);
    let [function] = actual.functions.as_slice() else {
        panic!("{actual:?}");
    };
    assert_eq!(function.pairing, Pairing::Same);
    assert_eq!(
        function.work.map(|work| work.calls),
        [Count(2420), Count(2421)]
    );
    assert_eq!(actual.parts.len(), 1);
}

/// Functions that look alike are not taken for each other.
#[test]
fn ambiguous_functions_are_not_paired() {
    let a = run_of(vec![
        (straight("one", "a.c", 1), &[(0, 1)]),
        (slide_named("two", "a.c"), SLIDE_FIRST),
        (slide_named("three", "b.c"), SLIDE_FIRST),
    ]);
    let b = run_of(vec![
        (straight("uno", "a.c", 5), &[(0, 1)]),
        (slide_named("dos", "c.c"), SLIDE_FIRST),
        (slide_named("tres", "d.c"), SLIDE_FIRST),
    ]);
    let actual = changes(&a, &b);
    assert_eq!(actual.functions.len(), 6, "{actual:?}");
    assert!(
        actual
            .functions
            .iter()
            .all(|change| change.pairing == Pairing::Absent)
    );
    assert_eq!(change(actual.totals), 0);
    assert!(actual.is_different());
}

/// A function whose code has changed is not taken for a new one that looks as it did.
#[test]
fn a_changed_function_is_not_paired_with_another_that_looks_like_it() {
    let a = run_of(vec![(slide_named("a::Parser::new", "a.rs"), SLIDE_FIRST)]);
    let b = run_of(vec![
        (longer("a::Parser::new", "a.rs", 900), &[(0, 50)]),
        (slide_named("b::Lexer::new", "b.rs"), SLIDE_FIRST),
    ]);
    let actual = changes(&a, &b);
    let pairings: Vec<_> = actual
        .functions
        .iter()
        .map(|change| (names([&a, &b], change), change.pairing))
        .collect();
    let name = |name: &str| Some(name.to_owned());
    assert_eq!(pairings.len(), 2, "{actual:?}");
    assert!(pairings.contains(&(
        [name("a::Parser::new"), name("a::Parser::new")],
        Pairing::Changed
    )));
    assert!(pairings.contains(&([None, name("b::Lexer::new")], Pairing::Absent)));
}

/// Two files may have functions of the same name. The names of the files tell them apart. Their
/// directories do not matter.
#[test]
fn functions_of_one_name_are_told_apart_by_their_files() {
    let run = |folder: &str, counts: [Counts<'_>; 2]| {
        let file = |name: &str| straight("compare", &format!("{folder}/{name}"), 1);
        run_of(vec![(file("a.c"), counts[0]), (file("b.c"), counts[1])])
    };
    let a = run("/before", [&[(0, 1000)], &[(0, 2)]]);
    let b = run("/after", [&[(0, 2)], &[(0, 1000)]]);
    let actual = changes(&a, &b);
    assert!(actual.is_different());
    let mut differences: Vec<i128> = actual
        .functions
        .iter()
        .map(FunctionChange::change)
        .collect();
    differences.sort_unstable();
    assert_eq!(differences, [-2994, 2994]);
    assert!(
        actual
            .functions
            .iter()
            .all(|change| change.pairing == Pairing::Same)
    );
}

/// A filter that accepts only the old name finds the function under its new name.
#[test]
fn a_filter_keeps_pairs_by_either_name() {
    let a = run_of(vec![(slide_named("before", "a.c"), SLIDE_FIRST)]);
    let b = run_of(vec![(slide_named("after", "a.c"), SLIDE_FIRST)]);
    for name in ["before", "after"] {
        let keep = |function: &Function| &*function.map.name == name;
        let actual = diff([&a, &b], &keep, &source_name);
        assert_eq!(actual.functions.len(), 1, "{name}");
        assert_eq!(actual.functions[0].pairing, Pairing::Renamed);
        assert!(!actual.is_different());
    }
}

#[test]
fn only_moved_functions_are_no_difference() {
    let a = run_of(vec![(straight("f", "a.c", 1), &[(0, 5)])]);
    let b = run_of(vec![(straight("f", "b.c", 1), &[(0, 5)])]);
    let actual = changes(&a, &b);
    assert_eq!(actual.functions.len(), 1);
    assert!(!actual.is_different());
}

proptest! {
    /// The changes of paths add up to those of functions, and these to those of the runs. The diff
    /// in the other direction is the opposite.
    #[test]
    fn changes_add_up(
        a in proptest::collection::btree_map(0u64..6, 1u64..1000, 0..6),
        b in proptest::collection::btree_map(0u64..6, 1u64..1000, 0..6),
    ) {
        let [from, to] = [&a, &b].map(|counts| {
            let counts: Vec<(u64, u64)> = counts.iter().map(|(&path, &count)| (path, count)).collect();
            run_of(vec![(slide(), &counts)])
        });
        let actual = changes(&from, &to);
        let sum: i128 = actual.functions.iter().map(FunctionChange::change).sum();
        prop_assert_eq!(sum, change(actual.totals));
        let of_parts: i128 = actual
            .parts
            .iter()
            .map(|part| i128::from(part.instructions[1].0) - i128::from(part.instructions[0].0))
            .sum();
        prop_assert_eq!(of_parts, sum);
        for part in &actual.parts {
            let expect = [&a, &b].map(|counts| Count(counts.get(&part.number).copied().unwrap_or(0)));
            prop_assert_eq!(part.counts, expect);
        }
        prop_assert_eq!(actual.is_different(), a != b);
        let back = changes(&to, &from);
        prop_assert_eq!(change(back.totals), -change(actual.totals));
        prop_assert_eq!(back.parts.len(), actual.parts.len());
    }
}
