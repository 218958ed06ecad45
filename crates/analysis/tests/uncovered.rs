//! Tests of the code that never ran, merged over the images of a run.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::collections::{BTreeMap, BTreeSet};

use holloway_analysis::RunProfile;
use holloway_analysis::uncovered::{Uncovered, uncovered};
use holloway_flow::PathId;
use holloway_format::{Count, FunctionMap, Outcome};
use holloway_testkit::build::{function, image, mangled, module, profile};
use proptest::prelude::*;

/// `work` in a.rs: line 2 decides between lines 3 and 5, line 6 between lines 7 and 8. Four paths.
fn work() -> FunctionMap {
    function("work", "a.rs", 1)
        .block(2, &[(0, 2)])
        .block(1, &[(0, 3)])
        .block(1, &[(0, 5)])
        .block(2, &[(0, 6)])
        .block(1, &[(0, 7)])
        .block(1, &[(0, 8)])
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

/// A function of two lines without branches.
fn straight(linkage_name: &str, name: &str, line: u32) -> FunctionMap {
    mangled(linkage_name, name, "b.rs", line)
        .block(1, &[(0, line), (0, line + 1)])
        .block(0, &[])
        .edge(0, 1, Outcome::Return)
        .done()
}

/// A function with `helper` of b.rs:20 inlined at line 3, in the arm of a branch.
fn with_inlined_helper() -> FunctionMap {
    function("caller", "c.rs", 1)
        .inlined("helper", "b.rs", 0, 3)
        .block(1, &[(0, 2)])
        .block(1, &[(1, 21)])
        .block(1, &[(0, 4)])
        .block(0, &[])
        .edge(0, 1, Outcome::True)
        .edge(0, 2, Outcome::False)
        .edge(1, 2, Outcome::Jump)
        .edge(2, 3, Outcome::Return)
        .done()
}

/// The counts of a function: (path, executions).
type FunctionCounts<'a> = (u32, &'a [(u64, u64)]);
type Counts<'a> = &'a [FunctionCounts<'a>];

/// A run of one process for each image. Each image has the same functions, and its own counts.
fn run(functions: &dyn Fn() -> Vec<FunctionMap>, counts: &[Counts<'_>]) -> RunProfile {
    let images = (1u32..).zip(counts).map(|(pid, &counts)| {
        let image = image(&format!("test-{pid}"), vec![module("app", functions())]);
        let counts: Vec<_> = counts
            .iter()
            .map(|&(function, paths)| (0, function, paths))
            .collect();
        let profile = profile(&image, pid, &counts);
        (image, vec![profile])
    });
    RunProfile::new(images.collect())
}

fn of_run(run: &RunProfile) -> Uncovered<'_> {
    uncovered(run, &|_, _| true, |_| false, 100)
}

fn names<'a>(uncovered: &Uncovered<'a>) -> Vec<&'a str> {
    let functions = uncovered.functions.iter();
    functions.map(|function| &*function.scope.name).collect()
}

#[test]
fn test_programs_are_merged() {
    let work_only = || vec![work()];
    let (first, second) = (
        run(&work_only, &[&[(0, &[(0, 5)])]]),
        run(&work_only, &[&[(0, &[(0, 5)])], &[(0, &[(3, 2)])], &[]]),
    );
    // Path 0 alone takes one way of each branch.
    let alone = of_run(&first);
    assert_eq!((alone.function_count, names(&alone)), (1, vec![]));
    assert_eq!((alone.way_count, alone.ways.len()), (4, 2));
    assert_eq!(
        alone.lines,
        BTreeMap::from([("a.rs".to_owned(), vec![5, 8])])
    );
    assert_eq!((alone.paths_run, alone.path_count), (1, 4));
    assert_eq!(alone.paths[0].never, [1, 2, 3].map(PathId));
    // Path 3 of another program takes the other ways. The third program never calls the function.
    let merged = of_run(&second);
    assert_eq!((merged.function_count, names(&merged)), (1, vec![]));
    assert_eq!((merged.way_count, merged.ways.len()), (4, 0));
    assert_eq!((merged.uncovered_line_count, merged.lines.len()), (0, 0));
    assert_eq!((merged.paths_run, merged.path_count), (2, 4));
    assert_eq!(merged.paths[0].never, [1, 2].map(PathId));
    assert_eq!(merged.paths[0].versions, 1);
}

/// A function like `work`, with other names and another file.
fn work_named(linkage_name: &str, name: &str, file: &str) -> FunctionMap {
    let mut map = work();
    (map.linkage_name, map.name) = (linkage_name.into(), name.into());
    map.file = file.into();
    map.scopes[0].file = file.into();
    map
}

#[test]
fn allocator_shims_are_left_out_and_glue_comes_last() {
    let functions = || {
        let shim = "_RNvCs1_7___rustc12___rust_alloc";
        let shim = work_named(shim, "__rust_alloc", "main.rs");
        vec![
            shim,
            work(),
            work_named("xmalloc", "xmalloc", "wrap.c"),
            straight("_RNvCs1_7___rustc14___rust_dealloc", "__rust_dealloc", 40),
        ]
    };
    let run = run(
        &functions,
        &[&[(0, &[(0, 900)]), (1, &[(0, 5)]), (2, &[(0, 700)])]],
    );
    let uncovered = of_run(&run);
    assert_eq!(uncovered.allocator_shims, 2);
    assert_eq!((uncovered.function_count, names(&uncovered)), (2, vec![]));
    let files: Vec<&String> = uncovered.lines.keys().collect();
    assert_eq!(files, ["a.rs", "wrap.c"]);
    let ways = uncovered.ways.iter();
    let ways: Vec<_> = ways.map(|way| (way.file, way.executions)).collect();
    let of_work = ("a.rs", Count(5));
    let of_glue = ("wrap.c", Count(700));
    assert_eq!(ways, [of_work, of_work, of_glue, of_glue]);
    let paths = uncovered.paths.iter();
    let paths: Vec<_> = paths.map(|paths| paths.function.0).collect();
    assert_eq!(paths, [1, 2]);
}

#[test]
fn a_way_has_the_executions_of_its_branch() {
    let run = run(&|| vec![work()], &[&[(0, &[(0, 5)])], &[(0, &[(1, 7)])]]);
    let uncovered = of_run(&run);
    let ways = uncovered.ways.iter();
    let ways: Vec<_> = ways
        .map(|way| (way.file, way.line, way.executions))
        .collect();
    assert_eq!(ways, [("a.rs", 2, Count(12))]);
    assert_eq!(
        uncovered.lines,
        BTreeMap::from([("a.rs".to_owned(), vec![5])])
    );
}

#[test]
fn functions_that_never_ran_are_listed_once() {
    // Two instances of a generic function, in two programs: one function of the source.
    let functions = || {
        vec![
            straight("push_u8", "push<u8>", 10),
            straight("push_u64", "push<u64>", 10),
            straight("pop", "pop", 30),
        ]
    };
    let never = run(&functions, &[&[(2, &[(0, 1)])], &[]]);
    let uncovered = of_run(&never);
    assert_eq!(
        (uncovered.function_count, names(&uncovered)),
        (2, vec!["push<u8>"])
    );
    let function = uncovered.functions[0];
    assert_eq!(
        (function.file, function.line, function.lines),
        ("b.rs", 10, 2)
    );
    // Its lines are not listed again.
    assert_eq!(
        (uncovered.line_count, uncovered.uncovered_line_count),
        (4, 2)
    );
    assert!(uncovered.lines.is_empty());
    // One instance ran, in one program.
    let ran = run(&functions, &[&[], &[(1, &[(0, 3)])]]);
    assert_eq!(names(&of_run(&ran)), ["pop"]);
}

#[test]
fn an_inlined_function_ran_if_its_code_ran() {
    let functions = || vec![with_inlined_helper()];
    let [through, around] = [0, 1].map(|path| run(&functions, &[&[(0, &[(path, 4)])]]));
    let (through, around) = (of_run(&through), of_run(&around));
    let mut listed = [names(&through), names(&around)];
    listed.sort();
    assert_eq!(listed, [vec![], vec!["helper"]]);
    assert_eq!((through.function_count, around.function_count), (2, 2));
}

#[test]
fn only_code_that_the_caller_keeps_is_listed() {
    let run = run(
        &|| vec![work(), straight("f", "f", 10)],
        &[&[(0, &[(0, 1)])]],
    );
    let only_b = uncovered(&run, &|_, scope| *scope.file == *"b.rs", |_| false, 100);
    assert_eq!((only_b.function_count, names(&only_b)), (1, vec!["f"]));
    assert_eq!(
        (only_b.way_count, only_b.path_count, only_b.line_count),
        (0, 0, 2)
    );
}

proptest! {
    /// Merging over programs equals the union of what each program ran.
    #[test]
    fn merging_is_a_union(programs in prop::collection::vec(prop::collection::btree_set(0u64..4, 0..4), 1..5)) {
        let counts: Vec<Vec<(u64, u64)>> = programs
            .iter()
            .map(|paths| paths.iter().map(|&path| (path, path + 1)).collect())
            .collect();
        let functions: Vec<Vec<FunctionCounts<'_>>> =
            counts.iter().map(|counts| vec![(0, &counts[..])]).collect();
        let functions: Vec<Counts<'_>> = functions.iter().map(|counts| &counts[..]).collect();
        let run = run(&|| vec![work()], &functions);
        let uncovered = of_run(&run);
        let ran: BTreeSet<u64> = programs.iter().flatten().copied().collect();
        prop_assert_eq!(uncovered.functions.len(), usize::from(ran.is_empty()));
        prop_assert_eq!(uncovered.paths_run, ran.len() as u64);
        if !ran.is_empty() {
            let never: Vec<PathId> = (0..4).filter(|path| !ran.contains(path)).map(PathId).collect();
            let listed = uncovered.paths.first().map_or(Vec::new(), |paths| paths.never.clone());
            prop_assert_eq!(listed, never);
            // The bits of a path number are the ways that it takes at the two branches.
            let ways = |bit: u64| ran.iter().map(|path| path >> bit & 1).collect::<BTreeSet<_>>().len();
            prop_assert_eq!(uncovered.ways.len(), 4 - ways(0) - ways(1));
        }
    }
}
