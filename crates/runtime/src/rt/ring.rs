//! A thread's ring: its header, its words, and the state of timed paths
//! (`holloway_abi`, "Streams").
//!
//! This module only reads and writes the ring. `stream` begins and ends streams, `space` keeps
//! places free, and `spool` moves words to the file.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::arch;
use super::collector::Collector;
use holloway_abi::{
    BURST_STATE, BurstState, CHUNK, ExtentHeader, PAGE, RING_SIZE, RING_WORDS, RingHeader,
};

/// Bytes of a ring's extent, without counters behind it.
pub(super) const EXTENT_SIZE: usize = (PAGE + RING_SIZE) as usize;

/// Value of `missing` while no words are missing.
pub(super) const NOTHING_MISSING: u64 = u64::MAX;

/// A thread's ring, which stays mapped as blocks do.
#[derive(Clone, Copy)]
pub(super) struct Ring(*mut RingHeader);

impl Ring {
    /// The ring in a ring extent.
    pub(super) fn in_extent(extent: *mut ExtentHeader) -> Ring {
        Ring(extent.wrapping_add(1).cast())
    }

    /// The ring that a thread's slot points to.
    #[inline(always)]
    pub(super) fn at_slot(block: *mut u8) -> Ring {
        Ring(block.cast())
    }

    pub(super) fn extent(self) -> *mut ExtentHeader {
        self.0.cast::<ExtentHeader>().wrapping_sub(1)
    }

    pub(super) fn header(self) -> *mut RingHeader {
        self.0
    }

    /// Takes places with one instruction, so no handler's words come between them. The caller then
    /// [puts](Ring::put) words there. The result is the first position.
    #[inline(always)]
    pub(super) fn take_places(self, bytes: u64) -> u64 {
        // SAFETY: the cursor of a mapped ring, which this thread owns.
        unsafe { arch::add(&raw mut (*self.0).cursor, bytes) }
    }

    /// Takes places for `words` words that end no path. They are counted first: if the process is
    /// killed in between, readers do not mistake them for paths.
    #[inline(always)]
    pub(super) fn take_controls(self, words: usize) -> u64 {
        // SAFETY: as in `take_places`.
        unsafe { arch::add(&raw mut (*self.0).controls, words as u64) };
        self.take_places(4 * words as u64)
    }

    /// Writes a word at its position.
    #[inline(always)]
    pub(super) fn put(self, position: u64, word: u32) {
        self.word(position).store(word, Ordering::Relaxed);
    }

    /// The first word's place.
    #[inline(always)]
    pub(super) fn words(self) -> *mut u32 {
        self.0.cast::<u8>().wrapping_add(RING_WORDS as usize).cast()
    }

    /// The word at a position.
    #[inline(always)]
    fn word<'a>(self, position: u64) -> &'a AtomicU32 {
        let index = (position & (RING_SIZE - 1)) / 4;
        // SAFETY: inside the ring and aligned. Rings stay mapped, and all accesses to words are
        // atomic, here and in woven code.
        unsafe { AtomicU32::from_ptr(self.words().wrapping_add(index as usize)) }
    }

    pub(super) fn cursor<'a>(self) -> &'a AtomicU64 {
        // SAFETY: a ring's header is aligned and stays mapped. All accesses are atomic, or are the
        // one instruction of woven code.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.0).cursor) }
    }

    pub(super) fn taken<'a>(self) -> &'a AtomicU64 {
        // SAFETY: as in `cursor`.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.0).taken) }
    }

    pub(super) fn missing<'a>(self) -> &'a AtomicU64 {
        // SAFETY: as in `cursor`.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.0).missing) }
    }

    pub(super) fn waiting<'a>(self) -> &'a AtomicU32 {
        // SAFETY: as in `cursor`.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.0).waiting) }
    }

    /// The low half of `taken`, for a futex.
    pub(super) fn taken_low<'a>(self) -> &'a AtomicU32 {
        // SAFETY: the first half of `taken` on a little-endian processor; the kernel only reads it.
        unsafe { AtomicU32::from_ptr((&raw mut (*self.0).taken).cast()) }
    }

    /// Offset of the ring's extent in the file.
    pub(super) fn file_offset(self) -> u64 {
        // SAFETY: a ring's header stays mapped. This field is written once, before any other thread
        // knows the ring.
        let [offset, ..] = unsafe { (*self.0).own };
        offset
    }

    /// The process that takes words out of this ring.
    pub(super) fn collector(self) -> Collector {
        // SAFETY: as in `file_offset`.
        let [_, id, start, _] = unsafe { (*self.0).own };
        let id = id as u32;
        Collector { start, id }
    }

    /// Start of the chunk that the last place taken is in.
    pub(super) fn chunk_start(self) -> u64 {
        let cursor = self.cursor().load(Ordering::Relaxed);
        cursor.saturating_sub(4) & !(CHUNK - 1)
    }

    /// Are this many bytes free from the start of the present chunk on? Words of the chunk itself
    /// may be written already.
    pub(super) fn has_free(self, bytes: u64) -> bool {
        let taken = self.taken().load(Ordering::Acquire);
        self.chunk_start() + bytes <= taken + RING_SIZE
    }

    /// The first position of the next chunk, where the child of a fork goes on.
    pub(super) fn next_chunk(self) -> u64 {
        self.cursor()
            .load(Ordering::Relaxed)
            .next_multiple_of(CHUNK)
    }

    /// Removes all words of a ring that no other thread knows yet. They fill less than a chunk.
    pub(super) fn clear_words(self) {
        // SAFETY: as in `file_offset`.
        let origin = unsafe { (*self.0).origin };
        let end = self.cursor().load(Ordering::Relaxed);
        for position in (origin..end).step_by(4) {
            self.put(position, 0);
        }
        self.cursor().store(origin, Ordering::Relaxed);
        // SAFETY: no other thread knows the ring yet.
        unsafe { (*self.0).controls = 0 };
    }

    /// The state of timed paths behind the header.
    pub(super) fn state(self) -> *mut BurstState {
        self.0
            .cast::<u8>()
            .wrapping_add(BURST_STATE as usize)
            .cast()
    }

    /// Appends a record: words that stand together. The caller makes space afterwards.
    pub(super) fn append(self, words: &[u32]) {
        let place = self.take_controls(words.len());
        for (position, word) in (place..).step_by(4).zip(words) {
            self.word(position).store(*word, Ordering::Relaxed);
        }
    }
}
