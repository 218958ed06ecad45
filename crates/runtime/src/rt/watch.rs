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

use super::page::Notes;
use super::runtime::Runtime;
use super::timing::{LEAVING, TimingState};
use super::{arch, image, sys};
use holloway_abi::{PAGE, SAMPLE_MIGRATED, SAMPLE_PREEMPTED};

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

const _: () = assert!(size_of::<Notes>() <= DESCRIPTOR && DESCRIPTOR.is_multiple_of(32));

/// Writes the descriptor into the page of the notes (or null).
pub(super) fn make_descriptor(notes: *mut Notes) {
    let descriptor = descriptor(notes);
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

fn descriptor(notes: *mut Notes) -> *mut Descriptor {
    if notes.is_null() {
        return core::ptr::null_mut();
    }
    notes.cast::<u8>().wrapping_add(DESCRIPTOR).cast()
}

/// Begins to watch the calling thread.
pub(super) fn begin(runtime: &Runtime, state: &TimingState) {
    const RSEQ_CS: usize = 8;
    let descriptor = descriptor(runtime.notes_address());
    state.quiet.set(descriptor.addr() as u64);
    let area = arch::rseq_area();
    let place = if !area.is_null() && !descriptor.is_null() {
        area.wrapping_add(RSEQ_CS).addr() as u64
    } else if image::times_all_paths() || descriptor.is_null() {
        state.quiet.address()
    } else {
        (&raw const NOWHERE).addr() as u64
    };
    state.place.set(place);
    look(state, LEAVING);
}

/// Looks at what happened, from here on quietly again.
pub(super) fn look(state: &TimingState, at: u64) -> u32 {
    let place = state.place.get() as usize as *mut u64;
    let is_area = !state.is_blind() && !core::ptr::eq(place, (&raw const NOWHERE).cast());
    // SAFETY: as in `load`; where it isn't 0, it is another library's.
    if is_area && unsafe { place.read_volatile() } == 0 {
        // SAFETY: the thread's own field for this, and a valid descriptor that stays mapped.
        unsafe { place.write_volatile(state.quiet.get()) };
    }
    compiler_fence(Ordering::SeqCst); // what happens from here on is seen at the next look
    let (switches, processor) = (sys::involuntary_switches(), arch::processor());
    let mut flags = 0;
    // Who isn't watched is looked at by chance, long after.
    if at != LEAVING && !state.is_blind() && switches != state.switches.get() {
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
