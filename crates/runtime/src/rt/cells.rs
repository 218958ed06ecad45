//! The cells of a ring that are in the file, if no collector reads the ring.
//!
//! A collector maps a ring once, so its ring is complete from the start: 2 MiB. Without a
//! collector, only the runtime uses the mappings of a ring. So the ring begins as private memory.
//! Its first page (and its ring counters) are in a ring extent of the file, and its cells move to
//! the file in pieces, each in a cells extent, before the owner needs them ([`FIRST_CELLS`] has the
//! sizes).
//!
//! Words whose cells are not in the file yet are lost if the process is killed. Only a signal
//! handler can append such words: it must interrupt the owner between the first cell of a chunk and
//! the call of `__holloway_chunk`, and append more than a page of words. At the end of that call,
//! these words are in the file.
//!
//! Example, a ring whose stream begins at position 0xe000:
//!
//! | call at position | new cells | bytes of cells in the file |
//! |---|---|---|
//! | 0 (first entry) | 0xe000 to 0x11000 | 12 KiB |
//! | 0x10000 | 0x11000 to 0x21000 | 76 KiB |
//! | 0x20000 | 0x21000 to 0x41000 | 204 KiB |
//! | 0x40000 | 0x41000 to 0x81000 | 460 KiB |
//! | 0x80000 | 0x81000 to 0x101000 | 972 KiB |
//! | 0x100000 | 0x101000 to 0x200000 | 1,992 KiB |
//! | 0x1f0000 | 0x200000 to 0x20e000 (the first cells of the ring) | 2,048 KiB |
//!
//! Cost: four system calls for each piece.

use core::sync::atomic::Ordering;

use super::ring::{self, ALL_CELLS, Ring};
use super::runtime::Runtime;
use super::sys::{self, EBADF, Errno, Placement};
use super::{extents, files};
use holloway_abi::{CHUNK, EXTENT_CELLS, EXTENT_MAGIC, ExtentHeader, FIRST_CELLS, PAGE, RING_SIZE};

/// Position of the first word of a ring that begins small, in its chunk.
pub(super) const FIRST_POSITION: u64 = CHUNK - FIRST_CELLS;

/// Maps a ring without cells: private memory, and the first page and the ring counters in the file.
/// The extent is the next extent of the file, of [`ring::FIRST_PAGE`] bytes and the ring counters;
/// the caller publishes it. If there is an error, the memory stays private.
pub(super) fn map_ring(
    runtime: &mut Runtime,
    memory: *mut u8,
    counters_size: usize,
) -> Result<u64, Errno> {
    extents::allocate(runtime, ring::FIRST_PAGE + counters_size)?;
    let descriptor = files::profile(runtime)?;
    let Some(mut page) = runtime.page() else {
        return Err(EBADF);
    };
    let offset = page.end().load(Ordering::Relaxed);
    let counters = memory.wrapping_add(ring::EXTENT_SIZE);
    if counters_size > 0 {
        let offset = offset + ring::FIRST_PAGE as u64;
        // SAFETY: the memory is as large as a ring with its counters, and no code uses it yet.
        unsafe { sys::map_file(Placement::Over(counters), descriptor, offset, counters_size) }?;
    }
    // SAFETY: as above.
    let first = unsafe {
        let placement = Placement::Over(memory);
        sys::map_file(placement, descriptor, offset, ring::FIRST_PAGE)
    };
    if first.is_err() && counters_size > 0 {
        // SAFETY: as above.
        let _ = unsafe { sys::map_memory(Placement::Over(counters), counters_size) };
    }
    first.map(|_| offset)
}

/// Moves cells to the file until they include the present chunk and a page of the next one. The
/// caller holds the lock, has masked signals, and owns the ring.
pub(super) fn cover(runtime: &mut Runtime, ring: Ring) -> Result<(), Errno> {
    while !ring.covers_chunk() {
        let result = cover_piece(runtime, ring);
        if let Err(error) = result {
            runtime.failure.get_or_insert(error);
            return result;
        }
    }
    Ok(())
}

/// Moves the next piece of cells to the file.
fn cover_piece(runtime: &mut Runtime, ring: Ring) -> Result<(), Errno> {
    let from = ring.covered();
    let until = next_end(ring.origin(), from);
    let length = (until - from) as usize;
    let size = PAGE as usize + length;
    let extent = extents::allocate(runtime, size)?;
    let descriptor = files::profile(runtime)?;
    let Some(mut page) = runtime.page() else {
        return Err(EBADF);
    };
    let offset = page.end().load(Ordering::Relaxed) + PAGE;
    let header = ExtentHeader {
        magic: EXTENT_MAGIC,
        kind: EXTENT_CELLS,
        // SAFETY: a ring's extent stays mapped, and its header is written under the lock only.
        tid: unsafe { (*ring.extent()).tid },
        size: size as u64,
        head: ring.file_offset(),
        slots: from,
        used: 0,
        reserved: [0; 2],
    };
    let cells: *mut u32 = extent.cast::<u8>().wrapping_add(PAGE as usize).cast();
    let end = ring.cursor().load(Ordering::Relaxed).min(until);
    // SAFETY: the extent has that many bytes of zeros, and no other thread knows it.
    unsafe {
        extent.write(header);
        copy_words(ring, from, end, cells);
    }
    // SAFETY: the new cells have the same words. The owner is this thread, with signals masked.
    let mapped = unsafe {
        sys::map_file(
            Placement::Over(ring.cell_address(from)),
            descriptor,
            offset,
            length,
        )
    };
    if let Err(error) = mapped {
        // The next extent begins here, and must be zeros.
        // SAFETY: as above.
        unsafe {
            extent.cast::<[u64; 8]>().write([0; 8]);
            clear_words(from, end, cells);
        }
        return Err(error);
    }
    for position in (from.next_multiple_of(CHUNK)..until).step_by(CHUNK as usize) {
        ring.touch(position); // avoids later page faults, during which signals often arrive
    }
    extents::publish(runtime, size);
    let is_complete = until == ring.origin() + RING_SIZE;
    ring.set_covered(if is_complete { ALL_CELLS } else { until });
    // SAFETY: the ring maps the cells, and this process does not read the header.
    unsafe { sys::unmap(extent.cast(), size) };
    Ok(())
}

/// The position up to which the next piece of cells reaches. The pieces at least double the cells,
/// and none crosses the end of the ring.
fn next_end(origin: u64, from: u64) -> u64 {
    let lap_end = (origin & !(RING_SIZE - 1)) + RING_SIZE;
    if from == origin {
        return origin + FIRST_CELLS + PAGE;
    }
    if from >= lap_end {
        return origin + RING_SIZE;
    }
    (from + (from - origin).next_multiple_of(CHUNK)).min(lap_end)
}

/// Copies the words at `from..end` to new cells.
///
/// # Safety
/// The new cells are writable, and no other code uses them.
unsafe fn copy_words(ring: Ring, from: u64, end: u64, cells: *mut u32) {
    for (index, position) in (from..end).step_by(4).enumerate() {
        // SAFETY: guaranteed by the caller.
        unsafe {
            cells
                .wrapping_add(index)
                .write_volatile(ring.word(position));
        };
    }
}

/// Sets the cells of the words at `from..end` to 0.
///
/// # Safety
/// As for [`copy_words`].
unsafe fn clear_words(from: u64, end: u64, cells: *mut u32) {
    for (index, _) in (from..end).step_by(4).enumerate() {
        // SAFETY: guaranteed by the caller.
        unsafe { cells.wrapping_add(index).write_volatile(0) }; // no call of `memset`
    }
}
