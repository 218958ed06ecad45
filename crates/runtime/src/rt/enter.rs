//! The first entry of a thread: its block, or its ring.

use super::lock::Masked;
use super::ring::Ring;
use super::runtime::RUNTIME;
use super::{arch, blocks, fork, image, opening, space};

/// Body of `__holloway_enter`: returns the calling thread's block, and stores it in the thread's
/// slot.
pub(super) extern "C" fn enter() -> *mut u8 {
    let block = block();
    if image::is_stream() {
        space::make_space(Ring::at_slot(block)); // a dead thread may have left the ring full
    }
    block
}

fn block() -> *mut u8 {
    let _masked = Masked::all();
    fork::notice_raw_fork();
    let present = arch::slot();
    if !present.is_null() {
        return present; // a signal handler entered between the caller's test and the mask
    }
    let mut runtime = RUNTIME.lock();
    opening::open_once(&mut runtime);
    let block = blocks::block_for_thread(&mut runtime);
    arch::set_slot(block);
    block
}

/// Registers the fork handlers.
///
/// This runs before every other constructor of the image, so that the program's fork handlers come
/// after ours. In the child, our handler has made the child's file before woven handlers count. In
/// the parent, our handler locks last. The first [`enter`] would be too late, and libc may use
/// vector registers, which `enter` has to keep.
pub(super) extern "C" fn constructor() {
    fork::register();
}
