//! Finds the file of a program in `PATH`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Finds the file of a program as `execvp` would. Skips the executable of this process, because the
/// directory with holloway's own `holloway-cc` and other symlinks may come first in `PATH`.
pub fn find_program(name: &OsStr) -> Option<PathBuf> {
    if name.as_encoded_bytes().contains(&b'/') {
        let path = PathBuf::from(name);
        return is_executable(&path).then_some(path);
    }
    let this_executable = std::env::current_exe().and_then(std::fs::canonicalize).ok();
    let paths = std::env::var_os("PATH")?;
    std::env::split_paths(&paths)
        .map(|dir| dir.join(name))
        .find(|path| {
            let is_this_executable =
                || this_executable.is_some() && std::fs::canonicalize(path).ok() == this_executable;
            is_executable(path) && !is_this_executable()
        })
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path)
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}
