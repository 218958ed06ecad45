//! Allocates extents of the profile file.
//!
//! The *room* is a mapping of the file that begins at file offset `end`. Each new extent is the
//! front of the room, so most extents need no system call. If the room is too small, the runtime
//! reserves disk space after `end` and maps it as a new room. The new room has a quarter of the
//! file's size, at most 1 MiB.

use core::sync::atomic::Ordering;

use super::runtime::Runtime;
use super::sys::{self, EBADF, EDQUOT, EFBIG, ENOMEM, ENOSPC, Errno, Placement};
use super::{files, report};
use holloway_abi::{ExtentHeader, PAGE};

/// Greatest size of a new room, unless an extent needs more.
const SPARE_ROOM: u64 = 1 << 20;

pub(super) fn round_up(size: usize) -> usize {
    let page = PAGE as usize;
    size.div_ceil(page) * page
}

/// Next extent of a list.
///
/// # Safety
/// `extent` is an extent of this process (not null).
pub(super) unsafe fn next(extent: *mut ExtentHeader) -> *mut ExtentHeader {
    // SAFETY: guaranteed by the caller.
    let [next, _] = unsafe { (*extent).reserved };
    next as usize as *mut ExtentHeader
}

/// A link to the next extent of a list, for the field `reserved`.
pub(super) fn link(next: *mut ExtentHeader) -> [u64; 2] {
    [next.addr() as u64, 0]
}

/// Maps `size` bytes of zeros at the end of the file. [`publish`] makes them part of the profile.
/// An error is also stored in `failure`.
pub(super) fn allocate(runtime: &mut Runtime, size: usize) -> Result<*mut ExtentHeader, Errno> {
    let result = take_from_room(runtime, size);
    if let Err(error) = result {
        runtime.failure.get_or_insert(error);
    }
    result.map(<*mut u8>::cast)
}

fn take_from_room(runtime: &mut Runtime, size: usize) -> Result<*mut u8, Errno> {
    let Some(page) = runtime.page() else {
        return Err(EBADF);
    };
    if !page.has_file() {
        return Err(EBADF);
    }
    if page.notes.room_size < size {
        make_room(runtime, size)?;
    }
    runtime.page().map(|page| page.notes.room).ok_or(EBADF)
}

/// Makes the extent at the front of the room part of the profile. The extent must be complete.
pub(super) fn publish(runtime: &mut Runtime, size: usize) {
    let Some(mut page) = runtime.page() else {
        return;
    };
    page.notes.room = page.notes.room.wrapping_add(size);
    page.notes.room_size -= size;
    page.end().fetch_add(size as u64, Ordering::Release);
}

/// Reserves and maps the file after offset `end`: more than `size` bytes if the file is large, or
/// exactly `size` bytes if there is no space for more.
fn make_room(runtime: &mut Runtime, size: usize) -> Result<(), Errno> {
    let descriptor = files::profile(runtime)?;
    let Some(mut page) = runtime.page() else {
        return Err(EBADF);
    };
    let end = page.end().load(Ordering::Relaxed);
    let spare = round_up((end / 4).min(SPARE_ROOM) as usize);
    let wanted = size.max(spare);
    let length = match files::reserve(descriptor, end, wanted as u64) {
        Ok(()) => wanted,
        Err(ENOSPC | EDQUOT | EFBIG) if wanted > size => {
            files::reserve(descriptor, end, size as u64).map(|()| size)?
        }
        Err(error) => return Err(error),
    };
    // SAFETY: a new mapping, over nothing.
    let map = |length| unsafe { sys::map_file(Placement::Anywhere, descriptor, end, length) };
    let (room, length) = match map(length) {
        Err(ENOMEM) if length > size => (map(size)?, size),
        result => (result?, length),
    };
    // SAFETY: the remainder of the old room contains no extent.
    unsafe { sys::unmap(page.notes.room, page.notes.room_size) };
    page.notes.room = room;
    page.notes.room_size = length;
    Ok(())
}

/// Private memory in place of an extent of the file. Its counts are lost. The runtime prints the
/// reason on standard error.
pub(super) fn private_extent(runtime: &mut Runtime, size: usize) -> Option<*mut ExtentHeader> {
    let reason = runtime.failure;
    if let Some(mut page) = runtime.page() {
        page.add_lost(reason);
    }
    report::print_failure(runtime);
    // SAFETY: a new mapping, over nothing.
    unsafe { sys::map_memory(Placement::Anywhere, size) }
        .ok()
        .map(<*mut u8>::cast)
}
