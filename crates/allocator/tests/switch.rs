//! Memory outlives the switch of allocators. A test program of its own, because the switch is for
//! the whole process.

use std::alloc::{Layout, alloc, dealloc};

#[cfg(all(target_os = "linux", target_env = "gnu"))]
use libmimalloc_sys::mi_is_in_heap_region;

#[cfg(all(target_os = "linux", target_env = "gnu"))]
unsafe extern "C" {
    fn malloc_usable_size(memory: *mut std::ffi::c_void) -> usize;
}

/// Vectors of many sizes, each filled with its number.
fn vectors(count: usize) -> Vec<Vec<u8>> {
    (0..count)
        .map(|number| vec![number as u8; number * 37 % 10_000])
        .collect()
}

fn check(vectors: &[Vec<u8>]) {
    for (number, vector) in vectors.iter().enumerate() {
        assert_eq!(vector.len(), number * 37 % 10_000);
        assert!(vector.iter().all(|&byte| byte == number as u8));
    }
}

/// Makes each vector larger, and then smaller again.
fn resize(vectors: &mut [Vec<u8>]) {
    for (number, vector) in vectors.iter_mut().enumerate() {
        let length = vector.len();
        vector.resize(length + 5000, 0);
        vector.truncate(length);
        vector.shrink_to_fit();
        assert!(vector.iter().all(|&byte| byte == number as u8));
    }
}

#[test]
fn memory_is_freed_where_it_came_from() {
    let mut before = vectors(2000);
    let aligned = Layout::from_size_align(5000, 4096).expect("a layout");
    // SAFETY: the size is not zero.
    let page = unsafe { alloc(aligned) };
    holloway_allocator::switch();
    let mut after = vectors(2000);
    let other = std::thread::spawn(|| vectors(500));
    // SAFETY: the size is not zero.
    let other_page = unsafe { alloc(aligned) };
    assert_eq!((page.addr() % 4096, other_page.addr() % 4096), (0, 0));
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: accepts any address.
        let is_mimallocs = |page: *mut u8| unsafe { mi_is_in_heap_region(page.cast()) };
        assert_eq!([page, other_page].map(is_mimallocs), [false, true]);
        // SAFETY: both were allocated.
        let size = |page: *mut u8| unsafe { malloc_usable_size(page.cast()) };
        let sizes = [page, other_page].map(size);
        assert!(
            sizes.iter().all(|size| (5000..20_000).contains(size)),
            "{sizes:?}"
        );
    }
    // SAFETY: both were allocated with this layout, and are freed once.
    unsafe {
        dealloc(page, aligned);
        dealloc(other_page, aligned);
    }
    resize(&mut before);
    resize(&mut after);
    check(&before);
    check(&after);
    check(&other.join().expect("a thread without panics"));
}
