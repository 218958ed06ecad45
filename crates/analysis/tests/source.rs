//! Tests how paths, lines, and functions relate to the source: outcomes, inlined frames, the fate
//! of a function, coverage.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use build::{
    SLIDE_FIRST, function, gone, image, module, path_number, profile, run_of, skipped, slide,
};
use holloway_analysis::coverage::coverage;
use holloway_analysis::find::where_is;
use holloway_analysis::lines::counts;
use holloway_analysis::trail::{End, Start, trail};
use holloway_analysis::{FunctionId, ModuleId, RunProfile};
use holloway_flow::PathId;
use holloway_format::{Count, FunctionMap, Outcome, Place};
use holloway_testkit::build;

/// The outcomes of edges.
fn outcomes(map: &FunctionMap, edges: &[u32]) -> Vec<Outcome> {
    edges
        .iter()
        .map(|&edge| map.edges[edge as usize].outcome)
        .collect()
}

#[test]
fn a_path_is_shown_as_lines_with_outcomes() {
    let map = slide();
    let path = build::number(&map).regenerate(PathId(3)).unwrap();
    let trail = trail(&map, &path);
    assert_eq!(trail.start, Start::Entry);
    let steps: Vec<_> = trail
        .steps
        .iter()
        .map(|step| (step.place.line, outcomes(&map, &step.decisions)))
        .collect();
    let expect = [
        (2, vec![Outcome::True]),
        (3, vec![Outcome::True]),
        (5, vec![]),
        (7, vec![Outcome::True]),
        (8, vec![]),
        (10, vec![]),
    ];
    assert_eq!(steps, expect);
    assert_eq!(trail.end, End::Exit(Outcome::Return));
}

#[test]
fn lines_of_several_blocks_are_one_step_and_keep_their_outcomes() {
    let map = function("f", "f.c", 1)
        .block(1, &[(0, 2)])
        .block(1, &[(0, 2)])
        .block(1, &[(0, 0), (0, 4)])
        .block(0, &[])
        .edge(0, 1, Outcome::True)
        .edge(0, 2, Outcome::False)
        .edge(1, 2, Outcome::Case(-3))
        .edge(1, 1, Outcome::Default)
        .edge(2, 3, Outcome::Noreturn)
        .done();
    let id = path_number(&map, &[0, 1, 2]);
    let trail_of = |id| trail(&map, &build::number(&map).regenerate(PathId(id)).unwrap());
    let trail_of_path = trail_of(id);
    let steps: Vec<_> = trail_of_path
        .steps
        .iter()
        .map(|step| (step.place.line, outcomes(&map, &step.decisions)))
        .collect();
    assert_eq!(
        steps,
        [(2, vec![Outcome::True, Outcome::Case(-3)]), (4, vec![])]
    );
    assert_eq!(trail_of_path.end, End::Exit(Outcome::Noreturn));
    let trail_of_turn = trail_of(path_number(&map, &[1]));
    let head = Place {
        scope: 0,
        line: 2,
        column: 3,
    };
    assert_eq!(
        (trail_of_turn.start, trail_of_turn.at),
        (Start::Loop, Some(head))
    );
    assert_eq!(
        outcomes(&map, &trail_of_turn.steps[0].decisions),
        [Outcome::Default]
    );
    assert_eq!(trail_of_turn.end, End::Back(Some(head)));
}

fn sample_run() -> RunProfile {
    let caller = function("caller", "f.c", 1)
        .inlined("helper", "h.h", 0, 2)
        .inlined("helper", "h.h", 0, 3)
        .block(5, &[(1, 10), (2, 10)])
        .block(0, &[])
        .edge(0, 1, Outcome::Return)
        .done();
    let mut first = module("a", vec![caller, slide().clone()]);
    first.skipped = vec![
        skipped("naked", "naked function"),
        skipped("_Zcopy", "left out by --only"),
    ];
    first.gone = vec![gone("helper"), gone("unused"), gone("slide")];
    let hashed = function("hashed", "f.c", 9)
        .block(1, &[])
        .block(0, &[])
        .edge(0, 1, Outcome::Return)
        .hashed()
        .done();
    let mut second = module("b", vec![hashed]);
    second.skipped = vec![
        skipped("_Zcopy", "left out by --only"),
        skipped("other", "naked function"),
    ];
    let image = image("app", vec![first, second]);
    let parent = profile(&image, 10, &[(0, 0, &[(0, 4)]), (1, 0, &[(0, 6)])]);
    let mut child = profile(&image, 11, &[(0, 0, &[(0, 1)])]);
    (child.head.forked, child.head.threads, child.head.lost) = (true, 3, 2);
    RunProfile::new(vec![(image, vec![child, parent])])
}

/// An image that executes itself continues in the same process, in the thread that called `exec`.
#[test]
fn threads_of_a_process_that_executes_itself_are_counted_once() {
    let image = image("app", vec![module("a", vec![slide().clone()])]);
    let mut profiles = vec![profile(&image, 10, &[(0, 0, &[(0, 1)])]); 21];
    for profile in &mut profiles {
        profile.head.threads = 1;
    }
    let run = |profiles: Vec<_>| RunProfile::new(vec![(image.clone(), profiles)]);
    let threads = |run: &RunProfile| (coverage(run).processes, coverage(run).threads);
    assert_eq!(threads(&run(profiles.clone())), (1, 1));
    profiles[3].head.threads = 4;
    assert_eq!(threads(&run(profiles)), (1, 4));
}

#[test]
fn coverage_counts_what_is_left_out() {
    let coverage = coverage(&sample_run());
    assert_eq!(
        (
            coverage.processes,
            coverage.forked,
            coverage.threads,
            coverage.lost
        ),
        (2, 1, 4, 2)
    );
    assert_eq!((coverage.run, coverage.instrumented), (2, 3));
    let reasons: Vec<_> = coverage
        .skipped
        .iter()
        .map(|(reason, count)| (reason.as_str(), *count))
        .collect();
    assert_eq!(reasons, [("naked function", 2), ("left out by --only", 1)]);
    assert_eq!((coverage.inlined, coverage.gone), (1, 1));
    assert_eq!(
        (coverage.path_executions, coverage.hashed_executions),
        (Count(11), Count(6))
    );
    assert_eq!(coverage.increments, Count(11));
    assert_eq!((coverage.distinct_paths, coverage.possible_paths), (2, 2));
    assert_eq!(
        (coverage.calls, coverage.instructions),
        (Count(11), Count(31))
    );
}

#[test]
fn where_is_finds_inlined_skipped_and_removed_functions() {
    let run = sample_run();
    let fate = |asked: &str| {
        let mut fates = where_is(&run, &|_, name| {
            (&**name == asked).then(|| name.as_str().into())
        });
        fates.pop_first().map(|(_, fate)| fate)
    };
    let helper = fate("helper").unwrap();
    assert_eq!(helper.inlined, [(FunctionId(0), 2)]);
    assert_eq!(helper.gone, [ModuleId(0)]);
    assert!(helper.instrumented.is_empty());
    assert_eq!(
        fate("naked").unwrap().skipped,
        [(ModuleId(0), "naked function".into())]
    );
    assert_eq!(fate("slide").unwrap().instrumented, [FunctionId(1)]);
    assert_eq!(fate("unused").unwrap().gone, [ModuleId(0)]);
    assert_eq!(fate("nobody"), None);
}

#[test]
fn a_map_with_cyclic_or_missing_scopes_is_read() {
    let mut map = slide();
    map.scopes[0].parent = Some(0);
    map.blocks[1].places[0].scope = 77;
    let run = run_of(map, SLIDE_FIRST);
    assert!(!counts(&run, &|_, _| true).is_empty());
}
