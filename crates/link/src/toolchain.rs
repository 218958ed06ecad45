//! Asks rustc for its version, host, and sysroot, and other tools for their versions.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};

/// The answers of a rustc to `-vV` and `--print sysroot`.
#[derive(Debug, Clone)]
pub struct Rustc {
    /// Name and version: `rustc 1.95.0 (…)`.
    pub version: String,
    /// The host triple.
    pub host: String,
    /// The root directory of the toolchain.
    pub sysroot: PathBuf,
}

impl Rustc {
    /// Asks `$RUSTC`, or else the rustc in `PATH`. The latter is often rustup's proxy, which
    /// chooses a toolchain by the current directory and `RUSTUP_TOOLCHAIN`.
    pub fn find() -> Option<Self> {
        let program = std::env::var_os("RUSTC")
            .filter(|rustc| !rustc.is_empty())
            .unwrap_or_else(|| "rustc".into());
        Self::ask(&Command::new(program)).ok()
    }

    /// Asks the program `rustc`.
    ///
    /// # Errors
    /// If the program cannot be run, or does not answer like a rustc.
    pub fn ask(rustc: &Command) -> Result<Self> {
        let verbose = output_of(rustc, &["-vV"])?;
        let host = verbose
            .lines()
            .find_map(|line| line.strip_prefix("host: "))
            .ok_or(Error::NoHost)?;
        Ok(Self {
            version: verbose.lines().next().unwrap_or_default().to_owned(),
            host: host.to_owned(),
            sysroot: sysroot(rustc)?,
        })
    }

    /// Returns the directory that contains `library/`, if the component rust-src is installed.
    pub fn source(&self) -> Option<PathBuf> {
        Some(self.sysroot.join("lib/rustlib/src/rust"))
            .filter(|source| source.join("library").is_dir())
    }
}

/// Asks a rustc for its sysroot. Costs 20 ms.
///
/// # Errors
/// If the rustc cannot be run.
pub fn sysroot(rustc: &Command) -> Result<PathBuf> {
    let sysroot = output_of(rustc, &["--print", "sysroot"])?;
    Ok(PathBuf::from(sysroot.trim_end()))
}

/// Returns the first line of a program's answer to `--version`.
pub fn version_line(program: &Path) -> Option<String> {
    let text = output_if_successful(program.as_os_str(), &["--version"])?;
    text.lines().next().map(str::to_owned)
}

/// Runs a program with additional arguments and returns its stdout.
fn output_of(program: &Command, args: &[&str]) -> Result<String> {
    let name = program.get_program();
    let mut command = Command::new(name);
    command.args(program.get_args()).args(args);
    let output = command.output().map_err(|source| Error::Tool {
        program: name.to_owned(),
        source,
    })?;
    if !output.status.success() {
        return Err(Error::ToolFailed {
            program: name.to_owned(),
            arguments: args.join(" "),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a program and returns its stdout, if the program succeeds.
fn output_if_successful(program: &OsStr, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).output().ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
