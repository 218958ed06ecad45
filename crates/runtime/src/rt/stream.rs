//! The beginning and the end of a thread's stream of words.

use core::sync::atomic::{AtomicU64, Ordering};

use super::ring::{ALL_CELLS, NONE_MISSING, Ring};
use super::runtime::Runtime;
use super::sys::{self, Placement};
use super::timing::TimingState;
use super::{arch, image, measure, report};
use holloway_abi::{
    BurstState, CHUNK, CLOCK_WORDS, OPERAND, RING_SIZE, RingHeader, WORD_CLOCK, WORD_OWNER,
};

/// The start of a stream of words.
#[derive(Clone, Copy, Default)]
pub(super) struct StreamStart {
    /// Position of the first word.
    pub(super) origin: u64,
    /// Offset of the ring in the file; `None` if the ring is in private memory.
    pub(super) file_offset: Option<u64>,
    /// In the child of a fork: the state of timed paths in the parent's ring.
    pub(super) parent: Option<BurstState>,
}

/// Begins a stream in a ring of zeros that no other thread knows yet. The caller then appends the
/// [first record](append_owner).
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
        runtime_private: [
            file_offset.unwrap_or(0),
            u64::from(collector.id),
            collector.start,
            ALL_CELLS,
        ],
        taken: origin,
        waiting: 0,
        reserved: 0,
        missing_from: if file_offset.is_some() {
            NONE_MISSING
        } else {
            origin
        },
        controls: 0,
        left_out: 0,
        holes: 0,
        reserved2: [0; 2],
    };
    // SAFETY: an extent of a ring's size, which no other thread knows yet.
    unsafe { ring.header().write(header) };
    if image::is_timed() {
        measure::begin(runtime, ring, parent);
    }
}

/// Writes the first cells of all chunks. This avoids later page faults, during which signals often
/// arrive.
pub(super) fn touch_chunks(ring: Ring) {
    for first in (0..RING_SIZE).step_by(CHUNK as usize) {
        ring.touch(first);
    }
}

/// Gives the ring to another thread. Cells that the old owner reserved but never wrote stay holes.
/// Readers recognize them because they are below `start`.
pub(super) fn hand_on(ring: Ring, tid: u32, runtime: &Runtime) {
    let cursor = ring.cursor().load(Ordering::Relaxed);
    // SAFETY: as in `Ring::cursor`.
    let start = unsafe { AtomicU64::from_ptr(&raw mut (*ring.header()).start) };
    start.store(cursor, Ordering::Release);
    if image::is_timed() {
        measure::hand_on(runtime, ring);
    }
    append_owner(ring, tid);
}

/// Appends the first record of a stream. With timed paths, a clock record follows.
pub(super) fn append_owner(ring: Ring, tid: u32) {
    ring.append(&[WORD_OWNER, OPERAND | tid]);
    if image::is_timed() {
        append_clock(ring);
    }
}

/// Appends a clock record ([`WORD_CLOCK`]).
pub(super) fn append_clock(ring: Ring) {
    let state = TimingState::in_ring(ring);
    let before = arch::clock();
    let now = sys::monotonic();
    let stamp = before + arch::clock().wrapping_sub(before) / 2;
    state.last_clock.set(stamp);
    let operand = |value: u64| OPERAND | value as u32;
    let probe = state.probe.get();
    let words = [
        operand(stamp),
        operand(stamp >> 31),
        operand(now),
        operand(now >> 31),
        OPERAND | state.bias.get(),
        OPERAND | state.switches.get(),
        operand(probe),
        operand(probe >> 31),
        OPERAND | state.resolution.get(),
    ];
    let mut position = ring.reserve_record(CLOCK_WORDS);
    ring.put(position, WORD_CLOCK);
    let mut check = 0;
    // The loop is by reference: a copy of the array may call `memcpy`, which uses vector registers.
    for word in &words {
        position += 4;
        ring.put(position, *word);
        check ^= word;
    }
    ring.put(position + 4, OPERAND | check);
}

/// Ends the stream: later words are dropped. The words in the ring stay in the file, because
/// private memory is mapped over them in this process. If that memory cannot be mapped, or if later
/// words have already overwritten some of these words, all words that were not yet taken are
/// missing, too. The caller has masked signals, and has set the reason in `runtime.failure`.
pub(super) fn end(ring: Ring, runtime: &mut Runtime) {
    if ring.missing_from().load(Ordering::Relaxed) != NONE_MISSING {
        return;
    }
    let cursor = ring.cursor().load(Ordering::Relaxed);
    let taken = ring.taken().load(Ordering::Acquire);
    let keeps_words = cursor <= taken + RING_SIZE && {
        let words = Placement::Over(ring.words().cast());
        // SAFETY: this process continues to write words there, and never reads them.
        unsafe { sys::map_memory(words, RING_SIZE as usize) }.is_ok()
    };
    let missing_from = if keeps_words {
        cursor.min(ring.covered()).max(taken)
    } else {
        taken
    };
    ring.missing_from().store(missing_from, Ordering::Release);
    let reason = runtime.failure;
    if let Some(mut page) = runtime.page() {
        page.add_lost(reason);
    }
    report::print_failure(runtime);
}
