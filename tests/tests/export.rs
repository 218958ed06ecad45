//! Tests `holloway export`: a program that is not ours opens each file, and reads the numbers of
//! the report.
//!
//! The consumers are speedscope (in Chromium), the Firefox Profiler's command line, JavaScript's
//! decoders of pprof and Parquet, Python's reader of CSV, a validator with SARIF's schema, lcov,
//! genhtml, xmllint, callgrind_annotate, llvm-profdata, and Graphviz. `tests/consumers` holds those
//! from npm.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use holloway_tests::tool::{Output, holloway_command, run, run_ok, scratch, tests_directory};
use serde_json::Value;
use tempfile::TempDir;

/// A loop, conditions, a switch-like chain, inlined code, and code that never runs.
const SOURCE: &str = r#"
#include <stdio.h>
static inline int is_space(int c) {
    return c == ' ' || c == '\n';
}
static __attribute__((noinline)) long scan(const char *text) {
    long words = 0, numbers = 0;
    for (const char *at = text; *at; at++) {
        if (is_space(*at))
            words++;
        else if (*at >= '0' && *at <= '9')
            numbers++;
        else if (*at == '#')
            return -1;
    }
    return words * 100 + numbers;
}
static __attribute__((noinline)) void never(void) {
    puts("never");
}
int main(int count, char **arguments) {
    long sum = 0;
    for (int i = 0; i < ROUNDS; i++)
        sum += scan(i % 3 ? "a few words 42" : "7 and\n9");
    if (count > 5)
        never();
    printf("%ld\n", sum);
    return 0;
}
"#;

/// A folder with the source and the run `paths`.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = scratch("export").unwrap();
        fs::write(folder.path().join("scan.c"), SOURCE).unwrap();
        record(folder.path(), "paths");
        folder
    });
    folder.path()
}

/// Builds the program for a kind of collection, and records a run with the kind's name.
fn record(folder: &Path, kind: &str) {
    // The frequency of the clock is only known if the program runs for some milliseconds.
    let rounds = if kind == "times" { 100_000 } else { 1000 };
    let rounds = format!("-DROUNDS={rounds}");
    let program = format!("scan-{kind}");
    let build = [
        "cc",
        "--collect",
        kind,
        "-O1",
        "-g",
        &rounds,
        "scan.c",
        "-o",
        &program,
    ];
    run_ok(holloway_command(build).current_dir(folder)).unwrap();
    let program = format!("./{program}");
    let words = ["run", "--no-report", "-o", kind, "--", &program];
    run_ok(holloway_command(words).current_dir(folder)).unwrap();
}

fn try_export(words: &[&str]) -> Output {
    let words = ["export"].iter().chain(words);
    run(holloway_command(words).current_dir(folder())).unwrap()
}

/// Exports the run `paths` to stdout.
fn export(words: &[&str]) -> Output {
    let output = try_export(&[words, &["paths"]].concat());
    assert!(output.succeeded(), "{words:?}: {}", output.stderr);
    output
}

/// Exports the run `paths` to a file, and returns its name.
fn export_file(format: &str) -> String {
    let file = format!("out.{format}");
    export(&["--format", format, "-o", &file]);
    file
}

fn report(words: &[&str]) -> Value {
    let words = ["report", "--format", "json"].iter().chain(words);
    let output = run_ok(holloway_command(words).current_dir(folder())).unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What another program prints about files in the folder.
fn tool(program: &str, words: &[&str]) -> String {
    let output = run_ok(Command::new(program).args(words).current_dir(folder()));
    output.unwrap().text()
}

/// What a program of `tests/consumers` reads in a file.
fn consumer(format: &str, file: &str) -> Value {
    let script = tests_directory().join("consumers/read.mjs");
    let text = tool("node", &[script.to_str().unwrap(), format, file]);
    serde_json::from_str(&text).unwrap()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

/// Executions and instructions of each path of the report, sorted.
fn paths_of_report() -> Vec<(u64, u64)> {
    let report = report(&["paths"]);
    let functions = list(&report["functions"]).iter();
    let paths = functions.flat_map(|function| list(&function["paths"]));
    let mut paths: Vec<(u64, u64)> = paths
        .map(|path| {
            let count = number(&path["count"]);
            (count, count * number(&path["instructions"]))
        })
        .collect();
    paths.sort_unstable();
    assert!(paths.len() > 5, "the program has several paths");
    paths
}

#[test]
fn pprof_reads_a_stack_for_each_path() {
    let profile = consumer("pprof", &export_file("pprof"));
    let types = ["instructions/count", "executions/count"];
    assert_eq!(profile["types"], serde_json::json!(types));
    let samples = list(&profile["samples"]);
    let mut values: Vec<(u64, u64)> = samples
        .iter()
        .map(|sample| (number(&sample["values"][1]), number(&sample["values"][0])))
        .collect();
    values.sort_unstable();
    assert_eq!(values, paths_of_report());
    let hottest = list(&samples[0]["stack"]);
    assert_eq!(hottest[0], "scan");
    assert_eq!(hottest[1], "loop head scan.c:8");
    assert_eq!(hottest[2], "scan.c:8 → line 11");
}

#[test]
fn folded_stacks_have_the_weight_that_the_user_chose() {
    let paths = paths_of_report();
    let weights = |words: &[&str]| -> Vec<u64> {
        let text = export(words).text();
        let mut weights: Vec<u64> = text
            .lines()
            .map(|line| line.rsplit_once(' ').unwrap().1.parse().unwrap())
            .collect();
        weights.sort_unstable();
        weights
    };
    let counts: Vec<u64> = paths.iter().map(|path| path.0).collect();
    assert_eq!(
        weights(&["--format", "folded", "--weight", "count"]),
        counts
    );
    let mut instructions: Vec<u64> = paths.iter().map(|path| path.1).collect();
    instructions.sort_unstable();
    assert_eq!(weights(&["--format", "folded"]), instructions);
}

#[test]
fn speedscope_shows_all_weights() {
    let page = consumer("speedscope", &export_file("speedscope"));
    assert_eq!(page["title"], "scan-paths - speedscope");
    let paths = paths_of_report();
    let sum = |values: &dyn Fn(&(u64, u64)) -> u64| paths.iter().map(values).sum::<u64>();
    let (counts, instructions) = (sum(&|path| path.0), sum(&|path| path.1));
    let rows = list(&page["rows"]).iter().filter(|row| row[0].is_string());
    let totals: BTreeMap<&str, String> = rows
        .filter(|row| row[2].is_string())
        .map(|row| {
            (
                row[1].as_str().unwrap(),
                row[2].as_str().unwrap().replace(',', ""),
            )
        })
        .collect();
    assert_eq!(totals["instructions"], instructions.to_string());
    assert_eq!(totals["executions"], counts.to_string());
}

#[test]
fn the_firefox_profiler_reads_a_stack_for_each_path() {
    let threads = consumer("firefox", &export_file("firefox"));
    let paths = paths_of_report();
    let counts = paths.iter().map(|path| path.0).collect();
    let instructions = paths.iter().map(|path| path.1).collect();
    let expected: [(&str, Vec<u64>); 2] = [("executions", counts), ("instructions", instructions)];
    assert_eq!(list(&threads).len(), expected.len());
    for (name, mut weights) in expected {
        let mut threads = list(&threads).iter();
        let thread = threads.find(|thread| thread["name"] == name).unwrap();
        let stacks = list(&thread["stacks"]);
        let mut read: Vec<u64> = stacks
            .iter()
            .map(|stack| number(&stack["weight"]))
            .collect();
        read.sort_unstable();
        weights.sort_unstable();
        assert_eq!(read, weights, "{name}");
        assert_eq!(number(&thread["total"]), weights.iter().sum::<u64>());
        assert!(
            number(&thread["cpu"]) > 0,
            "the thread's graph is not empty"
        );
        let hottest = stacks
            .iter()
            .max_by_key(|stack| number(&stack["weight"]))
            .unwrap();
        let hottest = list(&hottest["stack"]);
        assert_eq!(hottest[..2], ["scan", "loop head scan.c:8"]);
    }
}

#[test]
fn tables_have_the_paths_and_edges_of_the_report() {
    let rows = consumer("parquet", &export_file("parquet"));
    let report = report(&["paths"]);
    let functions = list(&report["functions"]);
    let of = |record: &str, column: &str| -> Vec<i64> {
        let rows = list(&rows).iter().filter(|row| row["record"] == record);
        let mut values: Vec<i64> = rows.map(|row| row[column].as_i64().unwrap()).collect();
        values.sort_unstable();
        values
    };
    let reported = |list_name: &str, field: &str| -> Vec<i64> {
        let records = functions
            .iter()
            .flat_map(|function| list(&function[list_name]));
        let mut values: Vec<i64> = records
            .map(|record| record[field].as_i64().unwrap())
            .collect();
        values.sort_unstable();
        values
    };
    assert_eq!(of("path", "count"), reported("paths", "count"));
    assert_eq!(
        of("path", "instructions"),
        reported("paths", "instructions")
    );
    assert_eq!(of("edge", "count"), reported("edges", "count"));
    assert_eq!(of("edge", "to_block"), reported("edges", "to"));

    let script = "import csv,json,sys;print(json.dumps(list(csv.DictReader(open(sys.argv[1])))))";
    let csv = tool("python3", &["-c", script, &export_file("csv")]);
    let csv: Value = serde_json::from_str(&csv).unwrap();
    let plain = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let same = list(&csv).iter().zip(list(&rows)).all(|(a, b)| {
        let columns = b.as_object().unwrap().iter();
        columns.clone().count() == a.as_object().unwrap().len()
            && columns
                .clone()
                .all(|(name, value)| plain(&a[name]) == plain(value))
    });
    assert!(same, "CSV and Parquet have the same rows");
    assert_eq!(list(&csv).len(), list(&rows).len());
}

#[test]
fn sarif_is_valid_and_steps_through_the_source() {
    let log = consumer("sarif", &export_file("sarif"));
    let results = list(&log["runs"][0]["results"]);
    let of = |rule: &str| -> Vec<&Value> {
        let results = results.iter();
        results.filter(|result| result["ruleId"] == rule).collect()
    };
    let hot = of("hot-path");
    assert_eq!(hot.len(), paths_of_report().len());
    let steps = list(&hot[0]["codeFlows"][0]["threadFlows"][0]["locations"]);
    let lines: Vec<u64> = steps
        .iter()
        .map(|step| number(&step["location"]["physicalLocation"]["region"]["startLine"]))
        .collect();
    assert_eq!(lines, [8, 11, 13, 8]);
    let first = &steps[0]["location"];
    assert_eq!(first["message"]["text"], "loop head scan.c:8, → line 11");
    assert_eq!(
        first["physicalLocation"]["artifactLocation"]["uri"],
        "scan.c"
    );
    assert!(of("slow-path").is_empty(), "no path was timed");
    let uncovered = report(&["--uncovered", "paths"]);
    let never = of("never-taken");
    let ways: usize = list(&uncovered["uncovered"]["branches"]).len();
    assert_eq!((never.len(), ways), (2, 2));
}

/// C++ whose hottest loop is in a header of the library.
const LIBRARY: &str = r#"
#include <algorithm>
#include <cstdio>
#include <vector>
static __attribute__((noinline)) long evens(const std::vector<int> &list) {
    return std::count_if(list.begin(), list.end(), [](int x) {
        return x % 2 == 0;
    });
}
int main() {
    std::vector<int> list(100);
    for (int i = 0; i < 100; i++)
        list[i] = i * i % 7;
    std::printf("%ld\n", evens(list));
}
"#;

#[test]
fn code_of_libraries_is_shown_where_it_was_inlined() {
    fs::write(folder().join("list.cc"), LIBRARY).unwrap();
    let build = ["c++", "-O1", "-g", "list.cc", "-o", "list"];
    run_ok(holloway_command(build).current_dir(folder())).unwrap();
    let words = ["run", "--no-report", "-o", "list-run", "--", "./list"];
    run_ok(holloway_command(words).current_dir(folder())).unwrap();
    let export = try_export(&["--format", "sarif", "-o", "list.sarif", "list-run"]);
    assert!(export.succeeded(), "{}", export.stderr);
    let log = consumer("sarif", "list.sarif");
    let mut lines = Vec::new();
    for result in list(&log["runs"][0]["results"]) {
        let Some(flow) = result["codeFlows"].get(0) else {
            continue;
        };
        for step in list(&flow["threadFlows"][0]["locations"]) {
            let place = &step["location"]["physicalLocation"];
            assert_eq!(place["artifactLocation"]["uri"], "list.cc");
            lines.push(number(&place["region"]["startLine"]));
        }
    }
    assert!(lines.contains(&6) && lines.contains(&7), "{lines:?}");

    // The loop's block has places in the header, and is called in line 6 of the source.
    let report = report(&["list-run"]);
    let functions = list(&report["functions"]).iter();
    let blocks = functions.flat_map(|function| list(&function["blocks"]));
    let hottest = blocks
        .filter(|block| block.get("user_places").is_some())
        .max_by_key(|block| number(&block["count"]) * number(&block["instructions"]))
        .unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let places: Vec<String> = list(&hottest["places"]).iter().map(text).collect();
    let header = |place: &String| place.contains("/include/c++/");
    assert!(places.iter().any(header), "{places:?}");
    let places: Vec<String> = list(&hottest["user_places"]).iter().map(text).collect();
    let source = |place: &String| place.contains("list.cc:");
    assert!(places.iter().all(source), "{places:?}");
}

#[test]
fn coverage_tools_read_the_counts_of_lines_and_branches() {
    let report = report(&["--view", "lines", "--workspace", "paths"]);
    let lines: Vec<(u64, u64)> = list(&report["lines"])
        .iter()
        .map(|line| (number(&line["line"]), number(&line["count"])))
        .collect();
    assert!(
        lines.contains(&(19, 0)) && lines.contains(&(8, 12_662)),
        "{lines:?}"
    );

    let file = export_file("lcov");
    let text = fs::read_to_string(folder().join(&file)).unwrap();
    let records = text.lines().filter_map(|line| line.strip_prefix("DA:"));
    let counted: Vec<(u64, u64)> = records
        .map(|record| record.split_once(',').unwrap())
        .map(|(line, count)| (line.parse().unwrap(), count.parse().unwrap()))
        .collect();
    assert_eq!(counted, lines);
    let words = ["--branch-coverage", "--legend", &file, "-o", "html"];
    let words = words.iter().chain(&["--rc", "lcov_branch_coverage=1"]);
    let summary = tool("genhtml", &words.copied().collect::<Vec<_>>());
    let hit = lines.iter().filter(|line| line.1 > 0).count();
    for expected in [
        format!("({hit} of {} lines)", lines.len()),
        "(2 of 3 functions)".to_owned(),
        "(9 of 11 branches)".to_owned(),
    ] {
        assert!(summary.contains(&expected), "{expected}: {summary}");
    }
    assert!(folder().join("html/index.html").exists());

    let file = export_file("cobertura");
    let query = |xpath: &str| {
        tool("xmllint", &["--xpath", xpath, &file])
            .trim()
            .to_owned()
    };
    let line = "/coverage/packages/package/classes/class[@filename='scan.c']/lines/line";
    assert_eq!(query(&format!("count({line})")), lines.len().to_string());
    assert_eq!(query(&format!("string({line}[@number=8]/@hits)")), "12662");
    let conditions = query(&format!("string({line}[@number=13]/@condition-coverage)"));
    assert_eq!(conditions, "50% (1/2)");
    assert_eq!(query("string(/coverage/@branches-valid)"), "11");
}

#[test]
fn callgrind_annotate_and_llvm_read_exact_sums() {
    let report = report(&["paths"]);
    let instructions = number(&report["totals"]["instructions"]);
    let annotated = tool(
        "callgrind_annotate",
        &["--auto=yes", &export_file("callgrind")],
    );
    let annotated = annotated.replace(',', "");
    let total = annotated
        .lines()
        .find(|line| line.contains("PROGRAM TOTALS"))
        .unwrap();
    assert!(
        total.trim_start().starts_with(&instructions.to_string()),
        "{total}"
    );
    assert!(annotated.contains("else if (*at == '#')"), "{annotated}");
    let scan = annotated
        .lines()
        .find(|line| line.ends_with("scan.c:scan [scan-paths]"))
        .unwrap();
    assert!(
        scan.contains(" 1000 (99.90%)"),
        "1,000 of 1,001 calls: {scan}"
    );

    let file = export_file("sample-profile");
    let shown = tool("llvm-profdata-22", &["show", "--sample", &file]);
    let scan = shown
        .lines()
        .find(|line| line.starts_with("Function: scan:"))
        .unwrap();
    assert!(scan.contains(", 1000, "), "1,000 calls: {scan}");
    assert!(shown.contains("  5: 8996\n"), "{shown}");
    let used = format!("-fprofile-sample-use={file}");
    let words = ["-O2", "-g", "-Werror", "-DROUNDS=1000", &used, "scan.c"];
    tool("clang-22", &[&words[..], &["-o", "scan-used"]].concat());
    assert_eq!(tool("./scan-used", &[]), "268600\n");
}

#[test]
fn graphviz_draws_one_function() {
    let words = ["--format", "dot", "--function", "^scan$", "-o", "scan.dot"];
    export(&words);
    let drawn = tool("dot", &["-Tsvg", "scan.dot"]);
    assert!(
        drawn.contains("12,662") && drawn.contains("→ line 13"),
        "{drawn}"
    );
    let report = report(&["paths"]);
    let functions = list(&report["functions"]);
    let scan = functions
        .iter()
        .find(|function| function["name"] == "scan")
        .unwrap();
    let edges = drawn.matches("class=\"edge\"").count();
    assert_eq!(edges, list(&scan["edges"]).len());

    let several = try_export(&["--format", "dot", "--function", "scan|main", "paths"]);
    assert_eq!(several.status.code(), Some(2));
    assert!(
        several.stderr.contains("2 functions match: main (scan.c:"),
        "{}",
        several.stderr
    );
}

#[test]
fn every_kind_of_run_exports_or_refuses() {
    for kind in ["loops", "trace", "times"] {
        record(folder(), kind);
        let file = format!("{kind}.pprof");
        let output = try_export(&["--format", "pprof", "-o", &file, kind]);
        assert!(output.succeeded(), "{kind}: {}", output.stderr);
        let types = consumer("pprof", &file)["types"].clone();
        let has_times = list(&types).contains(&"time/nanoseconds".into());
        assert_eq!(has_times, kind == "times", "{kind}: {types}");
    }
    record(folder(), "edges");
    let refused = try_export(&["--format", "folded", "edges"]);
    assert_eq!(refused.status.code(), Some(2));
    let expected =
        "holloway: folded shows paths, and edges were recorded: build with --collect paths";
    assert!(refused.stderr.starts_with(expected), "{}", refused.stderr);
    let of = |run: &str| try_export(&["--format", "lcov", run]).text();
    assert_eq!(of("edges"), of("paths"));
    assert!(of("edges").contains("DA:8,12662\n"));
}

#[test]
fn a_file_is_written_completely_or_not_at_all() {
    fs::write(folder().join("kept.dot"), "kept").unwrap();
    let refused = try_export(&["--format", "dot", "-o", "kept.dot", "paths"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        refused.stderr.contains("choose it with --function"),
        "{}",
        refused.stderr
    );
    assert_eq!(
        fs::read_to_string(folder().join("kept.dot")).unwrap(),
        "kept"
    );
    let refused = try_export(&["--format", "csv", "-o", "missing/out.csv", "paths"]);
    assert_eq!(refused.status.code(), Some(125));
    let expected = "holloway: cannot write missing/out.csv: missing does not exist: make this folder, or name another\n";
    assert_eq!(refused.stderr, expected);
    let words = ["--format", "csv", "--weight", "count", "paths"];
    let refused = try_export(&words);
    let expected = "holloway: --weight goes with --format folded, not csv: leave it out\n";
    assert_eq!(refused.stderr, expected);
    let stdout = export(&["--format", "csv", "-o", "-"]).text();
    let file = fs::read_to_string(folder().join(export_file("csv"))).unwrap();
    assert_eq!(stdout, file);
}
