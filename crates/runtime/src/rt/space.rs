//! Free places in a ring for the words to come (`holloway_abi`, "Streams"). Larus 1999, section 3,
//! hands its trace to the compactor the same way, a buffer at a time.
//!
//! Woven code appends words by itself. It calls [`chunk`] where it began a chunk, to make sure that
//! the next chunks are free. It calls [`caught`] where control came back to a frame. A ring is full
//! when the collector has fallen behind, or when there is no collector. Then the ring's owner
//! waits, or spools (see `spool`).
//!
//! # Waiting
//! A wait may be long: the collector may be stopped, or the machine busy. So the program's signals
//! stay unmasked during a wait:
//! - The thread holds no lock. A handler that appends words calls [`chunk`] itself where it begins
//!   the next chunk.
//! - A handler may jump out of a wait, since there is nothing to undo.
//!
//! Both use up the reserve. With less than [`MASK_BELOW`] of it left, every signal is masked for
//! the rest of the wait, and nobody appends.
//!
//! # When words could be overwritten
//! Words in use are overwritten only after one of two sequences:
//! - Five handlers interrupt each other, each between taking the first place of a chunk and its
//!   call, and each after 64 KiB of words.
//! - Three handlers in a row jump out of just that window, after two that jumped out of waits.
//!
//! Readers notice such words. Page faults do not widen the window: the first places of all chunks
//! are touched beforehand. A record ([`caught`]) lacks words if a handler jumps out while it is
//! written. Then the frames that the record ends stay open until the next word of an older frame.
//!
//! Cost: two loads for each 16,384 words while the collector keeps up. A wait takes two system
//! calls and a look into `/proc` for each 20 ms.

use core::sync::atomic::{Ordering, fence};

use super::lock::Masked;
use super::ring::{NOTHING_MISSING, Ring};
use super::runtime::RUNTIME;
use super::sys::{self, NO_COLLECTOR};
use super::{arch, fork, spool, stream};
use holloway_abi::{CHUNK, OPERAND, RESERVE, RING_SIZE, WORD_CAUGHT};

/// Signals stay unmasked during a wait while this many bytes are free from the present chunk's
/// start on.
const MASK_BELOW: u64 = 4 * CHUNK;

/// Looks at `taken`, each after a yield to other threads, before the thread sleeps.
const YIELDS: u32 = 16;

/// Longest sleep before the thread checks that the collector lives: 20 ms.
const SLEEP: u64 = 20_000_000;

/// Body of `__holloway_chunk`.
pub(super) extern "C" fn chunk() {
    fork::notice_raw_fork();
    let block = arch::slot();
    if !block.is_null() {
        make_space(Ring::at_slot(block));
    }
}

/// Body of `__holloway_caught`: control came back to a frame whose function was entered when the
/// cursor was `position`.
pub(super) extern "C" fn caught(position: u64, catcher: u32) {
    fork::notice_raw_fork();
    let block = arch::slot();
    if block.is_null() {
        return;
    }
    let ring = Ring::at_slot(block);
    let place = position / 4;
    // All places are taken at once, so the words of a handler come behind them. Masking signals
    // would take longer than everything else here.
    ring.append(&[
        WORD_CAUGHT,
        OPERAND | place as u32,
        OPERAND | (place >> 31) as u32,
        OPERAND | catcher,
    ]);
    make_space(ring);
}

/// Waits or spools until [`RESERVE`] bytes are free from the start of the present chunk on. Returns
/// at once if the stream has ended.
pub(super) fn make_space(ring: Ring) {
    let (mut yields, mut masked) = (0, None);
    while !ring.has_free(RESERVE) && ring.missing().load(Ordering::Relaxed) == NOTHING_MISSING {
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
        } else if sleep(ring) && is_abandoned(ring) {
            let _masked = Masked::all();
            let mut runtime = RUNTIME.lock();
            runtime.failure.get_or_insert(NO_COLLECTOR);
            stream::end(ring, &mut runtime);
        }
    }
    drop(masked);
}

/// Sleeps until the collector has taken words, or 20 ms are over. True: the time is over.
fn sleep(ring: Ring) -> bool {
    // A collector that sees this store also sees all earlier words: a place that is still 0 is a
    // hole.
    ring.waiting().store(1, Ordering::Release);
    fence(Ordering::SeqCst);
    let taken = ring.taken().load(Ordering::Acquire);
    let late = ring.chunk_start() + RESERVE > taken + RING_SIZE
        && sys::futex_wait_shared(ring.taken_low(), taken as u32, SLEEP);
    ring.waiting().store(0, Ordering::Relaxed);
    late
}

/// Is the collector gone?
fn is_abandoned(ring: Ring) -> bool {
    let collector = ring.collector();
    if sys::is_dead(collector.id, collector.id) {
        return true;
    }
    let _masked = Masked::all();
    let mut runtime = RUNTIME.lock();
    collector.has_ended(&mut runtime.scratch)
}
