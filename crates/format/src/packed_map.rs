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
//!     40    4  0
//!     44    4  crc32 of bytes 0..44
//!     48   8n  chunks, n = length / c rounded up:  0 4 bytes in this file
//!                                                  4 4 crc32 of the chunk's number and these bytes
//!      …       the chunks, in order: zstd frames; a chunk of c bytes in this file is not compressed
//! ```
//! A damaged chunk becomes zeros. The checksums of the path map then find the lost records. A map is at
//! most 64 times as long as its file, so that a wrong length cannot ask for memory.

use std::borrow::Cow;

use crate::checksum::numbered_crc;
use crate::cursor::Cursor;
use crate::error::FormatError;
use crate::image::{IMAGE_MAP_MAGIC, ImageMap, decode_image};

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
    head.extend_from_slice(&[0; 4]);
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
    head
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

/// Whether the bytes are a complete compressed path map whose checksums are right.
pub fn is_intact_packed_map(bytes: &[u8]) -> bool {
    let Ok(head) = Head::read(bytes) else {
        return false;
    };
    let Ok((table, mut stored)) = head.split(bytes) else {
        return false;
    };
    let chunks_are_intact = table
        .chunks_exact(ENTRY)
        .enumerate()
        .all(|(number, entry)| {
            let (length, crc) = entry_of(entry);
            let Some((chunk, after)) = stored.split_at_checked(length) else {
                return false;
            };
            stored = after;
            numbered_crc(number, chunk) == crc
        });
    chunks_are_intact && stored.is_empty()
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
        cursor.u32()?;
        let crc = cursor.u32()?;
        let is_sound = chunk.is_power_of_two() && (1 << 12..=1 << 24).contains(&chunk);
        if crc != crc32fast::hash(&bytes[..HEAD - 4]) || !is_sound {
            return Err(FormatError::Head { offset: 0 });
        }
        Ok(Self {
            chunk: chunk as usize,
            build_id,
            length,
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
