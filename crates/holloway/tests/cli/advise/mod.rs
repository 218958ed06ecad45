//! `holloway advise` on programs that get a piece of each kind, and on programs that look similar
//! and get none.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::cli_support::Project;

const YES: &str = include_str!("yes.c");
const NO: &str = include_str!("no.c");
const LIST: &str = include_str!("list.c");
const RUST: &str = include_str!("main.rs");

/// A recorded run of a C program.
fn recorded(program: &str, kind: &str) -> Project {
    let project = Project::new(&[("app.c", program)]);
    let build = format!("cc --collect {kind} -g -O1 app.c -o app -lpthread");
    project.holloway(&build).ok();
    project.holloway("run -o run --no-report -- ./app").ok();
    project
}

fn advised(project: &Project) -> Value {
    project.holloway("advise run --format json").ok().json().0
}

/// The kinds and functions of all pieces, without those of `main`.
fn pieces(document: &Value) -> BTreeSet<(&str, &str)> {
    let pieces = document["advice"].as_array().unwrap().iter();
    let pieces = pieces.map(|piece| {
        let text = |key: &str| piece[key].as_str().unwrap();
        (text("kind"), text("function"))
    });
    pieces.filter(|&(_, function)| function != "main").collect()
}

/// The only piece of a kind for a function.
#[track_caller]
fn piece<'a>(document: &'a Value, kind: &str, function: &str) -> &'a Value {
    let pieces = document["advice"].as_array().unwrap().iter();
    let mut pieces = pieces.filter(|piece| piece["kind"] == kind && piece["function"] == function);
    let piece = pieces
        .next()
        .unwrap_or_else(|| panic!("no {kind} in {function}: {document:#}"));
    assert!(
        pieces.next().is_none(),
        "{kind} in {function}: {document:#}"
    );
    piece
}

/// The number of the line of a program that ends with this comment.
fn line(program: &str, comment: &str) -> Value {
    let mut lines = program.lines();
    let index = lines.position(|line| line.ends_with(&format!("// {comment}")));
    (index.unwrap() + 1).into()
}

#[test]
fn each_kind_of_advice_has_its_place() {
    let project = recorded(YES, "loops");
    let document = advised(&project);
    assert_eq!(document["schema"], 1);
    let expected = BTreeSet::from([
        ("busy_wait", "wait"),
        ("same_outcome", "modes"),
        ("decided", "twice"),
        ("period", "alternate"),
        ("allocation", "allocate"),
        ("bytes", "copy"),
        ("unpredictable", "guess"),
        ("unpredictable", "twice"),
    ]);
    assert_eq!(pieces(&document), expected, "{document:#}");
    for (kind, function) in expected {
        let piece = piece(&document, kind, function);
        if (kind, function) != ("unpredictable", "twice") && kind != "period" {
            assert_eq!(piece["line"], line(YES, kind), "{piece:#}");
        }
        let share = piece["bound"]["share"].as_f64().unwrap();
        assert!((0.01..=1.0).contains(&share), "{piece:#}");
        assert!(piece["action"].as_str().unwrap().len() > 10);
    }
    let counts = |kind, function| piece(&document, kind, function)["counts"].clone();
    assert_eq!(counts("allocation", "allocate")["executions"], 30_000);
    assert_eq!(counts("decided", "twice")["executions"], 300_000);
    assert_eq!(counts("same_outcome", "modes")["executions"], 4000);
    assert_eq!(counts("same_outcome", "modes")["turns"], 396_000);
    assert_eq!(counts("bytes", "copy")["turns"], 300_000);
    assert_eq!(counts("busy_wait", "wait")["executions"], 1);
    assert_eq!(
        counts("period", "alternate")["paths"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    let bound = |kind, function| piece(&document, kind, function)["bound"]["amount"].clone();
    assert_eq!(bound("allocation", "allocate"), 3_000_000);
    let shares = document["advice"].as_array().unwrap().iter();
    let shares: Vec<f64> = shares
        .map(|piece| piece["bound"]["share"].as_f64().unwrap())
        .collect();
    assert!(shares.is_sorted_by(|a, b| a >= b), "{shares:?}");
}

#[test]
fn similar_code_gets_no_advice() {
    let project = recorded(NO, "loops");
    let document = advised(&project);
    assert_eq!(pieces(&document), BTreeSet::new(), "{document:#}");
    let text = project.holloway("advise run").ok();
    text.says("no advice").says("0 of 0");
}

#[test]
fn runs_without_sequences_say_which_advice_is_missing() {
    let project = recorded(YES, "edges");
    let text = project.holloway("advise run --top 2").ok();
    text.says("2 of ")
        .says("periodic sequences need a profile of loops: build with --collect loops")
        .says("loads that wait need times of paths: build with --collect variation")
        .says("decisions that are made twice need counts of paths")
        .says("app.c:");
    let document = advised(&project);
    let missing = document["missing"].as_array().unwrap().iter();
    let missing: Vec<&str> = missing.map(|kind| kind["kind"].as_str().unwrap()).collect();
    assert_eq!(
        missing,
        ["same_outcome", "decided", "period", "waiting_loads"]
    );
    // Without context, a branch with a fixed outcome in each execution looks unpredictable.
    assert!(
        pieces(&document).contains(&("unpredictable", "modes")),
        "{document:#}"
    );
    let only = project.holloway("advise run --function ^copy$").ok();
    only.says("1 of 1").says("byte by byte");
}

#[test]
fn loads_of_a_long_list_wait() {
    let project = recorded(LIST, "times");
    let document = advised(&project);
    let piece = piece(&document, "waiting_loads", "walk");
    assert_eq!(piece["line"], 15, "{piece:#}");
    assert_eq!(piece["bound"]["unit"], "cycles");
    assert!(
        !pieces(&document).contains(&("waiting_loads", "add")),
        "{document:#}"
    );
}

#[test]
fn rust_programs_get_advice() {
    let project = Project::binary("[profile.release]\ndebug = 1\n", RUST);
    project.cargo_holloway("run --release --no-report").ok();
    let document = project.holloway("advise --format json").ok().json().0;
    let pieces = pieces(&document);
    for expected in [
        ("busy_wait", "app::wait"),
        ("allocation", "app::allocate"),
        ("bytes", "app::find"),
    ] {
        assert!(pieces.contains(&expected), "{expected:?}: {document:#}");
    }
    assert!(
        !pieces.contains(&("allocation", "app::reuse")),
        "{document:#}"
    );
}

#[test]
fn samples_are_refused() {
    let project = Project::new(&[("run/cpu.hws", "")]);
    project
        .holloway("advise run")
        .exits(2)
        .fails_with("only samples");
    project
        .holloway("advise missing")
        .exits(125)
        .fails_with("missing");
}
