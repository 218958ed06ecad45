//! Extents with counters: the blocks of threads, and the segments of hashed functions.

use std::ops::Range;

use crate::cursor::Cursor;
use holloway_abi::{EXTENT_MAGIC, ExtentHeader, PAGE, hash_slot};

/// Size of an extent's head.
pub(super) const EXTENT_HEAD: u64 = size_of::<ExtentHeader>() as u64;
/// Size of a slot of a segment: key and count.
pub(super) const SLOT: usize = 16;

/// Bytes that are compared with 0 at once.
const LINE: usize = 64;

/// The head of an extent ([`ExtentHeader`]).
#[derive(Clone, Copy)]
pub(super) struct ExtentHead {
    /// Kind of extent.
    pub(super) kind: u32,
    /// Thread that owns it, or owned it last.
    pub(super) tid: u32,
    /// Bytes, including this head.
    pub(super) size: u64,
    /// Segment: offset of the function's head in a block. Spool: offset of its ring's extent.
    pub(super) head: u64,
    /// Segment: slots. Ring: bytes of places. Spool: position of its first word.
    pub(super) slots: u64,
    /// Ring: owners so far. Spool: bytes of words in the upper half, of the LZ4 block in the lower.
    pub(super) used: u64,
}

impl ExtentHead {
    /// The head at the cursor; none if there is no extent.
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
        // The rest is the runtime's own.
        cursor.bytes(EXTENT_HEAD as usize - 48).ok()?;
        Some(head)
    }
}

/// The counters of one thread, or of several threads that owned them one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// Thread that owns it, or owned it last.
    pub tid: u32,
    /// Offset of the counters in the file.
    pub offset: u64,
    /// Little-endian `u64` counters.
    pub bytes: &'a [u8],
}

/// A segment of a hashed function's counters.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    /// Thread that owns it, or owned it last.
    pub tid: u32,
    /// Offset of the slots in the file.
    pub offset: u64,
    /// Offset of the function's head in a block.
    pub head: u64,
    pub(super) slots: &'a [u8],
}

impl<'a> Block<'a> {
    /// The counters.
    pub fn counters(&self) -> impl Iterator<Item = u64> + 'a {
        let (words, _) = self.bytes.as_chunks::<8>();
        words.iter().map(|word| u64::from_le_bytes(*word))
    }

    /// Whether a counter in this range of bytes is not 0.
    pub(super) fn counts_in(&self, range: &Range<u64>) -> bool {
        let size = self.bytes.len() as u64;
        let [start, end] = [range.start, range.end].map(|at| at.min(size) as usize);
        let (lines, rest) = self.bytes[start..end].as_chunks::<LINE>();
        lines.iter().any(|line| *line != [0; LINE]) || rest.iter().any(|&byte| byte != 0)
    }

    /// Number and value of each counter that is not 0. Most counters of a large program are.
    pub(crate) fn nonzero_counters(&self) -> impl Iterator<Item = (usize, u64)> + 'a {
        let lines = self.bytes.chunks(LINE).enumerate();
        let lines = lines.filter(|(_, line)| **line != [0; LINE][..line.len()]);
        lines.flat_map(|(number, line)| {
            let (words, _) = line.as_chunks::<8>();
            let counters = words.iter().map(|word| u64::from_le_bytes(*word));
            let numbers = number * (LINE / 8)..;
            numbers.zip(counters).filter(|&(_, count)| count != 0)
        })
    }

    /// The counter at this byte offset, 0 past the end.
    pub fn counter(&self, offset: u64) -> u64 {
        let word = usize::try_from(offset / 8)
            .ok()
            .and_then(|index| self.bytes.as_chunks::<8>().0.get(index));
        word.map_or(0, |word| u64::from_le_bytes(*word))
    }
}

impl<'a> Segment<'a> {
    /// Path and count of each slot in use, in the order of the slots.
    pub fn entries(&self) -> impl Iterator<Item = (u64, u64)> + 'a {
        self.raw_slots()
            .filter(|&(key, count)| key != 0 && count != 0)
            .map(|(key, count)| (key - 1, count))
    }

    fn raw_slots(&self) -> impl Iterator<Item = (u64, u64)> + use<'a> {
        let (slots, _) = self.slots.as_chunks::<SLOT>();
        slots.iter().map(|slot| {
            let (key, count) = slot.split_at(8);
            (word(key), word(count))
        })
    }

    /// Offset in the file of a slot that breaks a rule of the runtime's hash tables. Between the
    /// slot where the search for a key begins and the slot that holds it, no slot is free. A free
    /// slot has the count 0, because the runtime writes the key first.
    pub fn misplaced(&self) -> Option<u64> {
        let keys: Vec<(u64, u64)> = self.raw_slots().collect();
        let count = keys.len();
        let bits = count.trailing_zeros();
        let offset = |index: usize| self.offset + (index * SLOT) as u64;
        let stray = |&(key, count): &(u64, u64)| key == 0 && count != 0;
        if let Some(index) = keys.iter().position(stray) {
            return Some(offset(index));
        }
        let free = keys.iter().position(|&(key, _)| key == 0)?;
        let mut run = 0;
        for step in 1..count {
            let index = (free + step) & (count - 1);
            let (key, _) = keys[index];
            if key == 0 {
                run = 0;
                continue;
            }
            let home = hash_slot(key - 1, bits) as usize;
            if (index.wrapping_sub(home) & (count - 1)) > run {
                return Some(offset(index));
            }
            run += 1;
        }
        None
    }
}

fn word(bytes: &[u8]) -> u64 {
    bytes
        .first_chunk()
        .map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Rounds `counters` bytes up to a size that blocks can have: a multiple of a page, less an
/// extent's head.
pub fn block_size(counters: u64) -> u64 {
    counters
        .saturating_add(EXTENT_HEAD)
        .checked_next_multiple_of(PAGE)
        .unwrap_or(u64::MAX - (PAGE - 1))
        - EXTENT_HEAD
}

/// Size of the extent of a segment.
pub(super) fn segment_extent(slots: u64) -> Option<u64> {
    slots
        .checked_mul(SLOT as u64)?
        .checked_add(EXTENT_HEAD)?
        .checked_next_multiple_of(PAGE)
}
