//! A fork's child counts for itself, from zero, in a file of its own.
//!
//! Woven code that called `fork` holds the address of its block in a register, so the child's block must be where the
//! parent's is: a mapping of the child's file goes over it. Blocks of other threads (which the child has not) are
//! unmapped. Segments of the hash counters are covered with zeros rather than unmapped, for the child of a fork in a
//! signal handler that interrupted `__holloway_hash`; they go at the next fork. So parent and child, both exact, share
//! nothing.
//!
//! libc runs our handlers around `fork`: `prepare` last and `parent` and `child` first among all those registered after
//! the image's first constructor. Signals stay masked from `prepare` to the end of the other two, so that no handler
//! counts in the child before its file is there.
//!
//! `vfork` runs no handlers and shares memory: the child counts for the parent, even where it is the first of all to
//! enter ([`process`]). A raw `clone` or `_Fork` runs none either; a word that the kernel wipes in a child tells it
//! apart at its next slow path.

use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use super::lock::Masked;
use super::page::Inner;
use super::sys::{self, FOREIGN_RIGHTS, Where};
use super::{RUNTIME, arch, measure, opening, proc, store};
use holloway_abi::{ExtentHeader, PAGE};

unsafe extern "C" {
    fn pthread_atfork(
        prepare: extern "C" fn(),
        parent: extern "C" fn(),
        child: extern "C" fn(),
    ) -> i32;
}

/// A process, as the kernel numbers it.
pub(super) struct Process {
    pub(super) id: u32,
    pub(super) parent: u32,
}

/// The process that this memory belongs to: id and parent's id; 0 before the image's first constructor.
static HOME: (AtomicU32, AtomicU32) = (AtomicU32::new(0), AtomicU32::new(0));

fn set_home() {
    HOME.0.store(sys::process_id(), Ordering::Relaxed);
    HOME.1.store(sys::parent_id(), Ordering::Relaxed);
}

/// The process to count for: the calling one, but for the child of a `vfork`, which has an id of its own and the memory
/// of its parent. (A child of a raw fork that enters before its parent ever did looks the same and is taken for one.)
pub(super) fn process() -> Process {
    let (id, parent) = (sys::process_id(), sys::parent_id());
    let home = HOME.0.load(Ordering::Relaxed);
    if home != 0 && home != id && home == parent {
        let parent = HOME.1.load(Ordering::Relaxed);
        return Process { id: home, parent };
    }
    Process { id, parent }
}

/// Asks libc to call the handlers. It forgets them when the image is unloaded.
pub(super) fn register() {
    set_home();
    // SAFETY: three functions without arguments, as it wants. If it has no memory, children count for their parent.
    let _ = unsafe { pthread_atfork(prepare, parent, child) };
}

/// Locks, so that the state is whole when it is copied.
extern "C" fn prepare() {
    let masked = Masked::all();
    let mut inner = RUNTIME.lock();
    inner.forking_mask = masked.into_mask();
    inner.forking_state = measure::present();
    core::mem::forget(inner);
}

extern "C" fn parent() {
    // SAFETY: this thread has held the lock since `prepare`.
    let inner = unsafe { RUNTIME.held() };
    let _masked = Masked::from_mask(inner.forking_mask);
    drop(inner);
}

extern "C" fn child() {
    // SAFETY: this thread has held the lock since `prepare`, and is the only one.
    let mut inner = unsafe { RUNTIME.held() };
    let _masked = Masked::from_mask(inner.forking_mask);
    start_anew(&mut inner);
    drop(inner);
}

/// The token, for a look without the lock; null before the first enter.
static TOKEN: AtomicPtr<u32> = AtomicPtr::new(core::ptr::null_mut());

/// A word that is 1 in this process and 0 in a child, however it was forked; null if the kernel can't.
pub(super) fn make_token() -> *mut u32 {
    // SAFETY: a new mapping, over nothing.
    let Ok(page) = (unsafe { sys::map_memory(Where::Anywhere, PAGE as usize) }) else {
        return core::ptr::null_mut();
    };
    if sys::wipe_on_fork(page, PAGE as usize).is_err() {
        // SAFETY: nobody has it yet.
        unsafe { sys::unmap(page, PAGE as usize) };
        return core::ptr::null_mut();
    }
    let token = page.cast();
    set_token(token);
    keep_token(token);
    token
}

/// Uses the token of an earlier load of the image.
pub(super) fn keep_token(token: *mut u32) {
    TOKEN.store(token, Ordering::Release);
}

fn set_token(token: *mut u32) {
    if !token.is_null() {
        // SAFETY: the token's page stays mapped.
        unsafe { token.write_volatile(1) };
    }
}

/// Starts anew in the child of a raw fork, at its first slow path. It has one thread then, in all likelihood: whoever
/// forks raw does little before `exec`.
pub(super) fn notice_raw_fork() {
    let token = TOKEN.load(Ordering::Acquire);
    // SAFETY: null, or the token's page, which stays mapped.
    if token.is_null() || unsafe { token.read_volatile() } != 0 {
        return;
    }
    let _masked = Masked::all();
    // SAFETY: the thread that may have held the lock is the parent's, and not here.
    let mut inner = unsafe { RUNTIME.held() };
    start_anew(&mut inner);
}

/// Gives the process, a child, a file of its own, with the calling thread's block where it was.
fn start_anew(inner: &mut Inner) {
    let since = arch::clock();
    set_home();
    let Some(page) = inner.page() else { return }; // the parent never entered
    let mut old = *page.live;
    let old_page = inner.page_address();
    let block = arch::slot().cast::<ExtentHeader>();
    let block = if block.is_null() {
        block
    } else {
        block.wrapping_sub(1)
    };
    // SAFETY: null, or the thread's block, which is mapped.
    let size = unsafe { block.as_ref() }.map_or(0, |header| header.size as usize);
    // SAFETY: these are mappings of the parent's; the one thread there is uses none of them but its own block, and
    // perhaps, in an interrupted frame, a segment.
    let graves = unsafe {
        sys::unmap(old.room, old.room_size);
        unmap_all(old.graves, core::ptr::null_mut());
        unmap_all(old.blocks, block);
        bury_all(old.segments)
    };
    old.file.close();
    inner.trouble = inner.trouble.filter(|error| *error == FOREIGN_RIGHTS);
    let start = proc::start_on_boot_clock(&mut inner.scratch);
    opening::new_page(
        inner,
        inner.live_address(),
        &mut old.directory,
        opening::FORKED,
        start,
    );
    // SAFETY: the parent's page, in use no more.
    unsafe { sys::unmap(old_page.cast(), PAGE as usize) };
    set_token(old.token);
    if let Some(page) = inner.page() {
        (page.live.graves, page.live.token) = (graves, old.token);
        page.header.threads = u32::from(!block.is_null());
    }
    if !block.is_null() {
        store::replace_block(inner, block, size);
        measure::leave_out(since);
    }
}

/// Unmaps a list of extents, except one.
///
/// # Safety
/// Nothing needs them any more.
unsafe fn unmap_all(list: *mut ExtentHeader, except: *mut ExtentHeader) {
    let mut extent = list;
    while !extent.is_null() {
        // SAFETY: an extent of the list, mapped until here.
        let (size, next) = unsafe { ((*extent).size as usize, store::next(extent)) };
        if extent != except {
            // SAFETY: the caller's.
            unsafe { sys::unmap(extent.cast(), size) };
        }
        extent = next;
    }
}

/// Puts zeros over a list of segments; the list of what is there then.
///
/// # Safety
/// Nothing needs their counts any more.
unsafe fn bury_all(list: *mut ExtentHeader) -> *mut ExtentHeader {
    let mut graves = core::ptr::null_mut();
    let mut extent = list;
    while !extent.is_null() {
        // SAFETY: an extent of the list, mapped until here.
        let (mut header, next) = unsafe { (*extent, store::next(extent)) };
        // SAFETY: the caller's.
        if unsafe { sys::map_memory(Where::Over(extent.cast()), header.size as usize) }.is_ok() {
            header.reserved = store::link(graves);
            // SAFETY: fresh memory of the header's size at least.
            unsafe { extent.write(header) };
            graves = extent;
        }
        extent = next;
    }
    graves
}
