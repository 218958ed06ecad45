//! Compilers and linkers on this machine, as `doctor` and `show-env` name them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

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
        let verbose = first_output(&program, &["-vV"])?;
        let sysroot = first_output(&program, &["--print", "sysroot"])?;
        let host = verbose
            .lines()
            .find_map(|line| line.strip_prefix("host: "))?;
        Some(Self {
            version: verbose.lines().next().unwrap_or_default().to_owned(),
            host: host.to_owned(),
            sysroot: PathBuf::from(sysroot.trim_end()),
        })
    }

    /// The directory with `library/` in it, if the component rust-src is installed.
    pub(crate) fn source(&self) -> Option<PathBuf> {
        Some(self.sysroot.join("lib/rustlib/src/rust"))
            .filter(|source| source.join("library").is_dir())
    }
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

/// Stdout of a program that succeeds.
fn first_output(program: &OsStr, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).output().ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
