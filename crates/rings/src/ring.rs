//! Takes words out of one thread's ring.
//!
//! The owner has written all words between `taken` and the first cell that is 0. These cells belong
//! to the reader until it moves `taken`. The reader copies the words, sets their cells to 0, moves
//! `taken`, and wakes the owner if the owner waits for room.
//!
//! A *hole* is a cell that the owner has reserved but not written. The reader waits for the owner
//! to fill a hole, except in two cases:
//!
//! - The owner is dead: another thread owns the ring, or the caller uses [`Ring::take_rest`].
//! - The owner, in a signal handler, waits until the reader takes the hole.

use std::sync::atomic::{AtomicU32, Ordering, fence};

use holloway_abi::{CHUNK, RESERVE, RING_WORDS, RingHeader};
use rustix::thread::futex;

use crate::mapping::Mapping;

/// Offset of the [`RingHeader`] in the extent.
pub(crate) const HEADER: usize = 64;
const CURSOR: usize = HEADER + std::mem::offset_of!(RingHeader, cursor);
const ORIGIN: usize = HEADER + std::mem::offset_of!(RingHeader, origin);
const START: usize = HEADER + std::mem::offset_of!(RingHeader, start);
pub(crate) const SIZE: usize = HEADER + std::mem::offset_of!(RingHeader, ring_size);
const TAKEN: usize = HEADER + std::mem::offset_of!(RingHeader, taken);
const WAITING: usize = HEADER + std::mem::offset_of!(RingHeader, waiting);
const MISSING_FROM: usize = HEADER + std::mem::offset_of!(RingHeader, missing_from);
const LEFT_OUT: usize = HEADER + std::mem::offset_of!(RingHeader, left_out);
const HOLES: usize = HEADER + std::mem::offset_of!(RingHeader, holes);
/// Offset of the words in the extent.
pub(crate) const WORDS: usize = HEADER + RING_WORDS as usize;
const TID: usize = 12;
/// The number of word pairs that the reader copies at a time. They fill a cache line.
const PAIRS_PER_LINE: usize = 8;

/// A thread's ring in a raw profile.
#[derive(Debug)]
pub struct Ring {
    mapping: Mapping,
    size: u64,
    offset: u64,
}

/// The stream position of words that the reader took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Stream position (bytes) of the first word.
    pub position: u64,
    /// Bytes of words, just before `position`, that the owner overwrote before the reader took
    /// them.
    pub lost: u64,
}

impl Ring {
    /// The ring in a mapped extent, with `size` bytes of words.
    pub(crate) fn new(mapping: Mapping, size: u64, offset: u64) -> Self {
        Self {
            mapping,
            size,
            offset,
        }
    }

    /// The offset of the ring's extent in the file. It identifies the ring.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The size of the ring's words in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The id of the thread that owns the ring now.
    pub fn tid(&self) -> u32 {
        self.mapping.u32(TID).load(Ordering::Relaxed)
    }

    /// The position of the first word that was ever appended.
    pub fn origin(&self) -> u64 {
        self.mapping.u64(ORIGIN).load(Ordering::Relaxed)
    }

    /// The position up to which the reader has taken words.
    pub fn taken(&self) -> u64 {
        self.mapping.u64(TAKEN).load(Ordering::Relaxed)
    }

    /// The position from which the owner dropped words, if it did.
    pub fn missing(&self) -> Option<u64> {
        let missing = self.mapping.u64(MISSING_FROM).load(Ordering::Acquire);
        (missing != u64::MAX).then_some(missing)
    }

    /// The number of bytes that the reader can take. The owner may not have written the last words
    /// yet.
    pub fn waiting_bytes(&self) -> u64 {
        self.end().saturating_sub(self.taken())
    }

    /// Whether the owner waits for room.
    pub fn owner_waits(&self) -> bool {
        self.mapping.u32(WAITING).load(Ordering::Acquire) != 0
    }

    /// Adds `words` to the ring's count of taken words that a sample leaves out. A later reader of
    /// the profile then knows that these words are not lost.
    pub fn leave_out(&mut self, words: u64) {
        self.mapping
            .u64(LEFT_OUT)
            .fetch_add(words, Ordering::Relaxed);
    }

    /// Takes at most `limit` bytes of words and appends them to `words`, up to the first hole that
    /// the owner may still fill. Earlier holes become words 0.
    pub fn take(&mut self, limit: u64, words: &mut Vec<u32>) -> Batch {
        // This check comes before the reads of the cells. The owner cannot fill a cell that is 0
        // after the check, as long as the owner waits.
        let is_stuck = self.owner_waits() && self.is_full();
        let start = self.mapping.u64(START).load(Ordering::Acquire);
        let final_below = if is_stuck {
            self.taken().saturating_add(4)
        } else {
            0
        }
        .max(start);
        self.take_words(limit, words, final_below)
    }

    /// Whether the owner cannot continue until the reader takes more words. If it can, an owner
    /// that still waits is just waking up.
    fn is_full(&self) -> bool {
        let cursor = self.mapping.u64(CURSOR).load(Ordering::Acquire);
        let chunk = cursor.saturating_sub(4) & !(CHUNK - 1);
        chunk.saturating_add(RESERVE) > self.taken().saturating_add(self.size)
    }

    /// Takes words of a ring whose process has ended. All holes become words 0.
    pub fn take_rest(&mut self, limit: u64, words: &mut Vec<u32>) -> Batch {
        self.take_words(limit, words, u64::MAX)
    }

    /// Takes words. Cells below the position `final_below` no longer change.
    fn take_words(&mut self, limit: u64, words: &mut Vec<u32>, final_below: u64) -> Batch {
        let (taken, end) = (self.taken(), self.end());
        // If there are more bytes than the ring holds, the owner overwrote the first words.
        let start = taken.max(end.saturating_sub(self.size)) & !3;
        let stop = end.min(start.saturating_add(limit)) & !3;
        let (mut position, mut holes) = (start, 0);
        while position < stop {
            let offset_in_ring = position & (self.size - 1);
            let longest = if position.is_multiple_of(8) {
                self.size - offset_in_ring
            } else {
                4
            };
            let piece = (stop - position).min(longest);
            let (offset, count) = (WORDS + offset_in_ring as usize, (piece / 4) as usize);
            let copied = self.copy_lines(offset, count, words);
            let cells = &self.mapping.words(offset, count)[copied..];
            let final_count = final_below.saturating_sub(position).div_ceil(4);
            let before = words.len();
            let copied = copied + copy(cells, words, final_count.saturating_sub(copied as u64));
            if final_count > 0 {
                holes += words[before..].iter().filter(|&&word| word == 0).count() as u64;
            }
            position += 4 * copied as u64;
            if copied < count {
                break;
            }
        }
        if holes > 0 {
            self.mapping.u64(HOLES).fetch_add(holes, Ordering::Relaxed);
        }
        if position != taken {
            self.give_back(position);
        }
        Batch {
            position: start,
            lost: start.saturating_sub(taken),
        }
    }

    /// Copies the words at `offset`, one cache line at a time, up to the first line that contains a
    /// 0, and sets their cells to 0. Each load reads two words: with single-word loads, reading
    /// took as long as the analysis of the words. Returns the number of words.
    fn copy_lines(&self, offset: usize, count: usize, words: &mut Vec<u32>) -> usize {
        if !offset.is_multiple_of(8) {
            return 0;
        }
        let pairs = self.mapping.pairs(offset, count / 2);
        let before = words.len();
        words.resize(before + 2 * pairs.len(), 0);
        let lines = pairs.chunks_exact(PAIRS_PER_LINE);
        let mut copied = 0;
        for (from, to) in lines.zip(words[before..].chunks_exact_mut(2 * PAIRS_PER_LINE)) {
            let mut has_hole = false;
            for (pair, to) in from.iter().zip(to.chunks_exact_mut(2)) {
                let both = pair.load(Ordering::Relaxed);
                let [first, second] = [both as u32, (both >> 32) as u32];
                has_hole |= first == 0 || second == 0;
                to.copy_from_slice(&[first, second]);
            }
            if has_hole {
                break;
            }
            for pair in from {
                pair.store(0, Ordering::Relaxed);
            }
            copied += 2 * PAIRS_PER_LINE;
        }
        words.truncate(before + copied);
        copied
    }

    /// The position after the last cell that the owner reserved, without dropped words.
    fn end(&self) -> u64 {
        let cursor = self.mapping.u64(CURSOR).load(Ordering::Acquire);
        self.missing().map_or(cursor, |missing| missing.min(cursor))
    }

    /// Moves `taken` past the cells that are 0 again, and wakes the owner.
    fn give_back(&self, taken: u64) {
        self.mapping.u64(TAKEN).store(taken, Ordering::Release);
        // The owner writes `waiting` and then reads `taken`. The reader writes `taken` and then
        // reads `waiting`. So at least one of them reads the other's write.
        fence(Ordering::SeqCst);
        if self.owner_waits() {
            // A shared futex, because the owner waits in another process. The address is mapped, so
            // the call cannot fail.
            futex::wake(self.mapping.u32(TAKEN), futex::Flags::empty(), u32::MAX).ok();
        }
    }
}

/// Copies words, and sets their cells to 0. Stops at the first 0 after the first `final_count`
/// cells, which may be holes that no longer change. Returns the number of words.
fn copy(cells: &[AtomicU32], words: &mut Vec<u32>, final_count: u64) -> usize {
    let before = words.len();
    words.reserve(cells.len());
    for (index, cell) in (0u64..).zip(cells) {
        let word = cell.load(Ordering::Relaxed);
        if word == 0 && index >= final_count {
            break;
        }
        words.push(word);
    }
    let copied = words.len() - before;
    for cell in &cells[..copied] {
        cell.store(0, Ordering::Relaxed);
    }
    copied
}
