//! Extents of the profile, and the blocks of counters among them.
//!
//! File offset `end` is always mapped somewhere as *room*: extents are cut from its front, one after the other, so that
//! file and memory stay in step and most extents need no system call. When the room is too small, the file is reserved
//! and mapped from `end` on again, a quarter of its size at a time (1 MiB at most).
//!
//! # Blocks of dead threads
//! A block belongs to the thread whose id is in its header. `tgkill` with signal 0 says when that thread is gone from the
//! kernel, which is after the last instruction of its own: no thread-local destructor, of whatever library, comes after
//! it. The next thread gets the block with what was counted in it. A new thread looks at [`CHECKS`] blocks, going round.

use core::sync::atomic::Ordering;

use super::page::{Inner, Live};
use super::ring::{self, Ring};
use super::sys::{self, EBADF, EDQUOT, EFBIG, ENOMEM, ENOSPC, Errno, Where};
use super::{files, image, kind, measure, report};
use holloway_abi::{
    self, BurstState, EXTENT_BLOCK, EXTENT_MAGIC, EXTENT_RING, ExtentHeader, InlineCounts, PAGE,
    RING_SIZE, Storage, Traits,
};

/// Blocks looked at for a dead owner, for each new thread: some 100 ns each.
const CHECKS: usize = 48;

/// Most room taken beyond what is needed.
const ROOM: u64 = 1 << 20;

/// Owner of a block that anyone may have.
const NOBODY: u32 = 0;

/// Owner of a block that is never handed on: it was given out in the child of a `vfork`, whose thread has an id of its own
/// but the slot of the parent's thread, which goes on with the block.
const UNKNOWN: u32 = u32::MAX;

/// A block for the calling thread: a dead thread's, a new one, or, if there is no memory at all, a living thread's.
pub(super) fn block_for_thread(inner: &mut Inner) -> *mut u8 {
    let tid = sys::thread_id();
    let Some(page) = inner.page() else {
        report::die()
    };
    page.header.threads = page.header.threads.wrapping_add(1);
    let pid = page.header.pid;
    let owner = if sys::process_id() == pid {
        tid
    } else {
        UNKNOWN
    };
    let block = match take_dead(page.live, pid, owner) {
        Some(block) => {
            if is_stream() {
                Ring::of_extent(block).hand_on(tid, inner);
            }
            block
        }
        None => new_block(inner, owner),
    };
    block.wrapping_add(1).cast()
}

/// Do threads append to rings, in place of counting in blocks? Rings are blocks in all that is said of blocks here.
pub(super) fn is_stream() -> bool {
    kind().is_stream()
}

/// Bytes of a block's extent.
fn block_extent_size() -> usize {
    let block = round_up(image().block_size as usize + size_of::<ExtentHeader>());
    let Traits {
        storage,
        inline_counts,
        ..
    } = kind().traits();
    match (storage, inline_counts) {
        (Storage::Counters, _) => block,
        (Storage::Stream, InlineCounts::Activations) => ring::EXTENT_SIZE + block,
        (Storage::Stream, InlineCounts::Nothing | InlineCounts::Paths | InlineCounts::Edges) => {
            ring::EXTENT_SIZE
        }
    }
}

pub(super) fn round_up(size: usize) -> usize {
    let page = PAGE as usize;
    size.div_ceil(page) * page
}

/// Next of a list of extents.
///
/// # Safety
/// `extent` is an extent of this process (not null).
pub(super) unsafe fn next(extent: *mut ExtentHeader) -> *mut ExtentHeader {
    // SAFETY: the caller's.
    let [next, _] = unsafe { (*extent).reserved };
    next as usize as *mut ExtentHeader
}

/// A link to the next of a list, for `reserved`.
pub(super) fn link(next: *mut ExtentHeader) -> [u64; 2] {
    [next.addr() as u64, 0]
}

/// Hands on the block of a thread that is gone.
fn take_dead(live: &mut Live, pid: u32, owner: u32) -> Option<*mut ExtentHeader> {
    let first = live.cursor;
    let mut block = first;
    for _ in 0..CHECKS {
        if block.is_null() {
            block = live.blocks;
        }
        if block.is_null() {
            return None;
        }
        // SAFETY: a block of the list; blocks stay mapped, and under the lock nobody else writes their headers.
        let (header, after) = unsafe { (&mut *block, next(block)) };
        live.cursor = after;
        // a thread without a slot that has the id of a block's owner is not that owner
        let free = match header.tid {
            NOBODY => true,
            UNKNOWN => false,
            known => known == owner || sys::is_dead(pid, known),
        };
        if free {
            header.tid = owner;
            header.used = header.used.wrapping_add(1);
            return Some(block);
        }
        block = after;
        if block == first {
            return None; // once round
        }
    }
    None
}

/// A block in a new extent, or of the process's own memory.
fn new_block(inner: &mut Inner, owner: u32) -> *mut ExtentHeader {
    let size = block_extent_size();
    let Ok(block) = allocate(inner, size) else {
        return lost_block(inner, owner, size);
    };
    let place = inner
        .page()
        .map(|mut page| page.end().load(Ordering::Relaxed));
    let birth = Birth {
        place,
        ..Birth::default()
    };
    write_block(inner, block, owner, size, birth);
    publish(inner, size);
    block
}

/// A block outside the file; if there is no memory either, the first thread's block, whose counts may then suffer.
fn lost_block(inner: &mut Inner, owner: u32, size: usize) -> *mut ExtentHeader {
    let block = match lost(inner, size) {
        Some(block) => block,
        None => {
            let block = inner
                .page()
                .map_or(core::ptr::null_mut(), |page| page.live.blocks)
                .or_die();
            if is_stream() {
                Ring::of_extent(block).end_stream(inner);
            }
            return block;
        }
    };
    write_block(inner, block, owner, size, Birth::default());
    block
}

/// A pointer that must not be null for the program to go on.
trait OrDie {
    fn or_die(self) -> Self;
}

impl OrDie for *mut ExtentHeader {
    fn or_die(self) -> Self {
        if self.is_null() { report::die() } else { self }
    }
}

/// What only rings have of a block.
#[derive(Clone, Copy, Default)]
pub(super) struct Birth {
    /// Position of the first word.
    pub(super) origin: u64,
    /// Offset in the file; none for memory of the process's own.
    pub(super) place: Option<u64>,
    /// How far timed paths have come in the parent, of whose ring this is the child's.
    pub(super) parent: Option<BurstState>,
}

/// Fills in the header of a new block and puts it in the list.
fn write_block(inner: &mut Inner, block: *mut ExtentHeader, owner: u32, size: usize, birth: Birth) {
    let Some(page) = inner.page() else { return };
    let header = ExtentHeader {
        magic: EXTENT_MAGIC,
        kind: if is_stream() {
            EXTENT_RING
        } else {
            EXTENT_BLOCK
        },
        tid: owner,
        size: size as u64,
        head: 0,
        slots: if is_stream() { RING_SIZE } else { 0 },
        used: 1,
        reserved: link(page.live.blocks),
    };
    // SAFETY: a new extent of `size` bytes, which nobody has yet.
    unsafe { block.write(header) };
    if is_stream() {
        Ring::of_extent(block).begin(birth, inner);
    }
    if let Some(page) = inner.page() {
        page.live.blocks = block;
    }
}

/// Gives every block back: no code of the image is left that could count.
pub(super) fn free_all_blocks(live: &mut Live) {
    let mut block = live.blocks;
    while !block.is_null() {
        // SAFETY: a block of the list, which stays mapped.
        unsafe {
            (*block).tid = NOBODY;
            block = next(block);
        }
    }
    live.cursor = core::ptr::null_mut();
}

/// Memory of the process's own, in place of an extent that can't be had. It counts as lost, and the reason is told.
pub(super) fn lost(inner: &mut Inner, size: usize) -> Option<*mut ExtentHeader> {
    if let Some(mut page) = inner.page() {
        page.add_lost();
    }
    report::tell(inner);
    // SAFETY: a new mapping, over nothing.
    unsafe { sys::map_memory(Where::Anywhere, size) }
        .ok()
        .map(<*mut u8>::cast)
}

/// `size` bytes of zeros at the end of the file, mapped; [`publish`] makes them part of it. Failing leaves the reason in
/// `trouble`.
pub(super) fn allocate(inner: &mut Inner, size: usize) -> Result<*mut ExtentHeader, Errno> {
    let result = cut(inner, size);
    if let Err(error) = result {
        inner.trouble.get_or_insert(error);
    }
    result.map(<*mut u8>::cast)
}

fn cut(inner: &mut Inner, size: usize) -> Result<*mut u8, Errno> {
    let Some(page) = inner.page() else {
        return Err(EBADF);
    };
    if !page.has_file() {
        return Err(EBADF);
    }
    if page.live.room_size < size {
        make_room(inner, size)?;
    }
    inner.page().map(|page| page.live.room).ok_or(EBADF)
}

/// Makes the extent at the front of the room a part of the file. Everything in it is written.
pub(super) fn publish(inner: &mut Inner, size: usize) {
    let Some(mut page) = inner.page() else { return };
    page.live.room = page.live.room.wrapping_add(size);
    page.live.room_size -= size;
    page.end().fetch_add(size as u64, Ordering::Release);
}

/// Reserves and maps the file from `end` on: `size` bytes and some to spare, or if there is no space for that, `size`.
fn make_room(inner: &mut Inner, size: usize) -> Result<(), Errno> {
    let number = files::profile(inner)?;
    let Some(mut page) = inner.page() else {
        return Err(EBADF);
    };
    let end = page.end().load(Ordering::Relaxed);
    let spare = round_up((end / 4).min(ROOM) as usize);
    let wanted = size.max(spare);
    let length = match files::reserve(number, end, wanted as u64) {
        Ok(()) => wanted,
        Err(ENOSPC | EDQUOT | EFBIG) if wanted > size => {
            files::reserve(number, end, size as u64).map(|()| size)?
        }
        Err(error) => return Err(error),
    };
    // SAFETY: a new mapping, over nothing.
    let map = |length| unsafe { sys::map_file(Where::Anywhere, number, end, length) };
    let (room, length) = match map(length) {
        Err(ENOMEM) if length > size => (map(size)?, size),
        result => (result?, length),
    };
    // SAFETY: the rest of the old room holds no extent.
    unsafe { sys::unmap(page.live.room, page.live.room_size) };
    (page.live.room, page.live.room_size) = (room, length);
    Ok(())
}

/// Puts a fresh block of the (new, empty) file over the block at `block`, in the child of a fork.
pub(super) fn replace_block(inner: &mut Inner, block: *mut ExtentHeader, size: usize) {
    let origin = if is_stream() {
        Ring::of_extent(block).next_chunk()
    } else {
        0
    };
    // After a raw fork, what the parent may have gone on to.
    let parent = inner.forking_state.take().or_else(measure::present);
    let place = match map_over(inner, block.cast(), size) {
        Ok(place) => Some(place),
        Err(error) => {
            inner.trouble.get_or_insert(error);
            if let Some(mut page) = inner.page() {
                page.add_lost();
            }
            report::tell(inner);
            // SAFETY: the block's counts are the parent's, in the parent's file; the child's start at zero.
            if unsafe { sys::map_memory(Where::Over(block.cast()), size) }.is_err() {
                return;
            }
            None
        }
    };
    let birth = Birth {
        origin,
        place,
        parent,
    };
    write_block(inner, block, sys::thread_id(), size, birth);
    if place.is_some()
        && let Some(mut page) = inner.page()
    {
        page.end().fetch_add(size as u64, Ordering::Release);
    }
}

/// Maps a new piece of the file over the block; its offset.
fn map_over(inner: &mut Inner, address: *mut u8, size: usize) -> Result<u64, Errno> {
    if !inner.page().is_some_and(|page| page.has_file()) {
        return Err(EBADF);
    }
    let number = files::profile(inner)?;
    let Some(mut page) = inner.page() else {
        return Err(EBADF);
    };
    let end = page.end().load(Ordering::Relaxed);
    files::reserve(number, end, size as u64)?;
    // SAFETY: the block's counts are the parent's, in the parent's file; the child's start at zero.
    unsafe { sys::map_file(Where::Over(address), number, end, size) }.map(|_| end)
}
