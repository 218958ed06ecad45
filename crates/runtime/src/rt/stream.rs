//! The beginning and the end of a thread's stream of words.

use core::sync::atomic::{AtomicU64, Ordering};

use super::ring::{NOTHING_MISSING, Ring};
use super::runtime::Runtime;
use super::sys::{self, Placement};
use super::timing::TimingState;
use super::{arch, image, measure, report};
use holloway_abi::{
    BurstState, CHUNK, CLOCK_WORDS, OPERAND, RING_SIZE, RingHeader, WORD_CLOCK, WORD_OWNER,
};

/// What only rings have of a block.
#[derive(Clone, Copy, Default)]
pub(super) struct StreamStart {
    /// Position of the first word.
    pub(super) origin: u64,
    /// Offset in the file; none for memory of the process's own.
    pub(super) file_offset: Option<u64>,
    /// How far timed paths have come in the parent, of whose ring this is the child's.
    pub(super) parent: Option<BurstState>,
}

/// Makes a ring, with its first word, of zeros; nobody has it yet.
pub(super) fn begin(ring: Ring, start: StreamStart, runtime: &Runtime) {
    let StreamStart {
        origin,
        file_offset,
        parent,
    } = start;
    let collector = runtime.collector;
    let header = RingHeader {
        cursor: origin,
        origin,
        ring_size: RING_SIZE,
        start: origin,
        own: [
            file_offset.unwrap_or(0),
            u64::from(collector.id),
            collector.start,
            0,
        ],
        taken: origin,
        waiting: 0,
        reserved: 0,
        missing: if file_offset.is_some() {
            NOTHING_MISSING
        } else {
            origin
        },
        controls: 0,
        left_out: 0,
        holes: 0,
        more: [0; 2],
    };
    // SAFETY: an extent of a ring's size, which nobody has yet.
    unsafe { ring.header().write(header) };
    for first in (0..RING_SIZE).step_by(CHUNK as usize) {
        ring.put(first, 0); // a signal comes easily where a page is missing
    }
    if image::is_timed() {
        measure::begin(runtime, ring, parent);
    }
    append_owner(ring, sys::thread_id());
}

/// Gives the ring to another thread. What the old one took and never wrote stays a hole, which readers know by `start`.
pub(super) fn hand_on(ring: Ring, tid: u32, runtime: &Runtime) {
    let cursor = ring.cursor().load(Ordering::Relaxed);
    // SAFETY: as in `cursor`.
    let start = unsafe { AtomicU64::from_ptr(&raw mut (*ring.header()).start) };
    start.store(cursor, Ordering::Release);
    if image::is_timed() {
        measure::hand_on(runtime, ring);
    }
    append_owner(ring, tid);
}

/// The word that a stream begins with; of timed paths, the clock as well.
fn append_owner(ring: Ring, tid: u32) {
    ring.append(&[WORD_OWNER, OPERAND | tid]);
    if image::is_timed() {
        append_clock(ring);
    }
}

/// Appends a [`WORD_CLOCK`].
pub(super) fn append_clock(ring: Ring) {
    let state = TimingState::in_ring(ring);
    let before = arch::clock();
    let now = sys::monotonic();
    let stamp = before + arch::clock().wrapping_sub(before) / 2;
    state.clock.set(stamp);
    let low = |value: u64| OPERAND | value as u32;
    let probe = state.probe.get();
    let words = [
        low(stamp),
        low(stamp >> 31),
        low(now),
        low(now >> 31),
        OPERAND | state.bias.get(),
        OPERAND | state.switches.get(),
        low(probe),
        low(probe >> 31),
        OPERAND | state.resolution.get(),
    ];
    let mut place = ring.take_controls(CLOCK_WORDS);
    ring.put(place, WORD_CLOCK);
    let mut all = 0;
    // By reference: a copy of the array would be the C library's, with vector registers.
    for word in &words {
        place += 4;
        ring.put(place, *word);
        all ^= word;
    }
    ring.put(place + 4, OPERAND | all);
}

/// Drops words from here on. Those in the ring stay in the file: memory of the process's own goes over them. Where there is
/// none, they are written over, and missing as well. Signals are masked; `failure` says why.
pub(super) fn end(ring: Ring, runtime: &mut Runtime) {
    if ring.missing().load(Ordering::Relaxed) != NOTHING_MISSING {
        return;
    }
    let cursor = ring.cursor().load(Ordering::Relaxed);
    let taken = ring.taken().load(Ordering::Acquire);
    let whole = cursor <= taken + RING_SIZE && {
        let words = Placement::Over(ring.words().cast());
        // SAFETY: words are written there and, by this process, never read again.
        unsafe { sys::map_memory(words, RING_SIZE as usize) }.is_ok()
    };
    let missing = if whole { cursor } else { taken };
    ring.missing().store(missing, Ordering::Release);
    if let Some(mut page) = runtime.page() {
        page.add_lost();
    }
    report::print_failure(runtime);
}
