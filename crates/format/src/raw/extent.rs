//! Extents with counters: the blocks of threads, and the segments of hashed functions. Also the
//! head that all extents have.

use std::ops::Range;

use crate::cursor::Cursor;
use holloway_abi::{EXTENT_MAGIC, ExtentHeader, PAGE, hash_slot};

/// Size of an extent's head.
pub(super) const EXTENT_HEAD_SIZE: u64 = size_of::<ExtentHeader>() as u64;
/// Size of a slot of a segment: a key and a count.
pub(super) const SLOT_SIZE: usize = 16;

/// Bytes that are compared with 0 at once.
const LINE: usize = 64;

/// The head of an extent ([`ExtentHeader`]).
#[derive(Clone, Copy)]
pub(super) struct ExtentHead {
    /// Kind of extent.
    pub(super) kind: u32,
    /// The last thread that owned the extent.
    pub(super) tid: u32,
    /// Size of the extent, including this head.
    pub(super) size: u64,
    /// In a segment, the offset in a block of the function's head, which points to the segment. In
    /// a spool, the offset of the ring's extent.
    pub(super) head: u64,
    /// In a segment, the number of slots. In a ring, the bytes of its words. In a spool, the stream
    /// position of the first word.
    pub(super) slots: u64,
    /// In a ring, the number of threads that have owned it. In a spool, the bytes of words in the
    /// upper half, and the bytes of the LZ4 block in the lower half.
    pub(super) used: u64,
}

impl ExtentHead {
    /// Reads the head at the cursor. Returns `None` if there is no extent.
    pub(super) fn read(cursor: &mut Cursor<'_>) -> Option<Self> {
        if cursor.bytes(8).ok()? != EXTENT_MAGIC {
            return None;
        }
        let head = Self {
            kind: cursor.u32().ok()?,
            tid: cursor.u32().ok()?,
            size: cursor.u64().ok()?,
            head: cursor.u64().ok()?,
            slots: cursor.u64().ok()?,
            used: cursor.u64().ok()?,
        };
        // Only the runtime uses the other fields.
        cursor.bytes(EXTENT_HEAD_SIZE as usize - 48).ok()?;
        Some(head)
    }
}

/// The counters of one thread, or of several threads that owned them one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// The last thread that owned the block.
    pub tid: u32,
    /// Offset of the counters in the file.
    pub offset: u64,
    /// Little-endian `u64` counters.
    pub bytes: &'a [u8],
}

/// A segment of a hashed function's counters.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    /// The last thread that owned the segment.
    pub tid: u32,
    /// Offset of the slots in the file.
    pub offset: u64,
    /// Offset in a block of the function's head, which points to the segment.
    pub head: u64,
    pub(super) slots: &'a [u8],
}

impl<'a> Block<'a> {
    /// The counters.
    pub fn counters(&self) -> impl Iterator<Item = u64> + 'a {
        let (words, _) = self.bytes.as_chunks::<8>();
        words.iter().map(|word| u64::from_le_bytes(*word))
    }

    /// Number and value of each counter that is not 0. Most counters of a large program are 0.
    /// Reads only the lines of the block that `data` touches: ascending ranges of the file.
    pub(super) fn nonzero_counters(
        &self,
        data: &[Range<u64>],
    ) -> impl Iterator<Item = (usize, u64)> + use<'a> {
        let bytes = self.bytes;
        let lines = self.lines_in(data).into_iter().flatten();
        lines.flat_map(move |number| {
            let start = number * LINE;
            let line = &bytes[start..bytes.len().min(start + LINE)];
            let is_empty = *line == [0; LINE][..line.len()];
            let (words, _) = line.as_chunks::<8>();
            let words = if is_empty { &[] } else { words };
            let counters = words.iter().map(|word| u64::from_le_bytes(*word));
            let numbers = number * (LINE / 8)..;
            numbers.zip(counters).filter(|&(_, count)| count != 0)
        })
    }

    /// The numbers of the block's lines that ascending ranges of the file touch, each once.
    fn lines_in(&self, data: &[Range<u64>]) -> Vec<Range<usize>> {
        let size = self.bytes.len() as u64;
        let mut lines: Vec<Range<usize>> = Vec::new();
        for range in data {
            let [start, end] =
                [range.start, range.end].map(|at| at.saturating_sub(self.offset).min(size));
            if start >= end {
                continue;
            }
            let start = start as usize / LINE;
            let end = (end as usize).div_ceil(LINE);
            match lines.last_mut() {
                Some(last) if start < last.end => last.end = last.end.max(end),
                Some(_) | None => lines.push(start..end),
            }
        }
        lines
    }

    /// Returns the counter at this byte offset, or 0 after the end of the block.
    pub fn counter(&self, offset: u64) -> u64 {
        let word = usize::try_from(offset / 8)
            .ok()
            .and_then(|index| self.bytes.as_chunks::<8>().0.get(index));
        word.map_or(0, |word| u64::from_le_bytes(*word))
    }
}

impl<'a> Segment<'a> {
    /// The path and the count of each used slot, in the order of the slots.
    pub fn entries(&self) -> impl Iterator<Item = (u64, u64)> + 'a {
        self.raw_slots()
            .filter(|&(key, count)| key != 0 && count != 0)
            .map(|(key, count)| (key - 1, count))
    }

    /// The key (path number + 1; 0 if free) and the count of each slot.
    fn raw_slots(&self) -> impl Iterator<Item = (u64, u64)> + use<'a> {
        let (slots, _) = self.slots.as_chunks::<SLOT_SIZE>();
        slots.iter().map(|slot| {
            let (key, count) = slot.split_at(8);
            (word(key), word(count))
        })
    }

    /// Checks the rules of the runtime's hash tables. Returns the offset in the file of a slot that
    /// breaks one of them:
    ///
    /// - A free slot has the count 0, because the runtime writes the key first.
    /// - The runtime searches for a key from its *home slot* on. So no slot is free between the
    ///   home slot of a key and the slot that holds the key.
    pub fn misplaced(&self) -> Option<u64> {
        let slots: Vec<(u64, u64)> = self.raw_slots().collect();
        let slot_count = slots.len();
        let bits = slot_count.trailing_zeros();
        let offset = |index: usize| self.offset + (index * SLOT_SIZE) as u64;
        let is_stray = |&(key, count): &(u64, u64)| key == 0 && count != 0;
        if let Some(index) = slots.iter().position(is_stray) {
            return Some(offset(index));
        }
        let first_free = slots.iter().position(|&(key, _)| key == 0)?;
        // Number of used slots directly before the current slot.
        let mut used_before = 0;
        for step in 1..slot_count {
            let index = (first_free + step) & (slot_count - 1);
            let (key, _) = slots[index];
            if key == 0 {
                used_before = 0;
                continue;
            }
            let home = hash_slot(key - 1, bits) as usize;
            let distance_from_home = index.wrapping_sub(home) & (slot_count - 1);
            if distance_from_home > used_before {
                return Some(offset(index));
            }
            used_before += 1;
        }
        None
    }
}

fn word(bytes: &[u8]) -> u64 {
    bytes
        .first_chunk()
        .map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Rounds `counters` bytes up to the size of a block: a multiple of a page, minus the size of an
/// extent's head.
pub fn block_size(counters: u64) -> u64 {
    counters
        .saturating_add(EXTENT_HEAD_SIZE)
        .checked_next_multiple_of(PAGE)
        .unwrap_or(u64::MAX - (PAGE - 1))
        - EXTENT_HEAD_SIZE
}

/// Returns the size of the extent of a segment, or `None` if it exceeds 64 bits.
pub(super) fn segment_extent_size(slots: u64) -> Option<u64> {
    slots
        .checked_mul(SLOT_SIZE as u64)?
        .checked_add(EXTENT_HEAD_SIZE)?
        .checked_next_multiple_of(PAGE)
}
