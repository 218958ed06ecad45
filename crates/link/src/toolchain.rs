//! The Rust toolchain and the versions of other tools on this machine.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};

/// A rustc, as it describes itself.
#[derive(Debug, Clone)]
pub struct Rustc {
    /// `rustc 1.95.0 (…)`.
    pub version: String,
    /// Host triple.
    pub host: String,
    /// Root of its installation.
    pub sysroot: PathBuf,
}

impl Rustc {
    /// Asks `$RUSTC`, or else the rustc in `PATH`. Rustup's proxy chooses by directory and
    /// `RUSTUP_TOOLCHAIN`.
    pub fn find() -> Option<Self> {
        let program = std::env::var_os("RUSTC")
            .filter(|rustc| !rustc.is_empty())
            .unwrap_or_else(|| "rustc".into());
        Self::ask(&Command::new(program)).ok()
    }

    /// Asks this rustc.
    ///
    /// # Errors
    /// It cannot be run, or does not answer like a rustc.
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

    /// The directory with `library/` in it, if the component rust-src is installed.
    pub fn source(&self) -> Option<PathBuf> {
        Some(self.sysroot.join("lib/rustlib/src/rust"))
            .filter(|source| source.join("library").is_dir())
    }
}

/// The sysroot of a rustc. Costs 20 ms.
///
/// # Errors
/// It cannot be run.
pub fn sysroot(rustc: &Command) -> Result<PathBuf> {
    let sysroot = output_of(rustc, &["--print", "sysroot"])?;
    Ok(PathBuf::from(sysroot.trim_end()))
}

/// First line of a program's answer to `--version`.
pub fn version_line(program: &Path) -> Option<String> {
    let text = first_output(program.as_os_str(), &["--version"])?;
    text.lines().next().map(str::to_owned)
}

/// The stdout of a program with additional arguments.
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

/// The stdout of a program, if it succeeds.
fn first_output(program: &OsStr, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).output().ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
