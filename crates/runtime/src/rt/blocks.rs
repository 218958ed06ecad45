//! Gives each thread a block of counters or, with streams, a ring. In this file, "block" means
//! both. A ring without a collector *begins small*: it has few cells in the file at first (see
//! `cells`).
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
use super::{cells, extents, files, image, measure, report};
use holloway_abi::{CHUNK, EXTENT_BLOCK, EXTENT_MAGIC, EXTENT_RING, ExtentHeader, RING_SIZE};

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

/// Size of a block in memory, in bytes.
fn block_extent_size() -> usize {
    if image::is_stream() {
        ring::EXTENT_SIZE + ring_counters_size()
    } else {
        counters_size()
    }
}

/// Size of a thread's counters in bytes, with a header.
fn counters_size() -> usize {
    extents::round_up(image::header().block_size as usize + size_of::<ExtentHeader>())
}

/// Size of the ring counters in bytes.
fn ring_counters_size() -> usize {
    if image::has_ring_counters() {
        counters_size()
    } else {
        0
    }
}

/// Size of an extent in memory, in bytes. The extent of a ring that begins small is smaller in the
/// file.
pub(super) fn mapped_size(extent: &ExtentHeader) -> usize {
    if extent.kind == EXTENT_RING {
        block_extent_size()
    } else {
        extent.size as usize
    }
}

/// Do the rings of this process begin small?
fn rings_begin_small(runtime: &mut Runtime) -> bool {
    image::is_stream()
        && runtime.collector.id == 0
        && runtime.page().is_some_and(|page| page.has_file())
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
    if rings_begin_small(runtime) {
        return match new_small_ring(runtime, owner) {
            Ok(block) => block,
            Err(error) => {
                runtime.failure.get_or_insert(error);
                private_block(runtime, owner, size)
            }
        };
    }
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
    begin_words(block);
    extents::publish(runtime, size);
    block
}

/// A ring that begins small, at an address of the kernel's choice.
fn new_small_ring(runtime: &mut Runtime, owner: u32) -> Result<*mut ExtentHeader, Errno> {
    let size = block_extent_size();
    // SAFETY: a new mapping, over nothing.
    let memory = unsafe { sys::map_memory(Placement::Anywhere, size) }?;
    let mapped = cells::map_ring(runtime, memory, ring_counters_size());
    let file_offset = mapped.inspect_err(|_| {
        // SAFETY: no other code knows the memory yet.
        unsafe { sys::unmap(memory, size) };
    })?;
    let start = StreamStart {
        origin: cells::FIRST_POSITION,
        file_offset: Some(file_offset),
        parent: None,
    };
    Ok(begin_small_ring(runtime, memory, owner, start))
}

/// Begins the stream in a ring that [`cells::map_ring`] has mapped. If there is no space for the
/// first cells, the stream ends at once.
fn begin_small_ring(
    runtime: &mut Runtime,
    memory: *mut u8,
    owner: u32,
    start: StreamStart,
) -> *mut ExtentHeader {
    let block = memory.cast::<ExtentHeader>();
    let size = ring::FIRST_PAGE + ring_counters_size();
    write_block(runtime, block, owner, size, start);
    let ring = Ring::in_extent(block);
    ring.set_covered(start.origin);
    extents::publish(runtime, size);
    if cells::cover(runtime, ring).is_err() {
        stream::end(ring, runtime);
    }
    stream::append_owner(ring, sys::thread_id());
    block
}

/// Begins the words of a ring whose cells are complete.
fn begin_words(block: *mut ExtentHeader) {
    if image::is_stream() {
        let ring = Ring::in_extent(block);
        stream::touch_chunks(ring);
        stream::append_owner(ring, sys::thread_id());
    }
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
    begin_words(block);
    block
}

/// Writes the header of a new block, whose extent has `size` bytes, and puts the block into the
/// list.
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
    // SAFETY: a new extent, which no other thread knows yet.
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
    let begins_small = rings_begin_small(runtime);
    let origin = if !image::is_stream() {
        0
    } else {
        let cursor = Ring::in_extent(block).cursor().load(Ordering::Relaxed);
        if begins_small {
            cursor.next_multiple_of(RING_SIZE) + cells::FIRST_POSITION
        } else {
            cursor.next_multiple_of(CHUNK)
        }
    };
    // After a raw fork, the parent may have changed the shared ring since the fork.
    let parent = runtime.forking_state.take().or_else(measure::present);
    let mapped = if begins_small {
        map_small_over(runtime, block.cast(), size)
    } else {
        map_over(runtime, block.cast(), size)
    };
    let file_offset = match mapped {
        Ok(offset) => Some(offset),
        Err(error) => {
            runtime.failure.get_or_insert(error);
            let reason = runtime.failure;
            if let Some(mut page) = runtime.page() {
                page.add_lost(reason);
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
    if begins_small && file_offset.is_some() {
        begin_small_ring(runtime, block.cast(), sys::thread_id(), start);
        return;
    }
    write_block(runtime, block, sys::thread_id(), size, start);
    begin_words(block);
    if file_offset.is_some()
        && let Some(mut page) = runtime.page()
    {
        page.end().fetch_add(size as u64, Ordering::Release);
    }
}

/// Maps a ring that begins small over the parent's ring, and returns its offset in the file.
fn map_small_over(runtime: &mut Runtime, address: *mut u8, size: usize) -> Result<u64, Errno> {
    // SAFETY: the words in the old mapping belong to the parent, and stay in the parent's file. The
    // child's words begin at a later position.
    unsafe { sys::map_memory(Placement::Over(address), size) }?;
    cells::map_ring(runtime, address, ring_counters_size())
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
