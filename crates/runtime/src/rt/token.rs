//! The token: a word that the kernel sets to 0 in the child of every fork, also of a raw fork.
//!
//! The children of a raw `clone` and of `_Fork` run no fork handlers. They find the wiped token at
//! their next slow path.

use core::sync::atomic::{AtomicPtr, Ordering};

use super::sys::{self, Placement};
use holloway_abi::PAGE;

/// The token's address, which can be read without the lock; null before the first entry.
static TOKEN: AtomicPtr<u32> = AtomicPtr::new(core::ptr::null_mut());

/// Creates a token: a word that is 1 in this process, and 0 in the child of any fork. Returns null
/// if the kernel cannot wipe memory at a fork.
pub(super) fn make() -> *mut u32 {
    // SAFETY: a new mapping, over nothing.
    let Ok(page) = (unsafe { sys::map_memory(Placement::Anywhere, PAGE as usize) }) else {
        return core::ptr::null_mut();
    };
    if sys::wipe_on_fork(page, PAGE as usize).is_err() {
        // SAFETY: no other thread knows the page yet.
        unsafe { sys::unmap(page, PAGE as usize) };
        return core::ptr::null_mut();
    }
    let token = page.cast();
    set(token);
    keep(token);
    token
}

/// Uses the token of an earlier load of the image.
pub(super) fn keep(token: *mut u32) {
    TOKEN.store(token, Ordering::Release);
}

/// Sets the token to 1, because it belongs to this process. Does nothing if `token` is null.
pub(super) fn set(token: *mut u32) {
    if !token.is_null() {
        // SAFETY: the token's page stays mapped.
        unsafe { token.write_volatile(1) };
    }
}

/// Is this process the child of a fork whose handlers have not run?
pub(super) fn is_wiped() -> bool {
    let token = TOKEN.load(Ordering::Acquire);
    // SAFETY: the token's page stays mapped.
    !token.is_null() && unsafe { token.read_volatile() } == 0
}
