//! Spools: if no collector reads a ring, the ring's owner compresses the words into extents of the
//! file.
//!
//! A spool holds complete chunks, about 640 KiB of words. (If the words continue at the start of
//! the ring's cells, there are two spools.) The spool is part of the file before its words leave
//! the ring. So if the process is killed, each word is in the spool or in the ring.
//!
//! A hole in the ring belongs to a frame that the running signal handler interrupted, or to a frame
//! that a handler jumped out of. If the words before the hole are enough to free the reserve, the
//! hole stays in the ring. If they are not, the hole becomes a word 0 of the spool (see
//! `holloway_abi`, module `ring`).
//!
//! Cost: about a nanosecond for four bytes of repetitive words, under the lock. Threads that spool
//! at the same time take turns.

use core::sync::atomic::Ordering;

use super::ring::Ring;
use super::runtime::Runtime;
use super::sys::{self, EFBIG, Errno};
use super::{extents, lz4, stream};
use holloway_abi::{CHUNK, EXTENT_MAGIC, EXTENT_SPOOL, ExtentHeader, RESERVE, RING_SIZE};

/// Greatest number of bytes of words in one spool. This much disk space must be free, even if the
/// compressed words need little of it.
const PIECE_LIMIT: u64 = 10 * CHUNK;

/// Moves words out of the ring until [`RESERVE`] bytes are free. If that fails, the stream ends.
/// The caller has masked signals.
pub(super) fn spool(runtime: &mut Runtime, ring: Ring) {
    while !ring.has_free(RESERVE) {
        if let Err(error) = spool_piece(runtime, ring) {
            runtime.failure.get_or_insert(error);
            stream::end(ring, runtime);
            return;
        }
    }
}

/// Moves one piece of the stream to the file.
fn spool_piece(runtime: &mut Runtime, ring: Ring) -> Result<(), Errno> {
    let from = ring.taken().load(Ordering::Relaxed);
    let words = next_words(ring, from);
    let size = extents::round_up(size_of::<ExtentHeader>() + lz4::bound(words.len()));
    let extent = extents::allocate(runtime, size)?;
    let room = size - size_of::<ExtentHeader>();
    let block = extent.wrapping_add(1).cast();
    // SAFETY: the extent has that many bytes of zeros, and no other thread knows it.
    let block = unsafe { core::slice::from_raw_parts_mut(block, room) };
    let length = lz4::compress(words, block, &mut runtime.table).ok_or(EFBIG)?;
    let used = extents::round_up(size_of::<ExtentHeader>() + length);
    let bytes = 4 * words.len() as u64;
    let header = ExtentHeader {
        magic: EXTENT_MAGIC,
        kind: EXTENT_SPOOL,
        // SAFETY: a ring's extent stays mapped, and its header is written under the lock only.
        tid: unsafe { (*ring.extent()).tid },
        size: used as u64,
        head: ring.file_offset(),
        slots: from,
        used: bytes << 32 | length as u64,
        reserved: [0; 2],
    };
    // SAFETY: as above.
    unsafe { extent.write(header) };
    extents::publish(runtime, used);
    for word in words {
        *word = 0; // not `fill`, which calls `memset`
    }
    ring.taken().store(from + bytes, Ordering::Release);
    // SAFETY: the extent is in the file, and this process does not read it.
    unsafe { sys::unmap(extent.cast(), used) };
    Ok(())
}

/// The words to take: complete chunks, at most [`PIECE_LIMIT`] bytes, up to the end of the cells,
/// and up to the first hole if the words before the hole are enough.
fn next_words<'a>(ring: Ring, from: u64) -> &'a mut [u32] {
    let chunk = ring.chunk_start();
    let lap_end = (from & !(RING_SIZE - 1)) + RING_SIZE;
    let count = (chunk.min(lap_end).min(from + PIECE_LIMIT) - from) / 4;
    let first = ring
        .words()
        .wrapping_add((from & (RING_SIZE - 1)) as usize / 4);
    // SAFETY: the words are inside the ring. This thread owns the ring and has masked signals, so
    // no other code writes them. Other processes may read them.
    let words = unsafe { core::slice::from_raw_parts_mut(first, count as usize) };
    let Some(hole) = words.iter().position(|word| *word == 0) else {
        return words;
    };
    let enough = chunk + RESERVE <= from + 4 * hole as u64 + RING_SIZE;
    let end = if enough { hole } else { words.len() };
    words.get_mut(..end).unwrap_or(&mut [])
}
