//! The head of a profile, which identifies the process and the build.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use holloway_abi::Kind;

use crate::cursor::Cursor;
use crate::error::FormatError;
use crate::profile::write_failure::WriteFailure;

/// The head of a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProfileHead {
    /// Whether the profile is sealed. Otherwise it is raw.
    pub sealed: bool,
    /// Kind of data.
    pub kind: Kind,
    /// Build id of the image.
    pub build_id: [u8; 16],
    /// File name of the image.
    pub image: String,
    /// Path of the image's file. Empty if it is unknown.
    pub image_path: PathBuf,
    /// Process id.
    pub pid: u32,
    /// Parent's process id.
    pub ppid: u32,
    /// Start of the process, in nanoseconds since 1970.
    pub start_ns: u64,
    /// Number of threads that entered woven code.
    pub threads: u32,
    /// Number of losses: threads and segments whose counts did not fit into the file, and rings
    /// that dropped words.
    pub lost: u64,
    /// The reason of the first loss. `None`: nothing is lost, or the reason is unknown.
    pub failure: Option<WriteFailure>,
    /// Whether the process is the child of a fork.
    pub forked: bool,
}

/// The path in a file's bytes. Paths are any bytes, not always UTF-8.
pub(crate) fn path_of_bytes(bytes: &[u8]) -> PathBuf {
    Path::new(OsStr::from_bytes(bytes)).to_owned()
}

/// The bytes of a path.
pub(crate) fn bytes_of_path(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

impl ProfileHead {
    /// Reads the fields that lie next to each other in raw and sealed heads: process ids, start,
    /// losses, threads, and flags.
    ///
    /// # Errors
    /// If the bytes end.
    pub(crate) fn read_process(cursor: &mut Cursor<'_>) -> Result<Self, FormatError> {
        let (pid, ppid) = (cursor.u32()?, cursor.u32()?);
        let (start_ns, lost) = (cursor.u64()?, cursor.u64()?);
        let (threads, flags) = (cursor.u32()?, cursor.u32()?);
        Ok(Self {
            pid,
            ppid,
            start_ns,
            threads,
            lost,
            failure: WriteFailure::from_flags(flags),
            forked: flags & 1 != 0,
            ..Self::default()
        })
    }
}
