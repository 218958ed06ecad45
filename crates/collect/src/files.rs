//! The files of a run's directory: their names, and functions to list, read, and write them.

use std::fs::{File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FsWord, SeekFrom, fstatfs, seek};
use rustix::io::Errno;

use holloway_format::error::hex_id;
use holloway_format::image::MAP_EXTENSION;
use holloway_format::raw::SparseBytes;
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
    check_regular(path)?;
    std::fs::read(path)
}

/// Reads a raw profile. Most counters of a large program are 0 and lie in holes of the file.
/// The holes are not read, if the file system is known to report none where a mapping was written.
///
/// # Errors
/// As [`read_regular`].
pub(crate) fn read_sparse(path: &Path) -> io::Result<SparseBytes> {
    check_regular(path)?;
    let file = File::open(path)?;
    let whole = || -> io::Result<SparseBytes> {
        let bytes = std::fs::read(path)?;
        let range = 0..bytes.len() as u64;
        Ok(SparseBytes {
            bytes,
            data: vec![range],
        })
    };
    let has_reliable_holes = fstatfs(&file)
        .is_ok_and(|file_system| FILE_SYSTEMS_WITH_HOLES.contains(&file_system.f_type));
    if !has_reliable_holes {
        return whole();
    }
    let length = file.metadata()?.len();
    let size = usize::try_from(length).map_err(|_| io::ErrorKind::FileTooLarge)?;
    let mut bytes = vec![0; size];
    let mut ranges = Vec::new();
    let mut end = 0;
    while end < length {
        let start = match seek(&file, SeekFrom::Data(end)) {
            Ok(start) => start,
            // There is no data after `end`.
            Err(Errno::NXIO) => break,
            Err(_) => return whole(),
        };
        end = seek(&file, SeekFrom::Hole(start))
            .unwrap_or(length)
            .min(length);
        let data = bytes.get_mut(start as usize..end as usize);
        file.read_exact_at(data.unwrap_or_default(), start)?;
        ranges.push(start..end);
    }
    Ok(SparseBytes {
        bytes,
        data: ranges,
    })
}

/// The magic numbers of the file systems whose holes are reliable: ext4, XFS, Btrfs, tmpfs.
const FILE_SYSTEMS_WITH_HOLES: [FsWord; 4] = [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994];

/// Checks that a file can be opened without waiting and without effects.
///
/// # Errors
/// If the file is neither a regular file nor a directory, or cannot be found.
pub(crate) fn check_regular(path: &Path) -> io::Result<()> {
    let kind = std::fs::metadata(path)?.file_type();
    match kind.is_file() || kind.is_dir() {
        true => Ok(()),
        false => Err(io::Error::other("not a regular file")),
    }
}

/// Reads the head of a profile. Reads only the beginning of the file, because the profile of a
/// running program may be large.
pub(crate) fn profile_head(profile: &Path) -> Option<ProfileHead> {
    peek_profile(&read_beginning(profile)?).ok()
}

/// The first 8192 bytes of a regular file, or all bytes of a shorter one. The heads of all files
/// are shorter, even with the longest path.
pub(crate) fn read_beginning(path: &Path) -> Option<Vec<u8>> {
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    file.take(8192).read_to_end(&mut bytes).ok()?;
    Some(bytes)
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
    fn holes_are_read_as_zeros() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sparse");
        assert!(read_sparse(&path).is_err());
        for (size, parts) in [
            (0, vec![]),
            (5, vec![0]),
            (1 << 20, vec![0, 70_000, 1_048_570]),
            (1 << 20, vec![500_000]),
            (1 << 20, vec![]),
        ] {
            let file = File::create(&path).unwrap();
            file.set_len(size).unwrap();
            for at in parts {
                file.write_all_at(b"words", at).unwrap();
            }
            let sparse = read_sparse(&path).unwrap();
            let whole = std::fs::read(&path).unwrap();
            assert_eq!(sparse.bytes, whole);
            let has_value = |at: usize| whole[at] != 0;
            let is_data = |at: usize| sparse.data.iter().any(|data| data.contains(&(at as u64)));
            assert!((0..whole.len()).all(|at| is_data(at) || !has_value(at)));
            assert!(
                sparse
                    .data
                    .is_sorted_by(|left, right| left.end <= right.start)
            );
        }
    }

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
