//! Which libLLVM weaves: `HOLLOWAY_LLVM`, else that of the Rust toolchain, else the system's.

use std::path::PathBuf;
use std::process::Command;

use holloway_llvm::{Library, LlvmError};

use crate::failure::{Failure, Result};
use crate::toolchain;

/// A loaded libLLVM and how it was found.
#[derive(Debug)]
pub(crate) struct Llvm {
    /// The library.
    pub(crate) library: Library,
    /// The toolchain that was looked in first, when one was: `HOLLOWAY_SYSROOT`, or what `rustc` says.
    pub(crate) sysroot: Option<PathBuf>,
}

/// Finds and loads libLLVM.
///
/// # Errors
/// When none is found or can be loaded.
pub(crate) fn find_llvm() -> Result<Llvm> {
    let explicit = named_llvm();
    let sysroot = path("HOLLOWAY_SYSROOT").or_else(|| {
        if explicit.is_some() {
            None
        } else {
            rustc_sysroot()
        }
    });
    let library = Library::find(explicit.as_deref(), sysroot.as_deref())
        .map_err(|error| cannot_load(&error, explicit.is_some()))?;
    Ok(Llvm { library, sysroot })
}

/// The error with what caused it, and the way out.
fn cannot_load(error: &LlvmError, named: bool) -> Failure {
    let mut message = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        message.push_str(&format!(": {error}"));
        cause = error.source();
    }
    if named {
        message.push_str(
            "; HOLLOWAY_LLVM names it: name a libLLVM (libLLVM.so of a Rust toolchain or of LLVM 19 or later), or unset it",
        );
    }
    Failure::new(message)
}

fn path(name: &str) -> Option<PathBuf> {
    std::env::var_os(name)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

/// The libLLVM that the user names.
pub(crate) fn named_llvm() -> Option<PathBuf> {
    path("HOLLOWAY_LLVM")
}

/// The sysroot of the `rustc` in `PATH` (commonly rustup's, which looks at the directory).
fn rustc_sysroot() -> Option<PathBuf> {
    let rustc = super::find_program("rustc".as_ref())?;
    toolchain::sysroot(&Command::new(rustc)).ok()
}
