//! Reads the head of a raw profile.

use crate::cursor::{Cursor, known_kind};
use crate::error::FormatError;
use crate::profile::{ProfileHead, path_of_bytes};
use crate::raw::extent::EXTENT_HEAD_SIZE;
use holloway_abi::{ABI_VERSION, OLDEST_ABI_VERSION, PAGE, RAW_MAGIC, raw_path_size};

/// The head of a raw profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawHead {
    /// The data that the heads of sealed profiles also have.
    pub profile: ProfileHead,
    /// Bytes of counters of each thread.
    pub block_size: u64,
    /// End of the last complete extent.
    pub end: u64,
    /// Start of the process on the boot clock, in nanoseconds; 0 if unknown.
    pub boot_start: u64,
    /// Inode of the process's PID namespace; 0 if unknown.
    pub pid_namespace: u64,
    /// Process id of the collector that takes words out of the rings; 0 if there is no collector
    /// and the threads spool.
    pub collector: u32,
}

impl RawHead {
    /// Reads the head.
    ///
    /// # Errors
    /// If the bytes are not a raw profile or have another version, or if the head is damaged or cut
    /// off.
    pub fn read(bytes: &[u8]) -> Result<Self, FormatError> {
        let magic = &bytes[..bytes.len().min(8)];
        if magic.iter().all(|&byte| byte == 0) {
            return Err(FormatError::Unfinished);
        }
        if !RAW_MAGIC.starts_with(magic) {
            return Err(FormatError::NotAProfile);
        }
        let mut cursor = Cursor::new(bytes, 0);
        cursor.bytes(8)?;
        let version = cursor.u32()?;
        let reads = OLDEST_ABI_VERSION..=ABI_VERSION;
        if !reads.contains(&version) {
            return Err(FormatError::Version {
                found: version,
                reads,
            });
        }
        let (kind, build_id) = (cursor.u32()?, cursor.id()?);
        let (block_size, end) = (cursor.u64()?, cursor.u64()?);
        let process = ProfileHead::read_process(&mut cursor)?;
        let (boot_start, pid_namespace, collector) = (cursor.u64()?, cursor.u64()?, cursor.u32()?);
        cursor.bytes(28)?;
        let image = String::from_utf8_lossy(padded(cursor.bytes(80)?)).into_owned();
        let image_path = path_of_bytes(padded(cursor.bytes(raw_path_size(version))?));
        if !block_size
            .checked_add(EXTENT_HEAD_SIZE)
            .is_some_and(|size| size.is_multiple_of(PAGE))
        {
            return Err(FormatError::Head { offset: 32 });
        }
        if end < PAGE || !end.is_multiple_of(PAGE) {
            return Err(FormatError::Head { offset: 40 });
        }
        let profile = ProfileHead {
            sealed: false,
            kind: known_kind(kind)?,
            build_id,
            image,
            image_path,
            ..process
        };
        Ok(Self {
            profile,
            block_size,
            end,
            boot_start,
            pid_namespace,
            collector,
        })
    }
}

/// The bytes of a NUL-padded name.
fn padded(bytes: &[u8]) -> &[u8] {
    let end = bytes
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(bytes.len());
    &bytes[..end]
}
