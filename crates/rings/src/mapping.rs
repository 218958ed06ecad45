//! Maps a part of a file that another process writes at the same time, as atomics.
//!
//! If a file is truncated after the mapping, a read past its new end causes SIGBUS. The program
//! never truncates its profile, and [`Mapping::new`] rejects ranges past the end of the file.

use std::fs::File;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// Shared memory, readable and writable.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: any thread can use mapped memory, and all access is atomic.
unsafe impl Send for Mapping {}
// SAFETY: any thread can use mapped memory, and a shared `Mapping` only returns atomics.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `length` bytes of `file` from `offset`, a multiple of the page size.
    ///
    /// # Errors
    /// If the file is shorter than the range, or the system refuses the mapping.
    pub(crate) fn new(file: &File, offset: u64, length: u64) -> io::Result<Self> {
        let end = offset.checked_add(length);
        if length == 0 || end.is_none_or(|end| file.metadata().is_ok_and(|meta| meta.len() < end)) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let length = usize::try_from(length).map_err(|_| io::ErrorKind::OutOfMemory)?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice replaces no other memory.
        let start = unsafe {
            mmap(
                std::ptr::null_mut(),
                length,
                access,
                MapFlags::SHARED,
                file,
                offset,
            )
        }?;
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, length })
    }

    /// The 8 bytes at `offset`, a multiple of 8.
    ///
    /// # Panics
    /// If the bytes are outside of the mapping.
    pub(crate) fn u64(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8) && offset.saturating_add(8) <= self.length);
        // SAFETY: within the mapping and aligned, as checked (`start` is the start of a page). The
        // memory stays mapped as long as `self` exists, and is only used through atomics.
        unsafe { AtomicU64::from_ptr(self.start.as_ptr().add(offset).cast()) }
    }

    /// The 4 bytes at `offset`, a multiple of 4.
    ///
    /// # Panics
    /// If the bytes are outside of the mapping.
    pub(crate) fn u32(&self, offset: usize) -> &AtomicU32 {
        &self.words(offset, 1)[0]
    }

    /// `count` words of 4 bytes from `offset`, a multiple of 4.
    ///
    /// # Panics
    /// If the words are outside of the mapping.
    pub(crate) fn words(&self, offset: usize, count: usize) -> &[AtomicU32] {
        let end = count
            .checked_mul(4)
            .and_then(|length| offset.checked_add(length));
        assert!(offset.is_multiple_of(4) && end.is_some_and(|end| end <= self.length));
        // SAFETY: within the mapping and aligned, as checked. The memory stays mapped as long as
        // `self` exists, and is only used through atomics. `AtomicU32` has the layout of `u32`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(offset).cast(), count) }
    }
}

impl Mapping {
    /// `count` pairs of words from `offset`, a multiple of 8. The first word of a pair is its lower
    /// half.
    ///
    /// # Panics
    /// If the pairs are outside of the mapping.
    pub(crate) fn pairs(&self, offset: usize, count: usize) -> &[AtomicU64] {
        let end = count
            .checked_mul(8)
            .and_then(|length| offset.checked_add(length));
        assert!(offset.is_multiple_of(8) && end.is_some_and(|end| end <= self.length));
        // SAFETY: as in `words`. Another process writes the words; nothing else in this process
        // reads them meanwhile.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(offset).cast(), count) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `self` owns the mapping, and no references are left: they live no longer than
        // `self`. Unmapping cannot fail, because start and length come from a successful mapping.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
    }
}
