//! Finds the clang that `holloway cc` calls: one whose bitcode our libLLVM can read.
//!
//! Bitcode is readable by LLVM of its own and later versions, so clang must not be newer than libLLVM. Names with a
//! version (`clang-22`) tell theirs without being run; asking the others costs 30 ms, so a compilation asks only
//! where it must, and a link always.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use super::suffix;
use crate::failure::{Failure, Result};
use crate::link::{Llvm, find_llvm, find_program};

/// A clang to call.
#[derive(Debug)]
pub(super) struct Clang {
    /// Where it is.
    pub(super) path: PathBuf,
    /// The Rust toolchain that was asked for its libLLVM, when one was.
    pub(super) sysroot: Option<PathBuf>,
}

/// Finds clang: `HOLLOWAY_CLANG`, else the newest in `PATH` that is not newer than libLLVM. `links`: its version is
/// checked in any case.
///
/// # Errors
/// When there is none, or only newer ones.
pub(super) fn clang(links: bool) -> Result<Clang> {
    if let Some(name) = std::env::var_os("HOLLOWAY_CLANG").filter(|name| !name.is_empty()) {
        let path = find_program(&name).ok_or_else(|| {
            Failure::new(format_args!(
                "no clang {}: HOLLOWAY_CLANG names it; correct or unset it",
                name.display()
            ))
        })?;
        return if links {
            checked(path)
        } else {
            Ok(Clang {
                path,
                sysroot: None,
            })
        };
    }
    let versioned = versioned();
    match versioned.as_slice() {
        [] => match find_program("clang".as_ref()) {
            Some(path) if links => checked(path),
            Some(path) => Ok(Clang {
                path,
                sysroot: None,
            }),
            None => Err(Failure::new(NONE)),
        },
        [(_, path)] if !links => Ok(Clang {
            path: path.clone(),
            sysroot: None,
        }),
        _ => newest_readable(&versioned),
    }
}

const NONE: &str =
    "no clang in PATH: install one (Debian: apt install clang-19), or name it in HOLLOWAY_CLANG";

fn newest_readable(versioned: &[(u32, PathBuf)]) -> Result<Clang> {
    let llvm = find_llvm()?;
    let limit = llvm.library.version().0;
    if let Some((_, path)) = versioned.iter().find(|(version, _)| *version <= limit) {
        return Ok(Clang {
            path: path.clone(),
            sysroot: llvm.sysroot,
        });
    }
    if let Some(path) = find_program("clang".as_ref())
        && version(&path).is_some_and(|version| version <= limit)
    {
        return Ok(Clang {
            path,
            sysroot: llvm.sysroot,
        });
    }
    let (version, path) = versioned.last().expect("there is a versioned clang");
    Err(too_new(*version, &path.display().to_string(), &llvm))
}

fn checked(path: PathBuf) -> Result<Clang> {
    let llvm = find_llvm()?;
    match version(&path) {
        Some(version) if version > llvm.library.version().0 => {
            Err(too_new(version, &path.display().to_string(), &llvm))
        }
        _ => Ok(Clang {
            path,
            sysroot: llvm.sysroot,
        }),
    }
}

fn too_new(version: u32, clang: &str, llvm: &Llvm) -> Failure {
    let (major, minor, patch) = llvm.library.version();
    Failure::new(format_args!(
        "clang {version} ({clang}) is newer than libLLVM {major}.{minor}.{patch} ({}), which cannot read its bitcode; \
         install clang-{major} or older, or name a newer libLLVM in HOLLOWAY_LLVM",
        llvm.library.path().display()
    ))
}

/// Every `clang-N` in `PATH`, newest first.
fn versioned() -> Vec<(u32, PathBuf)> {
    let dirs = std::env::var_os("PATH").unwrap_or_default();
    let mut names: Vec<(u32, OsString)> = std::env::split_paths(&dirs)
        .filter_map(|dir| std::fs::read_dir(dir).ok())
        .flat_map(|entries| entries.flatten().map(|entry| entry.file_name()))
        .filter_map(|name| Some((suffix(&name)?, name)))
        .collect();
    names.sort_unstable_by(|left, right| right.cmp(left));
    names.dedup();
    names
        .into_iter()
        .filter_map(|(version, name)| Some((version, find_program(&name)?)))
        .collect()
}

/// Asks a clang for its major version.
fn version(clang: &std::path::Path) -> Option<u32> {
    if let Some(version) = clang.file_name().and_then(suffix) {
        return Some(version);
    }
    let output = Command::new(clang).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split_once("clang version ")?
        .1
        .split(['.', ' ', '\n'])
        .next()?
        .parse()
        .ok()
}
