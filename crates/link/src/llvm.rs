//! Finds the libLLVM that weaving uses: the library that `HOLLOWAY_LLVM` names, else the library of
//! the Rust toolchain, else the library of the system.

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
    /// The sysroot of the Rust toolchain, if known: `HOLLOWAY_SYSROOT`, or the sysroot that `rustc`
    /// prints. If `HOLLOWAY_LLVM` names a library, `rustc` is not asked.
    pub sysroot: Option<PathBuf>,
}

/// Finds and loads libLLVM.
///
/// # Errors
/// If no libLLVM is found, or none of them can be loaded.
pub fn find_llvm() -> Result<Llvm> {
    let named_library = named_llvm();
    let sysroot = path(environment::SYSROOT.name).or_else(|| {
        if named_library.is_some() {
            None
        } else {
            rustc_sysroot()
        }
    });
    let library = Library::find(named_library.as_deref(), sysroot.as_deref());
    let library = library.map_err(|source| match named_library {
        Some(_) => Error::NamedLlvm { source },
        None => Error::Llvm { source },
    })?;
    Ok(Llvm { library, sysroot })
}

fn path(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

/// Returns the path in `HOLLOWAY_LLVM`, if the user set it.
pub fn named_llvm() -> Option<PathBuf> {
    path(environment::LLVM.name)
}

/// Returns the sysroot of the `rustc` in `PATH`. This `rustc` is often rustup's proxy, which
/// chooses a toolchain by the current directory.
fn rustc_sysroot() -> Option<PathBuf> {
    let rustc = find_program("rustc".as_ref())?;
    toolchain::sysroot(&Command::new(rustc)).ok()
}
