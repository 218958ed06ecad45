//! The files of a run's directory: their names, and functions to list, read, and write them.

use std::fs::{File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use holloway_format::error::hex_id;
use holloway_format::image::MAP_EXTENSION;
use holloway_format::{ProfileHead, peek_profile};

use crate::error::StoreError;

/// Extension of profiles.
pub const PROFILE: &str = "hwp";

/// Returns the file name of a path map: `<build id>.hwm`.
pub fn map_name(build_id: &[u8; 16]) -> String {
    format!("{}.{MAP_EXTENSION}", hex_id(build_id))
}

/// Lists the profiles in a run's directory, sorted by name.
///
/// # Errors
/// If the directory cannot be read.
pub fn profiles(directory: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let files = files(directory)?;
    let mut profiles: Vec<PathBuf> = files.filter(|file| is_profile(file)).collect();
    profiles.sort();
    Ok(profiles)
}

/// Returns whether the file has the extension of a profile.
pub(crate) fn is_profile(file: &Path) -> bool {
    file.extension()
        .is_some_and(|extension| extension == PROFILE)
}

/// Lists all files in a run's directory.
///
/// # Errors
/// If the directory cannot be read.
pub(crate) fn files(directory: &Path) -> Result<impl Iterator<Item = PathBuf>, StoreError> {
    let entries = std::fs::read_dir(directory).map_err(|source| StoreError::ReadDirectory {
        directory: directory.to_owned(),
        source,
    })?;
    Ok(entries.filter_map(|entry| entry.ok().map(|entry| entry.path())))
}

/// Reads a whole file. Does not open FIFOs or devices: opening a FIFO would wait for a writer, and
/// reading a device may have any effect.
///
/// # Errors
/// If the file cannot be read, or is no regular file. For a directory, the error is the operating
/// system's.
pub fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    let file_type = std::fs::metadata(path)?.file_type();
    if file_type.is_file() || file_type.is_dir() {
        return std::fs::read(path);
    }
    Err(io::Error::other("not a regular file"))
}

/// Reads the head of a profile. Reads only the beginning of the file, because the profile of a
/// running program may be large.
pub(crate) fn profile_head(profile: &Path) -> Option<ProfileHead> {
    if !std::fs::metadata(profile).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    let file = File::open(profile).ok()?;
    file.take(4096).read_to_end(&mut bytes).ok()?;
    peek_profile(&bytes).ok()
}

/// Replaces a file in one step: readers see either the old or the new content. The file gets the
/// default permissions of a new file.
///
/// # Errors
/// If the directory cannot be written.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let replace = || -> io::Result<()> {
        let mut file = tempfile::Builder::new()
            .prefix(".holloway-")
            // The system applies the umask to these permissions.
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(directory)?;
        file.write_all(bytes)?;
        file.persist(path)?;
        Ok(())
    };
    replace().map_err(|error| StoreError::Write {
        path: path.to_owned(),
        kind: error.kind(),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn written_files_have_the_default_permissions() {
        let dir = tempfile::tempdir().unwrap();
        let (atomic, plain) = (dir.path().join("atomic"), dir.path().join("plain"));
        write_atomically(&atomic, b"x").unwrap();
        std::fs::write(&plain, b"x").unwrap();
        let mode = |path| std::fs::metadata(path).map(|meta| meta.permissions().mode());
        assert_eq!(mode(&atomic).ok(), mode(&plain).ok());
    }
}
