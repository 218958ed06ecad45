//! The real linker: which program it is and how it is called.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use holloway_abi::environment;

use crate::error::{Error, Result};
use crate::line::Flavor;
use crate::program::find_program;
use crate::response;

/// The real linker: `HOLLOWAY_LINKER` (default `cc`) for a compiler driver's line, `HOLLOWAY_LD`
/// (default `ld`) for a raw line.
///
/// # Errors
/// When there is no such program.
pub(crate) fn real_linker(flavor: Flavor) -> Result<PathBuf> {
    let (variable, default) = match flavor {
        Flavor::Driver => (environment::LINKER.name, "cc"),
        Flavor::Ld => (environment::LD.name, "ld"),
    };
    let set = std::env::var_os(variable).filter(|value| !value.is_empty());
    let name = set.clone().unwrap_or_else(|| default.into());
    find_program(&name).ok_or(match set {
        Some(_) => Error::NoNamedLinker { name, variable },
        None => Error::NoLinker {
            name: default,
            variable,
        },
    })
}

/// Runs `program` with `args`. A line too long for the kernel goes through a response file in
/// `scratch`.
///
/// # Errors
/// When it cannot be started or the response file not written.
pub(crate) fn run(program: &Path, args: &[OsString], scratch: Option<&Path>) -> Result<ExitStatus> {
    let mut command = Command::new(program);
    match scratch {
        Some(dir) if response::too_long(args) => {
            let file = dir.join("line.rsp");
            response::write(&file, args)?;
            let mut at = OsString::from("@");
            at.push(&file);
            command.arg(at);
        }
        _ => {
            command.args(args);
        }
    }
    command.status().map_err(|source| Error::RunLinker {
        path: program.to_owned(),
        source,
    })
}
