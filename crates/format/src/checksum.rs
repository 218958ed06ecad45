//! Checksums that cover an entry's number and its bytes, so that swapped entries are noticed.

/// CRC-32 of an entry's number (4 bytes) and the entry.
pub(crate) fn numbered_crc(number: usize, entry: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&(number as u32).to_le_bytes());
    hasher.update(entry);
    hasher.finalize()
}
