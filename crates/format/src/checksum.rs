//! Checksums of entries. A checksum covers the entry's number and its bytes, so parsers detect
//! swapped entries.

/// CRC-32 of an entry's number (4 bytes) and the entry's bytes.
pub(crate) fn numbered_crc(number: usize, entry: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&(number as u32).to_le_bytes());
    hasher.update(entry);
    hasher.finalize()
}
