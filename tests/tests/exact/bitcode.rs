//! Compares the counts of optimized code with clang's `-fprofile-generate` on the same bitcode, for
//! each kind of profile.
//!
//! Two compilations of one source would be optimized differently. So the test takes the bitcode
//! from the objects of a woven build and compiles it with clang's counters, without further
//! optimization. Holloway links the same objects at -O0. So both count the graph that `-O2`
//! produced. Branches of inlined code and branches without a line are not compared.

use crate::calm::Calm;
use crate::clang::{Compared, differences};
use crate::shelf::Shelved;
use anyhow::{Context, Result, ensure};
use holloway_tests::clang_counts::count;
use holloway_tests::kind::{Kind, Weaving};
use holloway_tests::tool::{holloway_command, installed, run_ok, scratch};
use holloway_tests::workload::{BZIP2, CProject, LUA, SQLITE, Workload, ZLIB};
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn optimized_bzip2_agrees_with_clang() {
    check(&BZIP2, 25, 200);
}

#[test]
fn optimized_zlib_agrees_with_clang() {
    check(&ZLIB, 25, 200);
}

#[test]
fn optimized_lua_agrees_with_clang() {
    check(&LUA, 200, 500);
}

#[test]
fn optimized_sqlite_agrees_with_clang() {
    check(&SQLITE, 500, 2000);
}

fn check(workload: &'static Workload, functions: usize, branches: usize) {
    let compared = compare(workload).unwrap();
    println!("{}: {compared}", workload.name());
    assert!(
        compared.functions >= functions && compared.branches >= branches,
        "too little was compared: {compared}"
    );
}

fn compare(workload: &'static Workload) -> Result<Compared> {
    let scratch = scratch(&format!("bitcode-{}", workload.name()))?;
    let shelved = Shelved::of(workload)?;
    let objects = shelved.compile()?;
    let project = workload.c_project(&shelved.folder)?;
    let project = project.context("a C program")?;
    let bitcode: Vec<PathBuf> = objects.iter().map(|o| bitcode(o)).collect::<Result<_>>()?;
    let calm = Calm::new(workload, scratch.path())?;
    let run = |exe: &Path| calm.run(exe);
    let theirs = count(&bitcode, &[], &project.libraries, scratch.path(), run)?;
    let mut compared = Compared::default();
    for kind in [Kind::PathsClosed, Kind::Paths, Kind::Edges] {
        compared = Compared::default();
        let executable = link(&objects, &project, kind)?;
        let recorded = calm.record(&executable, &scratch.path().join(kind.name()))?;
        let wrong = differences(&theirs, &recorded, &mut compared)?;
        ensure!(
            wrong.is_empty(),
            "{}: {} functions differ\n{}",
            kind.name(),
            wrong.len(),
            wrong[..wrong.len().min(20)].join("\n")
        );
    }
    Ok(compared)
}

/// Extracts the bitcode of an object as text, without the branch weights that the optimizer added.
/// If a branch never ran, these weights would be read as counts.
fn bitcode(object: &Path) -> Result<PathBuf> {
    let (bitcode, text) = (object.with_extension("bc"), object.with_extension("ll"));
    let section = format!("--dump-section=.llvm.lto={}", bitcode.display());
    let mut dump = Command::new(installed("llvm-objcopy-22")?);
    run_ok(dump.arg(section).arg(object).arg("/dev/null"))?;
    let mut print = Command::new(installed("llvm-dis-22")?);
    run_ok(print.arg(&bitcode).arg("-o").arg(&text))?;
    let lines = std::fs::read_to_string(&text)?;
    let weightless = |line: &str| match line.split_once(", !prof !") {
        Some((before, after)) if line.starts_with(' ') => {
            let rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
            format!("{before}{rest}\n")
        }
        _ => format!("{line}\n"),
    };
    std::fs::write(&text, lines.lines().map(weightless).collect::<String>())?;
    Ok(text)
}

/// Links at -O0, so the code stays as `-O2` produced it.
fn link(objects: &[PathBuf], project: &CProject, kind: Kind) -> Result<PathBuf> {
    let executable = project.folder.join(format!("program-{}", kind.name()));
    let mut command = holloway_command(["cc", "-O0", "-g"]);
    Weaving::from(kind).by_environment(&mut command);
    command
        .env("HOLLOWAY_CLANG", installed("clang-22")?)
        .args(objects)
        .args(&project.libraries)
        .arg("-o")
        .arg(&executable);
    run_ok(&mut command)?;
    Ok(executable)
}
