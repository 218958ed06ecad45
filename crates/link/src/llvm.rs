//! Which libLLVM weaves: `HOLLOWAY_LLVM`, else that of the Rust toolchain, else the system's.

use std::path::PathBuf;
use std::process::Command;

use holloway_llvm::Library;

use crate::error::{Error, Result};
use crate::program::find_program;
use crate::toolchain;

/// A loaded libLLVM and how it was found.
#[derive(Debug)]
pub struct Llvm {
    /// The library.
    pub library: Library,
    /// The toolchain that was looked in first, when one was: `HOLLOWAY_SYSROOT`, or what `rustc` says.
    pub sysroot: Option<PathBuf>,
}

/// Finds and loads libLLVM.
///
/// # Errors
/// When none is found or can be loaded.
pub fn find_llvm() -> Result<Llvm> {
    let explicit = named_llvm();
    let sysroot = path("HOLLOWAY_SYSROOT").or_else(|| {
        if explicit.is_some() {
            None
        } else {
            rustc_sysroot()
        }
    });
    let library = Library::find(explicit.as_deref(), sysroot.as_deref());
    let library = library.map_err(|source| match explicit {
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
    path("HOLLOWAY_LLVM")
}

/// The sysroot of the `rustc` in `PATH` (commonly rustup's, which looks at the directory).
fn rustc_sysroot() -> Option<PathBuf> {
    let rustc = find_program("rustc".as_ref())?;
    toolchain::sysroot(&Command::new(rustc)).ok()
}
