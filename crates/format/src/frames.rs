//! A list of checksummed records. Damage to one record does not affect the others.
//!
//! ```text
//! OFFSET SIZE MEANING
//! index
//!      0  12n  n entries:  0 4 length of the record's payload   4 4 key   8 4 second key
//!    12n    4  crc32 of the entries
//! records, n of them, one after the other
//!      0    4  length of the payload
//!      4    4  crc32 of the record's number (4 bytes), the length (4 bytes) and the payload
//!      8    …  payload
//! ```
//! Each length is stored twice, in the index and in the record. If the index is intact, a damaged
//! length in a record affects only this record. If the index is damaged, the records are found by
//! the lengths that they contain. The keys identify the owner of a lost record, such as its
//! function.
//!
//! Cost: 20 bytes for each record.

use crate::cursor::Cursor;
use crate::error::FormatError;

/// Size in bytes of the index of `n` records.
pub(crate) fn index_size(n: u64) -> u64 {
    n.saturating_mul(12).saturating_add(4)
}

/// Collects records and their index.
#[derive(Default)]
pub(crate) struct FrameWriter {
    index: Vec<u8>,
    records: Vec<u8>,
    /// Number of records.
    count: u32,
}

impl FrameWriter {
    /// Appends a record.
    ///
    /// # Panics
    /// If the payload has 4 GiB or more.
    pub(crate) fn push(&mut self, keys: [u32; 2], payload: &[u8]) {
        let length = u32::try_from(payload.len()).expect("a record is below 4 GiB");
        for word in [length, keys[0], keys[1]] {
            self.index.extend_from_slice(&word.to_le_bytes());
        }
        self.records.extend_from_slice(&length.to_le_bytes());
        self.records
            .extend_from_slice(&record_crc(self.count, length, payload).to_le_bytes());
        self.records.extend_from_slice(payload);
        self.count += 1;
    }

    /// Number of records that were appended.
    pub(crate) fn len(&self) -> u32 {
        self.count
    }

    /// Returns the index with its checksum, and the records.
    pub(crate) fn finish(mut self) -> (Vec<u8>, Vec<u8>) {
        let crc = crc32fast::hash(&self.index);
        self.index.extend_from_slice(&crc.to_le_bytes());
        (self.index, self.records)
    }
}

pub(crate) fn record_crc(number: u32, length: u32, payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&number.to_le_bytes());
    hasher.update(&length.to_le_bytes());
    hasher.update(payload);
    hasher.finalize()
}

/// A record. If the record is damaged, `payload` is the error.
pub(crate) struct Frame<'a> {
    /// The keys, if the index is intact.
    pub(crate) keys: Option<[u32; 2]>,
    /// Offset of the record in the file.
    pub(crate) offset: u64,
    /// The payload, or the reason why it is lost.
    pub(crate) payload: Result<Cursor<'a>, FormatError>,
}

/// Iterates over the records.
pub(crate) struct Frames<'a> {
    /// The entries of the index, if the index is intact.
    index: Option<&'a [u8]>,
    records: &'a [u8],
    /// Start of the next record in `records`.
    position: usize,
    /// Number of the next record.
    number: u32,
    /// Number of all records.
    count: u32,
    /// Offset of `records` in the file.
    base: u64,
}

impl<'a> Frames<'a> {
    /// `index` has the entries of `count` records and their checksum. `records` is at offset `base`
    /// of the file and may be cut short.
    pub(crate) fn new(index: &'a [u8], records: &'a [u8], count: u32, base: u64) -> Self {
        let entries = index.split_last_chunk::<4>();
        let index = entries.and_then(|(entries, crc)| {
            let is_complete = entries.len() as u64 == 12 * u64::from(count);
            (is_complete && crc32fast::hash(entries) == u32::from_le_bytes(*crc)).then_some(entries)
        });
        Self {
            index,
            records,
            position: 0,
            number: 0,
            count,
            base,
        }
    }

    /// Whether the index is intact.
    pub(crate) fn index_intact(&self) -> bool {
        self.index.is_some()
    }

    /// The index entry of the next record: its length and its two keys.
    fn entry(&self) -> Option<[u32; 3]> {
        let start = 12 * self.number as usize;
        let entry = self.index?.get(start..start + 12)?;
        let word =
            |i: usize| u32::from_le_bytes([entry[i], entry[i + 1], entry[i + 2], entry[i + 3]]);
        Some([word(0), word(4), word(8)])
    }

    /// Reads the next record, and moves to the start of the record after it.
    fn record(&mut self, entry: Option<[u32; 3]>) -> Result<Cursor<'a>, FormatError> {
        let start = self.position.min(self.records.len());
        let offset = self.base + start as u64;
        let mut cursor = Cursor::new(&self.records[start..], offset);
        // If the index is intact, its length determines the start of the next record, even if the
        // length in this record is damaged or cut off.
        self.position = start
            .saturating_add(8)
            .saturating_add(entry.map_or(0, |[length, ..]| length as usize));
        let length = cursor.u32()?;
        let crc = cursor.u32()?;
        if entry.is_none() {
            self.position = self.position.saturating_add(length as usize);
        }
        if entry.is_some_and(|[indexed, ..]| indexed != length) {
            return Err(FormatError::Checksum { offset });
        }
        let payload_offset = cursor.offset();
        let payload = cursor.bytes(length as usize)?;
        if record_crc(self.number, length, payload) != crc {
            return Err(FormatError::Checksum { offset });
        }
        Ok(Cursor::new(payload, payload_offset))
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = Frame<'a>;

    fn next(&mut self) -> Option<Frame<'a>> {
        if self.number == self.count {
            return None;
        }
        let entry = self.entry();
        let offset = self.base + self.position.min(self.records.len()) as u64;
        let payload = self.record(entry);
        self.number += 1;
        Some(Frame {
            keys: entry.map(|[_, first, second]| [first, second]),
            offset,
            payload,
        })
    }
}
