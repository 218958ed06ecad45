//! The first entry of a thread into woven code: gives the thread its block of counters or its ring.

use super::lock::Masked;
use super::ring::Ring;
use super::runtime::RUNTIME;
use super::{arch, blocks, fork, image, opening, space};

/// Body of `__holloway_enter`: returns the calling thread's block or ring, and stores its address
/// in the thread's slot.
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
    let slot = arch::slot();
    if !slot.is_null() {
        return slot; // a signal handler entered between the caller's test and the mask
    }
    let mut runtime = RUNTIME.lock();
    opening::open_once(&mut runtime);
    let block = blocks::block_for_thread(&mut runtime);
    arch::set_slot(block);
    block
}

/// Registers the fork handlers.
///
/// This function runs before every other constructor of the image. So the program's fork handlers
/// are registered after the runtime's. In the child, the runtime's handler creates the child's file
/// before woven handlers of the program count. Before the fork, the runtime's `prepare` handler
/// takes the lock after the program's `prepare` handlers ran. Registration in the first [`enter`]
/// would be too late. Moreover, libc may use vector registers, which `enter` must preserve.
///
/// An image that records nothing has no file, so a fork needs no handlers.
pub(super) extern "C" fn constructor() {
    if image::is_recorded() {
        fork::register();
    }
}
