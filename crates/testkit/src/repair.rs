//! Recomputes the checksums of altered bytes, so that fuzz targets and tests reach the code
//! after the checks.
//!
//! This code implements the layouts a second time, from the tables in the documentation of
//! `holloway_format`. Lengths and offsets come from the bytes. If a length or offset points past
//! the end, the remaining bytes stay unchanged. Any bytes are valid input.

/// Recomputes the checksums of a module's path map (`holloway_format::map`).
pub fn fragment(bytes: &mut [u8]) {
    const HEAD: usize = 64;
    if bytes.len() < HEAD || !bytes.starts_with(b"HLWMODUL") {
        return;
    }
    // The number of ring counters; only some fragments have ring counters.
    store(bytes, HEAD - 8, 0);
    checksum(bytes, 0, HEAD - 4);
    let [functions, strings, text, skipped, gone] =
        [12, 24, 28, 40, 44].map(|offset| load(bytes, offset));
    let text_at = HEAD + 8 * strings;
    let index = text_at + text;
    let skipped_at = index + index_size(functions);
    let gone_at = skipped_at + 16 * skipped;
    let records_at = gone_at + 12 * gone;
    if records_at > bytes.len() {
        return;
    }
    let mut start = 0;
    for string in 0..strings {
        let entry = HEAD + 8 * string;
        let end = load(bytes, entry);
        let content = bytes[text_at..].get(start..end).unwrap_or_default();
        let crc = crc32fast::hash(content);
        store(bytes, entry + 4, crc);
        start = end;
    }
    records(bytes, index, records_at, functions);
    for (list, count, size) in [(skipped_at, skipped, 12), (gone_at, gone, 8)] {
        for number in 0..count {
            let offset = list + number * (size + 4);
            let crc = numbered_crc(number, &bytes[offset..offset + size]);
            store(bytes, offset + size, crc);
        }
    }
}

/// Recomputes the checksums of an image's path map and of its fragments (`holloway_format::image`).
pub fn image_map(bytes: &mut [u8]) {
    const ENTRY: usize = 32;
    let table = 52 + load(bytes, 36) + 4;
    checksum(bytes, 0, table - 4);
    let mut next = 0;
    for number in 0..load(bytes, 32) {
        let entry_offset = table + number * ENTRY;
        let Some(entry) = bytes.get(entry_offset..entry_offset + ENTRY) else {
            return;
        };
        let crc = numbered_crc(number, &entry[..ENTRY - 4]);
        let (offset, length) = (load_long(entry, 8), load_long(entry, 16));
        store(bytes, entry_offset + ENTRY - 4, crc);
        let end = offset.saturating_add(length);
        if let Some(part) = bytes.get_mut(offset..end).filter(|_| offset >= next) {
            fragment(part);
            next = end;
        }
    }
}

/// Recomputes the checksums of a sealed profile (`holloway_format::sealed`).
pub fn sealed_profile(bytes: &mut [u8]) {
    let head = 88 + load(bytes, 72) + load(bytes, 76);
    checksum(bytes, 0, head);
    let (functions, notes) = (load(bytes, 64), load(bytes, 68));
    let index = head + 4;
    let notes_index = index + index_size(functions);
    let records_at = notes_index + index_size(notes);
    records(bytes, index, records_at, functions);
    let notes_at = records_at.saturating_add(load_long(bytes, 80));
    records(bytes, notes_index, notes_at, notes);
}

/// Recomputes the checksums of a file of slab forests, whose head has 12 numbers.
pub fn loops(bytes: &mut [u8]) {
    result_file(bytes, 12);
}

/// Recomputes the checksums of a file of timings, whose head has 25 numbers.
pub fn variation(bytes: &mut [u8]) {
    result_file(bytes, 25);
}

fn result_file(bytes: &mut [u8], numbers: usize) {
    let head = 64 + 8 * numbers + load(bytes, 52) + load(bytes, 56);
    checksum(bytes, 0, head);
    let functions = load(bytes, 48);
    let index = head + 4;
    records(bytes, index, index + index_size(functions), functions);
}

/// Recomputes the checksums of a file of traces (`holloway_format::trace`).
pub fn trace(bytes: &mut [u8]) {
    const HEAD: usize = 36;
    const RECORD_HEAD: usize = 9;
    checksum(bytes, 0, HEAD - 4);
    let mut offset = HEAD;
    while let Some(record) = bytes.get(offset..).filter(|rest| rest.len() >= RECORD_HEAD) {
        let length = load(record, 0);
        let Some(payload) = record[RECORD_HEAD..].get(..length) else {
            return;
        };
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&(offset as u64).to_le_bytes());
        hasher.update(&[record[8]]);
        hasher.update(payload);
        store(bytes, offset + 4, hasher.finalize());
        offset += RECORD_HEAD + length;
    }
}

/// Recomputes the checksum of a guide (`holloway_format::guide`).
pub fn guide(bytes: &mut [u8]) {
    if let Some(offset) = bytes.len().checked_sub(4) {
        checksum(bytes, 0, offset);
    }
}

/// Recomputes the checksum of a recipe (`holloway_format::recipe`).
pub fn recipe(bytes: &mut [u8]) {
    const HEAD: usize = 24;
    if let Some((head, frame)) = bytes.split_at_mut_checked(HEAD) {
        let crc = crc32fast::hash(frame);
        head[HEAD - 4..].copy_from_slice(&crc.to_le_bytes());
    }
}

/// Recomputes the checksum of a record of CPU time (`holloway_format::cpu_time`).
pub fn cpu_time(bytes: &mut [u8]) {
    if let Some(offset) = bytes.len().checked_sub(4) {
        checksum(bytes, 0, offset);
    }
}

/// Recomputes the checksums of the index at `index` and of the records at `records`.
fn records(bytes: &mut [u8], index: usize, records: usize, count: usize) {
    let mut offset = records;
    for number in 0..count {
        let length = load(bytes, index + 12 * number);
        let start = offset.saturating_add(8);
        let Some(payload) = bytes.get(start..start.saturating_add(length)) else {
            break;
        };
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&(number as u32).to_le_bytes());
        hasher.update(&(length as u32).to_le_bytes());
        hasher.update(payload);
        store(bytes, offset, length as u32);
        store(bytes, offset + 4, hasher.finalize());
        offset = start + length;
    }
    checksum(bytes, index, index + 12 * count);
}

/// Size of an index of this many records.
fn index_size(count: usize) -> usize {
    12 * count + 4
}

/// CRC-32 of an entry's number (4 bytes) and the entry.
fn numbered_crc(number: usize, entry: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&(number as u32).to_le_bytes());
    hasher.update(entry);
    hasher.finalize()
}

/// Stores the checksum of `bytes[from..offset]` at `offset`.
fn checksum(bytes: &mut [u8], from: usize, offset: usize) {
    if let Some(content) = bytes.get(from..offset) {
        let crc = crc32fast::hash(content);
        store(bytes, offset, crc);
    }
}

/// Stores `word` at `offset`, if it fits.
fn store(bytes: &mut [u8], offset: usize, word: u32) {
    if let Some(target) = offset
        .checked_add(4)
        .and_then(|end| bytes.get_mut(offset..end))
    {
        target.copy_from_slice(&word.to_le_bytes());
    }
}

/// The number in the 4 bytes at `offset`; 0 if they are past the end.
fn load(bytes: &[u8], offset: usize) -> usize {
    let word = bytes.get(offset..).and_then(|rest| rest.first_chunk());
    word.map_or(0, |word| u32::from_le_bytes(*word) as usize)
}

/// The number in the 8 bytes at `offset`; 0 if they are past the end.
fn load_long(bytes: &[u8], offset: usize) -> usize {
    let word = bytes.get(offset..).and_then(|rest| rest.first_chunk());
    word.map_or(0, |word| u64::from_le_bytes(*word) as usize)
}
