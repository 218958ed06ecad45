//! Compares the counts of calls, branches, and switches of unoptimized Rust programs with rustc's
//! `-Cprofile-generate`, for each kind of profile.
//!
//! rustc's counts are read like clang's, from the IR that `-Cprofile-use` annotates. Functions are
//! matched by their symbol without its hash. Functions that then share a name (instances of a
//! generic) are not compared.

use crate::clang::{Compared, compare_counts};
use crate::ours::{Recorded, record};
use anyhow::{Context, Result, ensure};
use holloway_tests::clang_counts::{Function, parse};
use holloway_tests::kind::{Kind, Weaving};
use holloway_tests::program::{find_executable, run_program};
use holloway_tests::tool::{cargo_holloway, clean, installed, run_ok, scratch, tests_directory};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Programs with one thread whose calls all return.
const PROGRAMS: [&str; 2] = ["rust_basics", "rust_deep"];

#[test]
fn test_programs_agree_with_rustc() {
    for name in PROGRAMS {
        let compared = compare(name).unwrap();
        println!("{name}: {compared}");
        assert!(
            compared.functions > 30 && compared.branches > 30,
            "{name}: too little was compared: {compared}"
        );
    }
}

fn compare(name: &str) -> Result<Compared> {
    let scratch = scratch(&format!("rustc-{name}"))?;
    let folder = scratch.path();
    std::fs::create_dir_all(folder.join("src"))?;
    let main = tests_directory()
        .join("programs")
        .join(name)
        .join("main.rs");
    std::fs::copy(main, folder.join("src/main.rs"))?;
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n\
         [profile.dev]\ncodegen-units = 1\nincremental = false\n"
    );
    std::fs::write(folder.join("Cargo.toml"), manifest)?;
    let theirs = unique(count(folder, name)?, |f| f.name.clone());
    let mut compared = Compared::default();
    for kind in [Kind::PathsClosed, Kind::Paths, Kind::Edges] {
        let recorded = weave(folder, name, kind)?;
        compared = Compared::default();
        let wrong = differences(&theirs, &recorded, &mut compared);
        ensure!(
            wrong.is_empty(),
            "{name}, {}: {} functions differ\n{}",
            kind.name(),
            wrong.len(),
            wrong[..wrong.len().min(20)].join("\n")
        );
    }
    Ok(compared)
}

fn differences(
    theirs: &BTreeMap<String, Function>,
    recorded: &Recorded,
    compared: &mut Compared,
) -> Vec<String> {
    let ours = unique(recorded.functions(), |f| {
        f.map.linkage_name.as_str().to_owned()
    });
    let mut wrong = Vec::new();
    for (name, function) in &ours {
        if let Some(theirs) = theirs.get(name).filter(|f| f.calls.is_some()) {
            let equal = compare_counts(function, theirs, recorded, compared);
            wrong.extend(equal.err().map(|e| format!("{name}: {e:#}")));
        }
    }
    wrong
}

/// The functions by symbol without its hash, except those that then share a name.
fn unique<T>(all: Vec<T>, name: impl Fn(&T) -> String) -> BTreeMap<String, T> {
    let mut by_name = BTreeMap::<String, Vec<T>>::new();
    for function in all {
        let mut name = name(&function);
        if let Some(at) = name.rfind("17h").filter(|at| name[*at..].len() == 20) {
            name.truncate(at);
        }
        by_name.entry(name).or_default().push(function);
    }
    let single = by_name.into_iter().filter(|(_, all)| all.len() == 1);
    single
        .filter_map(|(name, mut all)| Some((name, all.pop()?)))
        .collect()
}

/// Builds with rustc's counters, runs the program, and reads the counts.
fn count(folder: &Path, name: &str) -> Result<Vec<Function>> {
    let raw = folder.join("raw");
    let build = |target: &str, flags: &str| -> Result<PathBuf> {
        let mut command = Command::new("cargo");
        clean(&mut command);
        // With --target, the flags do not apply to build scripts and proc macros.
        command
            .args(["build", "--target", "x86_64-unknown-linux-gnu"])
            .current_dir(folder)
            .env("RUSTFLAGS", flags)
            .env("CARGO_TARGET_DIR", folder.join(target));
        run_ok(&mut command)?;
        Ok(folder.join(target))
    };
    let target = build("counted", &format!("-Cprofile-generate={}", raw.display()))?;
    run_program(&mut Command::new(find_executable(&target, name)?), None)?;
    let merged = folder.join("merged.profdata");
    let mut merge = Command::new(installed("llvm-profdata-22")?);
    run_ok(merge.args(["merge", "-o"]).arg(&merged).arg(&raw))?;
    let flags = format!("-Cprofile-use={} --emit=llvm-ir", merged.display());
    let target = build("used", &flags)?;
    let deps = target.join("x86_64-unknown-linux-gnu/debug/deps");
    let ir = std::fs::read_dir(&deps)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.extension().is_some_and(|e| e == "ll"));
    parse(&std::fs::read_to_string(ir.context("rustc wrote no IR")?)?)
}

fn weave(folder: &Path, name: &str, kind: Kind) -> Result<Recorded> {
    let target = folder.join(kind.name());
    let mut command = cargo_holloway(["build"]);
    Weaving::from(kind).by_options(&mut command);
    command.current_dir(folder).env("CARGO_TARGET_DIR", &target);
    run_ok(&mut command)?;
    let executable = find_executable(&target, name)?;
    record(
        &executable,
        &[],
        &folder.join(format!("data-{}", kind.name())),
        &[],
    )
}
