//! Runs a built program, plain or woven.

use super::catalog::{Language, Program};
use super::variant::Variant;
use crate::report::Function;
use crate::tool::{Output, clean, run, run_ok};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

impl Program {
    /// Runs the program in the folder of its executable. A woven program writes to `data`.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn run(&self, variant: &Variant, executable: &Path, data: Option<&Path>) -> Result<Output> {
        let mut command = variant.machine.command(executable)?;
        self.set_up(&mut command, executable)?;
        run_program(&mut command, data)
    }

    pub(super) fn set_up(&self, command: &mut Command, executable: &Path) -> Result<()> {
        command.args(&self.directives.args);
        let folder = executable
            .parent()
            .context("an executable lies in a directory")?;
        match self.language {
            Language::C | Language::Cpp => {
                command.current_dir(folder);
            }
            // Like `cargo run`, so that the shared libraries of the project and of std are found.
            Language::Rust | Language::Cargo => {
                let path = format!("{}:{}", folder.join("deps").display(), std_libraries()?);
                command.env("LD_LIBRARY_PATH", path);
            }
        }
        Ok(())
    }

    pub(super) fn is_unequal(&self, function: &Function) -> bool {
        let names = self.directives.unequal.iter();
        names.into_iter().any(|(name, _)| match name.as_str() {
            "*" => true,
            "std" => function.file.contains("/library/"),
            name => function.answers_to(name),
        })
    }

    pub(super) fn wrong_processes(&self, data: &Path) -> Result<Option<String>> {
        let Some(wanted) = self.directives.processes else {
            return Ok(None);
        };
        let count = profiles(data)?.len();
        Ok((count != wanted).then(|| format!("{count} profiles, not {wanted}")))
    }
}

/// Returns the folder of rustc's shared libraries.
fn std_libraries() -> Result<&'static str> {
    static LIBRARIES: OnceLock<String> = OnceLock::new();
    if let Some(known) = LIBRARIES.get() {
        return Ok(known);
    }
    let printed = run_ok(Command::new("rustc").args(["--print", "target-libdir"]))?.text();
    Ok(LIBRARIES.get_or_init(|| printed.trim().to_owned()))
}

/// Runs a built program. A woven program writes its profiles to `data`.
///
/// # Errors
/// If it cannot be started.
pub fn run_program(command: &mut Command, data: Option<&Path>) -> Result<Output> {
    clean(command);
    if let Some(data) = data {
        command.env("HOLLOWAY_DATA", data);
    }
    run(command)
}

/// Returns the profiles in the directory of a run.
///
/// # Errors
/// If the directory cannot be read.
pub fn profiles(data: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in
        std::fs::read_dir(data).with_context(|| format!("cannot list {}", data.display()))?
    {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "hwp") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
