//! Tests real Rust programs with threads, from the registry: the output is the native one, and the
//! counts of paths (and of edges, for the smaller program) are consistent. tests/exact/kinds.rs
//! tests programs that run the same way each time.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use holloway_tests::program::{inconsistencies, run_program};
use holloway_tests::report::Report;
use holloway_tests::tool::scratch;
use holloway_tests::workload::{Flavor, PARALLEL, RIPGREP, Scale, Workload};
use std::process::Command;

/// The minimum content of a program's report.
struct Sanity {
    functions: usize,
    must_run: &'static [&'static str],
}

#[test]
fn ripgrep_from_the_registry() {
    check(
        &RIPGREP,
        &[Flavor::Paths],
        &Sanity {
            functions: 300,
            must_run: &["main", "search_path"],
        },
    );
}

#[test]
fn rayon_sums_are_exact() {
    let reports = check(
        &PARALLEL,
        &[Flavor::Paths, Flavor::Edges],
        &Sanity {
            functions: 30,
            must_run: &["is_prime", "escape"],
        },
    );
    for report in reports {
        // The program computes 200,000 numbers on any number of threads. The picture has (16 × 14)²
        // points.
        assert_eq!(report.calls("is_prime"), 200_000);
        assert_eq!(report.calls("escape"), 224 * 224);
        assert!(
            report.total("threads").unwrap() > 1,
            "rayon's threads have counted"
        );
    }
}

/// Returns the reports of these flavors.
fn check(workload: &Workload, flavors: &[Flavor], sanity: &Sanity) -> Vec<Report> {
    let scratch = scratch(workload.name()).unwrap();
    let folder = workload.prepare(scratch.path()).unwrap();
    let input = scratch.path().join("input");
    workload.write_input(&input, Scale::Small).unwrap();
    let native = workload.build_plain(&folder).unwrap();
    let expected = workload.run(&native, &input, Scale::Small, None).unwrap();
    let reports = flavors.iter().map(|&flavor| {
        let name = format!("{} for {}", workload.name(), flavor.name());
        let woven = workload.build(&folder, flavor).unwrap();
        let data = scratch.path().join(flavor.name());
        let actual = workload.run(&woven, &input, Scale::Small, Some(&data));
        for (expected, actual) in expected.iter().zip(&actual.unwrap()) {
            assert!(!expected.stdout.is_empty());
            assert_eq!(expected.text(), actual.text(), "{name}: other output");
            assert_eq!(expected.stderr, actual.stderr, "{name}: other messages");
        }
        if *workload == RIPGREP {
            search_on_all_threads(&native, &woven, &input);
        }
        let report = Report::of_run(&data).unwrap();
        let run = report.functions.iter().filter(|f| f.calls() > 0).count();
        assert!(run >= sanity.functions, "{name}: only {run} functions ran");
        let executions = report.path_executions();
        assert_eq!(report.total("path_executions").unwrap(), executions);
        assert!(executions > 10_000 || flavor == Flavor::Edges);
        for function in sanity.must_run {
            assert!(
                report.calls(function) > 0,
                "{name}: {function} has no calls"
            );
        }
        // rayon's workers never return, and `exit` leaves `main` in the middle. Exit edges count
        // both.
        let wrong = inconsistencies(&report, &|_| false);
        assert!(wrong.is_empty(), "{name}: {}", wrong.join("\n"));
        println!("{name}: {run} functions, {executions} path executions");
        report
    });
    reports.collect()
}

/// A parallel search prints files in any order, so sorted lines are compared.
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
