//! Finds the clang that compiles C and C++: our libLLVM must be able to read its bitcode.
//!
//! LLVM reads bitcode of its own version and of earlier versions, so clang must not be newer than
//! libLLVM. A name with a version (`clang-22`) is enough to know it. Asking another clang for its
//! version costs 30 ms, so a compilation asks only if there is a choice. A link always asks.

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
    /// Where it is.
    pub path: PathBuf,
    /// The sysroot of the Rust toolchain that libLLVM was looked for in, if one was.
    pub sysroot: Option<PathBuf>,
}

/// What clang is called for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To compile only. A single clang is called without asking for its version.
    Compile,
    /// To link. The version is always checked.
    Link,
}

/// Finds clang: `HOLLOWAY_CLANG`, else the newest in `PATH` that is not newer than libLLVM.
///
/// # Errors
/// When there is none, or only newer ones.
pub fn find_clang(purpose: Purpose) -> Result<Clang> {
    let mut candidates = candidates()?;
    if candidates.len() == 1 && purpose == Purpose::Compile {
        return Ok(Clang {
            path: candidates.remove(0),
            sysroot: None,
        });
    }
    let llvm = find_llvm()?;
    let limit = llvm.library.version().0;
    match candidates.iter().position(|path| fits(path, limit)) {
        Some(first) => Ok(Clang {
            path: candidates.swap_remove(first),
            sysroot: llvm.sysroot,
        }),
        None => Err(too_new(&candidates, &llvm)),
    }
}

/// The clangs that may be called, in the order of preference, each file once: the clang that
/// `HOLLOWAY_CLANG` names, or else every `clang-N` in `PATH`, newest first, and `clang`. The list
/// is not empty.
///
/// # Errors
/// When there is none.
pub fn candidates() -> Result<Vec<PathBuf>> {
    if let Some(name) = std::env::var_os(environment::CLANG.name).filter(|name| !name.is_empty()) {
        let named = find_program(&name);
        return Ok(vec![named.ok_or(Error::NoNamedClang { name })?]);
    }
    let mut found: Vec<(PathBuf, PathBuf)> = Vec::new();
    for path in names().iter().filter_map(|name| find_program(name)) {
        let file = path.canonicalize().unwrap_or_else(|_| path.clone());
        if found.iter().all(|(_, known)| *known != file) {
            found.push((path, file));
        }
    }
    if found.is_empty() {
        return Err(Error::NoClang);
    }
    Ok(found.into_iter().map(|(path, _)| path).collect())
}

/// Whether LLVM of the major version `limit` can read the bitcode of a clang. A clang without a
/// known version is accepted: the link reports what it cannot read.
pub fn fits(clang: &Path, limit: u32) -> bool {
    major(clang).is_none_or(|version| version <= limit)
}

/// The version that a clang reports: `19.1.7`.
pub fn version(clang: &Path) -> Option<String> {
    let output = Command::new(clang).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (_, rest) = text.split_once("clang version ")?;
    let is_version = |c: char| c.is_ascii_digit() || c == '.';
    let version: String = rest.chars().take_while(|&c| is_version(c)).collect();
    (!version.is_empty()).then_some(version)
}

/// The version of its bitcode.
fn major(clang: &Path) -> Option<u32> {
    let named = clang.file_name().and_then(version_in_name);
    named.or_else(|| version(clang)?.split('.').next()?.parse().ok())
}

/// Every `clang-N` in `PATH`, newest first, and `clang`.
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

/// The version in a program's name: `22` in `clang-22`.
fn version_in_name(name: &OsStr) -> Option<u32> {
    name.to_str()?.strip_prefix("clang-")?.parse().ok()
}

/// The error for clangs that are all too new.
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
