//! Finds and runs the real linker: the program that links the woven objects.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use holloway_abi::environment;

use crate::error::{Error, Result};
use crate::line::Flavor;
use crate::program::find_program;
use crate::response;

/// Finds the real linker: `HOLLOWAY_LINKER` (default `cc`) for the line of a compiler driver,
/// `HOLLOWAY_LD` (default `ld`) for the line of an `ld`.
///
/// # Errors
/// If the program does not exist.
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

/// Runs `program` with `args`. If the line is too long for the kernel, `run` writes it to a
/// response file in `scratch`.
///
/// # Errors
/// If the program cannot be started, or the response file cannot be written.
pub(crate) fn run(program: &Path, args: &[OsString], scratch: Option<&Path>) -> Result<ExitStatus> {
    let mut command = Command::new(program);
    match scratch {
        Some(dir) if response::too_long(args) => {
            let file = dir.join("line.rsp");
            response::write(&file, args)?;
            let mut reference = OsString::from("@");
            reference.push(&file);
            command.arg(reference);
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
