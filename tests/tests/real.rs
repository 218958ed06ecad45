//! Real programs from the registry, built from their own sources: output as natively built, and counts that hold
//! together. (Exactness against clang on bzip2, Lua and SQLite: tests/exact.)
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use holloway_tests::program::{inconsistencies, run_program};
use holloway_tests::report::Report;
use holloway_tests::tool::scratch;
use holloway_tests::workload::{Flavour, Workload};
use std::process::Command;

/// What a program's report must at least show.
struct Sanity {
    functions: usize,
    path_executions: u64,
    must_run: &'static [&'static str],
}

#[test]
fn ripgrep_from_the_registry() {
    check(
        Workload::Ripgrep,
        &Sanity {
            functions: 300,
            path_executions: 10_000,
            must_run: &["main", "search_path"],
        },
    );
}

#[test]
fn rayon_sums_are_exact() {
    let report = check(
        Workload::Parallel,
        &Sanity {
            functions: 30,
            path_executions: 1_000_000,
            must_run: &["is_prime", "escape"],
        },
    );
    // 200,000 numbers are asked for, on however many threads; the picture has (16 × 14)² points.
    assert_eq!(report.calls("is_prime"), 200_000);
    assert_eq!(report.calls("escape"), 224 * 224);
    assert!(
        report.total("threads").unwrap() > 1,
        "rayon's threads have counted"
    );
}

#[test]
fn bzip2_from_the_registry() {
    check(
        Workload::Bzip2,
        &Sanity {
            functions: 25,
            path_executions: 1_000_000,
            must_run: &["BZ2_blockSort"],
        },
    );
}

#[test]
fn lua_from_the_registry() {
    check(
        Workload::Lua,
        &Sanity {
            functions: 200,
            path_executions: 1_000_000,
            must_run: &["luaV_execute"],
        },
    );
}

#[test]
fn sqlite_from_the_registry() {
    check(
        Workload::Sqlite,
        &Sanity {
            functions: 500,
            path_executions: 1_000_000,
            must_run: &["sqlite3VdbeExec"],
        },
    );
}

fn check(workload: Workload, sanity: &Sanity) -> Report {
    let scratch = scratch(workload.name()).unwrap();
    let folder = workload.prepare(scratch.path()).unwrap();
    let input = scratch.path().join("input");
    workload.write_input(&input, 1).unwrap();
    let native = workload.build(&folder, Flavour::Native).unwrap();
    let woven = workload.build(&folder, Flavour::Woven).unwrap();
    let data = scratch.path().join("data");
    let expected = workload.run(&native, &input, 1, None).unwrap();
    let found = workload.run(&woven, &input, 1, Some(&data)).unwrap();
    for (expected, found) in expected.iter().zip(&found) {
        assert!(!expected.stdout.is_empty() || workload == Workload::Bzip2);
        assert_eq!(
            expected.text(),
            found.text(),
            "{}: other output when woven",
            workload.name()
        );
        assert_eq!(
            expected.stderr,
            found.stderr,
            "{}: other messages when woven",
            workload.name()
        );
    }
    if workload == Workload::Ripgrep {
        search_on_all_threads(&native, &woven, &input);
    }
    let report = Report::of_run(&data).unwrap();
    let run = report
        .functions
        .iter()
        .filter(|f| !f.paths.is_empty())
        .count();
    assert!(run >= sanity.functions, "only {run} functions ran");
    let executions = report.path_executions();
    assert!(
        executions >= sanity.path_executions,
        "only {executions} paths ran"
    );
    assert_eq!(report.total("path_executions").unwrap(), executions);
    for name in sanity.must_run {
        assert!(report.calls(name) > 0, "{name} has no calls");
    }
    // exit() inside main, rayon's workers that never return, and Lua's longjmp leave calls open.
    let open = matches!(
        workload,
        Workload::Ripgrep | Workload::Parallel | Workload::Lua
    );
    let wrong = inconsistencies(&report, open);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    println!(
        "{}: {run} functions, {executions} path executions",
        workload.name()
    );
    report
}

/// Parallel search prints files in any order: the lines, sorted, must be the same.
fn search_on_all_threads(
    native: &std::path::Path,
    woven: &std::path::Path,
    input: &std::path::Path,
) {
    let scratch = scratch("ripgrep-threads").unwrap();
    let lines = |program: &std::path::Path, data| {
        let mut command = Command::new(program);
        command
            .args([
                "-j4",
                "--no-config",
                "-n",
                "--no-heading",
                r"\bho\w+low",
                "tree",
            ])
            .current_dir(input);
        let output = run_program(&mut command, data).unwrap();
        let mut lines: Vec<String> = output.text().lines().map(str::to_owned).collect();
        lines.sort();
        (output.ending(), lines)
    };
    let plain = lines(native, None);
    assert!(
        plain.1.len() > 10,
        "the pattern is found somewhere: {plain:?}"
    );
    let data = scratch.path().join("data");
    assert_eq!(plain, lines(woven, Some(&data)));
    let report = Report::of_run(&data).unwrap();
    assert!(report.total("threads").unwrap() > 1);
}
