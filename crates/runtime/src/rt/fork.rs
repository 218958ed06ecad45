//! Gives the child of a fork a separate profile file, in which it counts from zero.
//!
//! Woven code that called `fork` holds the address of its block in a register. So the child's block
//! must have the same address as the parent's block: the child maps a piece of its file over the
//! parent's block. The child unmaps the blocks of other threads, because it does not have these
//! threads. The child maps zeros over the segments of hash counters and keeps them mapped, because
//! a signal handler that forks may have interrupted `__holloway_hash`. The next fork unmaps them.
//! So parent and child share no counters, and the counts of both are exact.
//!
//! libc runs the runtime's fork handlers `prepare`, `parent`, and `child`. Among all handlers
//! registered after the image's first constructor, `prepare` runs last, and `parent` and `child`
//! run first. Signals stay masked from `prepare` to the end of `parent` and `child`. So no signal
//! handler counts in the child before the child's file exists.
//!
//! `vfork` runs no fork handlers and shares memory: the child counts for the parent, even if the
//! child enters woven code first (see `process`). A raw `clone` or `_Fork` runs no fork handlers
//! either. Its child finds the wiped token (see `token`) at its next slow path.

use super::lock::Masked;
use super::runtime::{RUNTIME, Runtime};
use super::sys::{self, FOREIGN_RIGHTS, Placement};
use super::{arch, blocks, extents, measure, opening, proc, process, token};
use holloway_abi::{ExtentHeader, PAGE};

unsafe extern "C" {
    fn pthread_atfork(
        prepare: extern "C" fn(),
        parent: extern "C" fn(),
        child: extern "C" fn(),
    ) -> i32;
}

/// Asks libc to call the handlers. libc forgets them when the image is unloaded.
pub(super) fn register() {
    process::set_home();
    // SAFETY: three functions without arguments, as `pthread_atfork` requires. If it has no memory,
    // children count for their parent.
    let _ = unsafe { pthread_atfork(prepare, parent, child) };
}

/// Takes the lock, so that the state is consistent when the fork copies it.
extern "C" fn prepare() {
    let masked = Masked::all();
    let mut runtime = RUNTIME.lock();
    runtime.forking_mask = masked.into_mask();
    runtime.forking_state = measure::present();
    core::mem::forget(runtime);
}

extern "C" fn parent() {
    // SAFETY: this thread has held the lock since `prepare`.
    let runtime = unsafe { RUNTIME.take_over() };
    let _masked = Masked::from_mask(runtime.forking_mask);
    drop(runtime);
}

extern "C" fn child() {
    // SAFETY: this thread has held the lock since `prepare`, and is the only one.
    let mut runtime = unsafe { RUNTIME.take_over() };
    let _masked = Masked::from_mask(runtime.forking_mask);
    start_new_profile(&mut runtime);
    drop(runtime);
}

/// Starts a new profile in the child of a raw fork, at the child's first slow path. The child
/// almost certainly has one thread at this point: programs that use raw forks do little before
/// `exec`.
pub(super) fn notice_raw_fork() {
    if !token::is_wiped() {
        return;
    }
    let _masked = Masked::all();
    // SAFETY: a thread that held the lock belongs to the parent, and does not exist in this
    // process.
    let mut runtime = unsafe { RUNTIME.take_over() };
    start_new_profile(&mut runtime);
}

/// Starts a new profile file in a child process, and keeps the address of the calling thread's
/// block.
fn start_new_profile(runtime: &mut Runtime) {
    let since = arch::clock();
    process::set_home();
    let Some(page) = runtime.page() else { return }; // the parent never entered
    let mut old = *page.notes;
    let old_page = runtime.page_address();
    let block = arch::slot().cast::<ExtentHeader>();
    let block = if block.is_null() {
        block
    } else {
        block.wrapping_sub(1)
    };
    // SAFETY: null, or the thread's block, which is mapped.
    let size = unsafe { block.as_ref() }.map_or(0, blocks::mapped_size);
    // SAFETY: these mappings come from the parent. The only thread of this process uses only its
    // own block and perhaps, in an interrupted frame, a segment.
    let zeroed_segments = unsafe {
        sys::unmap(old.room, old.room_size);
        unmap_all(old.zeroed_segments, core::ptr::null_mut());
        unmap_all(old.blocks, block);
        zero_all(old.segments)
    };
    old.file.close();
    runtime.failure = runtime.failure.filter(|error| *error == FOREIGN_RIGHTS);
    let start = proc::start_on_boot_clock(&mut runtime.scratch);
    opening::new_page(
        runtime,
        runtime.notes_address(),
        &mut old.directory,
        opening::Origin::Fork,
        start,
    );
    // SAFETY: no code uses the parent's page any more.
    unsafe { sys::unmap(old_page.cast(), PAGE as usize) };
    token::set(old.token);
    if let Some(page) = runtime.page() {
        page.notes.zeroed_segments = zeroed_segments;
        page.notes.token = old.token;
        page.header.threads = u32::from(!block.is_null());
    }
    if !block.is_null() {
        blocks::replace_block(runtime, block, size);
        measure::exclude_since(since);
    }
}

/// Unmaps a list of extents, except one.
///
/// # Safety
/// No code needs these extents any more.
unsafe fn unmap_all(list: *mut ExtentHeader, except: *mut ExtentHeader) {
    let mut extent = list;
    while !extent.is_null() {
        // SAFETY: an extent of the list, still mapped.
        let (size, next) = unsafe { (blocks::mapped_size(&*extent), extents::next(extent)) };
        if extent != except {
            // SAFETY: guaranteed by the caller.
            unsafe { sys::unmap(extent.cast(), size) };
        }
        extent = next;
    }
}

/// Maps zeroed memory over each segment of a list, and returns the list of that memory.
///
/// # Safety
/// No code needs the counts of the segments any more.
unsafe fn zero_all(list: *mut ExtentHeader) -> *mut ExtentHeader {
    let mut zeroed = core::ptr::null_mut();
    let mut extent = list;
    while !extent.is_null() {
        // SAFETY: an extent of the list, still mapped.
        let (mut header, next) = unsafe { (*extent, extents::next(extent)) };
        // SAFETY: guaranteed by the caller.
        if unsafe { sys::map_memory(Placement::Over(extent.cast()), header.size as usize) }.is_ok()
        {
            header.reserved = extents::link(zeroed);
            // SAFETY: fresh memory of the header's size at least.
            unsafe { extent.write(header) };
            zeroed = extent;
        }
        extent = next;
    }
    zeroed
}
