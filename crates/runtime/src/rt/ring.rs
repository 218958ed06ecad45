//! A thread's ring: its header, its words, and the state of timed paths (`holloway_abi`, module
//! `ring`).
//!
//! This module only reads and writes the ring. `stream` begins and ends streams, `space` keeps
//! cells free, and `spool` moves words to the file.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::arch;
use super::collector::Collector;
use holloway_abi::{
    BURST_STATE, BurstState, CHUNK, ExtentHeader, PAGE, RING_SIZE, RING_WORDS, RingHeader,
};

/// Size of a ring's extent in bytes, without ring counters.
pub(super) const EXTENT_SIZE: usize = (PAGE + RING_SIZE) as usize;

/// Size of the page of a ring's extent before the cells.
pub(super) const FIRST_PAGE: usize = PAGE as usize;

/// Value of [`Ring::covered`] if all cells are in the file, or none of them ever will be.
pub(super) const ALL_CELLS: u64 = u64::MAX;

/// Value of `missing_from` while no words are missing.
pub(super) const NONE_MISSING: u64 = u64::MAX;

/// A thread's ring. Like a block of counters, it stays mapped.
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

    /// Reserves cells with one instruction, so that no handler's words come between them. The
    /// caller then [puts](Ring::put) words there. Returns the position of the first cell.
    #[inline(always)]
    pub(super) fn reserve_cells(self, bytes: u64) -> u64 {
        // SAFETY: the cursor of a mapped ring, which this thread owns.
        unsafe { arch::add(&raw mut (*self.0).cursor, bytes) }
    }

    /// Reserves cells for a record of `words` words, and returns the position of the first cell.
    /// `controls` counts the words first: if the process is killed in between, readers do not count
    /// the cells as missing paths.
    #[inline(always)]
    pub(super) fn reserve_record(self, words: usize) -> u64 {
        // SAFETY: as in `reserve_cells`.
        unsafe { arch::add(&raw mut (*self.0).controls, words as u64) };
        self.reserve_cells(4 * words as u64)
    }

    /// Writes a word at its position.
    #[inline(always)]
    pub(super) fn put(self, position: u64, word: u32) {
        self.cell(position).store(word, Ordering::Relaxed);
    }

    /// The address of the first cell.
    #[inline(always)]
    pub(super) fn words(self) -> *mut u32 {
        self.0.cast::<u8>().wrapping_add(RING_WORDS as usize).cast()
    }

    /// The cell at a position.
    #[inline(always)]
    fn cell<'a>(self, position: u64) -> &'a AtomicU32 {
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

    pub(super) fn missing_from<'a>(self) -> &'a AtomicU64 {
        // SAFETY: as in `cursor`.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.0).missing_from) }
    }

    pub(super) fn waiting<'a>(self) -> &'a AtomicU32 {
        // SAFETY: as in `cursor`.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.0).waiting) }
    }

    /// Position of the first word.
    pub(super) fn origin(self) -> u64 {
        // SAFETY: as in `file_offset`.
        unsafe { (*self.0).origin }
    }

    /// The position up to which cells are in the file (see `cells`).
    pub(super) fn covered(self) -> u64 {
        self.covered_field().load(Ordering::Relaxed)
    }

    pub(super) fn set_covered(self, position: u64) {
        self.covered_field().store(position, Ordering::Relaxed);
    }

    fn covered_field<'a>(self) -> &'a AtomicU64 {
        // SAFETY: as in `cursor`. The field is the last of four words.
        unsafe { AtomicU64::from_ptr((&raw mut (*self.0).runtime_private).cast::<u64>().add(3)) }
    }

    /// Are the cells of the present chunk in the file, and a page of the next one?
    pub(super) fn covers_chunk(self) -> bool {
        let covered = self.covered();
        covered == ALL_CELLS || self.chunk_start() + CHUNK + PAGE <= covered
    }

    /// The address of the cell at a position.
    pub(super) fn cell_address(self, position: u64) -> *mut u8 {
        self.words()
            .cast::<u8>()
            .wrapping_add((position & (RING_SIZE - 1)) as usize)
    }

    /// The word at a position.
    pub(super) fn word(self, position: u64) -> u32 {
        self.cell(position).load(Ordering::Relaxed)
    }

    /// Makes the page of the cell at a position present in memory.
    pub(super) fn touch(self, position: u64) {
        self.cell(position).fetch_or(0, Ordering::Relaxed);
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
        let [offset, ..] = unsafe { (*self.0).runtime_private };
        offset
    }

    /// The process that takes words out of this ring.
    pub(super) fn collector(self) -> Collector {
        // SAFETY: as in `file_offset`.
        let [_, id, start, _] = unsafe { (*self.0).runtime_private };
        let id = id as u32;
        Collector { start, id }
    }

    /// Start of the chunk of the last reserved cell.
    pub(super) fn chunk_start(self) -> u64 {
        let cursor = self.cursor().load(Ordering::Relaxed);
        cursor.saturating_sub(4) & !(CHUNK - 1)
    }

    /// Are this many bytes free, counted from the start of the present chunk? Words of the present
    /// chunk count as free.
    pub(super) fn has_free(self, bytes: u64) -> bool {
        let taken = self.taken().load(Ordering::Acquire);
        self.chunk_start() + bytes <= taken + RING_SIZE
    }

    /// Moves the cursor of a ring that no other thread knows yet to the start of its first chunk.
    pub(super) fn rewind_chunk(self) {
        self.cursor()
            .store(self.origin() & !(CHUNK - 1), Ordering::Relaxed);
    }

    /// Removes all words that were appended since [`Ring::rewind_chunk`]. They fill less than a
    /// chunk.
    pub(super) fn clear_words(self) {
        let origin = self.origin();
        let end = self.cursor().load(Ordering::Relaxed);
        for position in (origin & !(CHUNK - 1)..end).step_by(4) {
            self.put(position, 0);
        }
        self.cursor().store(origin, Ordering::Relaxed);
        // SAFETY: no other thread knows the ring yet.
        unsafe { (*self.0).controls = 0 };
    }

    /// The state of timed paths, which follows the header.
    pub(super) fn state(self) -> *mut BurstState {
        self.0
            .cast::<u8>()
            .wrapping_add(BURST_STATE as usize)
            .cast()
    }

    /// Appends a record. The caller makes space afterwards.
    pub(super) fn append(self, words: &[u32]) {
        let start = self.reserve_record(words.len());
        for (position, word) in (start..).step_by(4).zip(words) {
            self.cell(position).store(*word, Ordering::Relaxed);
        }
    }
}
