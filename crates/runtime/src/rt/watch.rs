//! Was the thread preempted, or moved to another processor, since the last look? Asked at each visit of the timed paths, so almost always without a
//! system call.
//!
//! The kernel takes the address out of a thread's `rseq_cs` field whenever the thread goes on, after a switch or a signal, at an instruction outside of the
//! critical section that the address describes. (glibc registers the field's area for every thread.) So each visit leaves there the address of a [`Descriptor`]
//! of a section that holds no instruction. Still there at the next visit: nothing happened. Else the thread's count of involuntary switches
//! and its processor say what did. Voluntary switches are the program's own doing, and part of how long its paths take, on whichever processor it goes on.
//!
//! Where another library uses the field, its value is left alone, and counts are compared at each visit; so they are in bursts where nothing is
//! registered (musl, an old glibc). With every path timed that would cost too much: samples say [`SAMPLE_UNWATCHED`](holloway_abi::SAMPLE_UNWATCHED) then, and
//! nothing else of preemption.
//!
//! Limits: with every path timed, nobody looks where a function begins, so what happened since the last path ended, in code that isn't woven, is said of the path
//! that ends next. `sched_yield` counts as an involuntary switch for the kernel. A hypervisor's pauses are seen by nobody.

use core::sync::atomic::{AtomicU64, Ordering, compiler_fence};

use super::burst::State;
use super::page::{Inner, Live};
use super::ring::{self, Ring};
use super::{arch, fork, kind, sys};
use holloway_abi::{
    CLOCK_AGE, CLOCK_WORDS, OPERAND, PAGE, SAMPLE_MIGRATED, SAMPLE_PREEMPTED, Timing, WORD_CLOCK,
};

/// In place of the program time of a look: what happened was a probe's time.
pub(super) const LEAVING: u64 = u64::MAX;

/// Never anything else, so never quiet.
static NOWHERE: AtomicU64 = AtomicU64::new(0);

/// What the kernel calls `struct rseq_cs`, and the signature it wants before the address of an abort. Sections are given by addresses in here, which is no code.
#[repr(C, align(32))]
struct Descriptor {
    version: u32,
    flags: u32,
    start: u64,
    length: u64,
    abort: u64,
    signature: u32,
    after: u32,
    section: u64,
}

/// Where the descriptor stands in the page of the notes, which stays mapped when the image is unloaded, and is there in a child of a fork.
const DESCRIPTOR: usize = PAGE as usize - size_of::<Descriptor>();

const _: () = assert!(size_of::<Live>() <= DESCRIPTOR && DESCRIPTOR.is_multiple_of(32));

/// Writes the descriptor into the page of the notes (or null).
pub(super) fn make_descriptor(live: *mut Live) {
    let descriptor = descriptor(live);
    if descriptor.is_null() {
        return;
    }
    let at = descriptor.addr() as u64;
    // SAFETY: in a page of memory that nobody else has yet.
    unsafe {
        descriptor.write(Descriptor {
            version: 0,
            flags: 0,
            start: at + core::mem::offset_of!(Descriptor, section) as u64,
            length: 1,
            abort: at + core::mem::offset_of!(Descriptor, after) as u64,
            signature: arch::RSEQ_SIGNATURE,
            after: 0,
            section: 0,
        });
    }
}

fn descriptor(live: *mut Live) -> *mut Descriptor {
    if live.is_null() {
        return core::ptr::null_mut();
    }
    live.cast::<u8>().wrapping_add(DESCRIPTOR).cast()
}

/// What stands where the descriptor's address should.
#[inline(always)]
pub(super) fn load(state: &State) -> u64 {
    // SAFETY: `begin` set it, to an aligned word that stays mapped as long as the thread runs code of this image.
    unsafe { (state.place.get() as usize as *const u64).read_volatile() }
}

/// Can nothing be told of this thread?
#[inline(always)]
pub(super) fn is_blind(state: &State) -> bool {
    state.place.get() == state.quiet.address()
}

/// Begins to watch the calling thread.
pub(super) fn begin(inner: &Inner, state: &State) {
    const RSEQ_CS: usize = 8;
    let descriptor = descriptor(inner.live_address());
    state.quiet.set(descriptor.addr() as u64);
    let area = arch::rseq_area();
    let place = if !area.is_null() && !descriptor.is_null() {
        area.wrapping_add(RSEQ_CS).addr() as u64
    } else if kind().traits().timing == Timing::All || descriptor.is_null() {
        state.quiet.address()
    } else {
        (&raw const NOWHERE).addr() as u64
    };
    state.place.set(place);
    look(state, LEAVING);
}

/// Body of the thunk that the hot code calls where it isn't quiet, or the last clock is old; flags of what happened.
pub(super) extern "C" fn tend(at: u64) -> u32 {
    fork::notice_raw_fork();
    let block = arch::slot();
    if block.is_null() {
        return 0;
    }
    let ring = Ring::of_block(block);
    let state = State::of(ring);
    let flags = look(state, at);
    if at != LEAVING && arch::clock().wrapping_sub(state.clock.get()) >= CLOCK_AGE {
        append_clock(ring);
        ring::make_space(ring);
    }
    flags
}

/// Looks at what happened, from here on quietly again.
fn look(state: &State, at: u64) -> u32 {
    let place = state.place.get() as usize as *mut u64;
    let is_area = !is_blind(state) && !core::ptr::eq(place, (&raw const NOWHERE).cast());
    // SAFETY: as in `load`; where it isn't 0, it is another library's.
    if is_area && unsafe { place.read_volatile() } == 0 {
        // SAFETY: the thread's own field for this, and a valid descriptor that stays mapped.
        unsafe { place.write_volatile(state.quiet.get()) };
    }
    compiler_fence(Ordering::SeqCst); // what happens from here on is seen at the next look
    let (switches, processor) = (sys::involuntary_switches(), arch::processor());
    let mut flags = 0;
    // Who isn't watched is looked at by chance, long after.
    if at != LEAVING && !is_blind(state) && switches != state.switches.get() {
        state.preempted.set(at);
        flags |= SAMPLE_PREEMPTED;
        // Without such a switch it woke up elsewhere than it had gone to sleep.
        if processor != state.processor.get() {
            state.migrated.set(at);
            flags |= SAMPLE_MIGRATED;
        }
    }
    state.switches.set(switches);
    state.processor.set(processor);
    flags
}

/// Appends a [`WORD_CLOCK`].
pub(super) fn append_clock(ring: Ring) {
    let state = State::of(ring);
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
