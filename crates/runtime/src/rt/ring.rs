//! Rings: the words that a thread appends where streams of paths are collected (`holloway_abi`, "Streams"; Larus 1999, section 3,
//! hands its trace to the compactor the same way, a buffer at a time).
//!
//! Woven code appends by itself. It comes here where it began a chunk ([`chunk`]), to make sure that the chunks after it are
//! free, and where a frame was come back to ([`caught`]). A ring is full when the collector has fallen behind, or when there
//! is none; then its owner waits, or spools ([`super::spool`]).
//!
//! # Waiting
//! A wait may be long (the collector is stopped, the machine busy), so the program's signals stay as they are meanwhile:
//! nothing is locked, and a handler that appends comes to [`chunk`] itself where it begins the next chunk. A handler may jump
//! out of a wait: there is nothing to undo. But both use up the reserve, so with less than [`COMFORT`] of it left, every
//! signal is masked for the rest of the wait, and nobody appends.
//!
//! What is left of exactness: to run over words that are in use, five handlers would have to interrupt each other, each between
//! taking the first place of a chunk and its call, and each with 64 KiB of words; or three in a row to jump out of just there,
//! after two that jumped out of waits. Readers notice. No page fault makes that place likelier: first places are touched
//! beforehand. A record ([`caught`]) that a handler jumps out of while it is written lacks words: the frames that it was about stay open until the next word
//! of an older one.
//!
//! Cost: two loads for each 16,384 words while the collector keeps up; a wait, two system calls and a look into `/proc` for
//! each 20 ms of it.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use super::lock::Masked;
use super::page::{Collector, Inner};
use super::store::Birth;
use super::sys::{self, NO_COLLECTOR, Where};
use super::text::number;
use super::{RUNTIME, arch, fork, kind, measure, proc, report, spool, watch};
use holloway_abi::{
    BURST_STATE, BurstState, CHUNK, COLLECTOR_VARIABLE, ExtentHeader, OPERAND, PAGE, RESERVE,
    RING_SIZE, RING_WORDS, RingHeader, WORD_CAUGHT, WORD_OWNER,
};

/// Bytes of a ring's extent, without counters behind it.
pub(super) const EXTENT_SIZE: usize = (PAGE + RING_SIZE) as usize;

/// Value of `missing` while nothing is.
const NONE: u64 = u64::MAX;

/// Bytes that are free from the present chunk's start on while signals come during a wait.
const COMFORT: u64 = 4 * CHUNK;

/// Looks at `taken`, with other threads' turns between, before the thread sleeps.
const TURNS: u32 = 16;

/// Longest sleep before the collector is looked at: 20 ms.
const SLEEP: u64 = 20_000_000;

/// A thread's ring, which stays mapped as blocks do.
#[derive(Clone, Copy)]
pub(super) struct Ring(*mut RingHeader);

/// Body of `__holloway_chunk`.
pub(super) extern "C" fn chunk() {
    fork::notice_raw_fork();
    let block = arch::slot();
    if !block.is_null() {
        make_space(Ring::of_block(block));
    }
}

/// Body of `__holloway_caught`: says that a frame was come back to whose function was entered at `position`.
pub(super) extern "C" fn caught(position: u64, catcher: u32) {
    fork::notice_raw_fork();
    let block = arch::slot();
    if block.is_null() {
        return;
    }
    let ring = Ring::of_block(block);
    let place = position / 4;
    // All places are taken at once, so what a handler appends meanwhile comes behind them: no signal is masked, which would take longer than the rest.
    ring.append(&[
        WORD_CAUGHT,
        OPERAND | place as u32,
        OPERAND | (place >> 31) as u32,
        OPERAND | catcher,
    ]);
    make_space(ring);
}

/// Waits or spools until [`RESERVE`] bytes are free from the start of the present chunk on, or words are dropped.
pub(super) fn make_space(ring: Ring) {
    let (mut turns, mut masked) = (0, None);
    while !ring.has(RESERVE) && ring.missing().load(Ordering::Relaxed) == NONE {
        if ring.has(COMFORT) {
            masked = None;
        } else if masked.is_none() {
            masked = Some(Masked::all());
        }
        if ring.collector().id == 0 {
            let _masked = Masked::all();
            spool::spool(&mut RUNTIME.lock(), ring);
        } else if turns < TURNS {
            turns += 1;
            sys::let_others_run();
        } else if ring.sleep() && ring.is_abandoned() {
            let _masked = Masked::all();
            let mut inner = RUNTIME.lock();
            inner.trouble.get_or_insert(NO_COLLECTOR);
            ring.end_stream(&mut inner);
        }
    }
    drop(masked);
}

/// Looks for a collector in the environment. One that isn't there any more, lives where its id means nothing here, or looks into another directory
/// is none: nobody would take the words, and the threads would wait for ever.
pub(super) fn find_collector(inner: &mut Inner) {
    let Inner {
        scratch, directory, ..
    } = inner;
    let name = COLLECTOR_VARIABLE.as_bytes();
    inner.collector = Collector::NONE;
    if !kind().is_stream() || !proc::variable(name, scratch, directory) {
        return;
    }
    let (id, rest) = number(directory.as_bytes(), 10);
    let (Ok(id @ 1..=0x7FFF_FFFF), Some((b' ', data))) = (u32::try_from(id), rest.split_first())
    else {
        return;
    };
    if proc::variable_is(b"HOLLOWAY_DATA", data, scratch) && !sys::is_dead(id, id) {
        let (start, ended) = proc::life(id, scratch);
        if !ended {
            inner.collector = Collector { start, id };
        }
    }
}

impl Ring {
    /// The ring in an extent of one.
    pub(super) fn of_extent(extent: *mut ExtentHeader) -> Ring {
        Ring(extent.wrapping_add(1).cast())
    }

    /// The ring that a slot points to.
    #[inline(always)]
    pub(super) fn of_block(block: *mut u8) -> Ring {
        Ring(block.cast())
    }

    pub(super) fn extent(self) -> *mut ExtentHeader {
        self.0.cast::<ExtentHeader>().wrapping_sub(1)
    }

    pub(super) fn header(self) -> *mut RingHeader {
        self.0
    }

    /// Takes places for words that are then [put](Ring::put) there, all with one instruction: no handler's come between.
    #[inline(always)]
    pub(super) fn take_places(self, bytes: u64) -> u64 {
        // SAFETY: the cursor of a mapped ring, which this thread owns.
        unsafe { arch::add(&raw mut (*self.0).cursor, bytes) }
    }

    /// The same for so many words that end no path. They are counted first: if the process is killed in between, nobody takes them for paths.
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

    /// The place of a position.
    #[inline(always)]
    fn word<'a>(self, position: u64) -> &'a AtomicU32 {
        let index = (position & (RING_SIZE - 1)) / 4;
        // SAFETY: inside the ring, aligned; rings stay mapped, and their words are reached by atomic means, or by woven code.
        unsafe { AtomicU32::from_ptr(self.words().wrapping_add(index as usize)) }
    }

    fn cursor<'a>(self) -> &'a AtomicU64 {
        // SAFETY: a ring's header, aligned, which stays mapped; reached by atomic means, and by woven code's one instruction.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.0).cursor) }
    }

    pub(super) fn taken<'a>(self) -> &'a AtomicU64 {
        // SAFETY: as in `cursor`.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.0).taken) }
    }

    fn missing<'a>(self) -> &'a AtomicU64 {
        // SAFETY: as in `cursor`.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.0).missing) }
    }

    fn waiting<'a>(self) -> &'a AtomicU32 {
        // SAFETY: as in `cursor`.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.0).waiting) }
    }

    /// The low half of `taken`, for a futex.
    fn taken_low<'a>(self) -> &'a AtomicU32 {
        // SAFETY: the first half of `taken` on a little-endian processor; the kernel only reads it.
        unsafe { AtomicU32::from_ptr((&raw mut (*self.0).taken).cast()) }
    }

    /// Offset of the ring's extent in the file.
    pub(super) fn place(self) -> u64 {
        // SAFETY: a ring's header, which stays mapped; this field is written once, before anyone has the ring.
        let [place, ..] = unsafe { (*self.0).own };
        place
    }

    /// Who takes words out of this ring.
    fn collector(self) -> Collector {
        // SAFETY: as in `place`.
        let [_, id, start, _] = unsafe { (*self.0).own };
        let id = id as u32;
        Collector { start, id }
    }

    /// Start of the chunk that the last place taken is in.
    pub(super) fn chunk_start(self) -> u64 {
        let cursor = self.cursor().load(Ordering::Relaxed);
        cursor.saturating_sub(4) & !(CHUNK - 1)
    }

    /// Are so many bytes free from the start of the present chunk on, which of course may be written already?
    pub(super) fn has(self, bytes: u64) -> bool {
        let taken = self.taken().load(Ordering::Acquire);
        self.chunk_start() + bytes <= taken + RING_SIZE
    }

    /// The first position of the next chunk, where a child of fork goes on.
    pub(super) fn next_chunk(self) -> u64 {
        self.cursor()
            .load(Ordering::Relaxed)
            .next_multiple_of(CHUNK)
    }

    /// Makes a ring, with its first word, of zeros; nobody has it yet.
    pub(super) fn begin(self, birth: Birth, inner: &Inner) {
        let Birth {
            origin,
            place,
            parent,
        } = birth;
        let collector = inner.collector;
        let header = RingHeader {
            cursor: origin,
            origin,
            ring_size: RING_SIZE,
            start: origin,
            own: [
                place.unwrap_or(0),
                u64::from(collector.id),
                collector.start,
                0,
            ],
            taken: origin,
            waiting: 0,
            reserved: 0,
            missing: if place.is_some() { NONE } else { origin },
            controls: 0,
            left_out: 0,
            holes: 0,
            more: [0; 2],
        };
        // SAFETY: an extent of a ring's size, which nobody has yet.
        unsafe { self.0.write(header) };
        for first in (0..RING_SIZE).step_by(CHUNK as usize) {
            self.word(first).store(0, Ordering::Relaxed); // a signal comes easily where a page is missing
        }
        if measure::is_timed() {
            measure::begin(inner, self, parent);
        }
        self.append_owner(sys::thread_id());
    }

    /// Takes back all words of a ring that nobody has yet. There are less than a chunk.
    pub(super) fn clear_words(self) {
        // SAFETY: as in `place`.
        let origin = unsafe { (*self.0).origin };
        let end = self.cursor().load(Ordering::Relaxed);
        for position in (origin..end).step_by(4) {
            self.put(position, 0);
        }
        self.cursor().store(origin, Ordering::Relaxed);
        // SAFETY: nobody else has the ring yet.
        unsafe { (*self.0).controls = 0 };
    }

    /// The state of timed paths behind the header.
    pub(super) fn state(self) -> *mut BurstState {
        self.0
            .cast::<u8>()
            .wrapping_add(BURST_STATE as usize)
            .cast()
    }

    /// Gives the ring to another thread. What the old one took and never wrote stays a hole, which readers know by `start`.
    pub(super) fn hand_on(self, tid: u32, inner: &Inner) {
        let cursor = self.cursor().load(Ordering::Relaxed);
        // SAFETY: as in `cursor`.
        let start = unsafe { AtomicU64::from_ptr(&raw mut (*self.0).start) };
        start.store(cursor, Ordering::Release);
        if measure::is_timed() {
            measure::hand_on(inner, self);
        }
        self.append_owner(tid);
    }

    /// The word that a stream begins with; of timed paths, the clock as well.
    fn append_owner(self, tid: u32) {
        self.append(&[WORD_OWNER, OPERAND | tid]);
        if measure::is_timed() {
            watch::append_clock(self);
        }
    }

    /// Appends words that stand together. The caller makes space afterwards.
    fn append(self, words: &[u32]) {
        let place = self.take_controls(words.len());
        for (position, word) in (place..).step_by(4).zip(words) {
            self.word(position).store(*word, Ordering::Relaxed);
        }
    }

    /// Sleeps until the collector has taken something, or 20 ms are over; true if they are.
    fn sleep(self) -> bool {
        // What was written before is there for a collector that sees this: a place that is 0 still is a hole.
        self.waiting().store(1, Ordering::Release);
        fence(Ordering::SeqCst);
        let taken = self.taken().load(Ordering::Acquire);
        let late = self.chunk_start() + RESERVE > taken + RING_SIZE
            && sys::futex_wait_shared(self.taken_low(), taken as u32, SLEEP);
        self.waiting().store(0, Ordering::Relaxed);
        late
    }

    /// Is the collector gone?
    fn is_abandoned(self) -> bool {
        let Collector { start, id } = self.collector();
        if sys::is_dead(id, id) {
            return true;
        }
        let _masked = Masked::all();
        let mut inner = RUNTIME.lock();
        let (now, ended) = proc::life(id, &mut inner.scratch);
        ended || (start != 0 && now != 0 && now != start)
    }

    /// Drops words from here on. Those in the ring stay in the file: memory of the process's own goes over them. Where there is
    /// none, they are written over, and missing as well. Signals are masked; `trouble` says why.
    pub(super) fn end_stream(self, inner: &mut Inner) {
        if self.missing().load(Ordering::Relaxed) != NONE {
            return;
        }
        let cursor = self.cursor().load(Ordering::Relaxed);
        let taken = self.taken().load(Ordering::Acquire);
        let whole = cursor <= taken + RING_SIZE && {
            let words = Where::Over(self.words().cast());
            // SAFETY: words are written there and, by this process, never read again.
            unsafe { sys::map_memory(words, RING_SIZE as usize) }.is_ok()
        };
        let missing = if whole { cursor } else { taken };
        self.missing().store(missing, Ordering::Release);
        if let Some(mut page) = inner.page() {
            page.add_lost();
        }
        report::tell(inner);
    }
}
