//! The programs of `cargo xtask study large`: drivers of tests/workloads/large around crates of the
//! registry, and their inputs.

use super::style_sheet::style_sheet;
use anyhow::Result;
use holloway_tests::tool::{clean, run_ok, tests_directory};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program with its inputs.
#[derive(Debug)]
pub(super) struct Program {
    /// The name of its package and of its executable.
    pub(super) name: &'static str,
    /// What it does, for the page.
    pub(super) about: &'static str,
    /// What it is built from.
    pub(super) sources: Sources,
    input: Input,
}

/// What a program is built from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sources {
    /// Crates, by cargo.
    Crate,
    /// C++ files, by CMake.
    CMake,
}

/// What a program reads.
#[derive(Debug)]
enum Input {
    /// A generated style sheet.
    StyleSheet,
    /// A script of tests/workloads.
    Script,
    /// A Rust program of the suite, as WebAssembly.
    Module,
}

/// The purpose of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scale {
    /// Training, with an input of its own.
    Train,
    /// For counting instructions.
    Count,
    /// For taking CPU times: the input of [`Scale::Count`], several times.
    Time,
}

/// All programs, in the order of the tables.
pub(super) static PROGRAMS: [Program; 3] = [
    Program {
        name: "css",
        about: "minifies a generated style sheet (lightningcss)",
        sources: Sources::Crate,
        input: Input::StyleSheet,
    },
    Program {
        name: "js",
        about: "runs tests/workloads/quickjs/work.js, trained on another script (boa_engine)",
        sources: Sources::Crate,
        input: Input::Script,
    },
    Program {
        name: "wasm-opt",
        about: "optimizes the suite's program *json* for WebAssembly, trained on *markdown* (Binaryen, C++)",
        sources: Sources::CMake,
        input: Input::Module,
    },
];

impl Program {
    /// Returns the command that runs an executable of this program. Writes its input to `folder`.
    ///
    /// # Errors
    /// If the input cannot be written.
    pub(super) fn command(
        &self,
        executable: &Path,
        folder: &Path,
        scale: Scale,
    ) -> Result<Command> {
        let mut command = Command::new(executable);
        command.current_dir(folder);
        match self.input {
            Input::StyleSheet => {
                let (name, seed, bytes, rounds) = match scale {
                    Scale::Train => ("train.css", 1005, 400_000, "2"),
                    Scale::Count => ("input.css", 7, 300_000, "1"),
                    Scale::Time => ("input.css", 7, 300_000, "12"),
                };
                let file = folder.join(name);
                std::fs::write(&file, style_sheet(seed, bytes))?;
                command.arg(file).arg(rounds);
            }
            Input::Script => {
                let (script, size) = match scale {
                    Scale::Train => ("large/js/train.js", "3"),
                    Scale::Count => ("quickjs/work.js", "1"),
                    Scale::Time => ("quickjs/work.js", "4"),
                };
                let script = tests_directory().join("workloads").join(script);
                command.arg(size).arg(script);
            }
            Input::Module => {
                let (program, passes) = match scale {
                    Scale::Train => ("markdown", &["-O2"][..]),
                    Scale::Count => ("json", &["-O1"][..]),
                    Scale::Time => ("json", &["-O2"][..]),
                };
                let module = web_assembly(program, &folder.join("modules"))?;
                // One thread: clang's counters lose counts if several threads update them.
                command.env("BINARYEN_CORES", "1");
                command.args(passes).arg("--strip-producers");
                command.arg(module).args(["-o", "/dev/stdout"]);
            }
        }
        Ok(command)
    }
}

/// The target of the modules for wasm-opt.
const WEB_ASSEMBLY: &str = "wasm32-wasip1";

/// Builds a Rust program of the suite as a WebAssembly module, unless it is there.
fn web_assembly(program: &str, target: &Path) -> Result<PathBuf> {
    let module = target.join(format!("{WEB_ASSEMBLY}/release/{program}.wasm"));
    if module.is_file() {
        return Ok(module);
    }
    run_ok(Command::new("rustup").args(["target", "add", WEB_ASSEMBLY]))?;
    let mut build = Command::new("cargo");
    clean(&mut build);
    build.current_dir(tests_directory().join("workloads/rust"));
    build.args(["build", "--release", "--locked", "--target", WEB_ASSEMBLY]);
    build
        .args(["--package", program, "--target-dir"])
        .arg(target);
    run_ok(&mut build)?;
    Ok(module)
}

/// The folder of the drivers.
pub(super) fn drivers() -> PathBuf {
    tests_directory().join("workloads/large")
}

/// Returns the programs with these names, or all if there are none.
pub(super) fn chosen(names: &[String]) -> Vec<&'static Program> {
    let is_chosen = |p: &&Program| names.is_empty() || names.iter().any(|name| name == p.name);
    PROGRAMS.iter().filter(is_chosen).collect()
}

/// Checks the name of a program.
///
/// # Errors
/// If no program has this name. The message lists the names.
pub(super) fn parse_name(name: &str) -> Result<String, String> {
    match PROGRAMS.iter().any(|program| program.name == name) {
        true => Ok(name.to_owned()),
        false => Err(format!(
            "no large program is called {name:?}: there are {}",
            PROGRAMS.each_ref().map(|program| program.name).join(", ")
        )),
    }
}
