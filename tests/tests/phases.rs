//! Tests `holloway phases` on programs: addresses come from pseudo-probes, and `--phases` prints
//! the detector's transitions while the program runs.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::Command;

use holloway_tests::tool::{Output, holloway_command, installed, run_ok, scratch};
use serde_json::Value;

/// Three loops, one after the other, twice. The last calls a function before its branch.
const SOURCE: &str = r#"
#include <stdio.h>
static __attribute__((noinline)) int odd(unsigned x) { return x & 1; }
int main(void) {
    unsigned state = 7, sum = 0;
#pragma clang loop unroll(disable)
    for (int round = 0; round < 2; round++) {
#pragma clang loop unroll(disable) vectorize(disable)
        for (int i = 0; i < 100000; i++) { /* the first loop */
            state = state * 1664525 + 1013904223;
            if (state >> 31)
                printf("%s", ""); /* no select */
            else
                sum++;
        }
#pragma clang loop unroll(disable) vectorize(disable)
        for (int i = 0; i < 100000; i++) /* the second loop */
            sum = sum * 3 + (sum >> 5);
#pragma clang loop unroll(disable) vectorize(disable)
        for (int i = 0; i < 100000; i++) /* the third loop */
            if (odd(sum + i))
                printf("%s", "");
    }
    printf("%u\n", sum);
    return 3;
}
"#;

fn build(folder: &Path) {
    std::fs::write(folder.join("app.c"), SOURCE).unwrap();
    let words = [
        "cc",
        "--collect",
        "trace",
        "-O2",
        "-g",
        "-fno-builtin",
        "app.c",
        "-o",
        "app",
    ];
    let mut command = holloway_command(words);
    command.env("HOLLOWAY_CACHE", folder.join("cache"));
    run_ok(command.current_dir(folder)).unwrap();
}

/// Runs `holloway` in the folder. It must end with this status.
fn holloway(folder: &Path, words: &[&str], status: i32) -> Output {
    let mut command = holloway_command(words);
    let output = holloway_tests::tool::run(command.current_dir(folder)).unwrap();
    assert_eq!(
        output.status.code(),
        Some(status),
        "{words:?}: {}",
        output.stderr
    );
    output
}

fn phases(folder: &Path) -> Value {
    let output = holloway(folder, &["phases", "run", "--format", "json"], 0);
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The transitions of the hot spot detector: position, change, and hot spot.
fn transitions<'a>(records: impl IntoIterator<Item = &'a Value>) -> Vec<[Value; 3]> {
    let fields = ["at", "change", "hot_spot"];
    let records = records.into_iter();
    records
        .map(|record| fields.map(|field| record[field].clone()))
        .collect()
}

#[test]
fn live_phases_equal_those_of_the_run() {
    let folder = scratch("live-phases").unwrap();
    build(folder.path());
    let words = [
        "run",
        "--phases",
        "--format",
        "json",
        "--no-report",
        "-o",
        "run",
        "--",
        "./app",
    ];
    let output = holloway(folder.path(), &words, 3);
    // The program's output is its own.
    let number = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(number.trim().parse::<u32>().is_ok(), "{number}");
    let lines = output.stderr.lines().filter(|line| line.starts_with('{'));
    let live: Vec<Value> = lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let document = phases(folder.path());
    let recorded = document["transitions"].as_array().unwrap();
    let recorded = recorded
        .iter()
        .filter(|record| record["source"] == "hot_spots");
    assert_eq!(transitions(&live), transitions(recorded));
    // Each loop is a hot spot, and the second round enters all of them again.
    let count = |change: &str| live.iter().filter(|line| line["change"] == change).count();
    assert!(count("detected") >= 3, "{live:#?}");
    assert!(count("entered") >= 3, "{live:#?}");
    for line in &live {
        assert_eq!(
            (&line["image"], &line["schema"]),
            (&"app".into(), &1.into())
        );
        if line["change"] == "detected" {
            assert_eq!(line["functions"][0]["function"], "main", "{line:#}");
        }
    }
    // For people, each transition is a status line.
    let words = [
        "run",
        "--phases",
        "--no-report",
        "-o",
        "text",
        "--",
        "./app",
    ];
    let output = holloway(folder.path(), &words, 3);
    let detected = output
        .stderr
        .lines()
        .filter(|line| line.contains("Detected hot spot "));
    assert_eq!(detected.count(), count("detected"), "{}", output.stderr);
    assert!(output.stderr.contains(": main "), "{}", output.stderr);
}

#[test]
fn branches_have_the_addresses_of_their_blocks() {
    let folder = scratch("branch-addresses").unwrap();
    build(folder.path());
    holloway(
        folder.path(),
        &["run", "--no-report", "-o", "run", "--", "./app"],
        3,
    );
    let document = phases(folder.path());
    assert_eq!(document["addresses"], "real", "{document:#}");
    let text = holloway(folder.path(), &["phases", "run"], 0).stdout;
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("addresses are real"), "{text}");
    let predictions = holloway(folder.path(), &["predict", "run", "--format", "json"], 0);
    let predictions: Value = serde_json::from_slice(&predictions.stdout).unwrap();
    assert_eq!(predictions["addresses"], "real");
    // Each address leads to the branch's own block.
    let code_map = holloway_sample::code_map::CodeMap::read(&folder.path().join("app")).unwrap();
    let hot_spots = document["hot_spots"].as_array().unwrap().iter();
    let mut branches = hot_spots.flat_map(|hot_spot| hot_spot["branches"].as_array().unwrap());
    assert!(branches.all(|branch| {
        let found = code_map.find(branch["address"].as_u64().unwrap());
        branch["has_real_address"] == true && found.is_some()
    }));
    // Without its symbols, or after another build, the program's file has no addresses.
    run_ok(Command::new(installed("strip").unwrap()).arg(folder.path().join("app"))).unwrap();
    let text = String::from_utf8(holloway(folder.path(), &["phases", "run"], 0).stdout).unwrap();
    assert!(text.contains("symbol table was stripped"), "{text}");
    assert_eq!(phases(folder.path())["addresses"], "synthetic");
    std::fs::remove_file(folder.path().join("app")).unwrap();
    let text = String::from_utf8(holloway(folder.path(), &["phases", "run"], 0).stdout).unwrap();
    assert!(text.contains("file is gone"), "{text}");
}

#[test]
fn live_phases_need_a_trace() {
    let folder = scratch("no-phases").unwrap();
    std::fs::write(folder.path().join("app.c"), SOURCE).unwrap();
    let mut command = holloway_command(["cc", "-O2", "app.c", "-o", "app"]);
    command.env("HOLLOWAY_CACHE", folder.path().join("cache"));
    run_ok(command.current_dir(folder.path())).unwrap();
    let output = holloway(folder.path(), &["run", "--phases", "--", "./app"], 2);
    let line = "--phases goes with --collect trace, not paths";
    assert!(output.stderr.contains(line), "{}", output.stderr);
}
