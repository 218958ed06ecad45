//! Gives each thread a block of counters or, with streams, a ring. In this file, "block" means
//! both.
//!
//! # Blocks of dead threads
//! A block belongs to the thread whose id is in the block's header. `tgkill` with signal 0 fails
//! after that thread has executed its last instruction. So the thread, including the thread-local
//! destructors of all libraries, no longer counts. Then a new thread takes over the block together
//! with its counts. A new thread checks at most [`CHECKS`] blocks. The next new thread continues
//! the search at the next block of the list, and after the last block at the first.

use core::sync::atomic::Ordering;

use super::page::Notes;
use super::ring::{self, Ring};
use super::runtime::Runtime;
use super::stream::{self, StreamStart};
use super::sys::{self, EBADF, Errno, Placement};
use super::{extents, files, image, measure, report};
use holloway_abi::{EXTENT_BLOCK, EXTENT_MAGIC, EXTENT_RING, ExtentHeader, RING_SIZE};

/// Number of blocks that a new thread checks for a dead owner. A check takes about 100 ns.
const CHECKS: usize = 48;

/// Owner id of a block that any thread may take.
const NO_OWNER: u32 = 0;

/// Owner id of a block that no other thread takes over. The child of a `vfork` entered first: its
/// thread has a different id than the parent's thread, but the same slot. The parent's thread later
/// continues with the block.
const UNKNOWN: u32 = u32::MAX;

/// Returns a block for the calling thread: a dead thread's block or a new block. If there is no
/// memory, returns a living thread's block.
pub(super) fn block_for_thread(runtime: &mut Runtime) -> *mut u8 {
    let tid = sys::thread_id();
    let Some(page) = runtime.page() else {
        report::exit_without_memory()
    };
    page.header.threads = page.header.threads.wrapping_add(1);
    let pid = page.header.pid;
    let owner = if sys::process_id() == pid {
        tid
    } else {
        UNKNOWN
    };
    let block = match take_dead(page.notes, pid, owner) {
        Some(block) => {
            if image::is_stream() {
                stream::hand_on(Ring::in_extent(block), tid, runtime);
            }
            block
        }
        None => new_block(runtime, owner),
    };
    block.wrapping_add(1).cast()
}

/// Size of a block's extent in bytes.
fn block_extent_size() -> usize {
    let block = extents::round_up(image::header().block_size as usize + size_of::<ExtentHeader>());
    if image::has_ring_counters() {
        ring::EXTENT_SIZE + block
    } else if image::is_stream() {
        ring::EXTENT_SIZE
    } else {
        block
    }
}

/// Takes the block of a thread that has ended.
fn take_dead(notes: &mut Notes, pid: u32, owner: u32) -> Option<*mut ExtentHeader> {
    let first = notes.next_candidate;
    let mut block = first;
    for _ in 0..CHECKS {
        if block.is_null() {
            block = notes.blocks;
        }
        if block.is_null() {
            return None;
        }
        // SAFETY: a block of the list. Blocks stay mapped, and only the holder of the lock writes
        // their headers.
        let (header, after) = unsafe { (&mut *block, extents::next(block)) };
        notes.next_candidate = after;
        // The calling thread has no block. So if it has the owner's id, the owner has ended.
        let is_free = match header.tid {
            NO_OWNER => true,
            UNKNOWN => false,
            tid => tid == owner || sys::is_dead(pid, tid),
        };
        if is_free {
            header.tid = owner;
            header.used = header.used.wrapping_add(1);
            return Some(block);
        }
        block = after;
        if block == first {
            return None; // all blocks checked
        }
    }
    None
}

/// A block in a new extent, or in private memory.
fn new_block(runtime: &mut Runtime, owner: u32) -> *mut ExtentHeader {
    let size = block_extent_size();
    let Ok(block) = extents::allocate(runtime, size) else {
        return private_block(runtime, owner, size);
    };
    let file_offset = runtime
        .page()
        .map(|mut page| page.end().load(Ordering::Relaxed));
    let start = StreamStart {
        file_offset,
        ..StreamStart::default()
    };
    write_block(runtime, block, owner, size, start);
    extents::publish(runtime, size);
    block
}

/// A block in private memory. If there is no memory either, returns the first block of the list,
/// whose owner and the calling thread then share the counters. Counts may be lost.
fn private_block(runtime: &mut Runtime, owner: u32, size: usize) -> *mut ExtentHeader {
    let block = match extents::private_extent(runtime, size) {
        Some(block) => block,
        None => {
            let block = runtime
                .page()
                .map_or(core::ptr::null_mut(), |page| page.notes.blocks);
            if block.is_null() {
                report::exit_without_memory();
            }
            if image::is_stream() {
                stream::end(Ring::in_extent(block), runtime);
            }
            return block;
        }
    };
    write_block(runtime, block, owner, size, StreamStart::default());
    block
}

/// Writes the header of a new block and puts the block into the list.
fn write_block(
    runtime: &mut Runtime,
    block: *mut ExtentHeader,
    owner: u32,
    size: usize,
    start: StreamStart,
) {
    let Some(page) = runtime.page() else { return };
    let header = ExtentHeader {
        magic: EXTENT_MAGIC,
        kind: if image::is_stream() {
            EXTENT_RING
        } else {
            EXTENT_BLOCK
        },
        tid: owner,
        size: size as u64,
        head: 0,
        slots: if image::is_stream() { RING_SIZE } else { 0 },
        used: 1,
        reserved: extents::link(page.notes.blocks),
    };
    // SAFETY: a new extent of `size` bytes, which no other thread knows yet.
    unsafe { block.write(header) };
    if image::is_stream() {
        stream::begin(Ring::in_extent(block), start, runtime);
    }
    if let Some(page) = runtime.page() {
        page.notes.blocks = block;
    }
}

/// Frees every block. The earlier load of the image is gone, so its code no longer counts.
pub(super) fn free_all_blocks(notes: &mut Notes) {
    let mut block = notes.blocks;
    while !block.is_null() {
        // SAFETY: a block of the list, which stays mapped.
        unsafe {
            (*block).tid = NO_OWNER;
            block = extents::next(block);
        }
    }
    notes.next_candidate = core::ptr::null_mut();
}

/// Maps a new block of the (new, empty) file over the block at `block`, in the child of a fork.
pub(super) fn replace_block(runtime: &mut Runtime, block: *mut ExtentHeader, size: usize) {
    let origin = if image::is_stream() {
        Ring::in_extent(block).next_chunk()
    } else {
        0
    };
    // After a raw fork, the parent may have changed the shared ring since the fork.
    let parent = runtime.forking_state.take().or_else(measure::present);
    let file_offset = match map_over(runtime, block.cast(), size) {
        Ok(offset) => Some(offset),
        Err(error) => {
            runtime.failure.get_or_insert(error);
            if let Some(mut page) = runtime.page() {
                page.add_lost();
            }
            report::print_failure(runtime);
            // SAFETY: the counts in the old mapping belong to the parent, and stay in the parent's
            // file. The child's counts start at zero.
            if unsafe { sys::map_memory(Placement::Over(block.cast()), size) }.is_err() {
                return;
            }
            None
        }
    };
    let start = StreamStart {
        origin,
        file_offset,
        parent,
    };
    write_block(runtime, block, sys::thread_id(), size, start);
    if file_offset.is_some()
        && let Some(mut page) = runtime.page()
    {
        page.end().fetch_add(size as u64, Ordering::Release);
    }
}

/// Maps a new piece of the child's file over the block, and returns the offset of the piece.
fn map_over(runtime: &mut Runtime, address: *mut u8, size: usize) -> Result<u64, Errno> {
    if !runtime.page().is_some_and(|page| page.has_file()) {
        return Err(EBADF);
    }
    let descriptor = files::profile(runtime)?;
    let Some(mut page) = runtime.page() else {
        return Err(EBADF);
    };
    let end = page.end().load(Ordering::Relaxed);
    files::reserve(descriptor, end, size as u64)?;
    // SAFETY: the counts in the old mapping belong to the parent, and stay in the parent's file.
    // The child's counts start at zero.
    unsafe { sys::map_file(Placement::Over(address), descriptor, end, size) }.map(|_| end)
}
