//! Golden files of runs that recorded edges, paths and edges, or left paths. Also golden files of
//! comparisons of runs.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use build::{
    SLIDE_FIRST, SLIDE_SECOND, count_edges, fact, function, image, module, profile, slide,
};
use holloway_abi::Kind;
use holloway_analysis::{Exits, RunProfile};
use holloway_format::{FunctionMap, ImageMap, Outcome};
use holloway_report::source::Nothing;
use holloway_report::{Options, Sort, Source, View, default_view, json, overlap, terminal};
use holloway_testkit::{build, narrow};
use insta::assert_snapshot;
use regex::Regex;

struct Sources;

impl Source for Sources {
    fn line(&self, file: &str, line: u32) -> Option<String> {
        let text = match file {
            "slide.c" => {
                "int slide(int a) {\n  if (a > 2)\n    if (f(a))\n\n      c(a);\n\n  if (d(a))\n    e(a);\n\n  return a;\n}"
            }
            "fact.c" => {
                "int fact(int n) {\n  if (n == 0)\n    return done(1);\n  int rest = fact(n - 1);\n  return n * rest;\n}"
            }
            _ => return None,
        };
        text.lines()
            .nth(line.checked_sub(1)? as usize)
            .map(str::to_owned)
    }
}

fn options(view: Option<View>) -> Options<'static> {
    Options {
        view,
        width: 120,
        ..Options::new(&Sources)
    }
}

fn print(run: &RunProfile, options: &Options<'_>) -> String {
    let mut out = Vec::new();
    terminal::write(run, options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The counts of a map's edge counters, if its edges ran as often as `edges` says.
fn counters(map: &FunctionMap, edges: &[u64]) -> Vec<(u64, u64)> {
    let counts = map.counted.iter().map(|&edge| edges[edge as usize]);
    (0u64..)
        .zip(counts)
        .filter(|&(_, count)| count > 0)
        .collect()
}

/// The edge counts of `slide`, which its two path profiles share.
const SLIDE: [u64; 9] = [150, 120, 100, 20, 250, 110, 160, 160, 270];

/// Edge counts of `fact` with frames that are left: 5 calls, the base case once, four calls that do
/// not come back.
const FACT: [u64; 6] = [1, 4, 1, 0, 0, 0];

/// Edge counts of `fact` with re-entries: 4 calls, three of which call `fact`. The code after these
/// calls runs six times.
const FACT_AGAIN: [u64; 6] = [1, 3, 1, 6, 0, 6];

fn never() -> FunctionMap {
    function("never", "slide.c", 11)
        .block(1, &[(0, 11)])
        .block(0, &[])
        .edge(0, 1, Outcome::Return)
        .edges()
}

fn edge_run() -> RunProfile {
    let slide = count_edges(&slide(), &[]).unwrap();
    let maps = vec![slide, fact().edges(), never()];
    let app = image("app", vec![module("slide.o", maps)]);
    let functions = &app.modules[0].module.functions;
    let counts = [
        counters(&functions[0], &SLIDE),
        counters(&functions[1], &FACT),
    ];
    let profile = profile(&app, 7, &[(0, 0, &counts[0]), (0, 1, &counts[1])]);
    RunProfile::new(vec![(app, vec![profile])])
}

fn path_run(counts: &[(u64, u64)]) -> RunProfile {
    let app = image("app", vec![module("slide.o", vec![slide()])]);
    let profile = profile(&app, 7, &[(0, 0, counts)]);
    RunProfile::new(vec![(app, vec![profile])])
}

/// A program that counted paths, with left paths, and a library that counted edges, with
/// re-entries.
fn mixed_run() -> RunProfile {
    let app = image("app", vec![module("fact.o", vec![fact().done(), slide()])]);
    // In the program, the base case ran once, and 5 paths were left in the call, one of which
    // continued.
    let ids = path_numbers();
    let counts = [(ids[0], 1), (ids[1], 5), (ids[2], 1)];
    let mut counts = counts.to_vec();
    counts.sort_unstable();
    let library = image("lib.so", vec![module("lib.o", vec![fact().edges()])]);
    let again = counters(&library.modules[0].module.functions[0], &FACT_AGAIN);
    let first = profile(&app, 7, &[(0, 0, &counts), (0, 1, SLIDE_FIRST)]);
    let second = profile(&library, 7, &[(0, 0, &again)]);
    RunProfile::new(vec![(app, vec![first]), (library, vec![second])])
}

/// The path numbers of `fact`: the base case, the path that is left in the call, and the path on
/// which the call comes back.
fn path_numbers() -> [u64; 3] {
    let map = fact().done();
    let numbering = build::compute_numbering(&map);
    let id = |blocks: &[u32], left: bool| {
        let has_blocks = |&id: &u64| {
            let path = numbering.regenerate(holloway_flow::PathId(id)).unwrap();
            path.blocks
                .iter()
                .map(|block| block.0)
                .eq(blocks.iter().copied())
                && (path.end.edge().0 == 4) == left
        };
        (0..map.path_count).find(has_blocks).unwrap()
    };
    [id(&[0, 1], false), id(&[0, 2], true), id(&[0, 2, 3], false)]
}

#[test]
fn a_run_of_edges_is_shown_by_its_edges() {
    let run = edge_run();
    assert_eq!(default_view(&run), View::Edges);
    assert_snapshot!(print(&run, &options(None)));
}

#[test]
fn narrow_terminals_lose_no_number_of_edges() {
    for view in [View::Functions, View::Edges, View::Blocks, View::Lines] {
        narrow::check(None, &|width| {
            let options = Options {
                width,
                source: &Nothing,
                ..options(Some(view))
            };
            print(&edge_run(), &options)
        });
    }
}

#[test]
fn functions_of_edges() {
    assert_snapshot!(print(&edge_run(), &options(Some(View::Functions))));
}

#[test]
fn blocks() {
    assert_snapshot!(print(&edge_run(), &options(Some(View::Blocks))));
    let by_instructions = Options {
        sort: Sort::Instructions,
        top: Some(3),
        width: 70,
        ..options(Some(View::Blocks))
    };
    assert_snapshot!(print(&edge_run(), &by_instructions));
}

#[test]
fn branches() {
    let branches = options(Some(View::Branches));
    assert_snapshot!(print(&path_run(SLIDE_FIRST), &branches));
    assert_snapshot!(print(&edge_run(), &branches));
    assert_snapshot!(print(
        &mixed_run(),
        &Options {
            top: Some(2),
            width: 80,
            ..branches
        }
    ));
}

#[test]
fn edges_have_no_paths() {
    assert_snapshot!(print(&edge_run(), &options(Some(View::Paths))));
    let text = print(&edge_run(), &options(Some(View::PathsFromEdges)));
    assert!(
        text.ends_with("edges were recorded, not paths: build with --collect paths to see them\n"),
        "{text}"
    );
}

#[test]
fn where_functions_of_edges_went() {
    let function = Some(Regex::new("slide|never").unwrap());
    let text = print(
        &edge_run(),
        &Options {
            function,
            ..options(Some(View::Functions))
        },
    );
    assert_snapshot!(text);
}

#[test]
fn both_kinds_in_one_run() {
    let run = mixed_run();
    assert_eq!(default_view(&run), View::Paths);
    assert_snapshot!(print(
        &run,
        &Options {
            top: Some(3),
            ..options(None)
        }
    ));
    assert_snapshot!(print(&run, &options(Some(View::Edges))));
    assert_snapshot!(print(&run, &options(Some(View::Functions))));
}

/// The view shows that a path was left.
#[test]
fn a_path_that_was_left() {
    let function = Some(Regex::new("fact").unwrap());
    let text = print(
        &mixed_run(),
        &Options {
            function,
            ..options(Some(View::Paths))
        },
    );
    assert_snapshot!(text);
}

/// The coverage section mentions uncounted frames only for programs in which a frame may be left.
#[test]
fn frames_that_may_be_left_uncounted_are_said() {
    let head = |function: FunctionMap, counts: &[(u64, u64)]| {
        let app = image("app", vec![module("slide.o", vec![function])]);
        let profile = profile(&app, 7, &[(0, 0, counts)]);
        print(&RunProfile::new(vec![(app, vec![profile])]), &options(None))
    };
    let by_paths = "not counted (--exits on counts frames left by longjmp, unwinding, exit)";
    let by_edges = "not measured: counts take every call to have come back (--exits on)";
    let edges = count_edges(&slide(), &[]).unwrap();
    let counted = counters(&edges, &SLIDE);
    for (mut function, counts, said) in [
        (slide(), SLIDE_FIRST, by_paths),
        (edges, &*counted, by_edges),
    ] {
        let text = head(function.clone(), counts);
        assert!(!text.contains("--exits"), "{text}");
        function.leaks = vec![3];
        let text = head(function, counts);
        assert!(text.contains(said), "{text}");
    }
}

/// Maps of earlier versions do not record where a frame may be left. Then any image without an exit
/// edge may have uncounted frames, if its kind counts left frames.
#[test]
fn runs_of_earlier_builds_may_leave_frames_uncounted() {
    let head = |kind, function: FunctionMap, counts: &[(u64, u64)]| {
        let app = ImageMap {
            kind,
            leaks_unknown: true,
            ..image("app", vec![module("slide.o", vec![function])])
        };
        let profile = profile(&app, 7, &[(0, 0, counts)]);
        print(&RunProfile::new(vec![(app, vec![profile])]), &options(None))
    };
    let by_paths = "not counted (--exits on counts frames left by longjmp, unwinding, exit)";
    let by_edges = "not measured: counts take every call to have come back (--exits on)";
    for kind in [Kind::Paths, Kind::Loops] {
        let text = head(kind, slide(), SLIDE_FIRST);
        assert!(text.contains(by_paths), "{text}");
    }
    let edges = count_edges(&slide(), &[]).unwrap();
    let counted = counters(&edges, &SLIDE);
    let text = head(Kind::Edges, edges, &counted);
    assert!(text.contains(by_edges), "{text}");
    for kind in [Kind::Trace, Kind::Variation, Kind::Times] {
        let text = head(kind, slide(), SLIDE_FIRST);
        assert!(!text.contains("--exits"), "{text}");
    }
    let exits = fact().edges();
    let counted = counters(&exits, &FACT);
    let text = head(Kind::Edges, exits, &counted);
    assert!(!text.contains("--exits"), "{text}");
}

/// The views that do not depend on the kind are the same after the coverage section.
#[test]
fn views_of_edges_equal_views_of_paths() {
    let edges = {
        let app = image(
            "app",
            vec![module("slide.o", vec![count_edges(&slide(), &[]).unwrap()])],
        );
        let counts = counters(&app.modules[0].module.functions[0], &SLIDE);
        let profile = profile(&app, 7, &[(0, 0, &counts)]);
        RunProfile::new(vec![(app, vec![profile])])
    };
    for view in [View::Edges, View::Blocks, View::Lines] {
        let below = |run: &RunProfile| {
            let text = print(run, &options(Some(view)));
            text.split_once("\n\n").unwrap().1.to_owned()
        };
        assert_eq!(below(&edges), below(&path_run(SLIDE_FIRST)));
        assert_eq!(below(&edges), below(&path_run(SLIDE_SECOND)));
    }
}

#[test]
fn paths_from_edges() {
    let run = mixed_run();
    assert_snapshot!(print(&run, &options(Some(View::PathsFromEdges))));
}

/// Runs of two builds. One function changed, one exists in only one build, and one is the same.
fn two_runs() -> [RunProfile; 2] {
    let straight = |name: &str| {
        function(name, "s.c", 1)
            .block(3, &[(0, 1)])
            .block(0, &[])
            .edge(0, 1, Outcome::Return)
    };
    let longer = |name: &str| {
        function(name, "s.c", 1)
            .block(3, &[(0, 1)])
            .block(4, &[(0, 2)])
            .block(0, &[])
            .edge(0, 1, Outcome::Jump)
            .edge(1, 2, Outcome::Return)
    };
    let run = |functions: Vec<FunctionMap>, counts: [&[(u64, u64)]; 3]| {
        let app = image("app", vec![module("slide.o", functions)]);
        let counts = [(0, 0, counts[0]), (0, 1, counts[1]), (0, 2, counts[2])];
        let profile = profile(&app, 7, &counts);
        RunProfile::new(vec![(app, vec![profile])])
    };
    [
        run(
            vec![slide(), straight("changed").done(), straight("old").done()],
            [SLIDE_FIRST, &[(0, 9)], &[(0, 2)]],
        ),
        run(
            vec![slide(), longer("changed").done(), straight("new").done()],
            [SLIDE_SECOND, &[(0, 8)], &[(0, 1)]],
        ),
    ]
}

fn print_overlap(runs: &[RunProfile; 2], options: &Options<'_>) -> String {
    let mut out = Vec::new();
    overlap::write(&runs[0], &runs[1], options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn overlap_of_paths() {
    assert_snapshot!(print_overlap(&two_runs(), &options(None)));
}

#[test]
fn narrow_terminals_lose_no_number_of_an_overlap() {
    narrow::check(None, &|width| {
        let options = Options {
            width,
            ..options(None)
        };
        print_overlap(&two_runs(), &options)
    });
}

#[test]
fn overlap_of_edges() {
    let again = {
        let app = image("app", vec![module("slide.o", vec![fact().edges()])]);
        let counts = counters(&app.modules[0].module.functions[0], &FACT_AGAIN);
        let profile = profile(&app, 8, &[(0, 0, &counts)]);
        RunProfile::new(vec![(app, vec![profile])])
    };
    assert_snapshot!(print_overlap(&[edge_run(), again], &options(None)));
}

/// The same execution in two runs: one counts paths with `--exits off`, and one counts edges with
/// `--exits on`. Four frames of `fact` are missing from its paths.
#[test]
fn exits_of_one_run_alone_are_no_differences() {
    let run = |map: FunctionMap, counts: &dyn Fn(&FunctionMap) -> Vec<(u64, u64)>| {
        let app = image("app", vec![module("slide.o", vec![map])]);
        let counts = counts(&app.modules[0].module.functions[0]);
        let profile = profile(&app, 8, &[(0, 0, &counts)]);
        RunProfile::new(vec![(app, vec![profile])])
    };
    let edges = run(fact().edges(), &|map| counters(map, &FACT));
    let without_exits = function("fact", "fact.c", 1)
        .block(2, &[(0, 2)])
        .block(1, &[(0, 3)])
        .block(2, &[(0, 4)])
        .block(2, &[(0, 5)])
        .block(0, &[])
        .edge(0, 1, Outcome::True)
        .edge(0, 2, Outcome::False)
        .edge(1, 4, Outcome::Return)
        .edge(2, 3, Outcome::Jump)
        .edge(3, 4, Outcome::Return);
    let numbered = without_exits.done();
    let base = build::compute_numbering(&numbered);
    let base = (0..2)
        .find(|&id| base.regenerate(holloway_flow::PathId(id)).unwrap().blocks[1].0 == 1)
        .unwrap();
    let paths = run(numbered, &|_| vec![(base, 1)]);
    assert_eq!((paths.exits(), edges.exits()), (Exits::Off, Exits::On));
    assert_snapshot!(print_overlap(&[paths, edges], &options(None)));
}

/// The JSON document has the reason.
#[test]
fn a_run_of_edges_has_no_prediction() {
    for (view, prediction) in [
        (View::Paths, None),
        (View::PathsFromEdges, Some(&serde_json::Value::Null)),
    ] {
        let mut out = Vec::new();
        json::write(&edge_run(), &options(Some(view)), &mut out).unwrap();
        let value: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(value.get("prediction"), prediction);
        assert_eq!(value["reason"], "edges were recorded, not paths");
    }
}

#[test]
fn overlap_of_nothing() {
    let runs = [path_run(&[]), path_run(&[])];
    assert_snapshot!(print_overlap(&runs, &options(None)));
}

/// The JSON examples of docs/json.md equal the written documents, except for spaces.
#[test]
fn the_documented_comparisons_are_what_is_written() {
    let docs = include_str!("../../../docs/json.md");
    let example = |heading: &str| {
        let (_, section) = docs.split_once(heading).unwrap();
        let (_, example) = section.split_once("```json\n").unwrap();
        serde_json::from_str::<serde_json::Value>(example.split_once("```").unwrap().0).unwrap()
    };
    let written = |write: &dyn Fn(&mut Vec<u8>)| {
        let mut out = Vec::new();
        write(&mut out);
        serde_json::from_slice::<serde_json::Value>(&out).unwrap()
    };
    let run = path_run(SLIDE_FIRST);
    let document = written(&|out| {
        json::write(&run, &options(Some(View::PathsFromEdges)), out).unwrap();
    });
    assert_eq!(example("## Prediction"), document["prediction"]);
    let document = written(&|out| {
        let options = Options {
            top: Some(2),
            ..options(Some(View::Branches))
        };
        let run = path_run(SLIDE_SECOND);
        json::write(&run, &options, out).unwrap();
    });
    assert_eq!(example("## Branches"), document["branches"], "{document:#}");
    assert!(document.get("lines").is_none());
    let runs = two_runs();
    let compared = written(&|out| {
        let options = Options {
            top: Some(2),
            ..options(None)
        };
        overlap::json(&runs[0], &runs[1], &options, out).unwrap();
    });
    assert_eq!(example("## Overlap"), compared, "{compared:#}");
}

#[test]
fn edges_and_both_kinds_as_json() {
    let json = |run: &RunProfile| {
        let mut out = Vec::new();
        json::write(run, &options(None), &mut out).unwrap();
        let value: serde_json::Value = serde_json::from_slice(&out).unwrap();
        serde_json::to_string_pretty(&value).unwrap()
    };
    assert_snapshot!(json(&edge_run()));
    assert_snapshot!(json(&mixed_run()));
}

/// The child of a fork continues in the frames of its parent. According to the child's counters,
/// control leaves these frames without having entered them.
#[test]
fn paths_entered_again_are_listed_apart() {
    let app = image("app", vec![module("fact.o", vec![fact().done()])]);
    let ids = path_numbers();
    let child = profile(&app, 8, &[(0, 0, &[(ids[2], 2)])]);
    let run = RunProfile::new(vec![(app, vec![child])]);
    let mut out = Vec::new();
    json::write(&run, &options(None), &mut out).unwrap();
    let value: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let function = &value["functions"][0];
    assert_eq!(function["paths"][0]["id"], ids[2]);
    assert_eq!(function["paths"].as_array().unwrap().len(), 1);
    let again = &function["reentries"][0];
    assert_eq!(
        (again["id"].as_u64(), again["count"].as_u64()),
        (Some(ids[1]), Some(2))
    );
    assert_eq!(
        (again["end"].as_str(), again["next"].as_i64()),
        (Some("left"), Some(-1))
    );
    assert_eq!(value["totals"]["entered_again"], 2);
    assert_eq!(value["totals"]["calls"], 0);
}
