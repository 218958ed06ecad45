//! Builds of C++ programs, by CMake and clang.

use super::programs::{Program, drivers};
use super::request::{Compile, CompilerBuild, Lto};
use super::steps::Steps;
use anyhow::{Context, Result};
use cargo_metadata::MetadataCommand;
use holloway_tests::tool::{clean, holloway, installed, run_ok};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The options of a release build.
const OPTIMIZED: &str = "-O2 -DNDEBUG";

/// Runs a build as a step, and returns its executable.
pub(super) fn compile(build: &CompilerBuild<'_>, steps: &mut Steps, step: &str) -> Result<PathBuf> {
    let by = |counts: &Path| format!(" -fprofile-use={}", counts.display());
    let (flags, link) = match build.compile {
        Compile::Plainly => (String::new(), ""),
        Compile::Counting(raw) => (format!(" -fprofile-generate={}", raw.display()), ""),
        Compile::By(counts) => (by(counts), ""),
        Compile::Relocatable(counts) => (by(counts), "-Wl,--emit-relocs"),
    };
    let (lto, linker) = match build.lto {
        Lto::Off => ("", ""),
        Lto::Fat => (" -flto", "-fuse-ld=lld "),
    };
    let mut configure = configuration(build.program, build.target)?;
    configure.env("CXX", installed("clang++-22")?);
    configure.arg(format!("-DCMAKE_CXX_FLAGS_RELEASE={OPTIMIZED}{lto}{flags}"));
    configure.arg(format!("-DCMAKE_EXE_LINKER_FLAGS={linker}{link}"));
    run(configure, build.program, build.target, steps, step)
}

/// Builds a program that carries its bitcode as a step, and returns its executable.
pub(super) fn embed(program: &Program, target: &Path, steps: &mut Steps) -> Result<PathBuf> {
    let mut configure = configuration(program, target)?;
    configure.env("CXX", format!("{} c++", holloway().display()));
    configure.arg(format!("-DCMAKE_CXX_FLAGS_RELEASE={OPTIMIZED}"));
    run(configure, program, target, steps, "build with bitcode")
}

/// CMake's command that writes the build files.
fn configuration(program: &Program, target: &Path) -> Result<Command> {
    let mut command = Command::new(installed("cmake")?);
    clean(&mut command);
    command.arg("-S").arg(drivers().join(program.name));
    command.arg("-B").arg(target);
    command.arg(definition("BINARYEN", &sources()?));
    command.args(["-DCMAKE_BUILD_TYPE=Release"]);
    Ok(command)
}

fn definition(name: &str, path: &Path) -> OsString {
    let mut text = OsString::from(format!("-D{name}="));
    text.push(path);
    text
}

/// Writes the build files, and runs the build as a step.
fn run(
    mut configure: Command,
    program: &Program,
    target: &Path,
    steps: &mut Steps,
    step: &str,
) -> Result<PathBuf> {
    run_ok(&mut configure)?;
    let workers = std::thread::available_parallelism()?.to_string();
    let mut build = Command::new(installed("cmake")?);
    clean(&mut build);
    // The build that carries bitcode. It changes nothing for clang.
    build.env("HOLLOWAY_EMBED", "1");
    build.arg("--build").arg(target);
    build.args(["--parallel", &workers]);
    steps.run(step, &mut build)?;
    Ok(target.join(program.name))
}

/// The folder of Binaryen's sources, which the crate `wasm-opt-sys` contains.
fn sources() -> Result<PathBuf> {
    let mut command = MetadataCommand::new();
    command
        .manifest_path(drivers().join("Cargo.toml"))
        .other_options(["--locked".to_owned()]);
    let metadata = command.exec()?;
    let package = metadata
        .packages
        .iter()
        .find(|package| package.name.as_str() == "wasm-opt-sys")
        .context("the crate wasm-opt-sys is not among the dependencies")?;
    let folder = package
        .manifest_path
        .parent()
        .context("a manifest has a folder")?;
    Ok(folder.join("binaryen").into())
}
