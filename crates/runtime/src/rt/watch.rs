//! Was the thread preempted, or moved to another processor, since the last look? Each visit of
//! timed paths asks this, almost always without a system call.
//!
//! The kernel clears a thread's `rseq_cs` field whenever the thread goes on, after a switch or a
//! signal, at an instruction outside of the critical section whose descriptor the field names.
//! (glibc registers the field's area for every thread.) So each visit leaves there the address of a
//! [`CriticalSection`] of a section without instructions. If the address is still there at the next
//! visit, nothing happened. Otherwise the thread's count of involuntary switches and its processor
//! tell what happened. Voluntary switches are the program's own doing: they are part of how long
//! its paths take, on whichever processor the thread goes on.
//!
//! Where another library uses the field, its value stays, and each visit compares the counts. So do
//! the visits of bursts where nothing is registered (musl, an old glibc). With every path timed
//! that would cost too much: samples then have the flag
//! [`SAMPLE_UNWATCHED`](holloway_abi::SAMPLE_UNWATCHED), and no other flag about preemption.
//!
//! # Limits
//! - With every path timed, nobody looks where a function begins. So an event in code that is not
//!   woven, since the last path ended, counts for the path that ends next.
//! - `sched_yield` counts as an involuntary switch for the kernel.
//! - Nobody sees a hypervisor's pauses.

use core::sync::atomic::{AtomicU64, Ordering, compiler_fence};

use super::page::Notes;
use super::runtime::Runtime;
use super::timing::{LEAVING, TimingState};
use super::{arch, image, sys};
use holloway_abi::{PAGE, SAMPLE_MIGRATED, SAMPLE_PREEMPTED};

/// Always 0, so never quiet.
static NOWHERE: AtomicU64 = AtomicU64::new(0);

/// The kernel's `struct rseq_cs`, and the signature that the kernel wants before the address of an
/// abort. The section's addresses lie in this record itself, which is not code.
#[repr(C, align(32))]
struct CriticalSection {
    version: u32,
    flags: u32,
    start: u64,
    length: u64,
    abort: u64,
    signature: u32,
    after: u32,
    section: u64,
}

/// Offset of the [`CriticalSection`] in the page of the notes. The page stays mapped when the image
/// is unloaded, and in the child of a fork.
const SECTION_OFFSET: usize = PAGE as usize - size_of::<CriticalSection>();

const _: () = assert!(size_of::<Notes>() <= SECTION_OFFSET && SECTION_OFFSET.is_multiple_of(32));

/// Writes the [`CriticalSection`] into the page of the notes (or null).
pub(super) fn make_critical_section(notes: *mut Notes) {
    let section = critical_section(notes);
    if section.is_null() {
        return;
    }
    let address = section.addr() as u64;
    // SAFETY: in a page of memory that no other thread knows yet.
    unsafe {
        section.write(CriticalSection {
            version: 0,
            flags: 0,
            start: address + core::mem::offset_of!(CriticalSection, section) as u64,
            length: 1,
            abort: address + core::mem::offset_of!(CriticalSection, after) as u64,
            signature: arch::RSEQ_SIGNATURE,
            after: 0,
            section: 0,
        });
    }
}

fn critical_section(notes: *mut Notes) -> *mut CriticalSection {
    if notes.is_null() {
        return core::ptr::null_mut();
    }
    notes.cast::<u8>().wrapping_add(SECTION_OFFSET).cast()
}

/// Begins to watch the calling thread.
pub(super) fn begin(runtime: &Runtime, state: &TimingState) {
    const RSEQ_CS: usize = 8;
    let section = critical_section(runtime.notes_address());
    state.quiet.set(section.addr() as u64);
    let area = arch::rseq_area();
    let place = if !area.is_null() && !section.is_null() {
        area.wrapping_add(RSEQ_CS).addr() as u64
    } else if image::times_all_paths() || section.is_null() {
        state.quiet.address()
    } else {
        (&raw const NOWHERE).addr() as u64
    };
    state.place.set(place);
    look(state, LEAVING);
}

/// Looks for events, and sets the word to quiet again. The result is flags of a sample.
pub(super) fn look(state: &TimingState, time: u64) -> u32 {
    let place = state.place.get() as usize as *mut u64;
    let is_area = !state.is_blind() && !core::ptr::eq(place, (&raw const NOWHERE).cast());
    // SAFETY: as in `TimingState::is_quiet`. If the value is not 0, it is another library's.
    if is_area && unsafe { place.read_volatile() } == 0 {
        // SAFETY: the thread's own field for this, and a valid record that stays mapped.
        unsafe { place.write_volatile(state.quiet.get()) };
    }
    compiler_fence(Ordering::SeqCst); // the next look sees all later events
    let (switches, processor) = (sys::involuntary_switches(), arch::processor());
    let mut flags = 0;
    // An unwatched thread gets here by chance, long after the event.
    if time != LEAVING && !state.is_blind() && switches != state.switches.get() {
        state.preempted.set(time);
        flags |= SAMPLE_PREEMPTED;
        // Another processor without an involuntary switch is a wake-up there: the program's own
        // doing.
        if processor != state.processor.get() {
            state.migrated.set(time);
            flags |= SAMPLE_MIGRATED;
        }
    }
    state.switches.set(switches);
    state.processor.set(processor);
    flags
}
