//! Finds the libLLVM that weaves: `HOLLOWAY_LLVM`, else the Rust toolchain's, else the system's.

use std::path::PathBuf;
use std::process::Command;

use holloway_abi::environment;
use holloway_llvm::Library;

use crate::error::{Error, Result};
use crate::program::find_program;
use crate::toolchain;

/// A loaded libLLVM and how it was found.
#[derive(Debug)]
pub struct Llvm {
    /// The library.
    pub library: Library,
    /// The toolchain that was searched first, if there was one: `HOLLOWAY_SYSROOT`, or `rustc`'s
    /// answer.
    pub sysroot: Option<PathBuf>,
}

/// Finds and loads libLLVM.
///
/// # Errors
/// When no libLLVM is found or can be loaded.
pub fn find_llvm() -> Result<Llvm> {
    let named = named_llvm();
    let sysroot = path(environment::SYSROOT.name).or_else(|| {
        if named.is_some() {
            None
        } else {
            rustc_sysroot()
        }
    });
    let library = Library::find(named.as_deref(), sysroot.as_deref());
    let library = library.map_err(|source| match named {
        Some(_) => Error::NamedLlvm { source },
        None => Error::Llvm { source },
    })?;
    Ok(Llvm { library, sysroot })
}

fn path(name: &str) -> Option<PathBuf> {
    std::env::var_os(name)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

/// The libLLVM that the user names.
pub fn named_llvm() -> Option<PathBuf> {
    path(environment::LLVM.name)
}

/// The sysroot of the `rustc` in `PATH`. It is often rustup's, which chooses by directory.
fn rustc_sysroot() -> Option<PathBuf> {
    let rustc = find_program("rustc".as_ref())?;
    toolchain::sysroot(&Command::new(rustc)).ok()
}
