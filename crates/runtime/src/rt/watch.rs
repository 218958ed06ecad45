//! Detects whether the thread was preempted, or moved to another processor, since the last visit of
//! timed paths. This almost never needs a system call.
//!
//! glibc registers a `struct rseq` ("restartable sequences") with the kernel for each thread. Its
//! field `rseq_cs` holds the address of a critical section's descriptor. When the thread continues
//! after a switch or a signal, at an instruction outside of that critical section, the kernel
//! clears the field. So each visit stores the address of a [`CriticalSection`] without instructions
//! in the field. If the address is still there at the next visit, nothing interrupted the thread:
//! the word is *quiet*. If the address is gone, the thread's count of involuntary switches and its
//! processor show what happened. Voluntary switches are part of the program: a wait belongs to the
//! time of its path, whichever processor the thread continues on.
//!
//! If another library uses the field, its value stays, and each visit compares the counts. If libc
//! registers no `struct rseq` (musl, an old glibc), the visits of bursts compare the counts, too.
//! When every path is timed, this comparison would cost too much: samples then have the flag
//! [`SAMPLE_UNWATCHED`](holloway_abi::SAMPLE_UNWATCHED), and no other flag about preemption.
//!
//! # Limits
//! - When every path is timed, no visit happens at a function's entry. So an interruption in code
//!   that is not woven, after the last path ended, counts for the path that ends next.
//! - The kernel counts `sched_yield` as an involuntary switch.
//! - Pauses by a hypervisor stay undetected.

use core::sync::atomic::{AtomicU64, Ordering, compiler_fence};

use super::page::Notes;
use super::runtime::Runtime;
use super::timing::{IN_PROBE, TimingState};
use super::{arch, image, sys};
use holloway_abi::{PAGE, SAMPLE_MIGRATED, SAMPLE_PREEMPTED};

/// A word that is always 0, so that it is never quiet.
static NEVER_QUIET: AtomicU64 = AtomicU64::new(0);

/// The kernel's `struct rseq_cs`, followed by the signature that the kernel requires just before
/// the abort address. The addresses of the section are inside this record, which is not code.
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

/// Offset of the [`CriticalSection`] in the page of the notes. That page stays mapped when the
/// image is unloaded, and in the child of a fork.
const SECTION_OFFSET: usize = PAGE as usize - size_of::<CriticalSection>();

const _: () = assert!(size_of::<Notes>() <= SECTION_OFFSET && SECTION_OFFSET.is_multiple_of(32));

/// Writes the [`CriticalSection`] into the page of the notes. Does nothing if `notes` is null.
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
    state.quiet_value.set(section.addr() as u64);
    let area = arch::rseq_area();
    let watched_word = if !area.is_null() && !section.is_null() {
        area.wrapping_add(RSEQ_CS).addr() as u64
    } else if image::times_all_paths() || section.is_null() {
        state.quiet_value.address()
    } else {
        (&raw const NEVER_QUIET).addr() as u64
    };
    state.watched_word.set(watched_word);
    check(state, IN_PROBE);
}

/// Checks for interruptions, and makes the watched word quiet again. Returns flags of a sample.
/// `time` is the program time of the visit, or [`IN_PROBE`].
pub(super) fn check(state: &TimingState, time: u64) -> u32 {
    let word = state.watched_word.get() as usize as *mut u64;
    let is_rseq_field =
        !state.is_unwatched() && !core::ptr::eq(word, (&raw const NEVER_QUIET).cast());
    // SAFETY: as in `TimingState::is_quiet`. If the value is not 0, it is another library's.
    if is_rseq_field && unsafe { word.read_volatile() } == 0 {
        // SAFETY: this thread's `rseq_cs` field, and a valid record that stays mapped.
        unsafe { word.write_volatile(state.quiet_value.get()) };
    }
    compiler_fence(Ordering::SeqCst); // the next check detects all later events
    let (switches, processor) = (sys::involuntary_switches(), arch::processor());
    let mut flags = 0;
    // For an unwatched thread, this check happens by chance, long after the interruption.
    if time != IN_PROBE && !state.is_unwatched() && switches != state.switches.get() {
        state.preempted.set(time);
        flags |= SAMPLE_PREEMPTED;
        // If there was no involuntary switch, the thread moved when it woke up from a wait of the
        // program.
        if processor != state.processor.get() {
            state.migrated.set(time);
            flags |= SAMPLE_MIGRATED;
        }
    }
    state.switches.set(switches);
    state.processor.set(processor);
    flags
}
