//! The real linker: which one, how it is called, and what its end means for us.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use holloway_collect::child;

use super::line::Flavour;
use super::response;
use crate::failure::{Failure, Result};

/// The linker behind ours: `HOLLOWAY_LINKER` (default `cc`) for a compiler driver's line, `HOLLOWAY_LD` (default
/// `ld`) for a raw one.
///
/// # Errors
/// When there is no such program.
pub(crate) fn real_linker(flavour: Flavour) -> Result<PathBuf> {
    let (variable, default) = match flavour {
        Flavour::Driver => ("HOLLOWAY_LINKER", "cc"),
        Flavour::Ld => ("HOLLOWAY_LD", "ld"),
    };
    let set = std::env::var_os(variable).filter(|value| !value.is_empty());
    let name = set.clone().unwrap_or_else(|| default.into());
    find_program(&name).ok_or_else(|| {
        let name = name.display();
        match set {
            Some(_) => Failure::new(format_args!("no linker {name}: {variable} names it; correct or unset it")),
            None => Failure::new(format_args!("no linker {name}: install gcc or clang and binutils (Debian: apt install gcc), or name one in {variable}")),
        }
    })
}

/// Looks a program up as `execvp` would, passing over this very executable (a directory of its symlinks may come
/// first in `PATH`).
pub(crate) fn find_program(name: &OsStr) -> Option<PathBuf> {
    if name.as_encoded_bytes().contains(&b'/') {
        let path = PathBuf::from(name);
        return is_executable(&path).then_some(path);
    }
    let me = std::env::current_exe().and_then(std::fs::canonicalize).ok();
    let paths = std::env::var_os("PATH")?;
    std::env::split_paths(&paths)
        .map(|dir| dir.join(name))
        .find(|path| {
            is_executable(path) && (me.is_none() || std::fs::canonicalize(path).ok() != me)
        })
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path)
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// Runs `program` with `args` and returns its exit code (128 + n when signal n ended it). A line too long for the
/// kernel goes through a response file in `scratch`.
///
/// # Errors
/// When it cannot be started or the response file not written.
pub(crate) fn run(program: &Path, args: &[OsString], scratch: Option<&Path>) -> Result<u8> {
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
    let status = command.status().map_err(|error| {
        Failure::new(format_args!(
            "cannot run the linker {}: {error}",
            program.display()
        ))
    })?;
    Ok(child::exit_code(status))
}
