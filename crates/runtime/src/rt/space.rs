//! Keeps cells of a ring free for the next words (`holloway_abi`, module `ring`). Larus 1999,
//! section 3, passes its trace to the compactor the same way, one buffer at a time.
//!
//! Woven code appends words itself. After it began a chunk, it calls [`chunk`], which ensures that
//! the next chunks are free and that the next cells are in the file (see `cells`). After an
//! exception or a `longjmp` came back to a frame, it calls [`caught`]. A ring becomes full if the
//! collector is too slow, or if there is no collector. Then the ring's owner waits for the
//! collector, or spools (see `spool`).
//!
//! # Waiting
//! A wait may be long: the collector may be stopped, or the machine busy. So the program's signals
//! stay unmasked during a wait:
//! - The thread holds no lock. A handler that appends words calls [`chunk`] itself when it begins
//!   the next chunk.
//! - A handler may jump out of a wait, because there is nothing to undo.
//!
//! A handler that runs during a wait appends words into the [`RESERVE`], until it begins the next
//! chunk. So does the code that runs after a handler jumped out of a wait. When fewer than
//! [`MASK_BELOW`] bytes are free, the thread masks every signal for the rest of the wait.
//!
//! # When words could be overwritten
//! Words that no reader has taken are overwritten only after one of two sequences of events:
//! - Five handlers interrupt each other, each after 64 KiB of words, between reserving the first
//!   cell of a chunk and the call of [`chunk`].
//! - Two handlers in a row jump out of waits, and then three handlers in a row jump out of code
//!   between reserving the first cell of a chunk and the call of [`chunk`].
//!
//! Readers detect overwritten words. Page faults do not make these sequences more likely, because
//! the first cells of chunks are written beforehand (`stream::touch_chunks`, `cells`).
//!
//! If a handler jumps out while [`caught`] writes its record, the record lacks words. Then readers
//! keep the frames that the record ends open until the next word of an older frame.
//!
//! Cost: two loads for each 16,384 words while the collector keeps up. A wait takes two system
//! calls and a read of a file in `/proc` for each 20 ms.

use core::sync::atomic::{Ordering, fence};

use super::lock::Masked;
use super::ring::{NONE_MISSING, Ring};
use super::runtime::RUNTIME;
use super::sys::{self, NO_COLLECTOR};
use super::{arch, cells, fork, spool, stream};
use holloway_abi::{CHUNK, OPERAND, RESERVE, RING_SIZE, WORD_CAUGHT};

/// Signals stay unmasked during a wait while at least this many bytes are free, counted from the
/// start of the present chunk.
const MASK_BELOW: u64 = 4 * CHUNK;

/// Number of times that a waiting thread yields to other threads and checks `taken`, before it
/// sleeps.
const YIELDS: u32 = 16;

/// Longest sleep in nanoseconds, after which the thread checks that the collector lives: 20 ms.
const SLEEP: u64 = 20_000_000;

/// Body of `__holloway_chunk`.
pub(super) extern "C" fn chunk() {
    fork::notice_raw_fork();
    let slot = arch::slot();
    if !slot.is_null() {
        make_space(Ring::at_slot(slot));
    }
}

/// Body of `__holloway_caught`: control came back to a frame whose function was entered when the
/// cursor was `position`. `catcher` is a word of that function, or 0 if the function appends no
/// words.
pub(super) extern "C" fn caught(position: u64, catcher: u32) {
    fork::notice_raw_fork();
    let slot = arch::slot();
    if slot.is_null() {
        return;
    }
    let ring = Ring::at_slot(slot);
    let word_position = position / 4;
    // All cells are reserved at once, so that the words of a handler come after them. Masking
    // signals would take longer than the rest of this function.
    ring.append(&[
        WORD_CAUGHT,
        OPERAND | word_position as u32,
        OPERAND | (word_position >> 31) as u32,
        OPERAND | catcher,
    ]);
    make_space(ring);
}

/// Waits or spools until [`RESERVE`] bytes are free, counted from the start of the present chunk.
/// Returns at once if the stream has ended.
pub(super) fn make_space(ring: Ring) {
    cover(ring);
    let (mut yields, mut masked) = (0, None);
    while !ring.has_free(RESERVE) && ring.missing_from().load(Ordering::Relaxed) == NONE_MISSING {
        if ring.has_free(MASK_BELOW) {
            masked = None;
        } else if masked.is_none() {
            masked = Some(Masked::all());
        }
        if ring.collector().id == 0 {
            let _masked = Masked::all();
            spool::spool(&mut RUNTIME.lock(), ring);
        } else if yields < YIELDS {
            yields += 1;
            sys::let_others_run();
        } else if sleep(ring) && collector_has_ended(ring) {
            let _masked = Masked::all();
            let mut runtime = RUNTIME.lock();
            runtime.failure.get_or_insert(NO_COLLECTOR);
            stream::end(ring, &mut runtime);
        }
    }
    drop(masked);
}

/// Moves the cells of the present chunk to the file, if they are not there. If that fails, the
/// stream ends.
fn cover(ring: Ring) {
    if ring.covers_chunk() || ring.missing_from().load(Ordering::Relaxed) != NONE_MISSING {
        return;
    }
    let _masked = Masked::all();
    let mut runtime = RUNTIME.lock();
    if cells::cover(&mut runtime, ring).is_err() {
        stream::end(ring, &mut runtime);
    }
}

/// Sleeps until the collector has taken words, for at most 20 ms. Returns whether the 20 ms are
/// over.
fn sleep(ring: Ring) -> bool {
    // A collector that reads this 1 also reads all earlier words: a cell that is still 0 is a hole.
    ring.waiting().store(1, Ordering::Release);
    fence(Ordering::SeqCst);
    let taken = ring.taken().load(Ordering::Acquire);
    let timed_out = ring.chunk_start() + RESERVE > taken + RING_SIZE
        && sys::futex_wait_shared(ring.taken_low(), taken as u32, SLEEP);
    ring.waiting().store(0, Ordering::Relaxed);
    timed_out
}

/// Has the collector of this ring ended?
fn collector_has_ended(ring: Ring) -> bool {
    let collector = ring.collector();
    if sys::is_dead(collector.id, collector.id) {
        return true;
    }
    let _masked = Masked::all();
    let mut runtime = RUNTIME.lock();
    collector.has_ended(&mut runtime.scratch)
}
