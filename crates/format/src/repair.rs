//! Puts the checksums of altered bytes right, so that fuzz targets and tests reach what lies behind them.
//!
//! Nothing else: lengths and offsets are taken as they are, and where they lead past the end the rest is left alone.

use crate::frames;
use crate::guide;
use crate::image;
use crate::loops;
use crate::map;
use crate::sealed;
use crate::trace;
use crate::variation;

/// Puts the checksums of a module's path map right.
pub fn fragment(bytes: &mut [u8]) {
    map::repair(bytes);
}

/// Puts the checksums of an image's path map right, those of its fragments too.
pub fn image_map(bytes: &mut [u8]) {
    image::repair(bytes);
}

/// Puts the checksums of a sealed profile right.
pub fn sealed_profile(bytes: &mut [u8]) {
    sealed::repair(bytes);
}

/// Puts the checksums of sequences over loop iterations right.
pub fn loops(bytes: &mut [u8]) {
    loops::repair(bytes);
}

/// Puts the checksums of timings of paths right.
pub fn variation(bytes: &mut [u8]) {
    variation::repair(bytes);
}

/// Puts the checksums of a file of traces right.
pub fn trace(bytes: &mut [u8]) {
    trace::repair(bytes);
}

/// Puts the checksum of a guide right.
pub fn guide(bytes: &mut [u8]) {
    guide::repair(bytes);
}

/// Stores the checksum of `bytes[from..at]` at `at`.
pub(crate) fn checksum(bytes: &mut [u8], from: usize, at: usize) {
    let Some(content) = bytes.get(from..at) else {
        return;
    };
    let crc = crc32fast::hash(content);
    store(bytes, at, crc);
}

/// Stores `word` at `at`, if it fits.
pub(crate) fn store(bytes: &mut [u8], at: usize, word: u32) {
    if let Some(place) = at.checked_add(4).and_then(|end| bytes.get_mut(at..end)) {
        place.copy_from_slice(&word.to_le_bytes());
    }
}

/// The word at `at`, 0 past the end.
pub(crate) fn load(bytes: &[u8], at: usize) -> u32 {
    let word = bytes.get(at..).and_then(|rest| rest.first_chunk());
    word.map_or(0, |word| u32::from_le_bytes(*word))
}

/// Puts the index at `index` and the records at `records` right.
pub(crate) fn records(bytes: &mut [u8], index: usize, records: usize, count: u32) {
    let mut at = records;
    for number in 0..count {
        let entry = index.saturating_add(12 * number as usize);
        let length = load(bytes, entry);
        let Some(payload) = bytes.get(at.saturating_add(8)..at.saturating_add(8 + length as usize))
        else {
            break;
        };
        let crc = frames::record_crc(number, length, payload);
        store(bytes, at, length);
        store(bytes, at + 4, crc);
        at += 8 + length as usize;
    }
    checksum(bytes, index, index.saturating_add(12 * count as usize));
}
