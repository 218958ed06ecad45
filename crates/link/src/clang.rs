//! Finds the clang that compiles C and C++. The libLLVM that weaves must be able to read its
//! bitcode.
//!
//! LLVM reads bitcode of its own version and of earlier versions, so clang must not be newer than
//! libLLVM. Some file names contain the version (`clang-22`). Running a clang to ask for its
//! version costs 30 ms, so a compilation asks only if it has a choice of several clangs. A link
//! always checks the version.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use holloway_abi::environment;

use crate::error::{Error, Result};
use crate::llvm::{Llvm, find_llvm};
use crate::program::find_program;

/// A clang to call.
#[derive(Debug)]
pub struct Clang {
    /// The executable.
    pub path: PathBuf,
    /// The sysroot of the Rust toolchain that was searched for libLLVM, if one was.
    pub sysroot: Option<PathBuf>,
}

/// The purpose of a call of clang.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Clang compiles only. If `PATH` has only one clang, it is called without a version check.
    Compile,
    /// Clang links. The version is always checked.
    Link,
}

/// Finds clang: `HOLLOWAY_CLANG`, else the newest clang in `PATH` that is not newer than libLLVM.
///
/// # Errors
/// If there is no clang, or every clang is newer than libLLVM.
pub fn find_clang(purpose: Purpose) -> Result<Clang> {
    let mut candidates = candidates()?;
    if candidates.len() == 1 && purpose == Purpose::Compile {
        return Ok(Clang {
            path: candidates.remove(0),
            sysroot: None,
        });
    }
    let llvm = find_llvm()?;
    let llvm_major = llvm.library.version().0;
    match candidates.iter().position(|path| fits(path, llvm_major)) {
        Some(index) => Ok(Clang {
            path: candidates.swap_remove(index),
            sysroot: llvm.sysroot,
        }),
        None => Err(too_new(&candidates, &llvm)),
    }
}

/// Lists the clangs that may be called, in order of preference, each file once. If `HOLLOWAY_CLANG`
/// is set, the list has only the clang that it names. Otherwise, the list has every `clang-N` in
/// `PATH`, newest first, and then `clang`. The list is not empty.
///
/// # Errors
/// If there is no clang.
pub fn candidates() -> Result<Vec<PathBuf>> {
    if let Some(name) = std::env::var_os(environment::CLANG.name).filter(|name| !name.is_empty()) {
        let clang = find_program(&name);
        return Ok(vec![clang.ok_or(Error::NoNamedClang { name })?]);
    }
    // Pairs of path and canonical path.
    let mut clangs: Vec<(PathBuf, PathBuf)> = Vec::new();
    for path in names().iter().filter_map(|name| find_program(name)) {
        let file = path.canonicalize().unwrap_or_else(|_| path.clone());
        if clangs.iter().all(|(_, known)| *known != file) {
            clangs.push((path, file));
        }
    }
    if clangs.is_empty() {
        return Err(Error::NoClang);
    }
    Ok(clangs.into_iter().map(|(path, _)| path).collect())
}

/// Returns whether LLVM of major version `llvm_major` can read the bitcode of a clang. A clang
/// without a known version is accepted, because the link reports bitcode that it cannot read.
pub fn fits(clang: &Path, llvm_major: u32) -> bool {
    major(clang).is_none_or(|version| version <= llvm_major)
}

/// Runs a clang and returns its version: `19.1.7`.
pub fn version(clang: &Path) -> Option<String> {
    let output = Command::new(clang).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (_, after_label) = text.split_once("clang version ")?;
    let is_version = |c: char| c.is_ascii_digit() || c == '.';
    let version: String = after_label.chars().take_while(|&c| is_version(c)).collect();
    (!version.is_empty()).then_some(version)
}

/// Returns the major version of a clang, which is also the version of its bitcode.
fn major(clang: &Path) -> Option<u32> {
    let from_name = clang.file_name().and_then(version_in_name);
    from_name.or_else(|| version(clang)?.split('.').next()?.parse().ok())
}

/// Returns the name of every `clang-N` in `PATH`, newest first, and then `clang`.
fn names() -> Vec<OsString> {
    let dirs = std::env::var_os("PATH").unwrap_or_default();
    let mut versioned: Vec<(u32, OsString)> = std::env::split_paths(&dirs)
        .filter_map(|dir| std::fs::read_dir(dir).ok())
        .flat_map(|entries| entries.flatten().map(|entry| entry.file_name()))
        .filter_map(|name| Some((version_in_name(&name)?, name)))
        .collect();
    versioned.sort_unstable_by(|left, right| right.cmp(left));
    versioned.dedup();
    let names = versioned.into_iter().map(|(_, name)| name);
    names.chain([OsString::from("clang")]).collect()
}

/// Returns the version in a program's name: `22` in `clang-22`.
fn version_in_name(name: &OsStr) -> Option<u32> {
    name.to_str()?.strip_prefix("clang-")?.parse().ok()
}

/// Returns the error for clangs that are all newer than libLLVM.
fn too_new(candidates: &[PathBuf], llvm: &Llvm) -> Error {
    let with_version = |path: &PathBuf| Some((major(path)?, path.clone()));
    let (version, path) = candidates
        .iter()
        .filter_map(with_version)
        .min()
        .expect("a clang without a version fits");
    Error::ClangTooNew {
        path,
        version,
        llvm: llvm.library.version(),
        library: llvm.library.path().to_owned(),
    }
}
