//! Looks programs up in `PATH`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Looks a program up as `execvp` would. Passes over this very executable, because a directory with
/// our tools' names may come first in `PATH`.
pub fn find_program(name: &OsStr) -> Option<PathBuf> {
    if name.as_encoded_bytes().contains(&b'/') {
        let path = PathBuf::from(name);
        return is_executable(&path).then_some(path);
    }
    let own = std::env::current_exe().and_then(std::fs::canonicalize).ok();
    let paths = std::env::var_os("PATH")?;
    std::env::split_paths(&paths)
        .map(|dir| dir.join(name))
        .find(|path| {
            is_executable(path) && (own.is_none() || std::fs::canonicalize(path).ok() != own)
        })
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path)
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}
