//! `holloway check`: limits on figures of a run.

use std::path::PathBuf;
use std::sync::OnceLock;

use serde_json::Value;

use crate::cli_support::Project;

const PROGRAM: &str = r#"
#[inline(never)]
fn even(n: u64) -> bool { if std::hint::black_box(n) % 2 == 0 { true } else { false } }
fn main() {
    let numbers = std::env::args().nth(1).unwrap().parse().unwrap();
    println!("{}", (0..numbers).filter(|&n| even(n)).count());
}
"#;

/// A project with two runs: of 100 numbers, and of 200.
fn recorded() -> (&'static Project, &'static [PathBuf]) {
    static PROJECT: OnceLock<(Project, Vec<PathBuf>)> = OnceLock::new();
    let (project, runs) = PROJECT.get_or_init(|| {
        let project = Project::binary("", PROGRAM);
        for (run, numbers) in [("small", "100"), ("large", "200")] {
            let words = format!("run --no-report -o {run} -- {numbers}");
            project.cargo_holloway(&words).ok();
        }
        let runs = ["small", "large"].map(|run| project.path().join(run));
        (project, runs.into())
    });
    (project, runs)
}

/// Writes a budget of limits, each with the keys of one line, separated by `;`.
fn budget(project: &Project, name: &str, limits: &[&str]) -> String {
    let limits = limits
        .iter()
        .map(|limit| format!("[[limit]]\n{}\n", limit.replace(';', "\n")));
    std::fs::write(project.path().join(name), limits.collect::<String>()).unwrap();
    name.to_owned()
}

const EVEN: &str = "function = 'even$'";

#[test]
fn kept_limits_succeed_and_broken_ones_fail() {
    let (project, _) = recorded();
    let exact = format!("measure = 'calls';{EVEN};min = 200;max = 200");
    let kept = budget(
        project,
        "kept.toml",
        &[&exact, "measure = 'overlap';max = 1"],
    );
    let text = project
        .holloway(&format!("check {kept} large --baseline small"))
        .ok();
    text.says("kept.toml  large keeps 2 limits");
    text.says("calls of even$");
    text.says("from 200 to 200");

    let above = format!("measure = 'calls';{EVEN};max = 199");
    let broken = budget(project, "broken.toml", &[&exact, &above]);
    let text = project.holloway(&format!("check {broken} large")).exits(3);
    text.says("broken.toml  large breaks 1 of 2 limits");
    text.says("BROKEN  calls of even$");
}

#[test]
fn figures_are_those_of_the_reports() {
    let (project, _) = recorded();
    let measures = [
        "instructions",
        "path-executions",
        "paths",
        "instruction-change",
        "overlap",
        "new-paths",
    ];
    let limits = measures.map(|measure| format!("measure = '{measure}';min = 0"));
    let limits = limits.each_ref().map(String::as_str);
    let file = budget(project, "figures.toml", &limits);
    let words = format!("check {file} large --baseline small --format json");
    let check = project.holloway(&words).ok().json().0;
    let value = |index: usize| check["limits"][index]["value"].clone();

    let report = |run: &str| {
        project
            .holloway(&format!("report {run} --format json"))
            .ok()
            .json()
            .0
    };
    let (small, large) = (report("small"), report("large"));
    let totals = |run: &Value, key: &str| run["totals"][key].as_u64().unwrap();
    let [before, now] = [&small, &large].map(|run| totals(run, "instructions"));
    assert_eq!(value(0), now);
    assert_eq!(value(1), totals(&large, "path_executions"));
    assert_eq!(value(2), totals(&large, "distinct_paths"));
    let change = 100.0 * (now as f64 - before as f64) / before as f64;
    assert!(
        (value(3).as_f64().unwrap() - change).abs() < 1e-9,
        "{check}"
    );
    let overlap = project
        .holloway("overlap small large --format json")
        .ok()
        .json()
        .0;
    assert_eq!(value(4), overlap["overlap"]);
    let new = totals(&large, "distinct_paths") - overlap["common"].as_u64().unwrap();
    assert_eq!(value(5), new);
    assert_eq!(check["broken"], 0);
}

#[test]
fn results_are_written_for_ci_systems_before_the_check_fails() {
    let (project, _) = recorded();
    let one = format!("measure = 'calls';{EVEN};max = 1");
    let file = budget(
        project,
        "ci.toml",
        &[&one, "measure = 'lines-covered';min = 101"],
    );
    let words = format!("check {file} large --format github --junit check.xml");
    let text = project.holloway(&words).exits(3);
    text.says("::error file=src/main.rs,line=3,title=calls of even$::200 (at most 1)");
    text.says("::error file=ci.toml,line=5,title=lines covered::");
    text.says("%25 (at least 101 %25)");
    text.says("2 of 2 limits broken");
    let junit = std::fs::read_to_string(project.path().join("check.xml")).unwrap();
    for part in [
        "tests=\"2\" failures=\"2\"",
        "<testcase name=\"calls of even$\" classname=\"calls\"",
        "message=\"calls of even$: 200 (at most 1)\"",
    ] {
        assert!(junit.contains(part), "{part}: {junit}");
    }
}

#[test]
fn a_path_that_did_not_run_keeps_its_maximum() {
    let (project, _) = recorded();
    let limit = |bound| format!("measure = 'path-executions';{bound};function = 'even#12345'");
    let [most, least] = ["max = 10", "min = 1"].map(limit);
    let file = budget(project, "gone.toml", &[&most, &least]);
    let text = project.holloway(&format!("check {file} large")).exits(3);
    text.says("gone.toml  large breaks 1 of 2 limits");
}

#[test]
fn limits_that_cannot_be_checked_are_errors() {
    let (project, _) = recorded();
    let check = |limit: &str, message: &str| {
        let file = budget(project, "wrong.toml", &["measure = 'calls';min = 0", limit]);
        let call = project.holloway(&format!("check {file} large")).exits(2);
        call.fails_with(message);
    };
    check(
        "measure = 'overlap';min = 1",
        "wrong.toml:4: overlap needs an earlier run",
    );
    check(
        "measure = 'variation';max = 1",
        "wrong.toml:4: variation needs times of paths",
    );
    check(
        "measure = 'speed';max = 1",
        "wrong.toml:5: no measure \"speed\": there are calls,",
    );
    check(
        "measure = 'calls';most = 1",
        "wrong.toml:6: unknown field `most`",
    );
    check(
        "measure = 'calls';max = 1;function = 'none'",
        "no function matches",
    );
    check("measure = 'calls';max = 1;crate = 'none'", "none");
    check(
        "measure = 'calls';max = 1;function = 'even#12345'",
        "calls counts whole functions",
    );
    check(
        "measure = 'conditions-covered';min = 1",
        "build with --graph source",
    );
    check(
        "measure = 'prime-paths-covered';min = 1",
        "build with --collect loops",
    );
    let (_, runs) = recorded();
    let damaged = project.path().join("damaged");
    std::fs::create_dir_all(&damaged).unwrap();
    for entry in std::fs::read_dir(&runs[1]).unwrap() {
        let from = entry.unwrap().path();
        if from.is_file() {
            let bytes = std::fs::read(&from).unwrap();
            let is_profile = from.extension().is_some_and(|end| end == "hwp");
            let kept = bytes.len() - if is_profile { 4 } else { 0 };
            std::fs::write(damaged.join(from.file_name().unwrap()), &bytes[..kept]).unwrap();
        }
    }
    let file = budget(project, "calls.toml", &["measure = 'calls';min = 0"]);
    let damaged = project
        .holloway(&format!("check {file} damaged"))
        .exits(125);
    damaged.fails_with("limits need a whole run");
    let missing = project.holloway("check missing.toml large").exits(125);
    missing.fails_with("cannot read missing.toml");
}

#[test]
fn a_junit_report_replaces_neither_the_budget_nor_the_results() {
    let (project, _) = recorded();
    let file = budget(
        project,
        "own.toml",
        &["measure = \"calls\"; max = 1_000_000"],
    );
    let text = std::fs::read_to_string(project.path().join(&file)).unwrap();
    for junit in ["own.toml", "./own.toml", "-"] {
        project
            .holloway(&format!("check {file} large --junit {junit}"))
            .exits(2)
            .complains("name another file");
    }
    assert_eq!(
        std::fs::read_to_string(project.path().join(&file)).unwrap(),
        text
    );
    assert!(!project.path().join("-").exists());
    let page = project.holloway("report large --html -").ok();
    page.says("<!doctype html>");
    assert!(!project.path().join("-").exists());
}
