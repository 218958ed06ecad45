//! `malloc` and its relatives, instead of glibc's. glibc allows that, and keeps its own under other
//! names (its manual, "Replacing malloc").

use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use libmimalloc_sys::{
    mi_calloc, mi_free, mi_is_in_heap_region, mi_malloc, mi_malloc_aligned, mi_realloc,
    mi_usable_size,
};

/// `EINVAL` and `ENOMEM` of Linux.
const INVALID: c_int = 22;
const NO_MEMORY: c_int = 12;

/// Whether memory comes from mimalloc. Memory that came from libc before the switch still does not.
static IS_SWITCHED: AtomicBool = AtomicBool::new(false);

unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(memory: *mut c_void, size: usize) -> *mut c_void;
    fn __libc_memalign(alignment: usize, size: usize) -> *mut c_void;
    fn __libc_free(memory: *mut c_void);
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// `RTLD_NEXT` of `dlsym`: look for a symbol only in the libraries that were loaded after this
/// executable.
const NEXT: *mut c_void = ptr::without_provenance_mut(usize::MAX);

pub(crate) fn switch() {
    IS_SWITCHED.store(true, Ordering::Relaxed);
}

fn is_switched() -> bool {
    IS_SWITCHED.load(Ordering::Relaxed)
}

/// Whether memory came from mimalloc.
fn is_mimallocs(memory: *mut c_void) -> bool {
    // SAFETY: accepts any address.
    is_switched() && unsafe { mi_is_in_heap_region(memory) }
}

/// C's function.
#[unsafe(no_mangle)]
extern "C" fn malloc(size: usize) -> *mut c_void {
    // SAFETY: accepts any size.
    unsafe {
        match is_switched() {
            true => mi_malloc(size),
            false => __libc_malloc(size),
        }
    }
}

/// C's function.
#[unsafe(no_mangle)]
extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    // SAFETY: accepts any numbers.
    unsafe {
        match is_switched() {
            true => mi_calloc(count, size),
            false => __libc_calloc(count, size),
        }
    }
}

/// C's function.
///
/// # Safety
/// `memory` is null or was allocated.
#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(memory: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: by the contract; each allocator gets its own memory. Null is new memory.
    unsafe {
        match is_mimallocs(memory) || (memory.is_null() && is_switched()) {
            true => mi_realloc(memory, size),
            false => __libc_realloc(memory, size),
        }
    }
}

/// C's function.
///
/// # Safety
/// `memory` is null or was allocated.
#[unsafe(no_mangle)]
unsafe extern "C" fn free(memory: *mut c_void) {
    // SAFETY: by the contract; each allocator gets its own memory.
    unsafe {
        match is_mimallocs(memory) {
            true => mi_free(memory),
            false => __libc_free(memory),
        }
    }
}

/// The function of C's earlier standards.
#[unsafe(no_mangle)]
extern "C" fn memalign(alignment: usize, size: usize) -> *mut c_void {
    // SAFETY: accepts any numbers.
    unsafe {
        match is_switched() {
            true => mi_malloc_aligned(size, alignment),
            false => __libc_memalign(alignment, size),
        }
    }
}

/// C's function.
#[unsafe(no_mangle)]
extern "C" fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void {
    memalign(alignment, size)
}

/// glibc's function. glibc has no other name for its own.
///
/// # Safety
/// `memory` is null or was allocated.
#[unsafe(no_mangle)]
unsafe extern "C" fn malloc_usable_size(memory: *mut c_void) -> usize {
    type UsableSize = unsafe extern "C" fn(*mut c_void) -> usize;
    // SAFETY: by the contract; each allocator gets its own memory. The symbol is this function of
    // libc, if it exists.
    unsafe {
        if is_mimallocs(memory) {
            return mi_usable_size(memory);
        }
        let libcs = dlsym(NEXT, c"malloc_usable_size".as_ptr());
        let libcs: Option<UsableSize> = std::mem::transmute(libcs);
        libcs.map_or(0, |usable_size| usable_size(memory))
    }
}

/// POSIX's function.
///
/// # Safety
/// `memory` is writable.
#[unsafe(no_mangle)]
unsafe extern "C" fn posix_memalign(
    memory: *mut *mut c_void,
    alignment: usize,
    size: usize,
) -> c_int {
    if !alignment.is_power_of_two() || !alignment.is_multiple_of(size_of::<*mut c_void>()) {
        return INVALID;
    }
    let allocated = memalign(alignment, size);
    if allocated.is_null() {
        return NO_MEMORY;
    }
    // SAFETY: by the contract.
    unsafe { ptr::write(memory, allocated) };
    0
}
