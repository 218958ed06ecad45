//! A compressed path map: the content of `<build id>.hwm` files.
//!
//! A program holds its path map uncompressed ([`crate::image`]). The copy that is stored beside
//! profiles is cut into chunks, and each chunk is compressed alone.
//!
//! ```text
//! OFFSET SIZE MEANING
//!      0    8  "HLWPCMAP"
//!      8    4  format version, 1
//!     12    4  c: bytes of a chunk, a power of two from 2^12 to 2^24
//!     16   16  build id of the map
//!     32    8  length of the map
//!     40    4  t: bytes of the table of counters; 0 if there is none
//!     44    4  crc32 of bytes 0..44
//!     48   8n  chunks, n = length / c rounded up:  0 4 bytes in this file
//!                                                  4 4 crc32 of the chunk's number and these bytes
//!      …       the chunks, in order: zstd frames; a chunk of c bytes in this file is not compressed
//!      …    t  the table of counters (crate::counter_map), and its crc32 in the last 4 of these bytes
//! ```
//! The table repeats facts of the map. With it, the profile of a short process is sealed without
//! reading the map. The table is at the end of the file, so readers find it by the file's length.
//!
//! A damaged chunk becomes zeros. The checksums of the path map then find the lost records. A map
//! is at most 64 times as long as its file, so that a wrong length cannot ask for memory.

use std::borrow::Cow;
use std::io::{self, Read};
use std::ops::Range;

use crate::checksum::numbered_crc;
use crate::counter_map::{CounterMap, read_used};
use crate::cursor::Cursor;
use crate::error::FormatError;
use crate::image::{IMAGE_MAP_MAGIC, ImageMap, ReadRange, decode_image};

/// First eight bytes of a compressed path map.
pub const PACKED_MAP_MAGIC: [u8; 8] = *b"HLWPCMAP";

const VERSION: u32 = 1;
const HEAD: usize = 48;
const ENTRY: usize = 8;
/// Bytes of a chunk. A damaged byte costs this much of the map.
const CHUNK: usize = 1 << 17;
/// A map is at most so many times as long as its compressed form.
const MAX_RATIO: usize = 64;
/// At this level, zstd halves what lz4 leaves, at 300 MB/s.
const LEVEL: i32 = 3;

/// Compresses the path map of the build `build_id`.
pub fn pack_map(map: &[u8], build_id: &[u8; 16]) -> Vec<u8> {
    let mut head = PACKED_MAP_MAGIC.to_vec();
    head.extend_from_slice(&VERSION.to_le_bytes());
    head.extend_from_slice(&(CHUNK as u32).to_le_bytes());
    head.extend_from_slice(build_id);
    head.extend_from_slice(&(map.len() as u64).to_le_bytes());
    let counters = counter_table(map, build_id).unwrap_or_default();
    head.extend_from_slice(&(counters.len() as u32).to_le_bytes());
    let crc = crc32fast::hash(&head);
    head.extend_from_slice(&crc.to_le_bytes());

    let mut chunks = Vec::new();
    for (number, chunk) in map.chunks(CHUNK).enumerate() {
        let stored = compress(chunk);
        head.extend_from_slice(&(stored.len() as u32).to_le_bytes());
        head.extend_from_slice(&numbered_crc(number, &stored).to_le_bytes());
        chunks.extend_from_slice(&stored);
    }
    head.extend_from_slice(&chunks);
    head.extend_from_slice(&counters);
    head
}

/// The table of counters with its checksum. `None` if the map is damaged.
fn counter_table(map: &[u8], build_id: &[u8; 16]) -> Option<Vec<u8>> {
    let mut read = |range: Range<u64>| {
        let [start, end] = [range.start, range.end].map(|at| at.min(map.len() as u64) as usize);
        Some(map.get(start..end)?.to_vec())
    };
    let counters = read_used(&mut read, build_id, |_| true).ok()?;
    let mut table = counters.encode()?;
    table.extend_from_slice(&crc32fast::hash(&table).to_le_bytes());
    u32::try_from(table.len()).is_ok().then_some(table)
}

/// Reads the table of counters of a compressed path map. `read` gives the bytes of the compressed
/// map, which is `length` bytes long. `None` if it has no table.
///
/// # Errors
/// If the map is of another build, or the head or the table is damaged or cut off.
pub(crate) fn packed_counters(
    read: &mut ReadRange<'_>,
    length: u64,
    build_id: &[u8; 16],
) -> Result<Option<CounterMap>, FormatError> {
    let truncated = FormatError::Truncated { offset: length };
    let head = read(0..HEAD as u64).ok_or(truncated.clone())?;
    let head = Head::read(&head)?;
    if head.build_id != *build_id {
        return Err(FormatError::Head { offset: 16 });
    }
    if head.counters == 0 {
        return Ok(None);
    }
    let start = length.checked_sub(head.counters.into());
    let start = start.ok_or(truncated.clone())?;
    let table = read(start..length).ok_or(truncated.clone())?;
    let (table, crc) = table.split_last_chunk().ok_or(truncated)?;
    match crc32fast::hash(table) == u32::from_le_bytes(*crc) {
        true => CounterMap::decode(table).map(Some),
        false => Err(FormatError::Checksum { offset: start }),
    }
}

/// The chunk as a zstd frame; the chunk itself if the frame is not shorter, or shorter than the
/// reader allows.
fn compress(chunk: &[u8]) -> Cow<'_, [u8]> {
    match zstd::bulk::compress(chunk, LEVEL) {
        Ok(frame) if frame.len() < chunk.len() && frame.len() * MAX_RATIO >= chunk.len() => {
            Cow::Owned(frame)
        }
        Ok(_) | Err(_) => Cow::Borrowed(chunk),
    }
}

/// Reads the content of a `.hwm` file: a compressed path map, or the path map itself.
///
/// # Errors
/// If the bytes are no path map, of another version, or damaged in the head. Other damage is listed
/// in the map.
pub fn read_map(bytes: &[u8]) -> Result<ImageMap, FormatError> {
    if !bytes.starts_with(&PACKED_MAP_MAGIC) {
        return decode_image(bytes);
    }
    let map = decode_image(&unpack_map(bytes)?).map_err(|error| match error {
        // The chunk with the head of the map is damaged.
        FormatError::NotAMap => FormatError::Head { offset: 0 },
        error => error,
    })?;
    match Head::read(bytes)?.build_id == map.build_id {
        true => Ok(map),
        false => Err(FormatError::Head { offset: 16 }),
    }
}

/// Whether a file is a complete compressed path map whose checksums are right. Reads it chunk by
/// chunk: a buffer for the whole file would take longer to allocate than to check.
pub fn is_intact_packed_map(file: &mut dyn Read) -> bool {
    check_intact(file).is_ok_and(|is_intact| is_intact)
}

/// # Errors
/// If the file cannot be read, or is too short.
fn check_intact(file: &mut dyn Read) -> io::Result<bool> {
    let mut head = [0; HEAD];
    file.read_exact(&mut head)?;
    let Ok(head) = Head::read(&head) else {
        return Ok(false);
    };
    let chunks = head.length.div_ceil(head.chunk as u64);
    let mut table = Vec::new();
    let mut entries = Read::take(&mut *file, chunks.saturating_mul(ENTRY as u64));
    entries.read_to_end(&mut table)?;
    if (table.len() / ENTRY) as u64 != chunks {
        return Ok(false);
    }
    let mut buffer = vec![0; head.chunk];
    for (number, entry) in table.chunks_exact(ENTRY).enumerate() {
        let (length, crc) = entry_of(entry);
        let Some(chunk) = buffer.get_mut(..length) else {
            return Ok(false);
        };
        file.read_exact(chunk)?;
        if numbered_crc(number, chunk) != crc {
            return Ok(false);
        }
    }
    let mut rest = Vec::new();
    let limit = u64::from(head.counters) + 1;
    Read::take(file, limit).read_to_end(&mut rest)?;
    Ok(rest.len() == head.counters as usize && holds_table(&rest))
}

/// Whether these bytes are an undamaged table of counters, or none.
fn holds_table(bytes: &[u8]) -> bool {
    let parts = bytes.split_last_chunk();
    parts.map_or(bytes.is_empty(), |(table, crc)| {
        crc32fast::hash(table) == u32::from_le_bytes(*crc)
    })
}

/// The length of a chunk in the file, and its checksum.
fn entry_of(entry: &[u8]) -> (usize, u32) {
    let word = |at: usize| {
        entry[at..]
            .first_chunk()
            .map_or(0, |word| u32::from_le_bytes(*word))
    };
    (word(0) as usize, word(4))
}

/// Decompresses a path map. Zeros replace damaged chunks.
///
/// # Errors
/// If the bytes are no compressed path map, of another version, damaged in the head, or cut off in
/// the table of chunks.
pub fn unpack_map(bytes: &[u8]) -> Result<Vec<u8>, FormatError> {
    Head::read(bytes)?.unpack(bytes)
}

/// Returns the build id of a `.hwm` file. `bytes` are at least its first 48 bytes.
///
/// # Errors
/// If the bytes begin no path map, or are damaged or cut off in the head.
pub fn peek_map(bytes: &[u8]) -> Result<[u8; 16], FormatError> {
    if !bytes.starts_with(&IMAGE_MAP_MAGIC) {
        return Head::read(bytes).map(|head| head.build_id);
    }
    let mut cursor = Cursor::new(bytes, 0);
    cursor.bytes(16)?;
    cursor.id()
}

/// The head of a compressed path map.
struct Head {
    chunk: usize,
    build_id: [u8; 16],
    length: u64,
    /// Bytes of the table of counters, with its checksum.
    counters: u32,
}

impl Head {
    fn read(bytes: &[u8]) -> Result<Self, FormatError> {
        let mut cursor = Cursor::new(bytes, 0);
        if !bytes.starts_with(&PACKED_MAP_MAGIC) {
            return Err(FormatError::NotAMap);
        }
        cursor.bytes(8)?;
        let (found, chunk) = (cursor.u32()?, cursor.u32()?);
        if found != VERSION {
            let reads = VERSION..=VERSION;
            return Err(FormatError::Version { found, reads });
        }
        let (build_id, length) = (cursor.id()?, cursor.u64()?);
        let counters = cursor.u32()?;
        let crc = cursor.u32()?;
        let is_sound = chunk.is_power_of_two() && (1 << 12..=1 << 24).contains(&chunk);
        if crc != crc32fast::hash(&bytes[..HEAD - 4]) || !is_sound {
            return Err(FormatError::Head { offset: 0 });
        }
        Ok(Self {
            chunk: chunk as usize,
            build_id,
            length,
            counters,
        })
    }

    /// The table of chunks, and the chunks.
    fn split<'a>(&self, bytes: &'a [u8]) -> Result<(&'a [u8], &'a [u8]), FormatError> {
        let truncated = FormatError::Truncated {
            offset: bytes.len() as u64,
        };
        let length = usize::try_from(self.length).ok();
        let length = length.filter(|&length| length / MAX_RATIO <= bytes.len());
        let length = length.ok_or(truncated.clone())?;
        let table_size = length.div_ceil(self.chunk) * ENTRY;
        bytes[HEAD..].split_at_checked(table_size).ok_or(truncated)
    }

    /// The path map, with zeros in place of damaged chunks.
    fn unpack(&self, bytes: &[u8]) -> Result<Vec<u8>, FormatError> {
        let (table, mut stored) = self.split(bytes)?;
        let length = self.length as usize;
        let mut map = Vec::with_capacity(length);
        for (number, entry) in table.chunks_exact(ENTRY).enumerate() {
            let (stored_length, crc) = entry_of(entry);
            let (chunk, after) = stored.split_at(stored_length.min(stored.len()));
            stored = after;
            let end = length.min(map.len() + self.chunk);
            if numbered_crc(number, chunk) == crc {
                decompress(chunk, end - map.len(), &mut map);
            }
            map.resize(end, 0);
        }
        Ok(map)
    }
}

/// Appends a chunk of `length` bytes, if it can be decompressed.
fn decompress(stored: &[u8], length: usize, map: &mut Vec<u8>) {
    if stored.len() == length {
        map.extend_from_slice(stored);
    } else if let Ok(chunk) = zstd::bulk::decompress(stored, length) {
        map.extend_from_slice(&chunk);
    }
}
