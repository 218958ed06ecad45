//! Tests that prime paths equal those of GCC 15, the other tool that has them.
//!
//! [`GCC`] has the numbers of GCC 15.3.0 (`gcov-15 (Debian 15.3.0-5) 15.3.0`), by these commands:
//!
//! ```sh
//! gcc-15 -w -O0 --coverage -fpath-coverage -c functions.c
//! gcc-15 --coverage functions.o -o functions
//! ./functions
//! gcov-15 --json-format --prime-paths --stdout functions.c
//! ```
//!
//! They are `covered_prime_paths` and `total_prime_paths` of each function. The test needs no GCC.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::path::Path;

use holloway_tests::tool::{Output, holloway_command, run_ok, scratch};
use serde_json::Value;

/// Functions with control flow of each sort. `main` runs some of their paths.
const FUNCTIONS: &str = include_str!("functions.c");

/// Of each function: the prime paths that ran, and all of them.
type PrimePaths = BTreeMap<String, [u64; 2]>;

/// The prime paths of GCC 15.
const GCC: [(&str, [u64; 2]); 32] = [
    ("straight", [1, 1]),
    ("if_only", [1, 2]),
    ("if_else", [2, 2]),
    ("nested_if", [3, 8]),
    ("and_or", [3, 5]),
    ("early_return", [3, 4]),
    ("switch_break", [3, 5]),
    ("while_loop", [4, 5]),
    ("do_loop", [2, 2]),
    ("for_loop", [5, 5]),
    ("for_if", [10, 15]),
    ("break_continue", [12, 19]),
    ("while_and", [7, 8]),
    ("nested_loops", [10, 13]),
    ("two_loops", [7, 10]),
    ("goto_loop", [6, 7]),
    ("forever", [5, 5]),
    ("factorial", [2, 2]),
    ("ternary", [1, 1]),
    ("search", [11, 17]),
    ("switch_loop", [21, 47]),
    ("into_loop", [6, 8]),
    ("calls", [4, 5]),
    ("value_and", [2, 3]),
    ("step", [1, 1]),
    ("call_in_loop", [5, 6]),
    ("do_with_for", [7, 14]),
    ("for_with_do", [10, 23]),
    ("while_if", [9, 13]),
    ("while_switch", [14, 35]),
    ("if_continue", [16, 23]),
    ("main", [1, 1]),
];

/// The functions whose graphs differ, with our numbers.
const DIFFERENT: [(&str, [u64; 2]); 3] = [
    // GCC makes a maximum of `a > b ? a : b`, even with `-O0`. clang makes a branch.
    ("ternary", [1, 2]),
    // GCC ends a block after `step(a)`, which may not return. So the loop has one block more to go
    // around from.
    ("call_in_loop", [4, 5]),
    // The same. Moreover, clang has a block that only jumps from the `for` to the `do`.
    ("for_with_do", [8, 24]),
];

fn holloway(folder: &Path, words: &[&str]) -> Output {
    let mut command = holloway_command(words);
    run_ok(command.current_dir(folder)).unwrap()
}

/// Builds the program, runs it, and returns the prime paths of its functions.
fn prime_paths(folder: &Path, optimization: &str) -> PrimePaths {
    let graph = ["cc", "--graph", "source", "--collect", "loops=8"];
    let words = [&graph[..], &[optimization, "functions.c", "-o", "app"]];
    holloway(folder, &words.concat());
    let run = format!("run{optimization}");
    holloway(folder, &["run", "--no-report", "-o", &run, "--", "./app"]);
    let output = holloway(folder, &["coverage", "--format", "json", &run]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let uncounted = &document["coverage"]["uncounted_prime_paths"];
    assert_eq!(uncounted["functions"], 0);
    assert_eq!(uncounted["long_paths"], 0);
    let functions = document["coverage"]["functions"].as_array().unwrap().iter();
    let functions = functions.map(|function| {
        let ratio = &function["prime_paths"];
        let numbers = [&ratio["covered"], &ratio["possible"]];
        let name = function["name"].as_str().unwrap().to_owned();
        (name, numbers.map(|number| number.as_u64().unwrap()))
    });
    functions.collect()
}

#[test]
fn prime_paths_equal_those_of_gcc() {
    let folder = scratch("prime-paths").unwrap();
    std::fs::write(folder.path().join("functions.c"), FUNCTIONS).unwrap();
    let expected = GCC.iter().chain(&DIFFERENT);
    let expected: PrimePaths = expected
        .map(|&(name, numbers)| (name.to_owned(), numbers))
        .collect();
    assert_eq!(expected.len(), GCC.len());
    for optimization in ["-O0", "-O2"] {
        let found = prime_paths(folder.path(), optimization);
        assert_eq!(found, expected, "{optimization}");
    }
}
