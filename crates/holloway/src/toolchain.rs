//! Compilers and linkers on this machine, as `doctor` and `show-env` name them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{Context, Failure, Result};
use crate::link::find_program;

/// A rustc, as it says of itself.
#[derive(Debug, Clone)]
pub(crate) struct Rustc {
    /// `rustc 1.95.0 (…)`.
    pub(crate) version: String,
    /// Host triple.
    pub(crate) host: String,
    /// Root of its installation.
    pub(crate) sysroot: PathBuf,
}

impl Rustc {
    /// Asks `$RUSTC`, else the rustc in `PATH` (rustup's proxy chooses by directory and `RUSTUP_TOOLCHAIN`).
    pub(crate) fn find() -> Option<Self> {
        let program = std::env::var_os("RUSTC")
            .filter(|rustc| !rustc.is_empty())
            .unwrap_or_else(|| "rustc".into());
        Self::ask(&Command::new(program)).ok()
    }

    /// Asks this rustc.
    ///
    /// # Errors
    /// It cannot be run, or does not answer as a rustc does.
    pub(crate) fn ask(rustc: &Command) -> Result<Self> {
        let verbose = output_of(rustc, &["-vV"])?;
        let host = verbose
            .lines()
            .find_map(|line| line.strip_prefix("host: "))
            .ok_or_else(|| {
                Failure::new("cannot tell rustc's host: `rustc -vV` has no `host:` line")
            })?;
        Ok(Self {
            version: verbose.lines().next().unwrap_or_default().to_owned(),
            host: host.to_owned(),
            sysroot: sysroot(rustc)?,
        })
    }

    /// The directory with `library/` in it, if the component rust-src is installed.
    pub(crate) fn source(&self) -> Option<PathBuf> {
        Some(self.sysroot.join("lib/rustlib/src/rust"))
            .filter(|source| source.join("library").is_dir())
    }
}

/// What a rustc calls its sysroot; 20 ms.
///
/// # Errors
/// It cannot be run.
pub(crate) fn sysroot(rustc: &Command) -> Result<PathBuf> {
    let sysroot = output_of(rustc, &["--print", "sysroot"])?;
    Ok(PathBuf::from(sysroot.trim_end()))
}

/// A clang.
#[derive(Debug, Clone)]
pub(crate) struct Clang {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// Major version: that of the bitcode it writes.
    pub(crate) major: u32,
    /// `19.1.7`.
    pub(crate) version: String,
}

/// `$HOLLOWAY_CLANG` and every `clang-N` and `clang` in `PATH`, each file once, in the order `holloway cc` prefers them.
pub(crate) fn clangs() -> Vec<Clang> {
    let chosen = std::env::var_os("HOLLOWAY_CLANG").filter(|clang| !clang.is_empty());
    let numbered = (10..60)
        .rev()
        .map(|number| format!("clang-{number}").into());
    let names = chosen
        .into_iter()
        .chain(numbered)
        .chain([OsStr::new("clang").to_owned()]);
    let mut found: Vec<Clang> = Vec::new();
    let mut seen = Vec::new();
    for path in names.filter_map(|name| find_program(&name)) {
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        if !seen.contains(&real) {
            seen.push(real);
            found.extend(ask_clang(&path));
        }
    }
    found
}

fn ask_clang(path: &Path) -> Option<Clang> {
    let text = first_output(path.as_os_str(), &["--version"])?;
    let version = text
        .split_whitespace()
        .skip_while(|&word| word != "version")
        .nth(1)?;
    let number = |c: char| c.is_ascii_digit() || c == '.';
    let version: String = version.chars().take_while(|&c| number(c)).collect();
    let major = version.split('.').next()?.parse().ok()?;
    Some(Clang {
        path: path.to_owned(),
        major,
        version,
    })
}

/// First line of what a program says to `--version`.
pub(crate) fn version_line(program: &Path) -> Option<String> {
    let text = first_output(program.as_os_str(), &["--version"])?;
    text.lines().next().map(str::to_owned)
}

/// What a program prints on stdout when given `args` besides its own.
fn output_of(program: &Command, args: &[&str]) -> Result<String> {
    let name = program.get_program();
    let mut command = Command::new(name);
    command.args(program.get_args()).args(args);
    let output = command
        .output()
        .cannot(|| format!("run {}", name.display()))?;
    if !output.status.success() {
        let cause = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(Failure::new(format_args!(
            "cannot run {} {}: {cause}",
            name.display(),
            args.join(" ")
        )));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Stdout of a program that succeeds.
fn first_output(program: &OsStr, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).output().ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
