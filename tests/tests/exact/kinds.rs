//! Tests optimized real programs: the woven program prints the same as the native one, and path
//! and edge profiles, guided profiles, and profiles without exit edges agree.
//!
//! Lua's coroutines and errors leave frames by longjmp. In the other programs nearly every call
//! returns.

use crate::prepared::PreparedProgram;
use anyhow::{Context, Result, ensure};
use holloway_tests::agree::differences;
use holloway_tests::files::copy_program;
use holloway_tests::kind::Kind;
use holloway_tests::program::inconsistencies;
use holloway_tests::report::Report;
use holloway_tests::tool::scratch;
use holloway_tests::workload::{
    BZIP2, Flavor, LUA, MARKDOWN, MINISAT, SQLITE, Scale, Workload, ZLIB,
};
use std::path::Path;

/// The flavors in the order of their builds. All are compared with the first flavor, and a guide
/// comes before the flavor that it guides.
const FLAVORS: [(Flavor, Kind); 4] = [
    (Flavor::Paths, Kind::Paths),
    (Flavor::Edges, Kind::Edges),
    (Flavor::WithoutExits, Kind::PathsWithoutExits),
    (Flavor::Guided, Kind::Paths),
];

#[test]
fn kinds_agree_on_bzip2() {
    assert!(check(&BZIP2, &FLAVORS).unwrap() > 25);
}

#[test]
fn kinds_agree_on_zlib() {
    assert!(check(&ZLIB, &FLAVORS).unwrap() > 15);
}

#[test]
fn kinds_agree_on_lua() {
    assert!(check(&LUA, &FLAVORS).unwrap() > 200);
}

#[test]
fn kinds_agree_on_sqlite() {
    // SQLite is the largest program, so only two kinds are compared here. The tests in
    // `bitcode.rs` compare three kinds of profiles of SQLite with clang's counts.
    assert!(check(&SQLITE, &FLAVORS[..2]).unwrap() > 500);
}

#[test]
fn kinds_agree_on_minisat() {
    assert!(check(&MINISAT, &FLAVORS).unwrap() > 20);
}

#[test]
fn kinds_agree_on_markdown() {
    assert!(check(&MARKDOWN, &FLAVORS).unwrap() > 50);
}

/// Compares these kinds with each other, and the outputs with the native output. Returns the number
/// of functions that ran.
fn check(workload: &'static Workload, flavors: &[(Flavor, Kind)]) -> Result<usize> {
    let scratch = scratch(&format!("kinds-{}", workload.name()))?;
    let prepared = PreparedProgram::of(workload)?;
    let run = |executable: &Path, data: Option<&Path>| -> Result<String> {
        let input = scratch.path().join("input");
        let _ = std::fs::remove_dir_all(&input);
        workload.write_input(&input, Scale::Small)?;
        let program = input.join("program");
        copy_program(executable, &program)?;
        let outputs = workload.run(&program, &input, Scale::Small, data)?;
        Ok(outputs.iter().map(|o| o.text() + &o.stderr).collect())
    };
    let native = prepared.build_plain()?;
    let wanted = run(&native, None).context("native")?;
    let mut reports = Vec::new();
    for &(flavor, kind) in flavors {
        let (name, data) = (flavor.name(), scratch.path().join(flavor.name()));
        let executable = prepared.build(flavor).context(name)?;
        let output = run(&executable, Some(&data)).context(name)?;
        ensure!(
            output == wanted,
            "{name}: the output differs from the native program's"
        );
        let report = Report::of_run(&data)?;
        if kind.has_exits() {
            let wrong = inconsistencies(&report, &|_| false);
            ensure!(wrong.is_empty(), "{name}: {}", wrong.join("\n"));
        }
        if flavor == Flavor::Edges {
            std::os::unix::fs::symlink(&data, Flavor::guide(&prepared.folder))?;
        }
        reports.push((name, kind, report));
    }
    let (_, first, first_report) = &reports[0];
    for (name, kind, report) in &reports[1..] {
        let wrong = differences((*kind, report), (*first, first_report), &|_| false);
        ensure!(
            wrong.is_empty(),
            "{name}: {} functions differ\n{}",
            wrong.len(),
            wrong[..wrong.len().min(20)].join("\n")
        );
    }
    let run = first_report
        .functions
        .iter()
        .filter(|f| f.calls() > 0)
        .count();
    let left = first_report
        .functions
        .iter()
        .filter(|f| f.has_left())
        .count();
    println!(
        "{}: {run} functions ran, frames of {left} were left, all kinds equal",
        workload.name()
    );
    Ok(run)
}
