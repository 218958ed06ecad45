//! Hash counters: exact counts for functions with too many paths for an array (in Ball and Larus
//! 1996, more than 4,000 to 6,000). Conflicts drop no count.
//!
//! A function's *head*, in the thread's block, is the address of its current segment plus the
//! logarithm of the segment's number of records. It is a single word, so it is whole whenever a
//! signal comes. A segment is an open-addressed table of paths and counts. When the segment is
//! three quarters full, a new segment of four times the size takes its place. The old segment stays
//! in the file, and readers add up. No record moves, so a signal or a kill never finds one half
//! moved.
//!
//! Only the owner's thread writes a segment, but a handler that counts in the same segment may
//! interrupt it anywhere. So a compare-and-swap of the key claims a record, and a single addition
//! counts the path. Signals stay unmasked; only a new segment takes the lock and system calls. A
//! kill between the two instructions leaves a path with count 0.

use core::sync::atomic::{AtomicU64, Ordering};

use super::lock::Masked;
use super::runtime::{RUNTIME, Runtime};
use super::{arch, extents, fork, sys};
use holloway_abi::{EXTENT_MAGIC, EXTENT_SEGMENT, ExtentHeader, HashSlot, PAGE, hash_slot};

/// Logarithm of the first segment's records: with the header, they fill half a page of the file.
const FIRST_BITS: u32 = 7;

/// A new segment has 2 to this power as many records as the old one.
const GROWTH_BITS: u32 = 2;

/// Logarithm of the largest segment's records. (The head has six bits for it.)
const LARGEST_BITS: u32 = 36;

/// A segment by its address and size, which a head holds as one word.
#[derive(Clone, Copy)]
struct Segment {
    records: *mut HashSlot,
    bits: u32,
}

impl Segment {
    const ADDRESS: u64 = !63;

    fn from_head(word: u64) -> Option<Segment> {
        let records = (word & Segment::ADDRESS) as usize as *mut HashSlot;
        (!records.is_null()).then_some(Segment {
            records,
            bits: (word & !Segment::ADDRESS) as u32,
        })
    }

    fn to_head(self) -> u64 {
        self.records.addr() as u64 | u64::from(self.bits)
    }

    /// Counts `path`. A path without a record gets a new one if fewer than `limit` records are in
    /// use. False: there was no record for the path.
    fn count(self, path: u64, limit: u64) -> bool {
        let mask = (1_u64 << self.bits) - 1;
        let key = path.wrapping_add(1);
        let mut index = hash_slot(path, self.bits);
        loop {
            let (place, count) = self.record(index);
            let present_key = match place.load(Ordering::Relaxed) {
                0 if self.used().load(Ordering::Relaxed) >= limit => return false,
                0 => self.claim(place, key),
                present_key => present_key,
            };
            if present_key == key {
                count.fetch_add(1, Ordering::Relaxed);
                return true;
            }
            index = (index + 1) & mask;
        }
    }

    /// Puts the key into a free record. The result is the key that the record has then: a handler
    /// that came between may have claimed it.
    fn claim(self, place: &AtomicU64, key: u64) -> u64 {
        match place.compare_exchange(0, key, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => {
                self.used().fetch_add(1, Ordering::Relaxed);
                key
            }
            Err(other) => other,
        }
    }

    /// Key and count of a record.
    fn record<'a>(self, index: u64) -> (&'a AtomicU64, &'a AtomicU64) {
        let record = self.records.wrapping_add(index as usize);
        // SAFETY: index < 2^bits; segments stay mapped, and all accesses are atomic.
        unsafe {
            (
                AtomicU64::from_ptr(&raw mut (*record).key),
                AtomicU64::from_ptr(&raw mut (*record).count),
            )
        }
    }

    /// Number of records in use.
    fn used<'a>(self) -> &'a AtomicU64 {
        let header = self.records.cast::<ExtentHeader>().wrapping_sub(1);
        // SAFETY: a segment has its header before it; all accesses to this field are atomic.
        unsafe { AtomicU64::from_ptr(&raw mut (*header).used) }
    }

    /// Records to use before the next segment: three quarters.
    fn soft_limit(self) -> u64 {
        3 << (self.bits - 2)
    }

    /// Records to use at most. Free records end searches, even where handlers interrupt handlers
    /// that claim records.
    fn hard_limit(self) -> u64 {
        (1 << self.bits) - 16
    }
}

/// Body of `__holloway_hash`: counts a path, with or without a record in the current segment.
///
/// # Safety
/// `head` is a head in the calling thread's block.
pub(super) unsafe extern "C" fn count(head: *mut u64, path: u64) {
    fork::notice_raw_fork();
    // SAFETY: guaranteed by the caller.
    if !unsafe { add_to_current(head, path) } {
        // SAFETY: guaranteed by the caller.
        unsafe { add_to_new(head, path) };
    }
}

/// # Safety
/// As [`count`].
unsafe fn add_to_current(head: *mut u64, path: u64) -> bool {
    // SAFETY: guaranteed by the caller; a handler may write the head, as a whole.
    let current = Segment::from_head(unsafe { head.read_volatile() });
    current.is_some_and(|segment| segment.count(path, segment.soft_limit()))
}

/// # Safety
/// As [`count`].
#[cold]
unsafe fn add_to_new(head: *mut u64, path: u64) {
    let _masked = Masked::all();
    // SAFETY: guaranteed by the caller. A handler may have made a new segment already.
    if unsafe { add_to_current(head, path) } {
        return;
    }
    // SAFETY: guaranteed by the caller; no handler writes the head now.
    let current = Segment::from_head(unsafe { head.read_volatile() });
    let bits = current.map_or(FIRST_BITS, |segment| {
        (segment.bits + GROWTH_BITS).min(LARGEST_BITS)
    });
    let mut runtime = RUNTIME.lock();
    if let Some(segment) = new_segment(&mut runtime, head, bits) {
        // SAFETY: as above.
        unsafe { head.write_volatile(segment.to_head()) };
        segment.count(path, segment.soft_limit());
        return;
    }
    // no memory: fill the old segment to the brim
    if !current.is_some_and(|segment| segment.count(path, segment.hard_limit()))
        && let Some(mut page) = runtime.page()
    {
        page.add_lost();
    }
}

/// A new segment for the function at `head`, in the file if possible.
fn new_segment(runtime: &mut Runtime, head: *mut u64, bits: u32) -> Option<Segment> {
    let bytes = size_of::<ExtentHeader>() + (size_of::<HashSlot>() << bits);
    let size = bytes.div_ceil(PAGE as usize) * PAGE as usize;
    let (extent, in_file) = match extents::allocate(runtime, size) {
        Ok(extent) => (extent, true),
        Err(_) => (extents::private_extent(runtime, size)?, false),
    };
    let page = runtime.page()?;
    let header = ExtentHeader {
        magic: EXTENT_MAGIC,
        kind: EXTENT_SEGMENT,
        tid: sys::thread_id(),
        size: size as u64,
        head: (head.addr() - arch::slot().addr()) as u64,
        slots: 1 << bits,
        used: 0,
        reserved: extents::link(page.notes.segments),
    };
    // SAFETY: a new extent of `size` bytes, which no other thread knows yet.
    unsafe { extent.write(header) };
    page.notes.segments = extent;
    if in_file {
        extents::publish(runtime, size);
    }
    Some(Segment {
        records: extent.wrapping_add(1).cast(),
        bits,
    })
}
