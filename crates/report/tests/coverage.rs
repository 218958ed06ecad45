//! Golden files of `holloway coverage`, in tests/snapshots.
//! `INSTA_UPDATE=always cargo test -p holloway-report` updates them.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use holloway_analysis::RunProfile;
use holloway_analysis::covered::Evidence;
use holloway_analysis::decisions::MAX_CONDITIONS;
use holloway_analysis::test_items::Goal;
use holloway_format::{Count, FunctionMap, Outcome};
use holloway_report::budget::{self, Limit, Measure, Number, Results, Runs, check};
use holloway_report::test_coverage::{LineChoice, Test, TestCoverage, has_code};
use holloway_report::{CodeFilter, Options, Origin, Source, json, terminal};
use holloway_testkit::build::{function, image, module, profile, run_of};
use insta::assert_snapshot;
use regex::Regex;
use serde_json::{Value, json};

const SOURCE: &str = "int f(int a, int b) {
  if (a > 1 &&
      b > 2)
    return 1;
  return 0;
}";

struct Sources;

impl Source for Sources {
    fn line(&self, file: &str, line: u32) -> Option<String> {
        let index = line.checked_sub(1)? as usize;
        let line = SOURCE.lines().nth(index)?;
        (file == "f.c").then(|| line.to_owned())
    }
}

/// `if (a > 1 && b > 2) return 1; return 0;`: both conditions have lines of their own.
fn decision() -> FunctionMap {
    let mut map = function("f", "f.c", 1)
        .block_at(&[(0, 2, 9)])
        .block_at(&[(0, 3, 9)])
        .block_at(&[(0, 4, 5)])
        .block_at(&[(0, 5, 3)])
        .block_at(&[])
        .edge(0, 1, Outcome::True)
        .edge(0, 3, Outcome::False)
        .edge(1, 2, Outcome::True)
        .edge(1, 3, Outcome::False)
        .edge(2, 4, Outcome::Return)
        .edge(3, 4, Outcome::Return)
        .done();
    map.is_source_graph = true;
    map
}

/// The path through these blocks.
fn path(map: &FunctionMap, blocks: &[u32]) -> u64 {
    holloway_testkit::build::path_number(map, blocks)
}

fn options() -> Options<'static> {
    Options {
        code: CodeFilter {
            origin: Origin::All,
            ..CodeFilter::default()
        },
        width: 100,
        ..Options::new(&Sources)
    }
}

fn print(run: &RunProfile, options: &Options<'_>) -> String {
    let mut out = Vec::new();
    let evidence = Evidence { run, loops: None };
    terminal::covered::write(evidence, options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn document(run: &RunProfile) -> Value {
    let mut out = Vec::new();
    let evidence = Evidence { run, loops: None };
    json::covered::write(evidence, &options(), &mut out).unwrap();
    serde_json::from_slice(&out).unwrap()
}

/// `a` held 7 times with `b`, and failed 3 times; `b` never failed.
fn partly() -> RunProfile {
    let map = decision();
    let counters = [(path(&map, &[0, 1, 2]), 7), (path(&map, &[0, 3]), 3)];
    run_of(map, &counters)
}

#[test]
fn conditions_and_missing_paths() {
    assert_snapshot!(print(&partly(), &options()));
}

#[test]
fn a_narrow_terminal_folds_the_tables() {
    let narrow = Options {
        width: 50,
        ..options()
    };
    let text = print(&partly(), &narrow);
    assert!(
        text.lines().all(|line| line.chars().count() <= 50),
        "{text}"
    );
}

#[test]
fn a_complete_run_has_nothing_to_list() {
    let map = decision();
    let paths: [&[u32]; 3] = [&[0, 1, 2], &[0, 1, 3], &[0, 3]];
    let counters = paths.map(|blocks| (path(&map, blocks), 1));
    let text = print(&run_of(map, &counters), &options());
    assert!(
        text.contains("2 of 2 conditions of 1 decision (MC/DC), 100.0 %"),
        "{text}"
    );
    for title in ["did not run completely", "never acted", "never ran"] {
        assert!(!text.contains(title), "{text}");
    }
}

#[test]
fn optimized_graphs_and_edges_have_no_conditions() {
    let mut optimized = decision();
    optimized.is_source_graph = false;
    let text = print(&run_of(optimized, &[(0, 1)]), &options());
    assert!(
        text.contains("not measured: build with --graph source"),
        "{text}"
    );
    let mut edges = function("f", "f.c", 1)
        .block_at(&[(0, 2, 9)])
        .block_at(&[])
        .edge(0, 1, Outcome::Return)
        .edges();
    edges.is_source_graph = true;
    let text = print(&run_of(edges, &[(0, 1)]), &options());
    assert!(
        text.contains("not measured: edges do not show conditions together"),
        "{text}"
    );
}

/// A function that returns 1 if `count` conditions hold, one after the other, on one line.
fn chain(name: &str, count: u32) -> FunctionMap {
    let mut graph = function(name, "f.c", 1);
    for condition in 0..count {
        graph = graph.block_at(&[(0, 12, condition + 5)]);
    }
    graph = graph.block_at(&[(0, 13, 5)]);
    graph = graph.block_at(&[(0, 14, 5)]).block_at(&[]);
    for condition in 0..count {
        graph = graph.edge(condition, condition + 1, Outcome::True);
        graph = graph.edge(condition, count + 1, Outcome::False);
    }
    graph = graph.edge(count, count + 2, Outcome::Return);
    let mut map = graph.edge(count + 1, count + 2, Outcome::Return).done();
    map.is_source_graph = true;
    map
}

#[test]
fn a_limit_says_which_decisions_it_leaves_out() {
    let measured = |run: &RunProfile| {
        let limit = Limit {
            name: None,
            line: 1,
            measure: Measure::ConditionsCovered,
            function: None,
            path: None,
            code: options().code,
            min: Some(Number::Integer(10)),
            max: None,
        };
        let runs = Runs {
            run,
            times: None,
            loops: None,
            baseline: None,
        };
        let results = Results {
            budget: "b.toml".to_owned(),
            run: "r".to_owned(),
            checked: vec![check(&limit, runs, &options()).unwrap()],
        };
        let mut text = Vec::new();
        budget::text(&results, &mut text).unwrap();
        let mut json = Vec::new();
        budget::json(&results, &mut json).unwrap();
        let json: Value = serde_json::from_slice(&json).unwrap();
        let parts = json["limits"][0]["not_measured"].as_u64().unwrap();
        (String::from_utf8(text).unwrap(), parts)
    };
    let (text, parts) = measured(&partly());
    assert!(text.ends_with("50.00 %  at least 10 %\n"), "{text}");
    assert_eq!(parts, 0);
    let large = chain("g", MAX_CONDITIONS as u32 + 1);
    let image = image("app", vec![module("a", vec![decision(), large])]);
    let counters: &[(u64, u64)] = &[(0, 1)];
    let profile = profile(&image, 1, &[(0, 0, counters), (0, 1, counters)]);
    let run = RunProfile::new(vec![(image, vec![profile])]);
    let (text, parts) = measured(&run);
    assert!(
        text.ends_with("at least 10 %, not measured: 1 decision\n"),
        "{text}"
    );
    assert_eq!(parts, 1);
}

#[test]
fn the_document_has_the_figures_of_the_text() {
    let coverage = document(&partly())["coverage"].take();
    let totals = &coverage["totals"];
    assert_eq!(totals["functions"], json!({"covered": 1, "possible": 1}));
    // With the line of the declaration.
    assert_eq!(totals["lines"], json!({"covered": 5, "possible": 5}));
    assert_eq!(totals["branches"], json!({"covered": 3, "possible": 4}));
    assert_eq!(totals["paths"], json!({"covered": 2, "possible": 3}));
    assert_eq!(totals["conditions"], json!({"covered": 1, "possible": 2}));
    assert_eq!(coverage["files"][0]["paths"], totals["paths"]);
    assert_eq!(coverage["functions"][0]["paths"], totals["paths"]);
    let decision = &coverage["decisions"][0];
    let expected = json!([
        {"line": 2, "column": 9, "covered": true, "held": 7, "failed": 3},
        {"line": 3, "column": 9, "covered": false, "held": 7, "failed": 0},
    ]);
    assert_eq!(decision["conditions"], expected);
    let vectors = decision["vectors"].as_array().unwrap();
    assert_eq!(vectors.len(), 2);
    assert_eq!(vectors[0]["values"], json!([false, null]));
    assert_eq!(vectors[1]["values"], json!([true, true]));
    let missing = &coverage["functions"][0]["missing_paths"];
    assert_eq!(missing.as_array().unwrap().len(), 1);
    assert_eq!(missing[0]["path"], path(&self::decision(), &[0, 1, 3]));
    let nearest = &missing[0]["nearest"];
    assert_eq!(nearest["executions"], 7);
    assert_eq!(nearest["departures"][0]["line"], 3);
}

/// The runs of three tests. The first two run the same path, the third runs another one.
fn tests(line: Option<&LineChoice>, options: &Options<'_>) -> (RunProfile, TestCoverage) {
    let map = decision();
    let (both, first_fails) = (path(&map, &[0, 1, 2]), path(&map, &[0, 3]));
    let mut coverage = TestCoverage::new(Goal::Paths);
    let runs = [
        ("one", both, 2),
        ("two", both, 1),
        ("three", first_fails, 5),
    ];
    for (name, path, count) in runs {
        let test = Test {
            name: name.to_owned(),
            function: String::new(),
            passed: Some(name != "two"),
        };
        coverage.add(test, &run_of(map.clone(), &[(path, count)]), options, line);
    }
    let image = image("app", vec![module("app", vec![map])]);
    let all = profile(&image, 7, &[]);
    (RunProfile::new(vec![(image, vec![all])]), coverage)
}

fn print_tests(place: Option<&str>, line: Option<&LineChoice>, options: &Options<'_>) -> String {
    let (run, coverage) = tests(line, options);
    let mut out = Vec::new();
    terminal::test_coverage::write(&run, &coverage, place, options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn tests_and_the_smallest_set() {
    assert_snapshot!(print_tests(None, None, &options()));
}

#[test]
fn tests_that_run_a_line_or_a_path() {
    let line = LineChoice::parse("f.c:4").unwrap();
    let text = print_tests(Some("f.c:4"), Some(&line), &options());
    assert_snapshot!(text);
    let map = decision();
    let run = run_of(map.clone(), &[(path(&map, &[0, 3]), 5)]);
    let name = run.functions[0].path_name(holloway_format::PathId(path(&map, &[0, 3])));
    let chosen = format!("f{}", name.unwrap());
    let choice = holloway_report::PathChoice::parse(&chosen).unwrap();
    let options = Options {
        function: Some(Regex::new("^f$").unwrap()),
        path: Some(choice),
        ..options()
    };
    let (_, coverage) = tests(None, &options);
    let mut out = Vec::new();
    json::test_coverage::write(&coverage, Some(&chosen), &mut out).unwrap();
    let document: Value = serde_json::from_slice(&out).unwrap();
    let expected = json!([{"name": "three", "executions": Count(5)}]);
    assert_eq!(document["tests"]["asked"]["tests"], expected);
}

#[test]
fn a_line_without_code_is_no_line_that_no_test_runs() {
    let run = partly();
    let has = |text: &str| has_code(&run, &LineChoice::parse(text).unwrap());
    assert!(has("f.c:4"));
    assert!(!has("f.c:6") && !has("g.c:4"));
}
