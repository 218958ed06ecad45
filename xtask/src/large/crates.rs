//! Builds of crates, by cargo.

use super::programs::{Program, drivers};
use super::request::{Compile, CompilerBuild, Lto};
use super::steps::Steps;
use anyhow::Result;
use holloway_tests::program::find_executable;
use holloway_tests::tool::{cargo_holloway, clean};
use std::path::{Path, PathBuf};
use std::process::Command;

/// With --target, options of the compiler stay away from build scripts and proc macros.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Builds build scripts and proc macros, because all later builds share them.
pub(super) fn check(program: &Program, lto: Lto, target: &Path, steps: &mut Steps) -> Result<()> {
    steps.run("checking", &mut cargo("check", "", program, lto, target))
}

/// Runs a build as a step, and returns its executable.
pub(super) fn compile(build: &CompilerBuild<'_>, steps: &mut Steps, step: &str) -> Result<PathBuf> {
    let by = |counts: &Path| format!("-Cprofile-use={}", counts.display());
    let (verb, flags, link) = match build.compile {
        Compile::Plainly => ("build", String::new(), &[][..]),
        Compile::Counting(raw) => (
            "build",
            format!("-Cprofile-generate={}", raw.display()),
            &[][..],
        ),
        Compile::By(counts) => ("build", by(counts), &[][..]),
        Compile::Relocatable(counts) => (
            "rustc",
            by(counts),
            &["--", "-Clink-arg=-Wl,--emit-relocs"][..],
        ),
    };
    let mut command = cargo(verb, &flags, build.program, build.lto, build.target);
    steps.run(step, command.args(link))?;
    find_executable(build.target, build.program.name)
}

/// Builds a program that carries its bitcode as a step, and returns its executable.
pub(super) fn embed(
    program: &Program,
    lto: Lto,
    target: &Path,
    steps: &mut Steps,
) -> Result<PathBuf> {
    let mut build = cargo_holloway(["optimize", "--no-run"]);
    set(&mut build, program, lto, target);
    steps.run("build with bitcode", &mut build)?;
    find_executable(target, program.name)
}

/// Cargo's command for a build of the program, with these options of the compiler.
fn cargo(verb: &str, flags: &str, program: &Program, lto: Lto, target: &Path) -> Command {
    let mut command = Command::new("cargo");
    clean(&mut command);
    command.arg(verb).args(["--target", TARGET]);
    command.env("RUSTFLAGS", flags);
    set(&mut command, program, lto, target);
    command
}

fn set(command: &mut Command, program: &Program, lto: Lto, target: &Path) {
    command
        .current_dir(drivers())
        .args(["--release", "--locked", "--package", program.name])
        .env("CARGO_TARGET_DIR", target)
        // Hash tables are seeded when they are compiled: the same in each build.
        .env("CONST_RANDOM_SEED", "1");
    match lto {
        Lto::Off => {}
        Lto::Fat => drop(command.env("CARGO_PROFILE_RELEASE_LTO", "fat")),
    }
}
